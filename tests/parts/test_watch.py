"""What the watcher reports of real changes, with real files and real git."""

from __future__ import annotations

import contextlib
import os
import queue
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from sidecar.parts.system_events import SystemEvents
from sidecar.parts.watch import Notifier, Strategy, WatchedChanges, Watcher, WatchTimes
from sidecar.parts.watched_folders import FolderTree
from tests.circumstances import without_descriptors
from tests.judged_folders import IGNORES_NOTHING, ignoring
from tests.patience import PATIENCE_S, first_that, until


class Reading:
    """A started watcher, and the thread that takes its changes until it is stopped."""

    def __init__(self, watcher: Watcher, take: Callable[[WatchedChanges], object]) -> None:
        self._watcher = watcher
        self._take = take
        watcher.start()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while (changes := self._watcher.next()) is not None:
            self._take(changes)

    def stop(self) -> None:
        self._watcher.stop()
        self.join()

    def join(self) -> None:
        self._thread.join(PATIENCE_S)
        assert not self._thread.is_alive()


def names_one_of(*paths: str) -> Callable[[WatchedChanges], bool]:
    return lambda changes: not (changes.rescan | changes.paths).isdisjoint(paths)


def mark_of(root: Path) -> str:
    return str(root.parent / "mark")


class Listening:
    """Watchers over one root, and everything they have reported so far."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.paths: set[str] = set()
        self.rescan: set[str] = set()
        self.heads = 0
        self._queue: queue.Queue[WatchedChanges] = queue.Queue()
        self._watchers: list[Reading] = []

    def start(
        self,
        strategy: Strategy = "files",
        ignored: Sequence[str] = ("node_modules",),
        each_folder: bool = True,
        make_notifier: Callable[[Sequence[str], bool], Notifier] | None = None,
    ) -> Watcher:
        def is_ignored(folder: str) -> bool:
            return folder.rpartition("/")[2] in ignored

        watcher = Watcher(
            str(self.root),
            ignoring(is_ignored),
            mark_of(self.root),
            strategy,
            WatchTimes(poll_seconds=0.05),
            each_folder=each_folder,
            make_notifier=make_notifier,
        )
        self._watchers.append(Reading(watcher, self._queue.put))
        return watcher

    def until(self, satisfied: Callable[[], bool]) -> None:
        """Takes reports until they satisfy the condition. Fails if the next one does not come."""
        while not satisfied():
            try:
                changes = self._queue.get(timeout=PATIENCE_S)
            except queue.Empty:
                pytest.fail(f"only {sorted(self.paths)[:20]}, rescan {sorted(self.rescan)[:20]}, heads {self.heads}")
            self.paths |= changes.paths
            self.rescan |= changes.rescan
            self.heads += changes.head_moved

    def until_quiet_after(self, name: str) -> None:
        """Writes a last file, and takes all reports up to it."""
        (self.root / name).write_text("x")
        self.until(lambda: name in self.paths)

    def covers(self, path: str) -> bool:
        parents = [str(parent) for parent in Path(path).parents]
        return path in self.paths or bool(self.rescan & {path, "", *parents})

    def forget(self) -> None:
        self.paths.clear()
        self.rescan.clear()
        self.heads = 0

    def close(self) -> None:
        for watcher in self._watchers:
            watcher.stop()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "src" / "inner").mkdir(parents=True)
    (folder / "src" / "a.py").write_text("a")
    (folder / "src" / "inner" / "b.py").write_text("b")
    (folder / "node_modules" / "dep").mkdir(parents=True)
    return folder


@pytest.fixture
def heard(root: Path) -> Iterator[Listening]:
    listening = Listening(root)
    yield listening
    listening.close()


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def head_at(folder: Path, commit: str) -> None:
    """Writes what git does of a commit, as far as it is watched."""
    branch = folder / ".git/refs/heads/main"
    branch.parent.mkdir(parents=True, exist_ok=True)
    branch.write_text(commit * 40 + "\n")
    (folder / ".git/HEAD").write_text("ref: refs/heads/main\n")


def repository(folder: Path) -> None:
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "src")
    git(folder, "commit", "-qm", "first")


# ---------------------------------------------------------------- files


@pytest.mark.parametrize("each_folder", [True, False])
def test_a_single_write_is_reported_by_its_relative_path(heard: Listening, root: Path, each_folder: bool) -> None:
    heard.start(each_folder=each_folder)
    (root / "src" / "inner" / "b.py").write_text("changed")
    heard.until(lambda: bool(heard.paths))
    assert heard.paths == {"src/inner/b.py"}
    assert heard.rescan == set()
    assert heard.heads == 0


def test_an_atomic_save_reports_the_saved_file(heard: Listening, root: Path) -> None:
    heard.start()
    (root / "src" / "a.py.tmp").write_text("new")
    (root / "src" / "a.py.tmp").replace(root / "src" / "a.py")
    heard.until(lambda: "src/a.py" in heard.paths)
    assert heard.paths <= {"src/a.py", "src/a.py.tmp"}


@pytest.mark.parametrize("each_folder", [True, False])
def test_every_file_of_a_tree_that_is_copied_in_is_covered_and_then_watched(
    heard: Listening, root: Path, tmp_path: Path, each_folder: bool
) -> None:
    files = [f"new/d{i % 10}/e{i % 30}/f{i}.py" for i in range(300)]
    for file in files:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("x")
    heard.start(each_folder=each_folder)
    shutil.copytree(tmp_path / "new", root / "new")
    heard.until(lambda: all(heard.covers(file) for file in files))
    heard.until_quiet_after("last")
    heard.forget()
    (root / files[-1]).write_text("changed")
    heard.until(lambda: heard.covers(files[-1]))


@pytest.mark.parametrize("each_folder", [True, False])
def test_a_renamed_folder_is_rescanned_under_both_names_and_stays_watched(
    heard: Listening, root: Path, each_folder: bool
) -> None:
    heard.start(each_folder=each_folder)
    (root / "src").rename(root / "lib")
    heard.until(lambda: {"src", "lib"} <= heard.rescan)
    heard.until_quiet_after("last")
    heard.forget()
    (root / "lib" / "inner" / "b.py").write_text("changed")
    heard.until(lambda: "lib/inner/b.py" in heard.paths)


def test_a_deleted_file_and_a_deleted_folder_are_reported(heard: Listening, root: Path) -> None:
    heard.start()
    (root / "src" / "a.py").unlink()
    heard.until(lambda: "src/a.py" in heard.paths)
    shutil.rmtree(root / "src")
    heard.until(lambda: heard.covers("src/inner/b.py"))
    assert "src" in heard.rescan


@pytest.mark.process
def test_ignored_folders_and_git_are_not_reported_even_when_they_are_new(heard: Listening, root: Path) -> None:
    repository(root)
    heard.start()
    (root / "node_modules" / "dep" / "x.js").write_text("x")
    (root / "src" / "node_modules").mkdir()
    (root / "src" / "node_modules" / "y.js").write_text("y")
    (root / ".git" / "description").write_text("z")
    heard.until_quiet_after("last")
    assert heard.paths == {"last"}
    assert heard.rescan == set()


@pytest.mark.parametrize("each_folder", [True, False])
def test_what_happens_behind_a_link_to_a_folder_outside_is_not_reported(
    heard: Listening, root: Path, tmp_path: Path, each_folder: bool
) -> None:
    (tmp_path / "outside" / "deep").mkdir(parents=True)
    (root / "link").symlink_to(tmp_path / "outside")
    heard.start(each_folder=each_folder)
    (root / "later").symlink_to(tmp_path / "outside")
    (tmp_path / "outside" / "secret.py").write_text("x")
    (tmp_path / "outside" / "deep" / "secret.py").write_text("x")
    heard.until_quiet_after("last")
    assert heard.paths == {"later", "last"}
    assert heard.rescan == set()


def test_after_a_refresh_a_folder_that_is_no_longer_ignored_is_rescanned_and_watched(
    heard: Listening, root: Path
) -> None:
    ignored = ["node_modules", "inner"]
    watcher = heard.start(ignored=ignored)
    ignored.remove("inner")
    watcher.refresh()
    heard.until(lambda: "src/inner" in heard.rescan)
    (root / "src" / "inner" / "b.py").write_text("changed")
    heard.until(lambda: "src/inner/b.py" in heard.paths)


def test_a_new_folder_does_not_make_it_ask_about_all_the_others_again(root: Path) -> None:
    asked: list[str] = []
    calls: queue.Queue[WatchedChanges] = queue.Queue()

    def is_ignored(folder: str) -> bool:
        asked.append(folder)
        return folder == "node_modules"

    reading = Reading(Watcher(str(root), ignoring(is_ignored), mark_of(root), each_folder=True), calls.put)
    assert sorted(asked) == ["node_modules", "src", "src/inner"]
    (root / "src" / "new").mkdir()
    assert calls.get(timeout=PATIENCE_S).rescan == {"src/new"}
    reading.stop()
    assert set(asked[3:]) == {"src", "src/new"}  # the folder above is judged again, because its rules count


def test_a_name_is_reported_in_composed_form(heard: Listening, root: Path) -> None:
    heard.start()
    (root / "src" / "e\u0301.py").write_text("x")
    heard.until(lambda: "src/\u00e9.py" in heard.paths)


# ---------------------------------------------------------------- git


@pytest.mark.process
def test_in_git_strategy_commit_checkout_and_merge_move_the_head_and_edits_do_not(heard: Listening, root: Path) -> None:
    repository(root)
    heard.start("git")
    (root / "src" / "a.py").write_text("changed")
    heard.until(lambda: "src/a.py" in heard.paths)
    assert heard.heads == 0
    git(root, "add", "src")
    git(root, "commit", "-qm", "second")
    heard.until(lambda: heard.heads > 0)
    for command in (["checkout", "-q", "-b", "side", "HEAD~1"], ["checkout", "-q", "main"]):
        heard.forget()
        git(root, *command)
        heard.until(lambda: heard.heads > 0)
    git(root, "checkout", "-q", "side")
    (root / "src" / "c.py").write_text("c")
    git(root, "add", "src")
    git(root, "commit", "-qm", "third")
    heard.until(lambda: heard.heads > 1)
    heard.forget()
    git(root, "merge", "-q", "-m", "merged", "main")
    heard.until(lambda: heard.heads > 0)


@pytest.mark.process
def test_the_head_of_a_worktree_whose_git_folder_is_elsewhere_is_watched(heard: Listening, root: Path) -> None:
    origin = root.parent / "origin"
    shutil.copytree(root, origin)
    repository(origin)
    shutil.rmtree(root)
    git(origin, "worktree", "add", "-q", "-b", "side", str(root))
    heard.start("git")
    (origin / "src" / "a.py").write_text("changed")
    git(origin, "commit", "-qam", "in the origin")
    git(root, "commit", "-q", "--allow-empty", "-m", "in the worktree")
    heard.until(lambda: heard.heads > 0)


@pytest.mark.process
def test_in_files_strategy_a_checkout_reports_files_and_head(heard: Listening, root: Path) -> None:
    repository(root)
    (root / "src" / "a.py").write_text("changed")
    git(root, "commit", "-qam", "second")
    heard.start()
    git(root, "checkout", "-q", "HEAD~1")
    heard.until(lambda: heard.heads > 0 and heard.covers("src/a.py"))


@pytest.mark.process
@pytest.mark.parametrize("strategy", ["files", "git"])
def test_a_repository_that_is_made_later_is_noticed(heard: Listening, root: Path, strategy: Strategy) -> None:
    watcher = heard.start(strategy)
    assert ("no git repository" in watcher.note) is (strategy == "git")
    repository(root)
    heard.until(lambda: heard.heads > 0)
    assert watcher.note == ""


# ---------------------------------------------------------------- refusal and end


@pytest.mark.parametrize("error", [OSError("OS file watch limit reached"), RuntimeError("Too many open files")])
def test_where_the_system_refuses_everything_is_looked_through_again_and_the_note_says_why(
    heard: Listening, error: Exception
) -> None:
    def refuse(folders: Sequence[str], with_all_below: bool) -> Notifier:
        raise error

    watcher = heard.start(make_notifier=refuse)
    heard.until(lambda: "" in heard.rescan)
    assert watcher.active
    assert str(error) in watcher.note
    assert "every 0.05 s" in watcher.note


@pytest.mark.parametrize("strategy", ["files", "git"])
def test_a_system_that_refused_is_asked_again_and_what_changed_meanwhile_is_reported(
    heard: Listening, root: Path, strategy: Strategy
) -> None:
    head_at(root, "a")
    refusing = [True]

    def refuse(folders: Sequence[str], with_all_below: bool) -> Notifier:
        if refusing:
            raise OSError("Too many open files")
        return SystemEvents(folders, with_all_below)

    watcher = heard.start(strategy, make_notifier=refuse)
    until(lambda: "Too many open files" in watcher.note)
    (root / "meanwhile.py").write_text("x")
    heard.forget()
    refusing.clear()
    until(lambda: watcher.note == "")
    heard.until(lambda: "" in heard.rescan)
    heard.until_quiet_after("later.py")


def test_a_folder_that_has_gone_is_said_to_be_gone_and_nobody_is_told_to_raise_limits(
    heard: Listening, root: Path
) -> None:
    watcher = heard.start()
    root.rename(root.with_name("elsewhere"))
    until(lambda: watcher.note == "The folder is not there now; sidecar looks for it every 0.05 s.")
    root.with_name("elsewhere").rename(root)
    until(lambda: watcher.note == "")


def test_a_system_that_goes_on_refusing_is_asked_less_and_less_often(root: Path) -> None:
    asked = []

    def refuse(folders: Sequence[str], with_all_below: bool) -> Notifier:
        asked.append(folders)
        raise OSError("OS file watch limit reached")

    watcher = Watcher(str(root), IGNORES_NOTHING, mark_of(root), make_notifier=refuse)
    watcher.start()
    for _ in range(20):
        assert watcher.look() == WatchedChanges(rescan=frozenset({""}))
    assert len(asked) == 1
    watcher.stop()


class LateEvents:
    """A notifier whose events, including the mark's, have not arrived yet."""

    def __init__(self, *_: object) -> None: ...

    def take(self) -> set[tuple[int, str]]:
        return set()

    def close(self) -> None: ...


