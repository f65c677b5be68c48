"""Reports what changes under a root folder: files, folders to walk again, git's HEAD.

It reports every place where something may have changed; it decides nothing about indexing. Watching alone misses files
in folders that have just appeared, so a folder that appears, disappears or is renamed is reported as a whole, once it
is watched.

On Linux every watched folder uses up one of a limited number of watches, so only folders that are not ignored are
watched, one by one and without following links; other systems watch a whole tree at once. When the system refuses, the
whole tree is reported every few seconds instead, and `note` says why.

Changes are gathered for a moment before they are reported. A caller that cannot wait that long calls `look`. This
creates a file, the mark, in a folder of sidecar's own that is watched too. The system reports changes in order, so once
it has reported the mark, or a later one, all changes before it are known. A caller with other work to do makes the mark
before that work, and looks after it. A file that another process creates in that folder is its question (`asking.py`).
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from sidecar.locks import Rank, make_condition
from sidecar.logs import workspace_log
from sidecar.parts.asking import asked_in, question_of
from sidecar.parts.git_head import GitHead
from sidecar.parts.system_events import Events, NamesLost, SystemEvents
from sidecar.parts.watched_folders import FolderTree, JudgeFolder, lineage
from sidecar.small_files import AT_ONCE

Strategy: TypeAlias = Literal["files", "git"]

_ADDED, _MODIFIED, _DELETED = 1, 2, 3
_IGNORE_FILES = frozenset({".gitignore", ".sidecarignore"})
_RULES_S = 1.0  # how often, in seconds, a watcher checks whether it has to watch other folders
_MARK_STEP_S = 0.0002
_MARKS = itertools.count()
_EVENTS_LIMIT = 8000  # half of Linux's queue; with more events, some may have been lost
_ATTEMPTS = 5
_LONGEST_REFUSED_S = 600.0
_CALM_S = 60.0  # after so many seconds without a name that is not valid Unicode, the next one is no burden
_NO_UNICODE = (
    "The name of a folder that sidecar would have to watch is not valid Unicode, so sidecar looks for changes every"
)
_NO_GIT = "There is no git repository here, so there are no commits or checkouts to watch for."


@dataclass(frozen=True, slots=True)
class WatchedChanges:
    """The reported changes. `paths`: files that appeared, changed or disappeared, relative, `/`-separated, NFC.

    `rescan`: folders, which may no longer exist, to compare with the disk together with everything below; "" is the
    root. `head_moved`: git's HEAD points to another commit or branch. `asked`: the names of questions of other
    processes. They are reported at once and alone; `look` then returns the changes before they were asked.
    """

    paths: frozenset[str] = frozenset()
    rescan: frozenset[str] = frozenset()
    head_moved: bool = False
    asked: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.paths or self.rescan or self.head_moved or self.asked)


class Notifier(Protocol):
    """Gathers the system's events for a fixed set of folders."""

    def take(self) -> Events:
        """Returns the events since the last call, without waiting. Raises OSError or RuntimeError when watching
        fails: NamesLost if a new notifier can go on."""

    def close(self) -> None:
        """Stops watching. May raise RuntimeError."""


MakeNotifier: TypeAlias = Callable[[Sequence[str], bool], Notifier]
"""Makes a notifier from the folders, and whether to watch everything below them too.

Raises OSError or RuntimeError when the system refuses.
"""


@dataclass(frozen=True, slots=True)
class WatchTimes:
    """When changes are reported: `quiet_ms` (milliseconds) after the last one, or `longest_ms` after the first.

    If the system does not report changes, the whole tree is reported every `poll_seconds`. `look` waits at most
    `look_seconds`.
    """

    quiet_ms: int = 50
    longest_ms: int = 500
    poll_seconds: float = 15.0
    look_seconds: float = 1.0


