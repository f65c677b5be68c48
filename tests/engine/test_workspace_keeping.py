"""Keeping up: strategies, unsaved text, searches that are never silently stale."""

from __future__ import annotations

import json
import queue
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from sidecar.model import SearchRequest, StatusAnswer, never_cancelled
from tests.engine.rooms import FILES, Room, find, index

pytestmark = pytest.mark.process

NEW = "def tune_carburettor(engine):\n    return engine.mixture\n"


@pytest.mark.parametrize("strategy", ["realtime", "lazy"])
def test_a_saved_file_is_found_by_the_next_search(room: Room, strategy: str) -> None:
    room.flags["indexingStrategy"] = strategy
    room.watcher = True
    workspace = room.open()
    seen: queue.Queue[StatusAnswer] = queue.Queue()
    workspace.on_change(seen.put)
    index(workspace)
    while not seen.get(timeout=30).watcher_active:
        pass
    find(workspace, "anything")
    room.write("src/engine.py", NEW)
    while "src/engine.py" not in find(workspace, "tune carburettor"):
        seen.get(timeout=30)


def test_the_git_strategy_waits_for_a_commit(room: Room) -> None:
    room.flags["indexingStrategy"] = "git"
    room.git("init", "-b", "main")
    room.git("add", ".")
    room.git("commit", "-m", "one")
    room.watcher = True
    workspace = room.open()
    seen: queue.Queue[StatusAnswer] = queue.Queue()
    workspace.on_change(seen.put)
    index(workspace)
    while not seen.get(timeout=30).watcher_active:
        pass
    find(workspace, "anything")
    room.write("src/engine.py", NEW)
    assert "src/engine.py" not in find(workspace, "tune carburettor")
    room.git("add", ".")
    room.git("commit", "-m", "two")
    while "src/engine.py" not in find(workspace, "tune carburettor"):
        seen.get(timeout=30)


class Kept:
    """A workspace in a process that stays, whose config.json names the strategy; `until` waits for what it tells."""

    def __init__(self, room: Room, strategy: str) -> None:
        room.watcher = True
        self.workspace = room.open()
        self._seen: queue.Queue[StatusAnswer] = queue.Queue()
        self.workspace.on_change(self._seen.put)
        index(self.workspace)
        self.turn_to(strategy)
        self.until(lambda status: status.watcher_active)

    def turn_to(self, strategy: str) -> None:
        config = Path(self.workspace.config().config_path)
        config.write_text(json.dumps({"indexingStrategy": strategy}))

    def until(self, true_of: Callable[[StatusAnswer], bool]) -> None:
        while not true_of(self._seen.get(timeout=30)):
            pass

    def paths(self) -> tuple[str, ...]:
        """As the index has them, without bringing it up to date."""
        with self.workspace.index.readable().snapshots.open() as snapshot:
            return tuple(snapshot.paths)


def test_an_open_index_turns_to_realtime_when_its_settings_do(room: Room) -> None:
    kept = Kept(room, "lazy")
    find(kept.workspace, "anything")
    room.write("src/engine.py", NEW)
    kept.until(lambda status: status.pending_files == 1 and status.strategy == "lazy")
    assert "src/engine.py" not in kept.paths()
    kept.turn_to("realtime")
    kept.workspace.reload_settings()
    kept.until(lambda status: not status.pending_files and "src/engine.py" in kept.paths())
    room.write("src/late.py", NEW)
    kept.until(lambda status: "src/late.py" in kept.paths())


def test_an_open_index_turns_to_lazy_when_its_settings_do(room: Room) -> None:
    kept = Kept(room, "realtime")
    kept.turn_to("lazy")
    assert kept.workspace.status().strategy == "lazy"
    find(kept.workspace, "anything")
    room.write("src/engine.py", NEW)
    kept.until(lambda status: status.pending_files == 1)
    assert "src/engine.py" not in kept.paths()
    assert "src/engine.py" in find(kept.workspace, "tune carburettor")


def test_an_open_index_turns_to_git_and_back_when_its_settings_do(room: Room) -> None:
    room.git("init", "-b", "main")
    kept = Kept(room, "realtime")
    kept.turn_to("git")
    find(kept.workspace, "anything")
    room.write("src/engine.py", NEW)
    assert "src/engine.py" not in find(kept.workspace, "tune carburettor")
    kept.turn_to("realtime")
    assert "src/engine.py" in find(kept.workspace, "tune carburettor")
    room.write("src/late.py", NEW)
    kept.until(lambda status: "src/late.py" in kept.paths())


def test_what_changed_while_nobody_looked_is_found_by_the_first_search(room: Room) -> None:
    index(room.open())
    room.close()
    room.write("src/engine.py", NEW)
    (room.root / "src/retry.py").unlink()
    workspace = room.open()
    assert find(workspace, "tune carburettor")[0] == "src/engine.py"
    assert workspace.find_paths("src/*.py", 10).paths == ("src/cookies.py", "src/engine.py")


