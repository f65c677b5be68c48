"""What a person has cancelled stays cancelled until somebody asks for the index: no search and no watcher continues
it."""

from __future__ import annotations

import queue
import threading
from dataclasses import replace

import pytest

from sidecar.engine.index.handle import IndexHandle
from sidecar.engine.update.jobs import Jobs
from sidecar.engine.update.live import LiveUpdate
from sidecar.engine.workspace import IndexedWorkspace
from sidecar.errors import Cancelled
from sidecar.model.answers import BuildReport, Coverage, SearchRequest, StatusAnswer
from sidecar.model.terms import never_cancelled, no_progress
from sidecar.tools.status_result import index_status
from tests.engine.projects import FILES, Project, find
from tests.patience import PATIENCE_S, first_that

MANY = 600
"""More files than are in the pipeline when the first batch is written."""
SAID = "Indexing was cancelled; `create_index` continues it."


@pytest.fixture
def large(project: Project) -> Project:
    project.prepares_here = True
    for number in range(MANY - len(FILES)):
        project.write(f"zmore/module_{number:03}.py", f"def function_{number}():\n    return {number}\n")
    return project


def cancel_a_creation(workspace: IndexedWorkspace) -> int:
    """Cancels the build after its first batch. Returns how many files are indexed then."""
    stop = threading.Event()
    with pytest.raises(Cancelled):
        workspace.create(lambda done, total, message: stop.set() if done else None, stop.is_set)
    workspace.stay_cancelled()
    return workspace.status().files


def said_by_search(workspace: IndexedWorkspace) -> str:
    return workspace.search(SearchRequest("expire cookies"), never_cancelled).notice


@pytest.mark.parametrize("strategy", ["realtime", "lazy", "git"])
def test_a_search_does_not_go_on_with_what_was_cancelled_and_says_what_does(large: Project, strategy: str) -> None:
    large.flags["indexingStrategy"] = strategy
    workspace = large.open()
    done = cancel_a_creation(workspace)
    assert 0 < done < MANY
    said = f"{done} of {MANY} files are indexed: {MANY - done} are not read yet. {SAID}"
    assert said_by_search(workspace).startswith(said)
    status = workspace.status()
    assert (status.status, status.files, status.notice, status.behind) == ("incomplete", done, said, False)


def test_the_watcher_of_a_process_that_stays_does_not_go_on_with_it(large: Project) -> None:
    large.watcher = True
    workspace = large.open()
    done = cancel_a_creation(workspace)
    announced: queue.Queue[StatusAnswer] = queue.Queue()
    workspace.on_change(announced.put)
    said_by_search(workspace)
    first_that(lambda status: status.watcher_active, announced)
    large.write("src/heron.py", "def count_the_herons():\n    return 3\n")
    first_that(lambda status: status.files != done, announced)
    assert workspace.status().files == done + 1
    # By word, because a new file counts as indexed a moment before it has its vectors.
    assert find(workspace, "count the herons", mode="fts")[0] == "src/heron.py"
    assert SAID in said_by_search(workspace)


def test_a_later_process_does_not_go_on_with_it(large: Project) -> None:
    done = cancel_a_creation(large.open())
    large.close()
    later = large.open()
    assert SAID in said_by_search(later)
    assert later.status().files == done


def test_text_that_is_not_saved_is_found_all_the_same(large: Project) -> None:
    workspace = large.open()
    cancel_a_creation(workspace)
    workspace.set_buffer("src/heron.py", "def count_the_herons():\n    return 3\n")
    assert find(workspace, "count the herons")[0] == "src/heron.py"


def test_whoever_asks_for_an_index_gets_the_whole_one(large: Project) -> None:
    workspace = large.open()
    cancel_a_creation(workspace)
    workspace.create(no_progress, never_cancelled)
    assert workspace.status().status == "ready"
    assert said_by_search(workspace) == ""
    large.write("src/heron.py", "def count_the_herons():\n    return 3\n")
    assert find(workspace, "count the herons")[0] == "src/heron.py"