def watching(root: Path, make_notifier: Callable[[Sequence[str], bool], Notifier] | None = None) -> Watcher:
    """A watcher that checks nothing by itself for an hour."""
    times = WatchTimes(quiet_ms=3_600_000, look_seconds=0.05 if make_notifier else PATIENCE_S)
    return Watcher(str(root), IGNORES_NOTHING, mark_of(root), times=times, make_notifier=make_notifier)


def test_who_asks_gets_what_has_happened_until_now_once(root: Path) -> None:
    watcher = watching(root)
    watcher.start()
    (root / "src" / "a.py").write_text("changed")
    (root / "src" / "inner" / "b.py").unlink()
    assert watcher.look() == WatchedChanges(frozenset({"src/a.py", "src/inner/b.py"}))
    assert watcher.look() == WatchedChanges()
    (root / "src" / "new" / "inner").mkdir(parents=True)
    (root / "src" / "new" / "inner" / "c.py").write_text("c")
    changes = watcher.look()
    assert changes is not None
    assert changes.rescan == {"src/new"}
    (root / "src" / "new" / "inner" / "c.py").write_text("changed")
    assert watcher.look() == WatchedChanges(frozenset({"src/new/inner/c.py"}))
    watcher.stop()


def test_who_marks_the_moment_before_other_work_gets_all_changes_before_it(root: Path) -> None:
    watcher = watching(root)
    watcher.start()
    (root / "src" / "a.py").write_text("changed")
    mark = watcher.mark()
    assert mark is not None
    assert watcher.look(mark) == WatchedChanges(frozenset({"src/a.py"}))
    watcher.stop()


