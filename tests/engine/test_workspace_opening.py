"""Opening an index that another process holds, another program made, or something damaged."""

from __future__ import annotations

import shutil
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from sidecar.engine.ingest.workspace_files import WorkspaceFiles
from sidecar.engine.update.activity import Activity
from sidecar.engine.update.live import LiveTimes, LiveUpdate
from sidecar.engine.workspace import IndexedWorkspace
from sidecar.errors import DocsIndexNotFound, IndexCorrupt, IndexLocked, IndexNotFound, ModelLoadFailed, StoreFailed
from sidecar.model.answers import SearchRequest
from sidecar.model.terms import Collection, never_cancelled, no_progress
from sidecar.parts.asking import Asking
from sidecar.parts.git_head import read_checkout
from sidecar.parts.lease import Lease
from sidecar.parts.manifest import SCHEMA_VERSION
from sidecar.parts.vectors.in_memory import InMemoryStore
from sidecar.parts.watch import WatchedChanges
from sidecar.settings.load import Settings
from tests.engine.projects import SLOW, Project, find, image, index
from tests.engine.targets import FakeTarget
from tests.parts.lexical_tables import make_earlier
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.process


def manifest_of(project: Project) -> Path:
    (path,) = project.home.glob("indexes/*/generations/*/manifest.sqlite")
    return path


def test_without_an_index_every_question_says_so(project: Project) -> None:
    workspace = project.open()
    with pytest.raises(IndexNotFound):
        find(workspace, "anything")
    with pytest.raises(IndexNotFound):
        workspace.find_paths("**/*", 5)
    with pytest.raises(IndexNotFound):
        workspace.reindex_file("src/retry.py")
    with pytest.raises(IndexNotFound):
        workspace.rebuild(no_progress, never_cancelled)
    assert workspace.status().status == "not_found"
    assert not (project.home / "indexes").exists(), "asking leaves nothing behind"


def test_a_workspace_without_documents_says_so(project: Project) -> None:
    shutil.rmtree(project.root / "docs")
    (project.root / "README.md").unlink()
    workspace = project.open()
    index(workspace)
    with pytest.raises(DocsIndexNotFound):
        find(workspace, "installation", collection="docs")


def test_a_second_holder_may_search_but_not_write(project: Project) -> None:
    first, second = project.open(), project.open()
    index(first)
    assert find(second, "expire cookies") == find(first, "expire cookies")
    assert "Another process" in second.status().warning
    for write in (lambda: index(second), lambda: second.reindex_file("src/retry.py"), second.delete):
        with pytest.raises(IndexLocked):
            write()
    first.close()
    assert second.reindex_file("src/retry.py").status == "reindexed"


def test_a_second_holder_sees_a_rebuild_and_a_deletion(project: Project) -> None:
    first, second = project.open(), project.open()
    index(first)
    assert find(second, "expire cookies")
    first.rebuild(no_progress, never_cancelled)
    assert find(second, "expire cookies")
    assert second.status().generation == 2
    first.delete()
    assert second.status().status == "not_found"


def test_an_index_of_another_schema_asks_for_a_rebuild_which_embeds_nothing(project: Project) -> None:
    workspace = project.open()
    index(workspace)
    before = image(workspace)
    workspace.close()
    with sqlite3.connect(manifest_of(project)) as connection:
        connection.execute("UPDATE meta SET value = 99 WHERE key = 'version_chunker'")
    connection.close()
    again = project.open()
    with pytest.raises(IndexCorrupt, match="reindex_project"):
        find(again, "expire cookies")
    assert again.status().status == "failed"
    assert again.rebuild(no_progress, never_cancelled).embedded == 0
    assert image(again) == before


