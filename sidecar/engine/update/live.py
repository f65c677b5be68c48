"""Keeps an open index in step with the files: runs the applier, the watcher and the start of the vector store."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from sidecar.engine.concurrency.rwlock import RwLock
from sidecar.engine.index.generation import Generation, Writer
from sidecar.engine.index.handle import IndexHandle
from sidecar.engine.ports import Watching
from sidecar.engine.update.applier import ChangeApplier
from sidecar.engine.update.change_queue import EVERYTHING, ChangeQueue, Pending
from sidecar.engine.update.staleness import Staleness, one_line, unread_notice
from sidecar.locks import Rank, make_lock
from sidecar.model import IsCancelled
from sidecar.settings.load import Settings

Apply = Callable[[Generation, Pending, IsCancelled], Pending]
MakeWatcher = Callable[[str, Settings, Callable[[Iterable[str], Iterable[str]], None]], Watching]


class LiveUpdate:
    """Runs while a generation is open for writing.

    `apply` writes pending changes into a generation and returns those that are committed; `start` has the others tried
    again. `warm` prepares for the first saved file. It is called, the watcher is started, and the vector store is
    started if searches need it, only after `stay_seconds`: a short command ends before that. The applier's thread never
    takes the index's gate, so a thread that holds the gate may wait for it.
    """

    def __init__(
        self,
        root: str,
        index: Callable[[], IndexHandle],
        settings: Callable[[], Settings],
        make_watcher: MakeWatcher,
        apply: Apply,
        on_change: Callable[[], None],
        write_lock: RwLock,
        stay_seconds: float,
        freshness_seconds: float,
        warm: Callable[[], None] = lambda: None,
    ) -> None:
        self._root = root
        self._index = index
        self._settings = settings
        self._make_watcher = make_watcher
        self._apply = apply
        self._on_change = on_change
        self._warm = warm
        self._on_settled: Callable[[], None] = lambda: None
        self._write_lock = write_lock
        self._stay_seconds = stay_seconds
        self._freshness_seconds = freshness_seconds
        self._queue = ChangeQueue()
        self._applier: ChangeApplier | None = None
        self._watcher: Watching | None = None
        self._stay: threading.Timer | None = None
        self._ended = False
        self._paused = False
        self._changing = make_lock(Rank.LIVE_UPDATE)
        self.unread = ""
        """One line on what could not be read at the last look; empty if everything could."""

    def start(self, *, reconcile: bool) -> None:
        """Starts live update, or goes on with what is pending if it runs already.

        Does nothing unless a generation is open for writing. With `reconcile`, the whole workspace is looked over as
        the strategy says; otherwise with the next search, or when the watcher starts.
        """
        index = self._index()
        with index.gate:
            generation, applier = index.generation, self._applier
            if self._ended or generation is None or generation.writer is None:
                return
            if applier is None:
                applier = self._make_keeper()
                self._queue.note(Pending.of(generation.writer.manifest.dirty()))
                # Covers changes that nobody saw, or that went into a generation that has since been replaced.
                self._queue.note(Pending(rescan={EVERYTHING}))
                if not self._begin(applier):
                    return
            else:
                applier.go_on()
            self._see_unread(generation.writer)
            if reconcile:
                applier.add(rescan=[EVERYTHING], now=applier.strategy != "lazy")

    def _make_keeper(self) -> ChangeApplier:
        strategy = self._settings().indexing_strategy
        return ChangeApplier(
            self._root, self._queue, self._run, strategy, self._remember, self._forget, self._on_change
        )

    def _begin(self, applier: ChangeApplier) -> bool:
        """Returns False if `end` was called for good before the applier could start."""
        with self._changing:
            if self._ended:
                return False
            self._paused = False
            self._applier = applier
            applier.start()
            self._stay = threading.Timer(self._stay_seconds, self._settle_in)
            self._stay.daemon = True
            self._stay.start()
            return True

    def reload_settings(self) -> None:
        """Switches to the strategy in the current settings. Cheap if it has not changed."""
        strategy, applier = self._settings().indexing_strategy, self._applier
        if applier is None or applier.strategy == strategy:
            return
        with self._index().gate:
            if applier is not self._applier:
                return
            applier.strategy = strategy
            if self._watcher is not None:
                self._watch(applier)
        self._on_change()

    def end(self, *, for_good: bool = False) -> None:
        """Stops the applier and the watcher until `start` or the next search; with `for_good`, until the process ends.

        Pending changes stay in the queue.
        """
        with self._changing:
            self._paused = True
            self._ended = self._ended or for_good
            stay, self._stay = self._stay, None
            watcher, self._watcher = self._watcher, None
            applier, self._applier = self._applier, None
        if stay is not None:
            stay.cancel()
        if watcher is not None:
            watcher.stop()
        if applier is not None:
            applier.stop()

    def note_buffer(self, path: str) -> None:
        """Notes that the unsaved text of a path has changed or is gone."""
        applier = self._applier
        if applier is None:
            self._queue.note(Pending({path}))
        else:
            applier.add([path], now=True)

    def when_settled(self, call: Callable[[], None]) -> None:
        """Sets the function to call each time the watcher has been started after `stay_seconds`."""
        self._on_settled = call

    def freshen(self) -> bool:
        """Looks for changes that no event reports, and applies what is pending. False if something is left.

        Waits a bounded time. True at once if the index is read-only.
        """
        if self._paused:
            self.start(reconcile=True)
        self.reload_settings()
        applier = self._applier
        if applier is None:
            return True
        self._look(applier)
        return applier.flush(self._freshness_seconds)

    def _look(self, applier: ChangeApplier) -> None:
        """Looks for changes itself if there is no watcher, or if the watcher only polls."""
        watcher = self._watcher
        if watcher is not None:
            watcher.look()
        elif applier.strategy != "git":
            applier.add(rescan=[EVERYTHING], now=True)

    def pending(self) -> int:
        """How many paths and folders are known to have changed; 0 while it does not run."""
        return self._queue.pending().count() if self._applier is not None else 0

    def shortfall(self) -> Staleness:
        """What the index lacks; empty while live update does not run."""
        applier, pending = self._applier, self._queue.pending()
        if applier is None:
            return Staleness()
        return Staleness(pending.count(), EVERYTHING in pending.rescan, applier.last_error)

    @property
    def settled(self) -> bool:
        """Whether the watcher has been started, which happens only in a process that stays. False after `end`."""
        return self._watcher is not None

    @property
    def watching(self) -> bool:
        """Whether the watcher runs."""
        watcher = self._watcher
        return watcher is not None and watcher.active

    @property
    def note(self) -> str:
        """One line on what hinders live update; empty if nothing does."""
        watcher, applier = self._watcher, self._applier
        failed = applier.last_error.rstrip(".") if applier is not None else ""
        return one_line(
            f"Changes could not be indexed ({failed}); sidecar will try again." if failed else "",
            watcher.note if watcher is not None else "",
        )

    def _run(self, pending: Pending, cancelled: IsCancelled) -> Pending:
        with self._write_lock.writing(cancelled):
            generation = self._index().generation
            if generation is None or generation.writer is None:
                return Pending()
            done = self._apply(generation, pending, cancelled)
            self._see_unread(generation.writer)
            return done

    def _see_unread(self, writer: Writer) -> None:
        """Reads from the manifest what could not be read, for notices and for retries."""
        unread, files = writer.manifest.unread()
        self.unread = unread_notice(unread)
        applier = self._applier
        if applier is not None:
            applier.try_later([*(name for name, _ in unread), *files])

    def _remember(self, names: Iterable[str]) -> None:
        with self._write_lock.writing():
            generation = self._index().generation
            if generation is not None and generation.writer is not None:
                generation.writer.manifest.remember_dirty(names)

    def _forget(self, names: Iterable[str]) -> None:
        with self._write_lock.writing():
            generation = self._index().generation
            if generation is None or generation.writer is None:
                return
            settled = set(names) & set(generation.writer.manifest.dirty())
            if settled:
                generation.writer.manifest.settle_dirty(settled)

    def _settle_in(self) -> None:
        index = self._index()
        with index.gate:
            generation, applier = index.generation, self._applier
            if self._ended or generation is None or generation.writer is None or applier is None:
                return
            generation.writer.store_sync.keep_up()
            self._warm()
            if self._watcher is None:
                self._watch(applier)
        self._on_settled()
        self._on_change()

    def _watch(self, applier: ChangeApplier) -> None:
        """Replaces the watcher by one with the current settings; does nothing if `applier` has been stopped."""
        with self._changing:
            if self._applier is not applier:
                return
            watcher = self._make_watcher(self._root, self._settings(), applier.add)
            watcher.start()
            before, self._watcher = self._watcher, watcher
        if before is not None:
            before.stop()
        # Covers changes from before the watcher ran.
        applier.add(rescan=[EVERYTHING])