def test_of_two_who_mark_the_moment_the_second_to_look_waits_for_nothing(root: Path) -> None:
    """The first one has taken the events of both, of which none comes twice."""
    watcher = watching(root)
    watcher.start()
    (root / "src" / "a.py").write_text("changed")
    earlier, later = watcher.mark(), watcher.mark()
    assert watcher.look(later) == WatchedChanges(frozenset({"src/a.py"}))
    assert watcher.look(earlier) == WatchedChanges()
    watcher.stop()


def test_a_mark_from_before_the_folders_were_watched_anew_is_made_again(root: Path) -> None:
    """The system reports it to nobody any more."""
    watcher = watching(root)
    watcher.start()
    mark = watcher.mark()
    (root / "src" / "new").mkdir()
    assert watcher.look() == WatchedChanges(rescan=frozenset({"src/new"}))
    watcher.stop()
    watcher.start()
    (root / "src" / "new" / "c.py").write_text("c")
    assert watcher.look(mark) == WatchedChanges(frozenset({"src/new/c.py"}))
    watcher.stop()


def test_a_mark_that_the_system_does_not_report_is_not_waited_for_without_end(root: Path) -> None:
    watcher = watching(root, LateEvents)
    assert watcher.mark() is None
    watcher.start()
    assert watcher.look(watcher.mark()) is None
    watcher.stop()


