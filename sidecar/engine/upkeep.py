"""What keeps an open index up to the files in a process that stays: the keeper, the watcher, the store's start."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from sidecar.engine.change_queue import EVERYTHING, ChangeQueue, Pending
from sidecar.engine.freshness import Shortfall, one_line, unread_notice
from sidecar.engine.generation import Generation, Writer
from sidecar.engine.keeper import Keeper
from sidecar.engine.opened import OpenIndex
from sidecar.engine.passage import Passage
from sidecar.engine.ports import Watching
from sidecar.model import IsCancelled
from sidecar.settings.load import Settings

Apply = Callable[[Generation, Pending, IsCancelled], Pending]
MakeWatcher = Callable[[str, Settings, Callable[[Iterable[str], Iterable[str]], None]], Watching]


class Upkeep:
    """Runs while a generation is open for writing. `apply` brings pending changes into a generation and returns those
    that are in it; `start` is called when the others can be applied. `warm` makes ready for them in a process that
    stays.

    Its thread never takes the gate, so that it may be waited for under the gate.
    """

    def __init__(
        self,
        root: str,
        index: Callable[[], OpenIndex],
        settings: Callable[[], Settings],
        make_watcher: MakeWatcher,
        apply: Apply,
        on_change: Callable[[], None],
        passage: Passage,
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
        self._passage = passage
        self._stay_seconds = stay_seconds
        self._freshness_seconds = freshness_seconds
        self._queue = ChangeQueue()
        self._keeper: Keeper | None = None
        self._watcher: Watching | None = None
        self._stay: threading.Timer | None = None
        self._ended = False
        self._paused = False
        self._changing = threading.Lock()
        self.unread = ""
        """What could not be read the last time somebody looked, one line; empty when everything could."""

    def start(self, *, reconcile: bool) -> None:
        """Begins, or goes on where it runs already. What changed while it did not run is applied by the strategy where
        `reconcile` says so, else with the next search or when watching begins."""
        index = self._index()
        with index.gate:
            generation, keeper = index.generation, self._keeper
            if self._ended or generation is None or generation.writer is None:
                return
            if keeper is None:
                keeper = self._make_keeper()
                self._queue.note(Pending.of(generation.writer.manifest.dirty()))
                # What changed while nobody watched, or was applied to a generation that another one has replaced.
                self._queue.note(Pending(rescan={EVERYTHING}))
                if not self._begin(keeper):
                    return
            else:
                keeper.go_on()
            self._see_unread(generation.writer)
            if reconcile:
                keeper.add(rescan=[EVERYTHING], now=keeper.strategy != "lazy")

    def _make_keeper(self) -> Keeper:
        strategy = self._settings().indexing_strategy
        return Keeper(self._root, self._queue, self._run, strategy, self._remember, self._forget, self._on_change)

    def _begin(self, keeper: Keeper) -> bool:
        """False where it has ended for good meanwhile."""
        with self._changing:
            if self._ended:
                return False
            self._paused = False
            self._keeper = keeper
            keeper.start()
            self._stay = threading.Timer(self._stay_seconds, self._settle_in)
            self._stay.daemon = True
            self._stay.start()
            return True

    def heed_settings(self) -> None:
        """Goes by the strategy that they name by now. Cheap while it is the same."""
        strategy, keeper = self._settings().indexing_strategy, self._keeper
        if keeper is None or keeper.strategy == strategy:
            return
        with self._index().gate:
            if keeper is not self._keeper:
                return
            keeper.strategy = strategy
            if self._watcher is not None:
                self._watch(keeper)
        self._on_change()

    def end(self, *, for_good: bool = False) -> None:
        """Stops after the batch in flight, until `start` or the next search. What waits, waits on."""
        with self._changing:
            self._paused = True
            self._ended = self._ended or for_good
            stay, self._stay = self._stay, None
            watcher, self._watcher = self._watcher, None
            keeper, self._keeper = self._keeper, None
        if stay is not None:
            stay.cancel()
        if watcher is not None:
            watcher.stop()
        if keeper is not None:
            keeper.stop()

    def note_buffer(self, path: str) -> None:
        keeper = self._keeper
        if keeper is None:
            self._queue.note(Pending({path}))
        else:
            keeper.add([path], now=True)

    def when_settled(self, call: Callable[[], None]) -> None:
        """Calls it whenever it turns out that this process stays."""
        self._on_settled = call

    def freshen(self) -> bool:
        """Looks at what nobody watches and applies what waits, in bounded time; False when some is left."""
        if self._paused:
            self.start(reconcile=True)
        self.heed_settings()
        keeper = self._keeper
        if keeper is None:
            return True
        self._look(keeper)
        return keeper.flush(self._freshness_seconds)

    def _look(self, keeper: Keeper) -> None:
        """Where no event tells of a change, a search finds it by looking."""
        watcher = self._watcher
        if watcher is not None:
            watcher.look()
        elif keeper.strategy != "git":
            keeper.add(rescan=[EVERYTHING], now=True)

    def pending(self) -> int:
        return self._queue.pending().count() if self._keeper is not None else 0

    def shortfall(self) -> Shortfall:
        keeper, pending = self._keeper, self._queue.pending()
        if keeper is None:
            return Shortfall()
        return Shortfall(pending.count(), EVERYTHING in pending.rescan, keeper.last_error)

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
        watcher, keeper = self._watcher, self._keeper
        failed = keeper.last_error.rstrip(".") if keeper is not None else ""
        return one_line(
            f"Changes could not be indexed ({failed}); they are tried again." if failed else "",
            watcher.note if watcher is not None else "",
        )

    def _run(self, pending: Pending, cancelled: IsCancelled) -> Pending:
        with self._passage.writing(cancelled):
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
        keeper = self._keeper
        if keeper is not None:
            keeper.try_later([*(name for name, _ in unread), *files])

    def _remember(self, names: Iterable[str]) -> None:
        with self._passage.writing():
            generation = self._index().generation
            if generation is not None and generation.writer is not None:
                generation.writer.manifest.remember_dirty(names)

    def _forget(self, names: Iterable[str]) -> None:
        with self._passage.writing():
            generation = self._index().generation
            if generation is None or generation.writer is None:
                return
            settled = set(names) & set(generation.writer.manifest.dirty())
            if settled:
                generation.writer.manifest.settle_dirty(settled)

    def _settle_in(self) -> None:
        index = self._index()
        with index.gate:
            generation, keeper = index.generation, self._keeper
            if self._ended or generation is None or generation.writer is None or keeper is None:
                return
            generation.writer.feeder.start()
            self._warm()
            if self._watcher is None:
                self._watch(keeper)
        self._on_settled()
        self._on_change()

    def _watch(self, keeper: Keeper) -> None:
        """As the settings say now, in place of whatever watches already; not at all where it has ended meanwhile."""
        with self._changing:
            if self._keeper is not keeper:
                return
            watcher = self._make_watcher(self._root, self._settings(), keeper.add)
            watcher.start()
            before, self._watcher = self._watcher, watcher
        if before is not None:
            before.stop()
        # What changed before the watcher ran.
        keeper.add(rescan=[EVERYTHING])