class Watcher:
    """Watches from `start()` to `stop()`. A thread of the caller takes the changes, one `next()` after the other.

    `note` is one line that says why the watcher reports the whole tree every few seconds, or notices nothing; else
    empty. `judge` says which folders are ignored; each folder is judged once until `refresh()`. With the strategy "git"
    the watcher needs a repository, and if the system reports no changes, it reports only `head_moved`. `mark` is a
    folder for the marks, which exist for an instant; it is created if it is missing.
    """

    def __init__(
        self,
        root: str,
        judge: JudgeFolder,
        mark: str,
        strategy: Strategy = "files",
        times: WatchTimes | None = None,
        each_folder: bool = sys.platform == "linux",
        make_notifier: MakeNotifier | None = None,
    ) -> None:
        self._root = os.path.realpath(root)
        self._log = workspace_log(__name__, self._root)
        self._strategy = strategy
        self._times = times or WatchTimes()
        self._each_folder = each_folder
        self._make_notifier = make_notifier or SystemEvents
        self._mark = os.path.realpath(mark)
        self._tree = FolderTree(self._root, judge)
        self._head = GitHead(self._root)
        self._notifier: Notifier | None = None
        self._taking = make_condition(Rank.WATCHER)
        """Held while events are taken and interpreted."""
        self._events: Events = set()
        self._reported_mark = -1
        """The latest mark that the system has reported; numbers of marks grow."""
        self._first_mark = 0
        """The system reports no mark before this one to the present notifier."""
        self._asked: set[str] = set()
        self._since = self._checked = 0.0
        self._reporting = False
        self._stopping = threading.Event()
        self._stopping.set()
        self._stale = threading.Event()
        self.note, self._retry = "", False
        poll_seconds = self._times.poll_seconds
        self._names_lost = False
        """Whether a name that is not valid Unicode has changed, and the folders are not watched again yet."""
        # Each such name makes the watcher compare the whole tree, so the next one waits until this pause has ended.
        self._after_names = _Pause(min(_RULES_S, poll_seconds), poll_seconds, _CALM_S)
        self._after_refusals = _Pause(poll_seconds, max(poll_seconds, _LONGEST_REFUSED_S))

    @property
    def active(self) -> bool:
        """Whether the watcher has been started and has not been stopped since."""
        return not self._stopping.is_set()

    def start(self) -> None:
        """Starts watching: `next` returns every change from now on. Raises nothing; see `active` and `note`."""
        if self.active:
            return
        with self._taking:
            self._stopping.clear()
            self._stale.clear()
            self._events.clear()
            self._reporting = False
            self._head.moved()
            try:
                self._watch()
                self._asked = asked_in(self._mark)
            except Exception as error:
                self._fail(error)

    def next(self) -> WatchedChanges | None:
        """Waits for the next changes. Returns None, and stops watching, once `stop` has been called.

        Raises nothing. Only one thread may call it. Each call confirms that this thread has noted the changes of the
        call before.
        """
        self._set_reporting(None)
        while not self._stopping.wait(self._step_s()):
            with self._taking:
                changes = self._try(self._look_around if self._notifier is None else self._gather)
                if changes and not self._stopping.is_set():
                    self._set_reporting(changes)
                    return changes
        with self._taking:
            self._close()
        return None

    def stop(self) -> None:
        """Makes `next` return None, at once if it is waiting. Any thread may call it."""
        self._stopping.set()

    def refresh(self) -> None:
        """Makes the watcher ask again, within a second, which folders are ignored; to be called when the rules have
        changed."""
        self._stale.set()

    def mark(self) -> int | None:
        """Makes a mark and returns its number; None if that is not possible. `look` need not wait for a mark that the
        system has reported meanwhile."""
        if self._notifier is None:
            return None
        number = next(_MARKS)
        path = f"{self._own_marks()}{number}"
        try:
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY | AT_ONCE, 0o600))
            os.unlink(path)  # noqa: PTH108
        except OSError:
            return None
        return number

    def look(self, mark: int | None = None) -> WatchedChanges | None:
        """Returns the changes until now, or until this mark at least, that `next` has not returned yet; `next` then
        omits them. If the system reports no changes, these are the whole tree.

        Waits until the changes that `next` has returned are noted. Returns None if the changes cannot be determined:
        the system takes too long, or it reports no changes and the strategy is "git".
        """
        if not self.active:
            return WatchedChanges()
        deadline = time.monotonic() + self._times.look_seconds
        if not self._taking.acquire(timeout=self._times.look_seconds):
            return None
        try:
            if not self._taking.wait_for(lambda: not self._reporting, deadline - time.monotonic()):
                return None
            if self._notifier is not None:
                found = self._try(lambda: self._until(mark, deadline))
                if not self._names_lost:
                    return found
            return self._try(self._look_around) if self._strategy == "files" or self._names_lost else None
        finally:
            self._taking.release()

    # ------------------------------------------------------------ watching

    def _set_reporting(self, changes: WatchedChanges | None) -> None:
        with self._taking:
            self._reporting = changes is not None
            self._taking.notify_all()

    def _step_s(self) -> float:
        """Returns how many seconds to wait before the next look at the events."""
        if self._notifier is not None:
            return self._times.quiet_ms * (1 if self._events else 2) / 1000
        if self._names_lost:
            return self._after_names.left_s()
        gone, poll_seconds = not os.path.isdir(self._root), self._times.poll_seconds  # noqa: PTH112
        return min(_RULES_S, poll_seconds) if gone else poll_seconds

    def _try(self, find: Callable[[], WatchedChanges | None]) -> WatchedChanges | None:
        """Returns the result of `find`. None if it fails: from then on the whole tree is reported, until watching works
        again."""
        try:
            return find()
        except Exception as error:
            self._fail(error)
            return None

    def _gather(self) -> WatchedChanges:
        """Takes events. Returns the changes that they mean once no more are added, or after `longest_ms`; else no
        changes."""
        now, before = time.monotonic(), len(self._events)
        self._take(self._notifier)
        if self._names_lost:
            return WatchedChanges()  # `next` goes on by looking around
        if not before:
            self._since = now
        if self._asked:
            asked, self._asked = frozenset(self._asked), set()
            return WatchedChanges(asked=asked)
        due = bool(self._events) and (len(self._events) == before or now - self._since >= self._times.longest_ms / 1000)
        if now - self._checked >= _RULES_S:
            self._checked = now
            due = due or self._stale.is_set() or self._tree.missed or self._head.folders() != self._head.watched
        return self._understand() if due else WatchedChanges()

    def _until(self, mark: int | None, deadline: float) -> WatchedChanges | None:
        if not self._pass(mark, deadline):
            self._stale.set()
            return None
        quiet = not (self._events or self._stale.is_set() or self._tree.missed)
        return WatchedChanges() if quiet else self._understand()

    def _understand(self) -> WatchedChanges:
        """Returns the changes that the events taken so far mean."""
        found = _Sorted(folders_changed=self._stale.is_set() or self._tree.missed)
        if found.folders_changed:
            self._stale.clear()
            self._tree.forget({""})
        self._sort(found)
        return self._report(found)

    def _report(self, found: _Sorted) -> WatchedChanges:
        """Returns the changes. Watches new folders first, so that the caller also finds what has just appeared in
        them."""
        before = self._tree.listed
        for _ in range(_ATTEMPTS):
            if not found.folders_changed and self._head.folders() == self._head.watched:
                break
            found.folders_changed = False
            self._tree.forget(found.rescan)
            self._watch()
            self._sort(found)
        else:
            self._stale.set()  # folders keep appearing and disappearing: try again in a second
        found.rescan.update(self._tree.relative(folder) for folder in self._tree.listed - before)
        if any(path.rpartition("/")[2] in _IGNORE_FILES for path in found.paths):
            self._stale.set()  # when the caller calls `next` again, it knows the new rules
        return WatchedChanges(frozenset(found.paths), _outermost(found.rescan), self._head.moved())

    def _look_around(self) -> WatchedChanges:
        """Tries to watch again if that may work now. Returns what `_everything` does; also with the strategy "git" the
        whole tree, if an unknown part of it has changed."""
        unknown = self._names_lost
        if self._retry and not self._after_refusals.left_s() and (not unknown or not self._after_names.left_s()):
            self._watch()
            unknown = unknown or (self._notifier is not None and os.path.isdir(self._root))  # noqa: PTH112
        return WatchedChanges(rescan=frozenset({""}), head_moved=self._head.moved()) if unknown else self._everything()

    def _everything(self) -> WatchedChanges:
        """Returns the whole tree as changed; with the strategy "git", only whether HEAD has moved; nothing if the root
        is gone."""
        if not os.path.isdir(self._root):  # noqa: PTH112
            return WatchedChanges()
        return WatchedChanges(frozenset(), frozenset({""} if self._strategy == "files" else ()), self._head.moved())

    def _watch(self) -> None:
        """Watches the folders that exist now.

        The old notifier is closed only after the new one exists and the old one's last events are taken.
        """
        failure: Exception = FileNotFoundError(f"{self._root} is gone")
        for _ in range(_ATTEMPTS):
            folders = self._folders()
            try:
                notifier = self._make_notifier([*folders, *self._mark_folder()], not self._each_folder)
            except FileNotFoundError as error:  # a folder disappeared after it was listed
                failure = error
                continue
            except UnicodeEncodeError:
                self._close()
                self._retry, self.note = False, f"{_NO_UNICODE} {self._times.poll_seconds:g} s instead."
                return
            except (OSError, RuntimeError) as error:
                self._give_up(error, refused=True)
                return
            if self._notifier is not None and not self._pass(None, time.monotonic() + self._times.look_seconds):
                self._events.add((_ADDED, self._root))  # so that the whole tree is reported
            self._close()
            self._notifier, self._first_mark = notifier, next(_MARKS)
            self._after_refusals.end()
            self._retry, self.note = False, "" if self._strategy == "files" or self._head.watched else _NO_GIT
            if folders == self._folders():
                return
        if self._notifier is None or not os.path.isdir(self._root):  # noqa: PTH112  its watches are dead then
            self._give_up(failure, refused=False)

    def _pass(self, mark: int | None, deadline: float) -> bool:
        """Takes all events of changes before this mark, or before this call. Returns False if the system does not
        report the mark in time."""
        if mark is None or mark < self._first_mark:
            mark = self.mark()
        self._take(self._notifier)
        if mark is None:
            return False
        while self._reported_mark < mark:
            if self._notifier is None or time.monotonic() > deadline:
                return False
            time.sleep(_MARK_STEP_S)
            self._take(self._notifier)
        return True

    def _own_marks(self) -> str:
        """Returns what the paths of this process's marks begin with; their numbers follow."""
        return f"{self._mark}{os.sep}{os.getpid()}-"

    def _take(self, notifier: Notifier | None) -> None:
        """Notes what the system has reported: marks, questions, and the events of everything else."""
        try:
            new = notifier.take() if notifier is not None else set()
        except NamesLost:
            self._close()
            self._retry = True
            self._names_lost = True
            self._after_names.begin()
            return
        except (OSError, RuntimeError) as error:
            self._give_up(error, refused=True)
            return
        for what, path in new:
            if not path.startswith(self._mark):
                self._events.add((what, path))
            elif (number := path.removeprefix(self._own_marks())).isdecimal():
                self._reported_mark = max(self._reported_mark, int(number))
            elif what != _DELETED and (question := question_of(path)):
                self._asked.add(question)

    def _mark_folder(self) -> list[str]:
        with contextlib.suppress(OSError):
            os.makedirs(self._mark, 0o700, exist_ok=True)  # noqa: PTH103
            return [self._mark]
        return []

    def _folders(self) -> list[str]:
        self._head.watched = self._head.folders()
        tree = self._tree.list() if self._each_folder else [self._root]
        return sorted({*tree, *self._head.watched})

    def _fail(self, error: Exception) -> None:
        """Handles an error in this module: from now on reports the whole tree every few seconds and tries to watch
        again."""
        self._log.exception("Watching failed")
        self._close()
        self._retry = True
        self.note = (
            f"Watching failed ({type(error).__name__}: {error}), so sidecar looks for changes every"
            f" {self._times.poll_seconds:g} s until it works again."
        )

    def _give_up(self, error: Exception, refused: bool) -> None:
        """Reports the whole tree every few seconds until watching works again. If the system has `refused`, that is
        tried less and less often, because each attempt lists all folders."""
        self._close()
        self._retry = True
        if refused:
            self._after_refusals.begin()
        if not os.path.isdir(self._root):  # noqa: PTH112
            self.note = f"The folder is not there now; sidecar looks for it every {self._times.poll_seconds:g} s."
            return
        self.note = (
            f"The system does not let sidecar watch this folder ({error}), so sidecar looks for changes every"
            f" {self._times.poll_seconds:g} s until it does. On Linux, raise fs.inotify.max_user_watches,"
            " fs.inotify.max_user_instances or the limit on open files (`ulimit -n`)."
        )

    def _close(self) -> None:
        notifier, self._notifier, self._names_lost = self._notifier, None, False
        if notifier is not None:
            with contextlib.suppress(RuntimeError):
                notifier.close()

    # ------------------------------------------------------------ what the events mean

    def _sort(self, found: _Sorted) -> None:
        """Adds to `found` what the events mean for the tree. Events in git's folders only make the watcher look at
        HEAD."""
        events, self._events = self._events, set()
        found.folders_changed |= any(what == _DELETED and path in self._head.watched for what, path in events)
        if len(events) > _EVENTS_LIMIT:
            found.rescan.add("")
            found.folders_changed = True
        inside: dict[str, bool] = {}
        for change, path in events:
            parent = os.path.dirname(path)  # noqa: PTH120  thousands at once
            if parent not in inside:
                inside[parent] = path == self._root or self._tree.covers(parent)
            if inside[parent]:
                self._sort_one(change, path, found)

    def _sort_one(self, change: int, path: str, found: _Sorted) -> None:
        relative = self._tree.relative(path)
        is_folder = os.path.isdir(path) and not os.path.islink(path)  # noqa: PTH112, PTH114
        was_folder = path in self._tree.known or path == self._root
        if (is_folder or was_folder) and change != _MODIFIED:
            found.folders_changed = True
            if relative == "" or not self._tree.is_ignored(relative):
                found.rescan.add(relative)
        if "\ufffd" in path:  # the name is not valid Unicode and arrived garbled
            found.rescan.add(relative.rpartition("/")[0])
        elif not is_folder:
            found.paths.add(relative)
            if not self._each_folder and change == _DELETED:
                found.rescan.add(relative)  # may have been a folder


