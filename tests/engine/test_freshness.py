"""Answers are never silently stale: known changes are applied first, and one line says what is left."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from sidecar.engine.update.applier import ChangeApplier
from sidecar.engine.update.change_queue import EVERYTHING, ChangeQueue, Pending
from sidecar.engine.update.staleness import RunningJob, Staleness, Standing, stale_notice
from sidecar.engine.workspace import IndexedWorkspace
from sidecar.errors import DiskFull, IndexLocked
from sidecar.model.answers import Coverage, SearchRequest
from sidecar.model.terms import IsCancelled, never_cancelled
from sidecar.model.workspace import Workspace
from tests.engine.held_watcher import HeldWatchers
from tests.engine.projects import Project, find, index
from tests.engine.targets import FakeTarget
from tests.patience import PATIENCE_S, until

pytestmark = pytest.mark.process

NEW = "def entirely_new_engine():\n    return 'steam'\n"
ROOT = Path(__file__).parents[2]


def notice(workspace: Workspace, query: str = "expire cookies") -> str:
    return workspace.search(SearchRequest(query), never_cancelled).notice


def dirty(workspace: IndexedWorkspace) -> list[str]:
    """Leaves to the next process what a killed process would leave."""
    generation = workspace.index.written()
    assert generation is not None and generation.writer is not None
    return generation.writer.manifest.dirty()


def test_a_fresh_answer_says_nothing(project: Project) -> None:
    workspace = project.open()
    index(workspace)
    assert notice(workspace) == ""
    assert workspace.find_paths("**/*.py", 10).notice == ""


def test_while_the_index_is_built_every_kind_of_answer_says_that_it_is_partial(project: Project) -> None:
    for number in range(80):
        project.write(f"more/module_{number}.py", f"def function_{number}():\n    return {number}\n")
    workspace = project.open()
    notices: list[tuple[str, str, str]] = []

    def look(done: int, total: int, message: str) -> None:
        if done and len(notices) < 1:
            symbols = workspace.find_symbols("function_1", (), 5).notice
            notices.append((notice(workspace), workspace.find_paths("**/*.py", 5).notice, symbols))

    workspace.refresh(look, never_cancelled)
    (each,) = notices
    assert all("is being built" in one and "partial" in one and "\n" not in one for one in each)
    assert notice(workspace) == ""


def test_while_the_index_is_rebuilt_answers_say_that_they_are_from_the_former_one(project: Project) -> None:
    workspace = project.open()
    index(workspace)
    notices: list[str] = []
    workspace.rebuild(lambda done, total, message: notices.append(notice(workspace)) if done else None, never_cancelled)
    assert notices and all("being rebuilt" in one for one in notices)


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_rebuild_does_not_hide_that_the_former_index_lacks_changes(elsewhere: bool) -> None:
    files = Coverage(477, missing=(("secrets", 1),))
    said = Standing(files, RunningJob("rebuild", 896, 1529, elsewhere=elsewhere), Staleness(288)).notice()
    assert "these results come from the previous one. 288 changed paths are not indexed yet; results may be" in said
    assert "477 of 478 files are indexed: 1 may hold secrets." in said
    built = Standing(files, RunningJob("create", 1, 2, elsewhere=elsewhere), Staleness(288)).notice()
    assert "changed path" not in built


def kept_by(apply: Callable[[Pending, IsCancelled], Pending], queue: ChangeQueue) -> ChangeApplier:
    applier = ChangeApplier("/work", queue, FakeTarget(apply), "realtime", lambda: None)
    applier.start()
    return applier


def test_what_failed_stays_pending_is_reported_with_its_reason_and_tried_again() -> None:
    broken = threading.Event()
    broken.set()
    applied: list[Pending] = []

    def apply(pending: Pending, cancelled: IsCancelled) -> Pending:
        if broken.is_set():
            raise DiskFull("No room.")
        applied.append(pending)
        return pending

    queue = ChangeQueue()
    applier = kept_by(apply, queue)
    try:
        applier.add(["a.py"])
        assert applier.flush(30) is False
        assert queue.pending().count() == 1
        line = stale_notice(Staleness(queue.pending().count(), True, applier.last_error))
        assert line.startswith("1 changed path could not be indexed (There is no space left on the disk. No room)")
        broken.clear()
        assert applier.flush(30) is True
        assert applied[-1].paths == {"a.py"}
        assert applier.last_error == ""
    finally:
        applier.stop()


def test_a_search_waits_for_its_changes_and_not_for_what_is_tidied_after_them() -> None:
    applied: list[set[str]] = []
    tidying, stopped = threading.Event(), threading.Event()

    def apply(pending: Pending, cancelled: IsCancelled) -> Pending:
        applied.append(set(pending.paths))
        return pending

    def tidy(stop: IsCancelled) -> None:
        tidying.set()
        until(stop)
        stopped.set()

    applier = ChangeApplier("/work", ChangeQueue(), FakeTarget(apply, tidied_by=tidy), "realtime", lambda: None)
    applier.start()
    try:
        for path in ("a.py", "b.py"):  # the second change ends the tidying that the first has caused
            applier.add([path])
            assert applier.flush(30) is True
            assert applied[-1] == {path}
            assert tidying.wait(PATIENCE_S)
        assert stopped.is_set()
    finally:
        applier.stop()


def test_changes_are_applied_after_tidying_has_failed() -> None:
    def fail(stop: IsCancelled) -> None:
        raise DiskFull("No room.")

    applier = ChangeApplier("/work", ChangeQueue(), FakeTarget(tidied_by=fail), "realtime", lambda: None)
    applier.start()
    try:
        for path in ("a.py", "b.py"):
            applier.add([path])
            assert applier.flush(30) is True
            assert applier.last_error == ""
    finally:
        applier.stop()


def test_what_is_noted_again_while_a_search_waits_does_not_make_its_answer_stale() -> None:
    """Has all files checked again, as when the watcher starts."""
    again, released = threading.Event(), threading.Event()

    def apply(pending: Pending, cancelled: IsCancelled) -> Pending:
        if not again.is_set():
            applier.add(rescan=[EVERYTHING])
            again.set()
        else:
            assert released.wait(PATIENCE_S)
        return pending

    queue = ChangeQueue()
    queue.note(Pending({"a.py"}, {EVERYTHING}))
    applier = kept_by(apply, queue)
    try:
        assert applier.flush(10) is True
        assert again.is_set()
        assert queue.pending() == Pending(rescan={EVERYTHING})
    finally:
        released.set()
        applier.stop()


def test_what_is_still_pending_after_the_time_that_a_search_waits_is_reported() -> None:
    go_on = threading.Event()

    def apply(pending: Pending, cancelled: IsCancelled) -> Pending:
        assert go_on.wait(PATIENCE_S)
        return pending

    queue = ChangeQueue()
    applier = kept_by(apply, queue)
    try:
        applier.add(rescan=[EVERYTHING])
        assert applier.flush(0.01) is False
        assert queue.pending() == Pending(rescan={EVERYTHING})
        assert "still being checked" in stale_notice(Staleness(queue.pending().count(), True))
        applier.add(["a.py", "b.py"])
        assert "2 changed paths are not indexed yet" in stale_notice(Staleness(queue.pending().count()))
    finally:
        go_on.set()
        applier.stop()


@pytest.mark.parametrize("names", [["a.py"], ["src/"], ["/"], ["a.py", "src/", "b/c.py"]])
def test_the_queue_on_disk_is_read_back_as_it_was_written(names: list[str]) -> None:
    assert sorted(Pending.of(names).names()) == sorted(names)


def test_a_lazy_queue_survives_a_killed_process_and_is_settled_once_it_is_applied(project: Project) -> None:
    watchers = HeldWatchers()
    lazy = replace(project, flags={"indexingStrategy": "lazy"}, opened=[], watcher=True, make_watcher=watchers.make)
    workspace = lazy.open()
    index(workspace)
    watchers.wait()
    assert notice(workspace) == ""
    assert dirty(workspace) == []
    project.write("src/engine.py", NEW)
    watchers.report(["src/engine.py"], ["docs"])
    assert sorted(dirty(workspace)) == ["docs/", "src/engine.py"]
    lazy.close()  # nothing was searched in between, as when the process is killed
    again = replace(lazy, watcher=False).open()
    assert again.status().pending_files == 2
    assert find(again, "entirely_new_engine")[0] == "src/engine.py"
    assert again.status().pending_files == 0
    assert dirty(again) == []
    lazy.close()


def test_a_process_that_may_not_write_says_that_unsaved_text_is_not_searched(project: Project) -> None:
    holder = project.open()
    index(holder)
    second = project.open()
    assert find(second, "expire cookies")[0] == "src/cookies.py"
    assert "Another process" not in notice(second)
    with pytest.raises(IndexLocked, match="Another process keeps this index up to date"):
        second.set_buffer("src/cookies.py", NEW)


def test_text_that_came_before_the_index_was_found_to_be_held_elsewhere_is_named(
    project: Project,
) -> None:
    holder = project.open()
    index(holder)
    second = project.open()
    second.set_buffer("src/cookies.py", NEW)
    assert "Another process keeps this index up to date" in notice(second)


SEARCHING = """
import os, sys
from sidecar.engine.wiring import open_workspaces
from sidecar.model.answers import Coverage, SearchRequest
from sidecar.model.terms import never_cancelled, no_progress
root, home, other_home = sys.argv[1:]

