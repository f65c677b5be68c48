"""Whichever file of a data folder is damaged, and however, there is a way to recover, and nothing is lost that cannot
be made again."""

from __future__ import annotations

import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from sidecar.engine.index.layout import IndexLayout
from sidecar.engine.index.vector_refs import named_vectors, vectors_in
from sidecar.engine.workspace import IndexedWorkspace
from sidecar.errors import IndexCorrupt, IndexNotFound
from sidecar.model.terms import never_cancelled, no_progress
from sidecar.tools.assemble import make_service
from sidecar.tools.service import Done, Service
from sidecar.tools.spec import Question
from tests.engine.damage import Breaker
from tests.engine.projects import FILES, Project, find, image, index
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.process

CASES = 20


@pytest.mark.slow
def test_every_one_of_twenty_damages_has_a_way_out_that_ends_with_a_whole_index(tmp_path: Path) -> None:
    outcome = Breaker(tmp_path, seed=20_26).run(range(CASES))
    assert outcome.faults == []
    assert outcome.cases == CASES
    assert outcome.advised > 0, "some damage must be met by a search"


@pytest.fixture
def damaged(project: Project) -> Iterator[Service]:
    """Yields the service, over an index whose manifest is no database any more."""
    index(project.open())
    project.close()
    IndexLayout(project.home, str(project.root)).manifest(1).write_bytes(b"not a database" * 1000)
    service = make_service(env={"SIDECAR_HOME": str(project.home), "HOME": str(project.home)})
    yield service
    service.close()


def test_a_person_is_asked_before_a_damaged_index_is_deleted_and_is_told_that_it_is(
    damaged: Service, project: Project
) -> None:
    where = str(project.root)
    question = damaged.call("delete_index", {}, workspace=where)
    assert isinstance(question, Question)
    assert question.destructive
    assert "cannot be read" in question.detail
    assert "memories, added documents and edited settings are not touched" in question.detail
    for answer in ("decline", "timeout", "nobody"):
        kept = damaged.call("delete_index", {}, workspace=where, answers={question.id: answer})
        assert isinstance(kept, Done)
        assert kept.value["status"] == "cancelled"
    deleted = damaged.call("delete_index", {}, workspace=where, answers={question.id: "accept"})
    assert isinstance(deleted, Done)
    assert deleted.value["status"] == "deleted"
    status = damaged.call("get_index_status", {}, workspace=where)
    assert isinstance(status, Done)
    assert status.value["status"] == "not_found"


def test_the_question_of_a_rebuild_says_what_is_damaged_and_names_no_number_of_files(
    damaged: Service, project: Project
) -> None:
    question = damaged.call("reindex_project", {}, workspace=str(project.root))
    assert isinstance(question, Question)
    assert question.detail.startswith("All files are read again. The present index cannot be read:")


def test_a_damaged_index_holds_back_no_vectors_and_takes_none_from_another(project: Project, tmp_path: Path) -> None:
    other = Project(tmp_path / "beside", project.home, {}, project.models, [])
    for name, text in {**FILES, "src/own.py": "def only_here(value):\n    return value\n"}.items():
        other.write(name, text)
    index(project.open())
    index(other.open())
    other.close()
    project.close()
    ours, theirs = (IndexLayout(project.home, str(one.root)) for one in (project, other))
    with sqlite3.connect(theirs.manifest(1)) as connection:
        (uuid,) = connection.execute("SELECT value FROM meta WHERE key = 'kept_uuid'").fetchone()
    connection.close()
    named = vectors_in(theirs.manifest(1), uuid)
    ours.manifest(1).write_bytes(b"not a database" * 1000)
    assert named_vectors(ours.indexes, uuid).tolist() == np.unique(named).tolist()
    workspace = project.open()
    workspace.delete()
    project.close()
    with sqlite3.connect(ours.vectors) as connection:
        held = {number for (number,) in connection.execute("SELECT id FROM vectors")}
    connection.close()
    assert set(named.tolist()) - {0} <= held
    assert index(project.open()).embedded == 0
    assert project.opened[-1].rebuild(no_progress, never_cancelled).embedded == 0


# ---------------------------------------------------------------- the manifest of another index


def put_in_place(path: Path, content: bytes) -> None:
    """Overwrites the file in place, so a process that has it open continues with the same file."""
    with path.open("r+b") as file:
        file.write(content)
        file.truncate()