class _Pause:
    """A pause that is twice as long each time that it begins again, from `first_s` to `longest_s` seconds.

    When it has not begun for `calm_s` seconds, it begins with no pause at all.
    """

    def __init__(self, first_s: float, longest_s: float, calm_s: float = math.inf) -> None:
        self._first_s, self._longest_s, self._calm_s = first_s, longest_s, calm_s
        self._pause_s, self._begun = 0.0, -math.inf

    def begin(self) -> None:
        now = time.monotonic()
        is_calm = now - self._begun > self._calm_s
        self._pause_s = 0.0 if is_calm else min(max(self._first_s, 2 * self._pause_s), self._longest_s)
        self._begun = now

    def end(self) -> None:
        """Ends it. The next one takes `first_s`."""
        self._pause_s = 0.0

    def left_s(self) -> float:
        """Returns how many seconds are left."""
        return max(0.0, self._begun + self._pause_s - time.monotonic())


@dataclass(slots=True)
class _Sorted:
    paths: set[str] = field(default_factory=set)
    rescan: set[str] = field(default_factory=set)
    folders_changed: bool = False


def _outermost(folders: set[str]) -> frozenset[str]:
    """Returns the folders without those that are inside another one."""
    return frozenset(f for f in folders if not f or folders.isdisjoint(lineage(f.rpartition("/")[0])))
