"""Takes changes from the watcher into the change queue, and from the queue into the index, according to the strategy.

realtime  changes are applied as they come
lazy      they wait, on disk too, and are applied right before a search
git       a commit, checkout or merge starts a pass over the whole workspace; until then, changes are only counted

Unsaved text of editors is applied at once with every strategy.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable
from typing import Protocol

from sidecar.engine.ports import Changes, Watching
from sidecar.engine.update.change_queue import EVERYTHING, Batch, ChangeQueue, Pending
from sidecar.engine.update.retries import Retries
from sidecar.engine.update.staleness import Unread
from sidecar.errors import Cancelled, SidecarError
from sidecar.locks import Rank, make_condition
from sidecar.logs import workspace_log
from sidecar.model.files import Checkout
from sidecar.model.terms import IsCancelled, Strategy
from sidecar.parts.left_out import is_at_or_below

APPLIER_THREAD = "sidecar-apply"
_READER_S = 10.0
_RULE_FILES = (".gitignore", ".sidecarignore", ".gitattributes")


class Target(Protocol):
    """The target of changes: the current index of a workspace, if it is open for writing."""

    @property
    def walked(self) -> Checkout | None:
        """The checkout when the last whole pass over the workspace began; None before the first."""

    def apply(self, pending: Pending, cancelled: IsCancelled) -> Pending:
        """Applies changes and returns those that it has committed. Raises Cancelled and other SidecarErrors."""

    def differing(self, changes: Pending) -> Collection[str]:
        """Returns those of these paths, and of the files in these folders, that are not the same in the index as on
        disk."""

    def unread(self) -> Unread:
        """Returns what could not be read when changes were last applied."""

    def remember(self, names: Iterable[str]) -> None:
        """Adds to the list on disk of changes that wait for the next search. The spelling is that of
        `Pending.names`."""

    def forget(self, names: Iterable[str]) -> None:
        """Removes from that list."""

    def tidy(self, stop: IsCancelled) -> None:
        """Does the work that applied changes leave behind and nobody waits for, in short steps, until `stop` returns
        True. The next call continues it. Raises SidecarErrors."""


class ChangeApplier:
    """Applies pending changes to `target`. Changes that the target does not apply wait until `go_on`.

    `awaiting` has the saved changes that wait for a commit. `strategy` may be changed at any time. `unread` is one line
    on what could not be read at the last attempt; empty if everything could. `last_error` is the message of the last
    attempt to apply changes; empty if that succeeded.
    """

    def __init__(
        self,
        root: str,
        queue: ChangeQueue,
        target: Target,
        strategy: Strategy,
        on_change: Callable[[], None],
        retries: Retries | None = None,
    ) -> None:
        self._retries = retries or Retries()
        self._log = workspace_log(__name__, root)
        self.strategy = strategy
        self.awaiting = ChangeQueue()
        self._queue = queue
        self._target = target
        self._on_change = on_change
        self._lock = make_condition(Rank.CHANGE_APPLIER)
        self._wanted = False
        self._busy = False
        self._complete = False
        self._stopping = False
        self._runs = 0
        self._releases = 0
        self._put_off = False
        self._thread: threading.Thread | None = None
        self._reader: threading.Thread | None = None
        self.last_error = ""
        self.unread = ""

    def start(self) -> None:
        """Starts the thread that applies changes."""
        self._thread = threading.Thread(target=self._run, name=APPLIER_THREAD, daemon=True)
        self._thread.start()

    def follow(self, watcher: Watching, asked: Callable[[Collection[str]], None]) -> None:
        """Notes the reports of a started watcher, on a thread of its own, until the watcher is stopped. `asked` is
        called with the questions of other processes, and must not wait."""
        self._reader = threading.Thread(target=self._read, args=(watcher, asked), name="sidecar-watch", daemon=True)
        self._reader.start()

    def stop(self) -> None:
        """Asks the batch in progress to stop, and waits for the threads to end. The watcher must have been stopped."""
        with self._lock:
            self._stopping = True
            self._lock.notify_all()
        if self._thread is not None:
            self._thread.join()
        # A listener of the status may call this on the reader's thread, or make that thread wait for the caller.
        if self._reader is not None and self._reader is not threading.current_thread():
            self._reader.join(_READER_S)

    def add(self, paths: Iterable[str] = (), rescan: Iterable[str] = (), *, now: bool = False) -> None:
        """Notes changes and has them applied at once; with the lazy strategy and without `now`, at the next search."""
        self._take_in(paths, rescan, now=now)
        self._on_change()

    def _take_in(self, paths: Iterable[str], rescan: Iterable[str], *, now: bool = False) -> None:
        added = Pending(set(paths), set(rescan))
        if any(p.rsplit("/", 1)[-1] in _RULE_FILES for p in added.paths):
            added.rescan.add(EVERYTHING)
        self._queue.note(added)
        if now or self.strategy != "lazy":
            self._want()
        elif known := Pending(added.paths, added.rescan - {EVERYTHING}):  # EVERYTHING is noted at each start
            self._target.remember(known.names())

    def note_everything(self) -> None:
        """Notes that anything may have changed, like `add`, but does not announce it."""
        self._take_in((), [EVERYTHING])

    def note(self, changes: Changes) -> None:
        """Notes changes that a watcher has reported, like `add`, but does not announce them. With the strategy git,
        changed files wait for the next commit, unless it is unknown which files have changed."""
        if self.strategy == "git" and not changes.head_moved and EVERYTHING not in changes.rescan:
            self._await_commit(Pending(set(changes.paths), set(changes.rescan)))
        else:
            self._take_in(changes.paths, [EVERYTHING] if changes.head_moved else changes.rescan)

    def _await_commit(self, changes: Pending) -> None:
        """Notes in `awaiting` which of these changes the index lacks, and removes those that it no longer lacks."""
        before = self.awaiting.look()
        differing = set(self._target.differing(changes))
        self.awaiting.note(Pending(differing))
        places = changes.paths | changes.rescan
        same = {path for path in before.pending.paths - differing if is_at_or_below(path, places)}
        self.awaiting.settle(Pending(same), before.moment)

    @property
    def is_at_work(self) -> bool:
        """Whether changes are being applied, or will be without waiting for a search."""
        with self._lock:
            return self._busy or (self._wanted and bool(self._queue))

    def go_on(self) -> None:
        """Has changes that the target did not apply tried again now, because the reason may no longer exist."""
        with self._lock:
            self._releases += 1
            self._wanted = self._wanted or self._put_off
            self._put_off = False
            self._lock.notify_all()

    def see_unread(self) -> None:
        """Takes over the list of what could not be read, in order to report it and to try it again."""
        unread = self._target.unread()
        self.unread = unread.notice
        with self._lock:
            self._retries.replace(unread.names)
            self._lock.notify_all()

    def flush(self, timeout: float) -> bool:
        """Has pending changes applied and waits at most `timeout` seconds. Returns False if some are still pending
        then.

        Changes that cannot be applied are tried once per call. Changes that are noted during the call are not waited
        for.
        """
        with self._lock:
            if not self._queue and not self._busy:
                return True
            if self._thread is None:
                return False
            self._wanted = True
            self._lock.notify_all()
            enough = self._runs + (2 if self._busy else 1)
            self._lock.wait_for(
                lambda: self._stopping or self._runs >= enough or not (self._queue or self._busy), timeout
            )
            return (self._runs >= enough and self._complete) or not (self._queue or self._busy)

    def _want(self) -> None:
        with self._lock:
            self._wanted = True
            self._lock.notify_all()

    def _read(self, watcher: Watching, asked: Callable[[Collection[str]], None]) -> None:
        while (changes := watcher.next()) is not None:
            try:
                if changes.asked:
                    asked(changes.asked)
                else:
                    self.note(changes)
                    self._on_change()
            except Exception:  # such as an error of a listener, which must not end the watching
                self._log.exception("What changed could not be taken in")

    def _run(self) -> None:
        while (batch := self._next()) is not None:
            complete = self._try(batch)
            with self._lock:
                self._complete = complete
                self._busy = False
                self._runs += 1
                self._lock.notify_all()
            self._announce()
            self._tidy()

    def _tidy(self) -> None:
        try:
            self._target.tidy(lambda: self._stopping or (self._wanted and bool(self._queue)))
        except Exception as error:  # the next batch reports what is wrong with the index
            self._log.warning("the index could not be tidied: %s", error)

    def _try(self, batch: Batch) -> bool:
        """Applies a batch. Returns whether all of it was applied."""
        releases = self._releases
        try:
            done = self._target.apply(batch.pending, lambda: self._stopping)
            self.see_unread()
            if self.awaiting:
                self._await_commit(self.awaiting.pending())
            self._target.forget(self._queue.settle(done, batch.moment).names())
            self.last_error = ""
            if done != batch.pending:
                self._wait_for_release(releases)
            return done == batch.pending
        except Cancelled:
            pass
        except SidecarError as error:
            self._failed(error.message)
            self._log.warning("the index could not be updated: %s", error.message)
        except Exception as error:
            self._failed(f"{type(error).__name__}: {error}")
            self._log.exception("the index could not be updated")
        return False

    def _wait_for_release(self, since: int) -> None:
        with self._lock:
            self._put_off = self._releases == since
            self._wanted = self._wanted or not self._put_off

    def _failed(self, error: str) -> None:
        """Makes the next attempt, which comes with the next change or search, a pass over the whole workspace.

        That pass also finds what the failed attempt has left half done, and a path that always fails does not hold up
        the others.
        """
        self._queue.note(Pending(rescan={EVERYTHING}))
        self.last_error = error

    def _announce(self) -> None:
        try:
            self._on_change()
        except Exception:  # a listener's error must not end this thread
            self._log.exception("a listener failed when the index had changed")

    def _next(self) -> Batch | None:
        with self._lock:
            while not (self._stopping or (self._wanted and self._queue)):
                self._lock.wait(self._retries.wait_s())
                again = self._retries.take_due()
                if again:
                    self._queue.note(Pending.of(again))
                    self._wanted = True
            if self._stopping:
                return None
            self._wanted = False
            self._busy = True
            return self._queue.look()