def write_back(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


@pytest.fixture
def foreign(project: Project, tmp_path: Path) -> bytes:
    """The manifest of another index in the same data folder."""
    other = Project(tmp_path / "beside", project.home, {}, project.models, [])
    for name, text in {**FILES, "src/expire.py": "def expire_cookies(jar):\n    return jar.expire_cookies()\n"}.items():
        other.write(name, text)
    index(other.open())
    other.close()
    return IndexLayout(project.home, str(other.root)).manifest(1).read_bytes()


@pytest.mark.parametrize("written_back", [True, False], ids=["written back", "in the log"])
@pytest.mark.parametrize("opened", [True, False], ids=["open", "closed"])
def test_the_manifest_of_another_index_never_answers_for_this_one(
    project: Project, foreign: bytes, opened: bool, written_back: bool
) -> None:
    workspace = project.open()
    index(workspace)
    before = image(workspace, store=False)
    assert find(workspace, "expire cookies")
    manifest = IndexLayout(project.home, str(project.root)).manifest(1)
    if written_back:
        write_back(manifest)
    log = manifest.with_name("manifest.sqlite-wal").read_bytes()
    if not opened:
        project.close()
        manifest.with_name("manifest.sqlite-wal").write_bytes(log)  # as after a kill
        workspace = project.open()
    put_in_place(manifest, foreign)
    for _ in range(2):
        with pytest.raises(IndexCorrupt, match="Run `reindex_project`"):
            find(workspace, "expire cookies")
    status = workspace.status()
    assert (status.status, "reindex_project" in status.warning) == ("failed", True)
    assert index(workspace).notice
    assert image(workspace, store=False) == before
    assert workspace.status().status == "ready"


# ---------------------------------------------------------------- the embedding cache


def zeroed(held: bytes) -> bytes:
    """Returns the vectors in the middle of the file."""
    middle = len(held) // 8192 * 4096
    return held[:middle] + bytes(4096 * 3) + held[middle + 4096 * 3 :]


SPOILS: dict[str, Callable[[bytes], bytes]] = {
    "zeroed": zeroed,
    "truncated": lambda held: held[: len(held) // 2],
    "empty": lambda _: b"",
    "garbage": lambda held: b"not a database" * 20 + held[280:],
}


def whole_again(workspace: IndexedWorkspace) -> None:
    """Waits until the index is complete again by itself."""
    changed = threading.Event()
    workspace.on_change(lambda _: changed.set())
    deadline = time.monotonic() + PATIENCE_S
    while (status := workspace.status()).status != "ready" or status.coverage < 1:
        assert status.status in ("incomplete", "indexing"), status
        assert time.monotonic() < deadline, status
        changed.wait(0.2)
        changed.clear()


@pytest.mark.parametrize("spoil", SPOILS)
def test_a_damaged_embedding_cache_costs_nobody_an_error_and_is_made_whole_by_itself(
    project: Project, spoil: str
) -> None:
    for number in range(60):
        project.write(f"src/more_{number}.py", f"def more_{number}(value):\n    return value + {number}\n")
    workspace = project.open()
    index(workspace)
    before = image(workspace, store=False)
    vectors = IndexLayout(project.home, str(project.root)).vectors
    write_back(vectors)
    put_in_place(vectors, SPOILS[spoil](vectors.read_bytes()))
    assert find(workspace, "expire cookies")
    project.write("src/later.py", "def later(value):\n    return value\n")
    assert find(workspace, "later value", mode="vector")
    (project.root / "src/later.py").unlink()
    project.close()
    workspace = project.open()
    assert find(workspace, "expire cookies")
    whole_again(workspace)
    assert image(workspace, store=False) == before


def test_while_lost_vectors_are_made_again_the_status_says_so(project: Project) -> None:
    project.flags["indexingStrategy"] = "lazy"  # the next search makes them
    index(project.open())
    project.close()
    IndexLayout(project.home, str(project.root)).vectors.unlink()
    workspace = project.open()
    status = workspace.status()
    assert status.status == "incomplete"
    assert "found by word only until new vectors have been made" in status.warning
    assert find(workspace, "expire cookies")
    whole_again(workspace)
    assert workspace.status().warning == ""


def test_an_index_that_lacks_the_vectors_of_paths_is_not_yet_whole(project: Project) -> None:
    project.flags["indexingStrategy"] = "lazy"
    workspace = project.open()
    index(workspace)
    project.close()
    layout = IndexLayout(project.home, str(project.root))
    with sqlite3.connect(layout.manifest(1)) as connection:
        connection.execute("UPDATE files SET path_vector = 0 WHERE path = 'src/retry.py'")
    connection.close()
    workspace = project.open()
    status = workspace.status()
    assert (status.status, status.coverage < 1) == ("incomplete", True)
    find(workspace, "expire cookies")
    whole_again(workspace)


# ---------------------------------------------------------------- damage that nobody has met yet


def test_a_changed_bit_in_a_stored_path_is_found_by_indexing_and_leaves_a_whole_index(project: Project) -> None:
    """A path is stored twice: in its row, and in the index by which rows are found."""
    workspace = project.open()
    index(workspace)
    before = image(workspace, store=False)
    project.close()
    layout = IndexLayout(project.home, str(project.root))
    write_back(layout.manifest(1))
    whole, path = layout.manifest(1).read_bytes(), b"src/cookies.py"
    places = [at for at in range(len(whole)) if whole.startswith(path, at)]
    changed = 0
    for at in places:
        layout.manifest(1).write_bytes(whole)
        put_in_place(layout.manifest(1), whole[:at] + b"qrc" + whole[at + 3 :])
        with sqlite3.connect(layout.manifest(1)) as connection:
            rows = connection.execute("SELECT path FROM files NOT INDEXED").fetchall()
        connection.close()
        changed += ("qrc/cookies.py",) in rows
        workspace = project.open()
        index(workspace)
        assert image(workspace, store=False) == before
        assert find(workspace, "parse the cookies")[0] == path.decode()
        project.close()
        workspace.delete()
        index(project.open())
        project.close()
        write_back(layout.manifest(1))
        whole = layout.manifest(1).read_bytes()
    assert changed == 1


def test_indexing_finds_damage_that_no_search_has_met_and_leaves_a_whole_index(project: Project) -> None:
    """Zeroes one page after another. Whichever page it is, `index` makes an index equal to one from nothing."""
    workspace = project.open()
    index(workspace)
    before = image(workspace, store=False)
    project.close()
    layout = IndexLayout(project.home, str(project.root))
    first = layout.manifest(1)
    write_back(first)
    whole, met = first.read_bytes(), 0
    pages = range(1, len(whole) // 4096, 4)
    for page in pages:
        workspace = project.open()
        number = layout.current()
        assert number is not None
        manifest = layout.manifest(number)
        manifest.write_bytes(whole[: page * 4096] + bytes(4096) + whole[(page + 1) * 4096 :])
        met += bool(index(workspace).notice)
        assert image(workspace, store=False) == before, page
        project.close()
    assert met > len(pages) // 2


@pytest.mark.parametrize("gone", ["generations", "generations/1", "generations/1/manifest.sqlite"])
def test_where_the_files_of_an_open_index_are_gone_the_status_says_what_to_do(project: Project, gone: str) -> None:
    workspace = project.open()
    index(workspace)
    before = image(workspace, store=False)
    place = IndexLayout(project.home, str(project.root)).path / gone
    shutil.rmtree(place) if place.is_dir() else place.unlink()
    status = workspace.status()
    assert (status.status, "Run `reindex_project`" in status.warning) == ("failed", True)
    with pytest.raises(IndexCorrupt, match="Run `reindex_project`"):
        find(workspace, "expire cookies")
    index(workspace)
    assert workspace.status().status == "ready"
    assert image(workspace, store=False) == before


def test_a_folder_that_somebody_removed_is_no_index_and_one_that_is_made_anew_is_one_for_all(project: Project) -> None:
    folder = IndexLayout(project.home, str(project.root)).path
    first, second = project.open(), project.open()
    index(first)
    assert second.status().status == "ready"
    for maker in (first, first, second):
        shutil.rmtree(folder)
        for opened in (first, second):
            assert opened.status().status == "not_found"
            with pytest.raises(IndexNotFound):
                find(opened, "cookies")
        maker.refresh(no_progress, never_cancelled)
        for opened in (first, second):
            assert opened.status().status == "ready"
            assert find(opened, "expire cookies")[0] == "src/cookies.py"


def test_changed_bits_of_a_stored_text_are_never_shown(project: Project) -> None:
    workspace = project.open()
    index(workspace)
    before = image(workspace, store=False)
    project.close()
    manifest = IndexLayout(project.home, str(project.root)).manifest(1)
    write_back(manifest)
    held = manifest.read_bytes()
    assert held.count(b"delay = 2 ** attempt") == 1
    manifest.write_bytes(held.replace(b"delay = 2 ** attempt", b"delay = 2 -- attempt"))
    workspace = project.open()
    assert "src/cookies.py" in find(workspace, "expire cookies", top_k=1)
    with pytest.raises(IndexCorrupt, match="Run `reindex_project`"):
        find(workspace, "call again with backoff")
    project.close()
    workspace = project.open()
    assert "has been rebuilt" in index(workspace).notice
    assert "src/retry.py" in find(workspace, "call again with backoff")
    assert image(workspace, store=False) == before
