"""What keeps an open index up to the files in a process that stays: the keeper, the watcher, the store's start."""

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
    """Runs while a generation is open for writing. `apply` brings pending changes into a generation and returns those
    that are in it; `start` is called when the others can be applied. `warm` makes ready for them in a process that
    stays.

    Its thread never takes the gate, so that it may be waited for under the gate.
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
        """What could not be read the last time somebody looked, one line; empty when everything could."""

    def start(self, *, reconcile: bool) -> None:
        """Begins, or goes on where it runs already. What changed while it did not run is applied by the strategy where
        `reconcile` says so, else with the next search or when watching begins."""
        index = self._index()
        with index.gate:
            generation, applier = index.generation, self._applier
            if self._ended or generation is None or generation.writer is None:
                return
            if applier is None:
                applier = self._make_keeper()
                self._queue.note(Pending.of(generation.writer.manifest.dirty()))
                # What changed while nobody watched, or was applied to a generation that another one has replaced.
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
        """False where it has ended for good meanwhile."""
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
        """Goes by the strategy that they name by now. Cheap while it is the same."""
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
        """Stops after the batch in flight, until `start` or the next search. What waits, waits on."""
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
        applier = self._applier
        if applier is None:
            self._queue.note(Pending({path}))
        else:
            applier.add([path], now=True)

    def when_settled(self, call: Callable[[], None]) -> None:
        """Calls it whenever it turns out that this process stays."""
        self._on_settled = call

    def freshen(self) -> bool:
        """Looks at what nobody watches and applies what waits, in bounded time; False when some is left."""
        if self._paused:
            self.start(reconcile=True)
        self.reload_settings()
        applier = self._applier
        if applier is None:
            return True
        self._look(applier)
        return applier.flush(self._freshness_seconds)

    def _look(self, applier: ChangeApplier) -> None:
        """Where no event tells of a change, a search finds it by looking."""
        watcher = self._watcher
        if watcher is not None:
            watcher.look()
        elif applier.strategy != "git":
            applier.add(rescan=[EVERYTHING], now=True)

    def pending(self) -> int:
        return self._queue.pending().count() if self._applier is not None else 0

    def shortfall(self) -> Staleness:
        applier, pending = self._applier, self._queue.pending()
        if applier is None:
            return Staleness()
        return Staleness(pending.count(), EVERYTHING in pending.rescan, applier.last_error)

    @property
    def settled(self) -> bool:
        """Whether this is a process that stays."""
        return self._watcher is not None

    @property
    def watching(self) -> bool:
        watcher = self._watcher
        return watcher is not None and watcher.active

    @property
    def note(self) -> str:
        """What hinders the keeping up, one line; empty when nothing does."""
        watcher, applier = self._watcher, self._applier
        failed = applier.last_error.rstrip(".") if applier is not None else ""
        return one_line(
            f"Changes could not be indexed ({failed}); they are tried again." if failed else "",
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
        """Learns what could not be read, so that it is told, and tried again after a while."""
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
            generation.writer.store_sync.start()
            self._warm()
            if self._watcher is None:
                self._watch(applier)
        self._on_settled()
        self._on_change()

    def _watch(self, applier: ChangeApplier) -> None:
        """As the settings say now, in place of whatever watches already; not at all where it has ended meanwhile."""
        with self._changing:
            if self._applier is not applier:
                return
            watcher = self._make_watcher(self._root, self._settings(), applier.add)
            watcher.start()
            before, self._watcher = self._watcher, watcher
        if before is not None:
            before.stop()
        # What changed before the watcher ran.
        applier.add(rescan=[EVERYTHING])