def test_asking_leaves_nothing_behind(root: Path) -> None:
    watcher = watching(root)
    watcher.start()
    for _ in range(3):
        assert watcher.look() == WatchedChanges()
        watcher.mark()
    watcher.stop()
    assert list(Path(mark_of(root)).iterdir()) == []


def test_where_the_system_is_late_who_asks_is_told_that_nothing_can_be_known(root: Path) -> None:
    watcher = watching(root, LateEvents)
    watcher.start()
    (root / "src" / "a.py").write_text("changed")
    assert watcher.look() is None
    watcher.stop()


def test_where_the_mark_cannot_be_made_who_asks_is_told_that_nothing_can_be_known(root: Path) -> None:
    Path(mark_of(root)).write_text("in the way")
    watcher = watching(root)
    watcher.start()
    assert watcher.look() is None
    watcher.stop()


def test_who_asks_waits_until_what_was_reported_is_noted(root: Path) -> None:
    """Otherwise its changes are lost: they are neither in the index nor in what this call returns."""
    reported, may_note, noted = threading.Event(), threading.Event(), threading.Event()

    def note(_: WatchedChanges) -> None:
        reported.set()
        assert may_note.wait(PATIENCE_S)
        noted.set()

    watcher = Watcher(str(root), IGNORES_NOTHING, mark_of(root), times=WatchTimes(look_seconds=PATIENCE_S))
    reading = Reading(watcher, note)
    (root / "src" / "a.py").write_text("changed")
    assert reported.wait(PATIENCE_S)
    asking = threading.Thread(target=watcher.look)
    asking.start()
    assert asking.is_alive()
    assert not noted.is_set()
    may_note.set()
    asking.join(PATIENCE_S)
    assert noted.is_set()
    reading.stop()