def search(home, build):
    workspaces = open_workspaces({}, {}, {"SIDECAR_HOME": home, "HOME": "/nowhere"})
    if build:
        workspaces.get(root).refresh(no_progress, never_cancelled)
    answer = workspaces.get(root).search(SearchRequest("expire cookies"), never_cancelled)
    status = workspaces.get(root).status()
    workspaces.close()
    return "|".join([answer.hits[0].path, answer.mode, answer.notice, status.status, status.warning])

search(other_home, True)  # everything is imported now, which nobody else may read where it lies
if os.getuid() == 0:
    os.setuid(65534)
print(search(home, False))
"""


def test_a_home_that_cannot_be_written_is_searched_as_it_is(project: Project, tmp_path: Path) -> None:
    workspace = project.open()
    index(workspace)
    project.close()
    others = tmp_path / "others"
    others.mkdir()
    with shut(project.home):
        done = subprocess.run(
            [sys.executable, "-c", SEARCHING, str(project.root), str(project.home), str(others)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    path, mode, message, status, warning = done.stdout.strip().split("|")
    assert (path, mode, status) == ("src/cookies.py", "hybrid", "ready")
    assert "cannot be written" in message
    assert "cannot be written" in warning


@contextmanager
def shut(folder: Path) -> Iterator[None]:
    """Within the block, everybody may read the folder and nobody may write below it."""
    inside = [folder, *folder.rglob("*")]
    before = {path: path.stat().st_mode for path in (*inside, *folder.parents)}
    for path in inside:
        path.chmod(0o555 if path.is_dir() else 0o444)
    for parent in folder.parents:
        if os.getuid() == 0 and parent.is_relative_to(tempfile.gettempdir()):
            parent.chmod(before[parent] | 0o055)
    try:
        yield
    finally:
        for path in reversed(inside):
            path.chmod(before[path])
