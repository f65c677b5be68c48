"""Whatever happens in whatever order, an index is brought up to date with the files, or says that it is not."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from sidecar.engine.models.loader import Models
from sidecar.engine.update.applier import APPLIER_THREAD, ChangeApplier
from sidecar.engine.update.change_queue import EVERYTHING, ChangeQueue, Pending
from sidecar.engine.workspace import IndexedWorkspace
from sidecar.errors import Cancelled, FileNotFound
from sidecar.model.answers import SearchRequest
from sidecar.model.terms import IsCancelled, never_cancelled, no_progress
from sidecar.parts.watch import Notifier, WatchedChanges, Watcher, WatchTimes
from sidecar.settings.load import Settings
from tests.engine.checkouts import Switcher
from tests.engine.projects import FILES, Project, find, index
from tests.engine.stale import Life, Moment, Repository
from tests.engine.targets import FakeTarget
from tests.examples import examples
from tests.judged_folders import IGNORES_NOTHING
from tests.patience import PATIENCE_S

NEW = "def tune_carburettor(engine):\n    return engine.mixture\n"

SOME_LIVES = settings(
    max_examples=examples(25),
    stateful_step_count=8,
    deadline=None,
    derandomize=True,
    database=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)


# ---------------------------------------------------------------- a model of everything


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    return Repository.make(tmp_path_factory.mktemp("repository") / "work")


@pytest.mark.process
@pytest.mark.slow
def test_every_life_of_a_workspace_ends_with_the_index_that_is_made_from_nothing(
    repository: Repository, models: Models
) -> None:
    make = partial(Life, repository, models)
    run_state_machine_as_test(make, settings=SOME_LIVES)  # type: ignore[arg-type]  # any callable will do


@pytest.mark.process
@pytest.mark.parametrize("cancelled_after", [None, 0], ids=["finished", "cancelled"])
@pytest.mark.parametrize("job", ["refresh", "rebuild"])
def test_a_switch_amid_a_job_is_in_the_index_afterwards(
    repository: Repository, models: Models, job: str, cancelled_after: int | None
) -> None:
    life = Life(repository, models)
    life.first()
    life.search()
    life.work(job, "switch", number=0, at=4, cancelled_after=cancelled_after, look=True)
    life.teardown()  # this compares all files


@pytest.mark.process
def test_what_is_saved_or_typed_amid_a_rebuild_after_a_checkout_is_found_before_it_ends(
    repository: Repository, models: Models
) -> None:
    """Only the check of all files, which the checkout requires, has to wait, and the answer says so."""
    life = Life(repository, models)
    life.first()
    life.search()
    found: list[tuple[str, ...]] = []

    def look() -> None:
        life.switch()
        life.workspace.find_paths("**/*", 1)
        life.project.write("pkg0/saved.py", NEW)
        life.buffer(0, 100)
        life.report(["pkg0/saved.py"])
        answer = life.workspace.search(SearchRequest("carburettor", mode="fts"), never_cancelled)
        assert "being rebuilt" in answer.notice
        assert "still being checked for changes; results may be stale" in answer.notice
        found.append(tuple(hit.path for hit in answer.hits))

    life.workspace.rebuild(no_progress, Moment(4, look, None))
    assert found == [("pkg0/saved.py",)]
    life.teardown()


@pytest.mark.process
@pytest.mark.slow
def test_checkouts_amid_jobs_that_end_are_cancelled_or_die_leave_no_index_stale(tmp_path: Path, models: Models) -> None:
    outcome = Switcher(tmp_path, seed=3, models=models).run(range(12))
    assert outcome.stale == []
    assert {kind.split()[1] for kind in outcome.by_kind} == {"finish", "cancel", "kill"}


@pytest.mark.process
def test_lives_differ_where_a_change_is_never_reported(repository: Repository, models: Models) -> None:
    """The comparison itself can fail."""
    life = Life(repository, models)
    life.first()
    life.search()
    life.project.write("pkg0/unseen.py", NEW)
    with pytest.raises(AssertionError, match="unseen"):
        life.teardown()


# ---------------------------------------------------------------- the queue


def test_nothing_leaves_the_queue_but_what_was_not_noted_again_since_it_was_looked_at() -> None:
    queue = ChangeQueue()
    queue.note(Pending({"a.py", "b.py"}, {"src", EVERYTHING}))
    batch = queue.look()
    queue.note(Pending({"b.py", "c.py"}, {EVERYTHING}))
    assert queue.settle(batch.pending, batch.moment) == Pending({"a.py"}, {"src"})
    assert queue.pending() == Pending({"b.py", "c.py"}, {EVERYTHING})
    assert queue.settle(batch.pending, batch.moment) == Pending()


@contextlib.contextmanager
def applying(
    queue: ChangeQueue, apply: Callable[[Pending, IsCancelled], Pending], on_change: Callable[[], None] = lambda: None
) -> Iterator[ChangeApplier]:
    applier = ChangeApplier("/work", queue, FakeTarget(apply), "realtime", on_change)
    applier.start()
    try:
        yield applier
    finally:
        applier.stop()


def test_a_batch_that_the_end_of_the_thread_interrupts_still_waits() -> None:
    queue = ChangeQueue()
    began = threading.Event()

    def apply(pending: Pending, cancelled: IsCancelled) -> Pending:
        began.set()
        while not cancelled():
            pass
        raise Cancelled

    with applying(queue, apply) as applier:
        applier.add(["a.py"])
        assert began.wait(PATIENCE_S)
    assert queue.pending() == Pending({"a.py"})


def test_what_cannot_be_applied_now_is_applied_when_it_can_be_though_nobody_searches() -> None:
    queue, busy, applied = ChangeQueue(), threading.Event(), threading.Event()
    busy.set()

    def apply(pending: Pending, cancelled: IsCancelled) -> Pending:
        if busy.is_set():
            return Pending(pending.paths)
        applied.set()
        return pending

    with applying(queue, apply) as applier:
        applier.add(["a.py"], [EVERYTHING])
        assert applier.flush(30) is False
        assert queue.pending() == Pending(rescan={EVERYTHING})
        busy.clear()
        applier.go_on()
        assert applied.wait(PATIENCE_S)
        assert applier.flush(30) is True


def test_one_path_that_cannot_be_dealt_with_does_not_hold_up_the_others() -> None:
    """A check of all files does not depend on the noted paths."""
    queue = ChangeQueue()

    def apply(pending: Pending, cancelled: IsCancelled) -> Pending:
        if EVERYTHING not in pending.rescan:
            raise ValueError("a path that no database takes")
        return pending

    with applying(queue, apply) as applier:
        applier.add(["bad\udcff.py", "good.py"])
        applier.flush(30)
        assert applier.flush(30) is True
        assert not queue


def test_a_listener_that_fails_ends_no_keeping_up() -> None:
    queue = ChangeQueue()
    calls: list[int] = []

    def fail() -> None:
        calls.append(1)
        if threading.current_thread().name == APPLIER_THREAD:
            raise BrokenPipeError("the editor went away")

    with applying(queue, lambda pending, _: pending, fail) as applier:
        for path in ("a.py", "b.py"):
            applier.add([path])
            assert applier.flush(30) is True
    assert len(calls) == 4


class Reports:
    """A watcher with so many changes to report, which is stopped after the last."""

    active, note = True, ""

    def __init__(self, *paths: str) -> None:
        self._paths = list(paths)

    def start(self) -> None:
        pass

    def stop(self) -> None:
        self._paths.clear()

    def next(self) -> WatchedChanges | None:
        return WatchedChanges(frozenset({self._paths.pop(0)})) if self._paths else None

    def mark(self) -> None:
        return None

    def look(self, mark: int | None = None) -> WatchedChanges:
        return WatchedChanges()


def test_a_listener_that_fails_does_not_end_the_watching() -> None:
    queue = ChangeQueue()

    def fail() -> None:
        raise BrokenPipeError("the editor went away")

    applier = ChangeApplier("/work", queue, FakeTarget(), "lazy", fail)
    applier.follow(Reports("a.py", "b.py"), lambda _: None)
    applier.stop()
    assert queue.pending() == Pending({"a.py", "b.py"})


def test_a_listener_may_stop_what_reports_to_it() -> None:
    queue, stopped = ChangeQueue(), threading.Event()
    watcher = Reports("a.py", "b.py")

    def stop() -> None:
        watcher.stop()
        applier.stop()
        stopped.set()

    applier = ChangeApplier("/work", queue, FakeTarget(), "lazy", stop)
    applier.follow(watcher, lambda _: None)
    assert stopped.wait(PATIENCE_S)
    applier.stop()
    assert queue.pending() == Pending({"a.py"})


# ---------------------------------------------------------------- what nobody reports


def paths(workspace: IndexedWorkspace) -> tuple[str, ...]:
    """Returns the files in the index, without bringing it up to date."""
    with workspace.index.readable().snapshots.open() as snapshot:
        return tuple(snapshot.paths)


@pytest.mark.process
@pytest.mark.parametrize("strategy", ["realtime", "lazy", "git"])
def test_before_anything_watches_every_search_looks_for_itself(project: Project, strategy: str) -> None:
    project.flags["indexingStrategy"] = strategy
    workspace = project.open()
    index(workspace)
    assert find(workspace, "expire cookies")
    project.write("src/engine.py", NEW)
    assert find(workspace, "tune carburettor")[0] == "src/engine.py"


def polled(project: Project) -> IndexedWorkspace:
    """A workspace that the system refuses to watch, and whose files are not checked for an hour."""

    def refuse(folders: Sequence[str], with_all_below: bool) -> Notifier:
        raise OSError("OS file watch limit reached")

    def make(root: str, settings: Settings) -> Watcher:
        strategy: Literal["files", "git"] = "git" if settings.indexing_strategy == "git" else "files"
        return Watcher(
            root, IGNORES_NOTHING, f"{root}-mark", strategy, WatchTimes(poll_seconds=3600.0), make_notifier=refuse
        )

    project.watcher, project.make_watcher = True, make
    workspace = project.open()
    watched = threading.Event()
    workspace.on_change(lambda status: watched.set() if status.watcher_active else None)
    index(workspace)
    assert watched.wait(PATIENCE_S)
    assert find(workspace, "expire cookies")
    return workspace


@pytest.mark.process
@pytest.mark.parametrize("strategy", ["realtime", "lazy"])
def test_where_files_are_polled_a_search_looks_for_itself(project: Project, strategy: str) -> None:
    project.flags["indexingStrategy"] = strategy
    workspace = polled(project)
    assert "file watch limit" in workspace.status().warning
    project.write("src/engine.py", NEW)
    answer = workspace.search(SearchRequest("tune carburettor"), never_cancelled)
    assert (answer.hits[0].path, answer.notice) == ("src/engine.py", "")


@pytest.mark.process
def test_where_head_is_polled_a_search_looks_where_it_is_and_says_that_it_knows_no_more(project: Project) -> None:
    project.flags["indexingStrategy"] = "git"
    project.git("init", "-b", "main")
    workspace = polled(project)
    project.write("src/engine.py", NEW)
    answer = workspace.search(SearchRequest("tune carburettor"), never_cancelled)
    assert "src/engine.py" not in [hit.path for hit in answer.hits]
    assert "The latest changes may not be indexed yet" in answer.notice
    project.git("add", ".")
    project.git("commit", "-m", "one")
    assert find(workspace, "tune carburettor")[0] == "src/engine.py"


# ---------------------------------------------------------------- overlapping runs


@pytest.mark.parametrize("count", [2, 8], ids=["inline", "in stages"])
def test_a_new_file_that_goes_after_a_run_has_read_it_is_not_indexed(project: Project, count: int) -> None:
    """Its deletion leaves no row by which that run could notice it."""
    names = [f"late/n{number}.py" for number in range(count)]

    def go(path: str) -> None:
        first = project.root / names[0]
        if path == names[1] and first.exists():
            first.unlink()
            with contextlib.suppress(FileNotFound):  # it was never indexed
                workspace.reindex_file(names[0])

    project.before_reading = go
    workspace = project.open()
    index(workspace)
    for name in names:
        project.write(name, NEW)
    index(workspace)
    assert not (project.root / names[0]).exists()
    assert set(paths(workspace)) == {*FILES, *names[1:]}
