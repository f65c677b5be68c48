"""Searches of a workspace whose vectors are on a Chroma server: it is asked only if vectors do not fit into memory, and
without it only meaning is lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.engine.models.loader import Models, make_embedder
from sidecar.engine.search.vector_search import EXACT
from sidecar.engine.wiring import make_store
from sidecar.engine.workspace import IndexedWorkspace
from sidecar.model.answers import SearchAnswer, SearchRequest
from sidecar.model.terms import never_cancelled
from tests.chroma_server import Listener, RealServer, listening, passed_on, real_server
from tests.engine.projects import Project, index, make_store_in_memory
from tests.patience import until

pytestmark = pytest.mark.process

QUESTION = "how are overdue invoices written off"


PER_FILE = 40
LONG = "x" * 70
"""Makes each function a chunk of its own."""


def task(file: int, number: int) -> str:
    lines = [f"    value_{line} = queue.run({file}, {number}, {line}, '{LONG}')\n" for line in range(9)]
    return f"def task_{file}_{number}(queue):\n{''.join(lines)}    return value_0\n\n\n"


def fill(project: Project) -> None:
    """More chunks than are compared without the store."""
    project.root.mkdir()
    for file in range(EXACT // PER_FILE + 5):
        project.write(f"src/task_{file}.py", "".join(task(file, number) for number in range(PER_FILE)))
    project.write("src/ledger.py", "def forget_debts(accounts):\n    '''Write off overdue invoices.'''\n    cut()\n")


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Project, RealServer]]:
    """Yields a project whose vectors have been made, and the server that it names."""
    folder = tmp_path_factory.mktemp("filled")
    models = Models(make_embedder)
    with real_server(folder / "chroma") as chroma:
        project = Project(folder / "work", folder / "home", {"vectorMemoryMegabytes": 0}, models, [])
        fill(project)
        index(project.open())
        project.close()
        yield project, chroma
        project.close()
    models.close()


def opened(project: Project, url: str) -> IndexedWorkspace:
    project.close()
    project.make_store = make_store
    project.flags = {**project.flags, "vectorStore": url}
    workspace = project.open()
    workspace.refresh(lambda *_: None, never_cancelled)
    writer = workspace.index.readable().writer
    assert writer is not None
    writer.store_sync.keep_up()
    return workspace


def ask(workspace: IndexedWorkspace, mode: str = "hybrid") -> SearchAnswer:
    return workspace.search(SearchRequest(QUESTION, mode=mode), never_cancelled)  # type: ignore[arg-type]


def queries(wire: Listener) -> int:
    return sum(path.endswith("/query") for _, path, _, _ in wire.heard)


def test_a_server_is_filled_and_asked_and_gives_the_answer_of_the_kept_vectors(
    filled: tuple[Project, RealServer],
) -> None:
    project, chroma = filled
    project.make_store = make_store_in_memory
    exact = ask(project.open(), "vector")
    with listening(passed_on(chroma.url)) as wire:
        workspace = opened(project, wire.url)
        until(lambda: workspace.index.readable().store())
        before = queries(wire)
        answer = ask(workspace, "vector")
        assert queries(wire) == before + 1
        assert answer.notice == ""
        assert answer.hits[0] == exact.hits[0]
        assert answer.hits[0].path == "src/ledger.py"
        for text in (b"task_", b"ledger", b"invoices", b"src/", b"work", b"def "):
            assert text not in wire.sent, text
        project.write("src/ledger.py", "def nothing():\n    pass\n")
        project.write("src/late.py", "def write_off(invoices):\n    '''Write off overdue invoices.'''\n    pass\n")
        workspace.reindex_file("src/ledger.py")
        workspace.reindex_file("src/late.py")
        assert ask(workspace, "vector").hits[0].path == "src/late.py", "own changes count at once"
        project.close()


def test_while_the_server_is_away_words_answer_and_say_so_and_it_is_taken_up_again(
    filled: tuple[Project, RealServer],
) -> None:
    project, chroma = filled
    workspace = opened(project, chroma.url)
    until(lambda: workspace.index.readable().store())
    chroma.kill()
    answer = ask(workspace)
    assert answer.notice.startswith(f"Searched by word only: The Chroma server at {chroma.url} ")
    assert "\n" not in answer.notice
    assert answer.hits
    again = ask(workspace)
    assert again.notice.startswith("Searched by word only: ")
    assert chroma.url in workspace.status().warning
    by_meaning = ask(workspace, "vector")
    assert by_meaning.notice.startswith("All vectors were compared here, which takes longer: ")
    assert "invoices" in by_meaning.hits[0].content
    chroma.start()
    until(lambda: not ask(workspace).notice)
    assert workspace.status().warning == ""


def test_a_server_that_was_emptied_is_filled_again_from_the_kept_vectors(filled: tuple[Project, RealServer]) -> None:
    project, chroma = filled
    workspace = opened(project, chroma.url)
    until(lambda: workspace.index.readable().store())
    chroma.forget()
    until(lambda: not ask(workspace).notice and workspace.status().warning == "")
    until(lambda: rows(workspace) == workspace.status().chunks)
    assert "invoices" in ask(workspace, "vector").hits[0].content


def rows(workspace: IndexedWorkspace) -> int:
    writer = workspace.index.readable().writer
    store = writer.store_sync.store() if writer is not None else None
    return sum(len(store.ids(name)) for name in ("code", "docs")) if store is not None else 0


def test_what_fits_into_memory_is_never_sent(tmp_path: Path, models: Models) -> None:
    with listening(lambda *_: (500, "text/plain", b"")) as wire:
        flags = {"vectorStore": wire.url}
        project = Project(tmp_path / "work", tmp_path / "home", flags, models, [], make_store=make_store)
        project.root.mkdir()
        project.write("a.py", "def first():\n    pass\n")
        workspace = project.open()
        index(workspace)
        assert ask(workspace, "vector").notice == ""
        assert workspace.rest(0.0)
        project.close()
        assert wire.heard == []
