"""Live update: strategies, unsaved text, searches that are never silently stale."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from sidecar.engine.workspace import IndexedWorkspace
from sidecar.model.answers import SearchRequest, StatusAnswer
from sidecar.model.terms import never_cancelled
from tests.engine.projects import FILES, Project, find, index
from tests.patience import PATIENCE_S, first_that, until

pytestmark = pytest.mark.process

NEW = "def tune_carburettor(engine):\n    return engine.mixture\n"


def watched(project: Project) -> tuple[IndexedWorkspace, queue.Queue[StatusAnswer]]:
    """Returns an indexed and searched workspace whose watcher runs, with the states that it announces."""
    project.watcher = True
    workspace = project.open()
    seen: queue.Queue[StatusAnswer] = queue.Queue()
    workspace.on_change(seen.put)
    index(workspace)
    first_that(lambda status: status.watcher_active, seen)
    find(workspace, "anything")
    return workspace, seen


@pytest.mark.parametrize("strategy", ["realtime", "lazy"])
def test_a_process_that_ends_after_the_status_looks_for_changes_first(project: Project, strategy: str) -> None:
    project.flags["indexingStrategy"], project.prepares_here = strategy, True
    index(project.open())
    project.close()
    assert project.open().status(up_to_date=True).notice == ""
    project.close()
    project.write("src/engine.py", NEW)
    status = project.open().status(up_to_date=True)
    assert (status.notice, status.files) == ("", len(FILES) + 1)


@pytest.mark.parametrize("strategy", ["realtime", "lazy"])
def test_a_saved_file_is_found_by_the_next_search(project: Project, strategy: str) -> None:
    project.flags["indexingStrategy"] = strategy
    workspace, seen = watched(project)
    project.write("src/engine.py", NEW)
    until(lambda: "src/engine.py" in find(workspace, "tune carburettor"), lambda: seen.get(timeout=PATIENCE_S))


def test_the_git_strategy_waits_for_a_commit(project: Project) -> None:
    project.flags["indexingStrategy"] = "git"
    project.git("init", "-b", "main")
    project.git("add", ".")
    project.git("commit", "-m", "one")
    workspace, seen = watched(project)
    project.write("src/engine.py", NEW)
    assert "src/engine.py" not in find(workspace, "tune carburettor")
    project.git("add", ".")
    project.git("commit", "-m", "two")
    until(lambda: "src/engine.py" in find(workspace, "tune carburettor"), lambda: seen.get(timeout=PATIENCE_S))


@pytest.mark.parametrize(
    "deed",
    [("add", "."), ("commit", "--allow-empty", "-m", "three"), ("switch", "-c", "b"), ("switch", "--detach", "HEAD~1")],
    ids=["stage", "commit", "new branch", "older commit"],
)
def test_after_git_has_done_something_the_state_is_up_to_date_again_without_a_search(
    project: Project, deed: tuple[str, ...]
) -> None:
    project.git("init", "-b", "main")
    for name in ("one", "two"):
        project.write(f"src/{name}.py", f"def count_{name}():\n    return 3\n")
        project.git("add", ".")
        project.git("commit", "-m", name)
    workspace, seen = watched(project)
    until(lambda: not workspace.status().behind, lambda: seen.get(timeout=PATIENCE_S))
    project.write("src/unstaged.py", NEW)
    project.git(*deed)
    first_that(lambda status: status.behind, seen)
    first_that(lambda status: not status.behind, seen)


class Kept:
    """A workspace in a long-lived process, whose config.json names the strategy. `until` waits for a state that it
    announces."""

    def __init__(self, project: Project, strategy: str) -> None:
        project.watcher = True
        self.workspace = project.open()
        self._seen: queue.Queue[StatusAnswer] = queue.Queue()
        self.workspace.on_change(self._seen.put)
        index(self.workspace)
        self.turn_to(strategy)
        self.until(lambda status: status.watcher_active)

    def turn_to(self, strategy: str) -> None:
        config = Path(self.workspace.config().config_path)
        config.write_text(json.dumps({"indexingStrategy": strategy}))

    def until(self, true_of: Callable[[StatusAnswer], bool]) -> None:
        first_that(true_of, self._seen)

    def paths(self) -> tuple[str, ...]:
        """Returns the files in the index, without bringing it up to date."""
        with self.workspace.index.readable().snapshots.open() as snapshot:
            return tuple(snapshot.paths)


def test_an_open_index_turns_to_realtime_when_its_settings_do(project: Project) -> None:
    kept = Kept(project, "lazy")
    find(kept.workspace, "anything")
    project.write("src/engine.py", NEW)
    kept.until(lambda status: status.pending_files == 1 and status.strategy == "lazy")
    assert "src/engine.py" not in kept.paths()
    kept.turn_to("realtime")
    kept.workspace.reload_settings()
    kept.until(lambda status: not status.pending_files and "src/engine.py" in kept.paths())
    project.write("src/late.py", NEW)
    kept.until(lambda status: "src/late.py" in kept.paths())


def test_an_open_index_turns_to_lazy_when_its_settings_do(project: Project) -> None:
    kept = Kept(project, "realtime")
    kept.turn_to("lazy")
    assert kept.workspace.status().strategy == "lazy"
    find(kept.workspace, "anything")
    project.write("src/engine.py", NEW)
    kept.until(lambda status: status.pending_files == 1)
    assert "src/engine.py" not in kept.paths()
    assert "src/engine.py" in find(kept.workspace, "tune carburettor")


def test_an_open_index_turns_to_git_and_back_when_its_settings_do(project: Project) -> None:
    project.git("init", "-b", "main")
    kept = Kept(project, "realtime")
    kept.turn_to("git")
    find(kept.workspace, "anything")
    project.write("src/engine.py", NEW)
    assert "src/engine.py" not in find(kept.workspace, "tune carburettor")
    kept.turn_to("realtime")
    assert "src/engine.py" in find(kept.workspace, "tune carburettor")
    project.write("src/late.py", NEW)
    kept.until(lambda status: "src/late.py" in kept.paths())


def test_what_changed_while_nobody_looked_is_found_by_the_first_search(project: Project) -> None:
    index(project.open())
    project.close()
    project.write("src/engine.py", NEW)
    (project.root / "src/retry.py").unlink()
    workspace = project.open()
    assert find(workspace, "tune carburettor")[0] == "src/engine.py"
    assert workspace.find_paths("src/*.py", 10).paths == ("src/cookies.py", "src/engine.py")


def test_in_lazy_mode_too_it_is_found_by_the_first_search_or_said_to_be_missing(project: Project) -> None:
    project.flags["indexingStrategy"] = "lazy"
    index(project.open())
    project.close()
    project.write("src/engine.py", NEW)
    hurried = project.open(freshness=0.0)
    assert "may be stale" in hurried.search(SearchRequest("tune carburettor"), never_cancelled).notice
    project.close()
    assert find(project.open(), "tune carburettor")[0] == "src/engine.py"


@pytest.mark.parametrize("strategy", ["realtime", "lazy", "git"])
def test_what_changed_while_it_was_indexed_is_found_before_watching_begins(project: Project, strategy: str) -> None:
    project.flags["indexingStrategy"] = strategy
    workspace = project.open()

    def save_at_the_end(done: int, total: int, message: str) -> None:
        if done == total:
            project.write("src/engine.py", NEW)

    workspace.create(save_at_the_end, never_cancelled)
    assert find(workspace, "tune carburettor")[0] == "src/engine.py"


def test_unsaved_text_is_what_a_search_sees_until_the_buffer_closes(project: Project) -> None:
    workspace = project.open()
    index(workspace)
    workspace.set_buffer("src/retry.py", NEW)
    assert find(workspace, "tune carburettor", mode="fts")[0] == "src/retry.py"
    assert workspace.explain("src/retry.py").stale is False
    workspace.drop_buffer("src/retry.py")
    assert find(workspace, "carburettor", mode="fts") == []
    assert find(workspace, "backoff", mode="fts")[0] == "src/retry.py"


def test_a_buffer_of_a_file_that_does_not_exist_yet_is_searched_too(project: Project) -> None:
    workspace = project.open()
    index(workspace)
    workspace.set_buffer("src/unsaved.py", NEW)
    assert find(workspace, "tune carburettor")[0] == "src/unsaved.py"
    workspace.drop_buffer("src/unsaved.py")
    assert find(workspace, "carburettor", mode="fts") == []


def test_unsaved_text_does_not_survive_the_process(project: Project) -> None:
    workspace = project.open()
    index(workspace)
    workspace.set_buffer("src/retry.py", NEW)
    assert find(workspace, "carburettor", mode="fts")
    project.close()
    assert find(project.open(), "carburettor", mode="fts") == []


def test_an_answer_that_may_be_stale_says_so(project: Project) -> None:
    index(project.open())
    project.close()
    project.write("src/engine.py", NEW)
    answered = threading.Event()
    project.before_reading = lambda path: path == "src/engine.py" and answered.wait(PATIENCE_S)
    workspace = project.open(freshness=0.0)
    answer = workspace.search(SearchRequest("expire cookies"), never_cancelled)
    answered.set()
    assert "may be stale" in answer.notice


def test_an_ignored_buffer_is_not_indexed(project: Project) -> None:
    project.write(".gitignore", "private/\n")
    workspace = project.open()
    index(workspace)
    workspace.set_buffer("private/notes.py", NEW)
    assert find(workspace, "carburettor", mode="fts") == []


def test_a_watcher_that_sees_nothing_says_why_in_the_status(project: Project) -> None:
    project.flags["indexingStrategy"] = "git"
    project.watcher = True
    workspace = project.open()
    seen: queue.Queue[StatusAnswer] = queue.Queue()
    workspace.on_change(seen.put)
    index(workspace)
    assert "git" in first_that(lambda status: status.warning, seen).warning


def test_looking_at_everything_again_is_no_pending_file(project: Project) -> None:
    project.flags["indexingStrategy"] = "lazy"
    index(project.open())
    project.close()
    workspace = project.open(freshness=0.0)
    find(workspace, "expire cookies")
    assert workspace.status().pending_files == 0


@pytest.mark.parametrize("path", ["src/late.py", "src/retry.py"])
def test_a_file_that_is_written_while_a_run_walks_past_it_is_not_forgotten(project: Project, path: str) -> None:
    """Tests a new file, and one that was gone for a moment."""
    armed = threading.Event()

    def write() -> None:
        if armed.is_set():
            armed.clear()
            project.write(path, NEW)
            workspace.reindex_file(path)

    project.after_walking = write
    workspace = project.open()
    index(workspace)
    (project.root / path).unlink(missing_ok=True)
    armed.set()
    report = index(workspace)
    assert not armed.is_set()
    assert (report.removed, workspace.status().files) == (0, len({*FILES, path}))
    assert find(workspace, "carburettor mixture", mode="fts")[0] == path


def test_a_save_that_another_run_reads_past_is_not_lost(project: Project) -> None:
    """One run looks the file up; another reads it and writes it into the index; the file is saved; only then does the
    first run read it."""
    others: list[threading.Thread] = []
    armed = threading.Event()

    def interrupt(path: str) -> None:
        if armed.is_set() and not others:
            others.append(threading.Thread(target=workspace.reindex_file, args=(path,)))
            others[0].start()
            others[0].join(PATIENCE_S)
            project.write(path, NEW)

    project.before_reading = interrupt
    workspace = project.open()
    index(workspace)
    project.write("src/engine.py", "def tune_old_engine():\n    return 1\n")
    armed.set()
    workspace.reindex_file("src/engine.py")
    assert not others[0].is_alive()
    assert "src/engine.py" in find(workspace, "carburettor mixture", mode="fts")