def test_in_lazy_mode_too_it_is_found_by_the_first_search_or_said_to_be_missing(room: Room) -> None:
    room.flags["indexingStrategy"] = "lazy"
    index(room.open())
    room.close()
    room.write("src/engine.py", NEW)
    hurried = room.open(freshness=0.0)
    assert "may be stale" in hurried.search(SearchRequest("tune carburettor"), never_cancelled).notice
    room.close()
    assert find(room.open(), "tune carburettor")[0] == "src/engine.py"


@pytest.mark.parametrize("strategy", ["realtime", "lazy", "git"])
def test_what_changed_while_it_was_indexed_is_found_before_watching_begins(room: Room, strategy: str) -> None:
    room.flags["indexingStrategy"] = strategy
    workspace = room.open()

    def save_at_the_end(done: int, total: int, message: str) -> None:
        if done == total:
            room.write("src/engine.py", NEW)

    workspace.create(save_at_the_end, never_cancelled)
    assert find(workspace, "tune carburettor")[0] == "src/engine.py"


def test_unsaved_text_is_what_a_search_sees_until_the_buffer_closes(room: Room) -> None:
    workspace = room.open()
    index(workspace)
    workspace.set_buffer("src/retry.py", NEW)
    assert find(workspace, "tune carburettor", mode="fts")[0] == "src/retry.py"
    assert workspace.explain("src/retry.py").stale is False
    workspace.drop_buffer("src/retry.py")
    assert find(workspace, "carburettor", mode="fts") == []
    assert find(workspace, "backoff", mode="fts")[0] == "src/retry.py"


def test_a_buffer_of_a_file_that_does_not_exist_yet_is_searched_too(room: Room) -> None:
    workspace = room.open()
    index(workspace)
    workspace.set_buffer("src/unsaved.py", NEW)
    assert find(workspace, "tune carburettor")[0] == "src/unsaved.py"
    workspace.drop_buffer("src/unsaved.py")
    assert find(workspace, "carburettor", mode="fts") == []


def test_unsaved_text_does_not_survive_the_process(room: Room) -> None:
    workspace = room.open()
    index(workspace)
    workspace.set_buffer("src/retry.py", NEW)
    assert find(workspace, "carburettor", mode="fts")
    room.close()
    assert find(room.open(), "carburettor", mode="fts") == []


def test_an_answer_that_may_be_stale_says_so(room: Room) -> None:
    index(room.open())
    room.close()
    room.write("src/engine.py", NEW)
    answered = threading.Event()
    room.before_reading = lambda path: path == "src/engine.py" and answered.wait(60)
    workspace = room.open(freshness=0.0)
    answer = workspace.search(SearchRequest("expire cookies"), never_cancelled)
    answered.set()
    assert "may be stale" in answer.notice


def test_an_ignored_buffer_is_not_indexed(room: Room) -> None:
    room.write(".gitignore", "private/\n")
    workspace = room.open()
    index(workspace)
    workspace.set_buffer("private/notes.py", NEW)
    assert find(workspace, "carburettor", mode="fts") == []


def test_a_watcher_that_sees_nothing_says_why_in_the_status(room: Room) -> None:
    room.flags["indexingStrategy"] = "git"
    room.watcher = True
    workspace = room.open()
    seen: queue.Queue[StatusAnswer] = queue.Queue()
    workspace.on_change(seen.put)
    index(workspace)
    while not (status := seen.get(timeout=30)).warning:
        pass
    assert "git" in status.warning


def test_looking_at_everything_again_is_no_pending_file(room: Room) -> None:
    room.flags["indexingStrategy"] = "lazy"
    index(room.open())
    room.close()
    workspace = room.open(freshness=0.0)
    find(workspace, "expire cookies")
    assert workspace.status().pending_files == 0


@pytest.mark.parametrize("path", ["src/late.py", "src/retry.py"])
def test_a_file_that_is_written_while_a_run_walks_past_it_is_not_forgotten(room: Room, path: str) -> None:
    """A new one, and one that was gone for a moment."""
    armed = threading.Event()

    def write() -> None:
        if armed.is_set():
            armed.clear()
            room.write(path, NEW)
            workspace.reindex_file(path)

    room.after_walking = write
    workspace = room.open()
    index(workspace)
    (room.root / path).unlink(missing_ok=True)
    armed.set()
    report = index(workspace)
    assert not armed.is_set()
    assert (report.removed, workspace.status().files) == (0, len({*FILES, path}))
    assert find(workspace, "carburettor mixture", mode="fts")[0] == path


def test_a_save_that_another_run_reads_past_is_not_lost(room: Room) -> None:
    """One run looks the file up; another reads and writes it; the file is saved; only then the first one reads."""
    others: list[threading.Thread] = []
    armed = threading.Event()

    def interrupt(path: str) -> None:
        if armed.is_set() and not others:
            others.append(threading.Thread(target=workspace.reindex_file, args=(path,)))
            others[0].start()
            others[0].join(60)
            room.write(path, NEW)

    room.before_reading = interrupt
    workspace = room.open()
    index(workspace)
    room.write("src/engine.py", "def tune_old_engine():\n    return 1\n")
    armed.set()
    workspace.reindex_file("src/engine.py")
    assert not others[0].is_alive()
    assert "src/engine.py" in find(workspace, "carburettor mixture", mode="fts")