def test_what_was_cancelled_twice_stays_cancelled(large: Project) -> None:
    workspace = large.open()
    cancel_a_creation(workspace)
    with pytest.raises(Cancelled):
        workspace.create(no_progress, lambda: True)
    workspace.stay_cancelled()
    assert SAID in said_by_search(workspace)


def test_a_whole_index_is_brought_up_to_date_although_a_pass_over_it_was_cancelled(large: Project) -> None:
    workspace = large.open()
    workspace.create(no_progress, never_cancelled)
    with pytest.raises(Cancelled):
        workspace.refresh(no_progress, lambda: True)
    workspace.stay_cancelled()
    large.write("src/heron.py", "def count_the_herons():\n    return 3\n")
    assert find(workspace, "count the herons")[0] == "src/heron.py"
    assert said_by_search(workspace) == ""


def test_only_an_index_that_was_never_complete_is_unfinished(large: Project) -> None:
    workspace = large.open()
    cancel_a_creation(workspace)
    assert index_status(workspace.status()).unfinished
    workspace.create(no_progress, never_cancelled)
    assert index_status(workspace.status()).unfinished is None
    waits = Coverage(MANY, (("not-read-yet", 1),), complete=True)
    waiting = replace(workspace.status(), status="incomplete", holds=waits)
    assert index_status(waiting).unfinished is None


def left_half_made(project: Project) -> IndexedWorkspace:
    """Returns a workspace whose first build ended after its first batch, because the client that asked for it left."""
    workspace = project.open()
    stop = threading.Event()
    with pytest.raises(Cancelled):
        workspace.create(lambda done, total, message: stop.set() if done else None, stop.is_set)
    assert workspace.status().status == "incomplete"
    return workspace


def held_while_reading(project: Project) -> tuple[threading.Event, threading.Event]:
    """Returns an event that says that the build which follows reads its later files, and one for which it then
    waits."""
    reading, go_on = threading.Event(), threading.Event()

    def hold(path: str) -> None:
        if path.startswith("zmore/"):
            reading.set()
            assert go_on.wait(PATIENCE_S)

    project.before_reading = hold
    return reading, go_on


def goes_on_when_cancelled(monkeypatch: pytest.MonkeyPatch, go_on: threading.Event) -> list[bool]:
    """Sets the event once a person has cancelled the build. When the build has ended, and before that is noted, tries
    to begin another one in the background; adds to the returned list whether it began."""
    cancel, end, ended, began = Jobs.cancel, Jobs.end, threading.Event(), list[bool]()

    def end_and_say_so(jobs: Jobs) -> None:
        end(jobs)
        ended.set()

    def cancel_and_go_on(jobs: Jobs, by: str) -> bool:
        cancelled = cancel(jobs, by)
        go_on.set()
        assert ended.wait(PATIENCE_S)
        with jobs.in_background(never_cancelled) as stop:
            began.append(stop is not None)
        return cancelled

    monkeypatch.setattr(Jobs, "end", end_and_say_so)
    monkeypatch.setattr(Jobs, "cancel", cancel_and_go_on)
    return began


@pytest.mark.parametrize("strategy", ["realtime", "lazy", "git"])
def test_a_build_that_ended_with_its_client_goes_on_when_somebody_is_shown_the_index(
    large: Project, strategy: str
) -> None:
    large.flags["indexingStrategy"] = strategy
    workspace = left_half_made(large)
    announced: queue.Queue[StatusAnswer] = queue.Queue()
    workspace.on_change(announced.put)
    assert first_that(lambda status: status.status == "ready", announced).files == MANY


def test_it_goes_on_in_a_large_workspace_as_soon_as_that_is_watched(large: Project) -> None:
    large.flags["indexingStrategy"] = "lazy"
    large.watcher = True
    left_half_made(large)
    large.close()
    announced: queue.Queue[StatusAnswer] = queue.Queue()
    large.open(in_time=1, stay=0.5).on_change(announced.put)
    assert first_that(lambda status: status.status == "ready", announced).files == MANY