@pytest.mark.parametrize("already", [True, False])
def test_a_question_of_another_process_is_reported_whenever_it_was_asked(root: Path, already: bool) -> None:
    """This also holds if it was asked before the watcher started, or during another check."""
    times, mark = WatchTimes(look_seconds=PATIENCE_S), Path(mark_of(root))
    watcher = Watcher(str(root), IGNORES_NOTHING, str(mark), times=times)
    reported: queue.Queue[WatchedChanges] = queue.Queue()
    mark.mkdir()
    if already:
        (mark / "1-0.ask").touch()
    watcher.start()
    (root / "src" / "a.py").write_text("changed")
    (mark / "2-0.ask").touch()
    assert watcher.look() == WatchedChanges(frozenset({"src/a.py"}))
    reading = Reading(watcher, reported.put)
    asked = frozenset({"2-0", *(["1-0"] if already else [])})
    assert reported.get(timeout=PATIENCE_S) == WatchedChanges(asked=asked)
    (mark / "2-0.ask").rename(mark / "2-0.heard")
    (mark / "2-0.heard").unlink()
    (root / "src" / "b.py").write_text("changed")
    assert reported.get(timeout=PATIENCE_S) == WatchedChanges(frozenset({"src/b.py"}))
    reading.stop()


def test_where_it_only_looks_around_now_and_then_it_can_be_asked_to_look_now(root: Path) -> None:
    def refuse(folders: Sequence[str], with_all_below: bool) -> Notifier:
        raise OSError("OS file watch limit reached")

    for make_notifier, expected in ((refuse, WatchedChanges(rescan=frozenset({""}))), (None, WatchedChanges())):
        watcher = Watcher(
            str(root), IGNORES_NOTHING, mark_of(root), times=WatchTimes(poll_seconds=3600), make_notifier=make_notifier
        )
        watcher.start()
        assert watcher.look() == expected
        watcher.stop()
        assert watcher.look() == WatchedChanges()
        assert watcher.next() is None


