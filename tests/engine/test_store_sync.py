"""When the vector store is open and filled: not while all vectors fit into memory, but at rest and above that bound."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from sidecar.engine.index.layout import IndexLayout
from sidecar.engine.search.vector_search import EXACT
from sidecar.engine.workspace import IndexedWorkspace
from sidecar.errors import StoreFailed
from sidecar.model.answers import SearchRequest
from sidecar.model.terms import Collection, Ids, Vectors, never_cancelled
from sidecar.parts.vectors.chroma import ChromaStore
from sidecar.parts.vectors.in_memory import InMemoryStore
from tests.engine.projects import Project, find, image, index

pytestmark = pytest.mark.process

LIMIT_S = 60.0
QUESTION = "how long do cookies live"


class Followed:
    """Makes stores in memory, and records what was done with them. `before_add` runs before vectors are added."""

    def __init__(self, before_add: Callable[[], object] = lambda: None) -> None:
        self.before_add = before_add
        self.opened = self.asked = 0
        self.open_now: set[FollowedStore] = set()

    def make(self, _settings: object, _folder: Path, dimension: int, _model_id: str, _root: str) -> FollowedStore:
        return FollowedStore(self, dimension)


class FollowedStore(InMemoryStore):
    def __init__(self, followed: Followed, dimension: int) -> None:
        super().__init__(dimension)
        self._followed = followed

    def count(self, collection: Collection) -> int:
        self._followed.opened += 1
        self._followed.open_now.add(self)
        return super().count(collection)

    def add(self, collection: Collection, ids: Ids, vectors: Vectors, texts: Sequence[bytes] = ()) -> None:
        self._followed.before_add()
        super().add(collection, ids, vectors, texts)

    def query(self, collection: Collection, vector: Vectors, limit: int) -> tuple[Ids, Vectors]:
        self._followed.asked += 1
        return super().query(collection, vector, limit)

    def close(self) -> None:
        super().close()
        self._followed.open_now.discard(self)


@pytest.fixture
def followed(project: Project) -> Followed:
    followed = Followed()
    project.make_store = followed.make
    return followed


def drained(workspace: IndexedWorkspace) -> bool:
    writer = workspace.index.readable().writer
    assert writer is not None
    return writer.store_sync.drain(LIMIT_S)


def chunks(workspace: IndexedWorkspace) -> int:
    return workspace.status().chunks


def in_chroma(project: Project, workspace: IndexedWorkspace) -> list[int]:
    """Returns the slots that a closed workspace has left in Chroma."""
    layout = IndexLayout(project.home, str(project.root))
    number = layout.current()
    assert number is not None
    model = workspace.status().model
    with sqlite3.connect(layout.manifest(number)) as connection:
        (dimension,) = connection.execute("SELECT value FROM meta WHERE key = 'dimension'").fetchone()
    connection.close()
    store = ChromaStore(layout.store(number), int(dimension), model)
    try:
        return sorted(int(slot) for name in ("code", "docs") for slot in store.ids(name))
    finally:
        store.close()


# ---------------------------------------------------------------- below the bound


def test_while_all_vectors_fit_into_memory_neither_indexing_nor_searching_nor_saving_opens_the_store(
    project: Project, followed: Followed
) -> None:
    project.watcher = True
    workspace = project.open()
    index(workspace)
    project.close()
    workspace = project.open()
    assert find(workspace, QUESTION, mode="vector")
    project.write("src/late.py", "def came_late():\n    pass\n")
    workspace.reindex_file("src/late.py")
    assert find(workspace, "came_late")[0] == "src/late.py"
    assert workspace.find_closest(QUESTION, 5, 0.0, never_cancelled).hits
    assert workspace.find_similar("src/late.py", 1, 0, 5, never_cancelled).hits
    workspace.rebuild(lambda *_: None, never_cancelled)
    assert find(workspace, QUESTION, mode="vector")
    assert followed.opened == 0
    assert workspace.status().status == "ready"


def test_at_rest_chroma_is_filled_and_its_process_ended(project: Project) -> None:
    project.keep_chroma()
    project.vector_memory_bytes = 10**9
    workspace = project.open()
    index(workspace)
    folder = IndexLayout(project.home, str(project.root)).store(1)
    assert not folder.exists()
    assert workspace.rest(0.0)
    assert len(in_chroma(project, workspace)) == chunks(workspace)
    project.write("src/late.py", "def came_late():\n    pass\n")
    (project.root / "src/parse.ts").unlink()
    assert find(workspace, "came_late")[0] == "src/late.py"
    assert workspace.rest(0.0)
    assert len(in_chroma(project, workspace)) == chunks(workspace)
    project.close()
    project.vector_memory_bytes = 0
    assert sum((held := image(project.open())).stored) == len(held.chunks)


def test_at_rest_a_store_that_lacks_nothing_is_not_opened(project: Project, followed: Followed) -> None:
    class Lasting(FollowedStore):
        def close(self) -> None:
            followed.open_now.discard(self)

    lasting: list[Lasting] = []

    def make(_settings: object, _folder: Path, dimension: int, _model_id: str, _root: str) -> Lasting:
        lasting[:] = lasting or [Lasting(followed, dimension)]
        return lasting[0]

    project.make_store = make
    workspace = project.open()
    index(workspace)
    assert workspace.rest(0.0)
    assert followed.opened == 1
    assert find(workspace, QUESTION)
    assert workspace.rest(0.0)
    assert followed.opened == 1


def test_a_use_ends_the_filling_at_rest_and_the_store_is_closed(project: Project, followed: Followed) -> None:
    filling, may_go_on = threading.Event(), threading.Event()

    def hold() -> None:
        filling.set()
        assert may_go_on.wait(LIMIT_S)

    followed.before_add = hold
    workspace = project.open()
    index(workspace)
    rested: list[bool] = []
    resting = threading.Thread(target=lambda: rested.append(workspace.rest(0.0)))
    resting.start()
    assert filling.wait(LIMIT_S)
    with workspace.usage.use():
        resting.join(LIMIT_S)
        assert rested == [False]
    may_go_on.set()
    followed.before_add = lambda: None
    assert find(workspace, QUESTION)
    assert workspace.rest(0.0)
    assert followed.open_now == set()
    assert followed.opened == 2


def test_a_workspace_rests_even_if_its_store_cannot_be_filled(project: Project, followed: Followed) -> None:
    def fail() -> None:
        raise StoreFailed("Its disk is gone.")

    followed.before_add = fail
    workspace = project.open()
    index(workspace)
    assert workspace.rest(0.0)
    assert workspace.resting
    assert followed.open_now == set()
    assert find(workspace, QUESTION)


# ---------------------------------------------------------------- above the bound


def write_chapters(project: Project, count: int) -> None:
    """Plain text of more than 40 chunks for each file."""
    for chapter in range(count):
        lines = (f"chapter {chapter} line {n} of the tale about subject{n % 97} and object{n}" for n in range(1400))
        project.write(f"tales/chapter{chapter}.txt", "\n".join(lines))


def test_above_the_bound_the_store_is_filled_and_asked_and_answers_are_right_meanwhile(
    project: Project, followed: Followed
) -> None:
    filling, may_go_on = threading.Event(), threading.Event()

    def hold() -> None:
        filling.set()
        assert may_go_on.wait(LIMIT_S)

    write_chapters(project, 100)
    project.flags["twoStage"] = False
    by_memory = project.open()
    index(by_memory)
    assert by_memory.status().docs.chunks > EXACT
    requests = [SearchRequest(f"the tale about subject{n}", "docs", mode="vector") for n in (7, 42)]
    right = [by_memory.search(request, never_cancelled).hits for request in requests]
    assert followed.opened == 0
    project.close()

    followed.before_add = hold
    project.vector_memory_bytes = 100_000
    project.watcher = True
    workspace = project.open()
    assert workspace.status().status == "ready"
    assert filling.wait(LIMIT_S)
    meanwhile = [workspace.search(request, never_cancelled) for request in requests]
    assert [answer.hits for answer in meanwhile] == right
    assert followed.asked == 0
    may_go_on.set()
    assert drained(workspace)
    assert [workspace.search(request, never_cancelled).hits for request in requests] == right
    assert followed.asked == len(requests)


def test_each_batch_that_a_store_is_given_comes_from_all_over_the_index(project: Project, followed: Followed) -> None:
    batches: list[list[int]] = []

    class Noting(FollowedStore):
        def add(self, collection: Collection, ids: Ids, vectors: Vectors, texts: Sequence[bytes] = ()) -> None:
            batches.append(ids.tolist())
            super().add(collection, ids, vectors, texts)

    project.make_store = lambda _settings, _folder, dimension, _model, _root: Noting(followed, dimension)
    write_chapters(project, 100)
    workspace = project.open()
    index(workspace)
    assert workspace.rest(0.0)
    added = [slot for batch in batches for slot in batch]
    assert sorted(added) == sorted(set(added))
    assert len(added) == chunks(workspace)
    large = [batch for batch in batches if len(batch) > 1000]
    assert len(large) > 1
    for batch in large:
        assert max(batch) - min(batch) > 0.9 * len(added)


def test_a_workspace_that_outgrows_the_bound_has_its_store_filled_without_a_search(
    project: Project, followed: Followed
) -> None:
    project.watcher = True
    measured = project.open()
    index(measured)
    project.vector_memory_bytes = 4 * measured.index.readable().model.dimension * (chunks(measured) + 2)
    project.close()
    workspace = project.open()
    assert find(workspace, QUESTION)
    assert followed.opened == 0
    write_chapters(project, 1)
    filling = threading.Event()
    followed.before_add = filling.set
    workspace.reindex_file("tales/chapter0.txt")
    assert filling.wait(LIMIT_S)
    assert drained(workspace)
    (store,) = followed.open_now
    assert store.count("code") + store.count("docs") == chunks(workspace)


def test_a_short_command_opens_no_store_to_search_and_waits_for_it_after_indexing(
    project: Project, followed: Followed
) -> None:
    project.vector_memory_bytes = 0
    workspace = project.open()
    index(workspace)
    (store,) = followed.open_now
    assert store.count("code") + store.count("docs") == chunks(workspace)
    project.close()
    opened = followed.opened
    workspace = project.open()
    assert find(workspace, QUESTION)
    workspace.reindex_file("src/retry.py")
    assert followed.opened == opened


# ---------------------------------------------------------------- after an unclean end


def test_a_store_is_still_checked_if_the_first_process_after_an_unclean_end_did_not_open_it(
    project: Project,
) -> None:
    project.keep_chroma()
    workspace = project.open()
    index(workspace)
    before = image(workspace)
    model = workspace.index.readable().model
    project.close()
    layout = IndexLayout(project.home, str(project.root))
    store = ChromaStore(layout.store(1), model.dimension, model.model_id)
    store.remove("code", store.ids("code")[:3])
    store.add("docs", np.array([999_999]), np.eye(1, model.dimension, dtype=np.float32))
    store.close()
    with sqlite3.connect(layout.manifest(1)) as connection:
        connection.execute("UPDATE meta SET value = 0 WHERE key = 'clean'")
    connection.close()
    project.vector_memory_bytes = 10**9
    assert find(project.open(), QUESTION)
    project.close()
    project.vector_memory_bytes = 0
    assert image(project.open()) == before