def test_an_index_of_an_earlier_schema_is_searched_as_it_is_and_updated_when_it_may_be_written(
    project: Project,
) -> None:
    for number in range(300):
        project.write(f"src/many{number}.py", f"def cookie_{number}():\n    return jar")
    workspace = project.open()
    index(workspace)
    before, found = image(workspace), find(workspace, "return cookie jar")
    workspace.close()
    with sqlite3.connect(manifest_of(project)) as connection:
        assert connection.execute("SELECT count(*) FROM lexical_long").fetchone()[0]
        make_earlier(connection)
        connection.execute("UPDATE meta SET value = 2 WHERE key = 'schema'")
    connection.close()
    with Lease(manifest_of(project).parents[2]):
        assert find(project.open(), "return cookie jar") == found, "by a process that may not write"
        assert schema_of(project) == 2
    again = project.open()
    assert find(again, "return cookie jar") == found
    assert schema_of(project) == SCHEMA_VERSION, "so that no earlier sidecar reads it"
    project.write("src/late.py", "def late_cookie():\n    return jar")
    again.reindex_file("src/late.py")
    assert "src/late.py" in str(find(again, "late cookie"))
    (project.root / "src/late.py").unlink()
    again.reindex_file("src/late.py")
    assert image(again) == before


def schema_of(project: Project) -> int:
    with closing(sqlite3.connect(manifest_of(project))) as connection:
        (version,) = connection.execute("SELECT value FROM meta WHERE key = 'schema'").fetchone()
    return int(version)


def test_an_index_of_another_model_is_not_searched_by_meaning_without_a_second_stage(project: Project) -> None:
    index(project.open())
    project.close()
    project.flags.update(model=SLOW, twoStage=False)
    other = project.open()
    with pytest.raises(IndexCorrupt, match="Run `reindex_project`"):
        find(other, "expire cookies")
    assert find(other, "expire", mode="fts")


def test_a_model_that_does_not_exist_is_named(project: Project) -> None:
    project.flags["model"] = "no-such-model"
    with pytest.raises(ModelLoadFailed, match="no-such-model"):
        index(project.open())


def test_an_index_whose_settings_name_a_model_that_does_not_exist_is_searched_by_word_and_says_so(
    project: Project,
) -> None:
    index(project.open())
    project.close()
    project.flags["model"] = "no-such-model"
    other = project.open()
    answer = other.search(SearchRequest("expire cookies"), never_cancelled)
    assert answer.hits
    assert answer.mode == "fts"
    assert answer.notice.startswith("Searched by word only: ")
    with pytest.raises(ModelLoadFailed, match="no-such-model"):
        find(other, "expire cookies", mode="vector")


def test_a_damaged_manifest_is_corrupt_and_a_rebuild_mends_it(project: Project) -> None:
    workspace = project.open()
    index(workspace)
    before = image(workspace)
    workspace.close()
    path = manifest_of(project)
    path.write_bytes(b"not a database" * 1000)
    path.with_name("manifest.sqlite-wal").unlink(missing_ok=True)
    again = project.open()
    with pytest.raises(IndexCorrupt):
        find(again, "expire cookies")
    assert again.rebuild(no_progress, never_cancelled).embedded == 0
    assert image(again) == before