def test_it_goes_on_in_a_later_process_too(large: Project) -> None:
    left_half_made(large)
    large.close()
    announced: queue.Queue[StatusAnswer] = queue.Queue()
    large.open().on_change(announced.put)
    assert first_that(lambda status: status.status == "ready", announced).files == MANY


def test_what_a_person_has_cancelled_does_not_go_on_when_somebody_is_shown_the_index(large: Project) -> None:
    workspace = large.open()
    done = cancel_a_creation(workspace)
    announced: queue.Queue[StatusAnswer] = queue.Queue()
    workspace.on_change(announced.put)
    large.write("src/heron.py", "def count_the_herons():\n    return 3\n")
    workspace.reindex_file("src/heron.py")
    assert (workspace.status().status, workspace.status().files) == ("incomplete", done + 1)


def test_a_person_at_another_client_cancels_a_build_and_whoever_asked_for_it_is_told_who(large: Project) -> None:
    workspace, reached, ended = large.open(), threading.Event(), threading.Event()
    said: list[str] = []

    def build() -> None:
        with pytest.raises(Cancelled) as caught:
            workspace.create(lambda done, total, message: reached.set() if done else None, never_cancelled)
        said.append(caught.value.message)
        ended.set()

    threading.Thread(target=build).start()
    assert reached.wait(PATIENCE_S)
    assert workspace.cancel("Second window")
    assert ended.wait(PATIENCE_S)
    assert 'A person cancelled it in "Second window".' in said[0]
    assert SAID in said_by_search(workspace)
    assert not workspace.cancel("Second window")
    workspace.create(no_progress, never_cancelled)
    assert workspace.status().status == "ready"


def test_a_build_that_nobody_asks_for_is_cancelled_too(large: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = left_half_made(large)
    done = workspace.status().files
    large.close()
    reading, go_on = held_while_reading(large)
    later = large.open()
    later.on_change(lambda status: None)
    assert reading.wait(PATIENCE_S)
    began = goes_on_when_cancelled(monkeypatch, go_on)
    assert later.cancel("Window")
    assert began == [False]
    assert SAID in said_by_search(later)
    assert done <= later.status().files < MANY


def test_a_pass_over_a_complete_index_is_not_cancelled(large: Project) -> None:
    workspace = large.open()
    workspace.create(no_progress, never_cancelled)
    assert not workspace.cancel("Window")


def test_a_deletion_is_not_cancelled(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.prepares_here = True
    workspace = project.open()
    workspace.create(no_progress, never_cancelled)
    said: queue.Queue[bool] = queue.Queue()
    take_lease = IndexHandle.take_lease

    def cancelled_meanwhile(index: IndexHandle) -> None:
        threading.Thread(target=lambda: said.put(workspace.cancel("Window")), daemon=True).start()
        assert not said.get(timeout=PATIENCE_S)
        take_lease(index)

    monkeypatch.setattr(IndexHandle, "take_lease", cancelled_meanwhile)
    workspace.delete()
    assert workspace.status().status == "not_found"


def test_whoever_waits_for_a_build_that_a_person_cancels_is_cancelled_too(
    large: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    left_half_made(large)
    large.close()
    reading, go_on = held_while_reading(large)
    workspace = large.open()
    workspace.on_change(lambda status: None)
    assert reading.wait(PATIENCE_S)
    waits = threading.Event()
    ended: queue.Queue[BuildReport | Cancelled] = queue.Queue()
    end_live_update = LiveUpdate.end

    def note_that_it_waits(live_update: LiveUpdate, *, for_good: bool = False) -> None:
        waits.set()
        end_live_update(live_update, for_good=for_good)

    def build() -> None:
        try:
            ended.put(workspace.create(no_progress, never_cancelled))
        except Cancelled as error:
            ended.put(error)

    monkeypatch.setattr(LiveUpdate, "end", note_that_it_waits)
    threading.Thread(target=build, daemon=True).start()
    assert waits.wait(PATIENCE_S)
    goes_on_when_cancelled(monkeypatch, go_on)
    assert workspace.cancel("Window")
    assert isinstance(ended.get(timeout=PATIENCE_S), Cancelled)
    assert SAID in said_by_search(workspace)