def test_a_fault_of_ours_ends_no_watching(root: Path) -> None:
    """It checks the files until it can start again. Here the rules cannot be read at first, nor once later."""
    faults = ["at the start", "", "later"]
    changes: queue.Queue[WatchedChanges] = queue.Queue()

    def is_ignored(folder: str) -> bool:
        if faults and (fault := faults.pop(0)):
            raise RuntimeError(fault)
        return False

    watcher = Watcher(str(root), ignoring(is_ignored), mark_of(root), times=WatchTimes(poll_seconds=0.05))
    watcher.start()
    assert "at the start" in watcher.note
    reading = Reading(watcher, changes.put)
    try:
        for name in ("one", "two", "three"):
            (root / name).mkdir()
            (root / name / "x.py").write_text("x")
            first_that(names_one_of("", name, f"{name}/x.py"), changes)
        assert faults == []
        until(lambda: not watcher.note, lambda: changes.get(timeout=PATIENCE_S))
        assert watcher.active
    finally:
        reading.stop()


@pytest.mark.parametrize("each_folder", [True, False])
def test_a_root_that_is_not_there_yet_is_watched_once_it_is(heard: Listening, root: Path, each_folder: bool) -> None:
    root.rename(root.with_name("away"))
    watcher = heard.start(each_folder=each_folder)
    assert "The folder is not there now" in watcher.note
    root.with_name("away").rename(root)

    def look_at_everything() -> None:
        heard.forget()
        heard.until(lambda: "" in heard.rescan)

    until(lambda: not watcher.note, look_at_everything)
    (root / "src" / "a.py").write_text("changed")
    heard.until(lambda: "src/a.py" in heard.paths)


@pytest.mark.parametrize("each_folder", [True, False])
def test_a_root_that_is_deleted_and_comes_back_is_watched_again(
    heard: Listening, root: Path, each_folder: bool
) -> None:
    watcher = heard.start(each_folder=each_folder)
    shutil.rmtree(root)
    heard.until(lambda: "" in heard.rescan)
    heard.forget()
    (root / "src").mkdir(parents=True)
    heard.until(lambda: heard.covers("src") and not watcher.note)
    heard.forget()
    (root / "src" / "b.py").write_text("b")
    heard.until(lambda: "src/b.py" in heard.paths)


@pytest.mark.process
def test_in_git_strategy_a_repository_that_is_cloned_anew_is_watched_again(heard: Listening, root: Path) -> None:
    repository(root)
    heard.start("git")
    shutil.rmtree(root / ".git")
    repository(root)
    heard.until(lambda: heard.heads > 0)
    for number in range(3):
        heard.forget()
        git(root, "commit", "-q", "--allow-empty", "-m", str(number))
        heard.until(lambda: heard.heads > 0)


def test_stopping_ends_the_wait_and_starting_again_works(root: Path) -> None:
    changes: queue.Queue[WatchedChanges] = queue.Queue()
    watcher = Watcher(str(root), IGNORES_NOTHING, mark_of(root))
    assert not watcher.active
    reading = Reading(watcher, changes.put)
    assert watcher.active
    reading.stop()
    assert not watcher.active
    assert watcher.next() is None
    again = Reading(watcher, changes.put)
    (root / "src" / "a.py").write_text("changed")
    assert changes.get(timeout=PATIENCE_S).paths == {"src/a.py"}
    again.stop()


def test_who_takes_the_changes_may_stop_the_watcher(root: Path) -> None:
    watcher = Watcher(str(root), IGNORES_NOTHING, mark_of(root))
    reading = Reading(watcher, lambda _: watcher.stop())
    (root / "x").write_text("x")
    reading.join()
    assert not watcher.active


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in this file system")
def test_a_pipe_in_the_tree_does_not_hang_the_watcher(heard: Listening, root: Path) -> None:
    heard.start()
    os.mkfifo(root / "src" / "pipe")
    heard.until_quiet_after("last")
    assert heard.paths == {"src/pipe", "last"}