def zero_every_page_but_those_of_meta(path: Path) -> None:
    """Keeps what is needed to open the index, and removes everything else."""
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (meta,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'meta'").fetchone()
    connection.close()
    held = path.read_bytes()
    pages = [held[start : start + 4096] for start in range(0, len(held), 4096)]
    path.write_bytes(b"".join(p if n in (0, meta - 1) else bytes(4096) for n, p in enumerate(pages)))


WAYS_OUT: dict[str, Callable[[IndexedWorkspace], object]] = {
    "index": index,
    "create": lambda workspace: workspace.create(no_progress, never_cancelled),
    "rebuild": lambda workspace: workspace.rebuild(no_progress, never_cancelled),
    "delete": lambda workspace: (workspace.delete(), index(workspace)),
}


@pytest.mark.parametrize("opened", [False, True], ids=["closed", "open"])
@pytest.mark.parametrize("way", ["index", "rebuild", "delete"])
def test_of_a_manifest_with_zeroed_pages_status_tells_and_every_way_out_works(
    project: Project, way: str, opened: bool
) -> None:
    workspace = project.open()
    index(workspace)
    workspace.memories.save("build", "", "Run make.", [])
    before = image(workspace, store=False)
    if not opened:
        workspace.close()
        workspace = project.open()
    zero_every_page_but_those_of_meta(manifest_of(project))
    status = workspace.status()
    if not opened:
        assert (status.status, "reindex_project" in status.warning) == ("failed", True)
        with pytest.raises(IndexCorrupt, match="Run `reindex_project`"):
            find(workspace, "expire cookies")
    WAYS_OUT[way](workspace)
    assert workspace.status().status == "ready"
    assert image(workspace, store=False) == before
    kept = workspace.memories.get("build")
    assert kept is not None
    assert kept.text == "Run make."


def test_indexing_makes_a_damaged_index_anew_and_says_so_without_embedding_anything_twice(project: Project) -> None:
    index(project.open())
    project.close()
    manifest_of(project).write_bytes(b"not a database" * 1000)
    for log in project.home.glob("indexes/*/generations/1/manifest.sqlite-*"):
        log.unlink()
    report = index(project.open())
    assert "has been rebuilt" in report.notice
    assert report.embedded == 0
    assert index(project.opened[-1]).notice == ""


def test_creating_is_not_refused_where_the_index_is_damaged(project: Project) -> None:
    index(project.open())
    project.close()
    manifest_of(project).write_bytes(b"")
    assert WAYS_OUT["create"](project.open())


def test_an_index_of_another_model_is_no_damage_and_is_not_made_anew_unasked(project: Project) -> None:
    index(project.open())
    project.close()
    project.flags.update(model=SLOW, twoStage=False)
    with pytest.raises(IndexCorrupt, match="or change the setting back"):
        index(project.open())


@pytest.mark.parametrize("content", ["", "rubbish", "7", "-1", None])
def test_whatever_the_note_of_the_generation_in_force_says_the_index_is_found(
    project: Project, content: str | None
) -> None:
    index(project.open())
    project.close()
    (note,) = project.home.glob("indexes/*/current")
    if content is None:
        note.unlink()
        note.mkdir()
    else:
        note.write_text(content)
    workspace = project.open()
    assert find(workspace, "expire cookies")
    workspace.rebuild(no_progress, never_cancelled)
    assert workspace.status().generation == 2


def test_a_store_that_is_damaged_is_filled_again_without_the_model(project: Project) -> None:
    project.keep_chroma()
    workspace = project.open()
    index(workspace)
    before = image(workspace)
    workspace.close()
    stores = list(project.home.glob("indexes/*/generations/1/store/*"))
    assert stores
    for path in stores[0].rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    again = project.open()
    assert image(again) == before
    assert index(again).embedded == 0


def test_the_log_says_of_a_store_that_is_filled_again_what_is_the_matter_and_no_more(
    project: Project, caplog: pytest.LogCaptureFixture
) -> None:
    why = "The vector store's files hold 3 vectors, 2 of them deleted. It is filled again from the vectors kept here."
    wasteful = iter([True])

    class Wasteful(InMemoryStore):
        def count(self, collection: Collection) -> int:
            if next(wasteful, False):
                raise StoreFailed(why, rebuild=True)
            return super().count(collection)

    project.make_store = lambda _settings, _folder, dimension, *_: Wasteful(dimension)
    project.vector_memory_bytes = 0
    workspace = project.open()
    index(workspace)
    assert sum((held := image(workspace)).stored) == len(held.chunks)
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [why]


def test_kept_vectors_that_are_gone_are_made_again(project: Project) -> None:
    workspace = project.open()
    index(workspace)
    before = image(workspace)
    workspace.close()
    for path in project.home.glob("vectors/vectors.sqlite*"):
        path.unlink()
    again = project.open()
    assert index(again).embedded > 0
    assert image(again) == before


def test_kept_vectors_that_prove_damaged_while_they_are_open_are_begun_anew(project: Project) -> None:
    workspace = project.open()
    index(workspace)
    before = image(workspace, store=False)
    vectors = project.home / "vectors" / "vectors.sqlite"
    with sqlite3.connect(vectors) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.close()
    with vectors.open("r+b") as file:
        file.write(bytes(vectors.stat().st_size))
    with pytest.raises(IndexCorrupt, match="Run `reindex_project`"):
        workspace.index.readable().kept.count()
    assert index(workspace).embedded > 0
    assert image(workspace, store=False) == before


def test_without_the_store_the_kept_vectors_are_searched(project: Project) -> None:
    workspace = project.open()
    index(workspace)
    with_store = find(workspace, "how long do cookies live", mode="vector")
    workspace.close()
    alone = project.open()
    answer = alone.search(SearchRequest("how long do cookies live", mode="vector"), never_cancelled)
    assert [h.path for h in answer.hits] == with_store
    assert answer.notice == ""


def test_a_deletion_that_was_killed_half_way_is_swept_up(project: Project) -> None:
    index(project.open())
    project.close()
    (folder,) = (project.home / "indexes").iterdir()
    folder.rename(folder.with_name(f".{folder.name}.deleted-1"))
    workspace = project.open()
    assert workspace.status().status == "not_found"
    index(workspace)
    assert [p.name for p in (project.home / "indexes").iterdir()] == [folder.name]


class SlowWatcher:
    """Takes as long to start as the test says."""

    active, note = True, ""

    def __init__(self, *_: object) -> None:
        self.starting, self.may_go_on = threading.Event(), threading.Event()
        self.deeds: list[str] = []

    def start(self) -> None:
        self.starting.set()
        assert self.may_go_on.wait(PATIENCE_S)
        self.deeds.append("started")

    def stop(self) -> None:
        self.deeds.append("stopped")

    def next(self) -> None:
        """Does nothing: no file changes."""

    def mark(self) -> None:
        return None

    def look(self, mark: int | None = None) -> WatchedChanges:
        return WatchedChanges()


def test_a_watcher_that_starts_while_the_workspace_is_closed_is_stopped(project: Project) -> None:
    watcher = SlowWatcher()
    project.make_watcher = lambda *_: watcher
    workspace = project.open(stay=0.0)
    index(workspace)
    assert watcher.starting.wait(PATIENCE_S)
    closing = threading.Thread(target=workspace.close)
    closing.start()
    watcher.may_go_on.set()
    closing.join(PATIENCE_S)
    assert watcher.deeds == ["started", "stopped"]


def test_an_end_for_good_amid_a_start_leaves_no_thread_behind() -> None:
    def dirty() -> list[str]:
        live_update.end(for_good=True)
        return []

    generation = SimpleNamespace(writer=SimpleNamespace(manifest=SimpleNamespace(dirty=dirty)))
    index: Any = SimpleNamespace(gate=threading.RLock(), written=lambda: generation)
    parts, upgrade = cast(Any, SimpleNamespace(read_checkout=read_checkout)), cast(Any, None)
    files = WorkspaceFiles("/nowhere", {}, parts, Settings)
    activity, times, asking = Activity(lambda: None), LiveTimes(stay=0.0), Asking(Path("/nowhere"))
    live_update = LiveUpdate(files, index, FakeTarget(), upgrade, activity, times, asking)
    before = threading.enumerate()
    live_update.start(reconcile=True)
    assert [thread for thread in threading.enumerate() if thread not in before] == []


def test_an_open_index_whose_number_has_gone_is_found_again_once_it_is_indexed(project: Project) -> None:
    workspace = project.open()
    index(workspace)
    (Path(workspace.status().index_path) / "current").unlink()
    index(workspace)
    assert workspace.status().status == "ready"
    assert find(workspace, "retry with backoff")[0] == "src/retry.py"