def test_a_folder_that_cannot_be_looked_into_for_a_moment_stays_watched(tmp_path: Path) -> None:
    (tmp_path / "a/b/c").mkdir(parents=True)
    tree = FolderTree(str(tmp_path), IGNORES_NOTHING)
    before = sorted(tree.list())
    with without_descriptors():
        assert sorted(tree.list()) == before
        assert tree.missed
    assert sorted(tree.list()) == before
    assert not tree.missed


NO_UNICODE = (b"caf\xe9.py", b"\xed\xa0\x80", b"\xff/inner.py")


def write_bytes_named(root: Path, name: bytes) -> None:
    path = os.fsencode(root) + b"/" + name
    os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
    with open(path, "ab") as file:  # noqa: PTH123
        file.write(b"x")


@pytest.mark.skipif(os.name == "nt", reason="all names are Unicode there")
@pytest.mark.parametrize("strategy", ["files", "git"])
def test_a_name_that_is_not_unicode_ends_no_watching(heard: Listening, root: Path, strategy: Strategy) -> None:
    (root / ".git").mkdir()
    watcher = heard.start(strategy)
    for number, name in enumerate(NO_UNICODE):
        heard.forget()
        write_bytes_named(root, name)
        heard.until(lambda: "" in heard.rescan)
        until(lambda: watcher.look() is not None)
        heard.until_quiet_after(f"after{number}.py")
        assert watcher.note in ("", _no_git(strategy))


def _no_git(strategy: Strategy) -> str:
    return "There is no git repository here, so there are no commits or checkouts to watch for." * (strategy == "git")


@pytest.mark.skipif(os.name == "nt", reason="all names are Unicode there")
def test_who_asks_gets_everything_where_a_name_that_is_not_unicode_has_changed(root: Path) -> None:
    watcher = watching(root)
    watcher.start()
    write_bytes_named(root, b"caf\xe9.py")
    (root / "new.py").write_text("x")
    assert watcher.look() == WatchedChanges(rescan=frozenset({""}))
    (root / "newer.py").write_text("x")
    assert watcher.look() == WatchedChanges(paths=frozenset({"newer.py"}))
    watcher.stop()


def opened_by_this_process() -> list[str]:
    places = []
    for link in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            places.append(os.readlink(link))  # noqa: PTH115
    return places


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has such names and another path to them")
@pytest.mark.parametrize("strategy", ["files", "git"])
def test_a_root_whose_own_name_is_not_unicode_is_watched(tmp_path: Path, strategy: Strategy) -> None:
    odd = tmp_path / os.fsdecode(b"w\xe9rk/in \xff/inner")
    (odd / "src").mkdir(parents=True)
    head_at(odd, "a")
    listening = Listening(odd)
    watcher = listening.start(strategy)
    assert watcher.note == ""
    (odd / "src/a.py").write_text("x")
    listening.until(lambda: "src/a.py" in listening.paths)
    (odd / "new/deep").mkdir(parents=True)
    listening.until(lambda: listening.covers("new/deep"))
    (odd / "new/deep/b.py").write_text("x")
    listening.until(lambda: listening.covers("new/deep/b.py"))
    write_bytes_named(odd, b"caf\xe9.py")
    listening.until(lambda: "" in listening.rescan)
    head_at(odd, "b")
    listening.until(lambda: listening.heads > 0)
    listening.until_quiet_after("last.py")
    assert watcher.note == ""
    listening.close()
    assert not [place for place in opened_by_this_process() if place.startswith(str(tmp_path))]


def test_where_a_path_that_is_not_unicode_cannot_be_watched_everything_is_looked_through_again_and_the_note_says_why(
    root: Path,
) -> None:
    def refuse(folders: Sequence[str], with_all_below: bool) -> Notifier:
        "\udce9".encode()
        raise AssertionError

    watcher = watching(root, refuse)
    watcher.start()
    assert "not valid Unicode" in watcher.note
    assert watcher.look() == WatchedChanges(rescan=frozenset({""}))
    watcher.stop()
