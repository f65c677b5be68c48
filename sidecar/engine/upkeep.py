"""What keeps an open index up to the files in a process that stays: the keeper, the watcher, the store's start."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from sidecar.engine.freshness import Shortfall
from sidecar.engine.generation import Generation
from sidecar.engine.keeper import EVERYTHING, Keeper, Pending
from sidecar.engine.opened import OpenIndex
from sidecar.engine.passage import Passage
from sidecar.engine.ports import Watching
from sidecar.model import IsCancelled
from sidecar.settings.load import Settings

Apply = Callable[[Generation, Pending, IsCancelled], None]
MakeWatcher = Callable[[str, Settings, Callable[[Iterable[str], Iterable[str]], None]], Watching]


class Upkeep:
    """Runs while a generation is open for writing. `apply` brings pending changes into a generation; `warm` makes ready
    for them in a process that stays.

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
        self._keeper: Keeper | None = None
        self._watcher: Watching | None = None
        self._stay: threading.Timer | None = None
        self._ended = False
        self._paused = False
        self._changing = threading.Lock()

    def start(self, *, reconcile: bool) -> None:
        """Unless it runs already. `reconcile`: files may have changed since the index was last open."""
        index = self._index()
        with index.gate:
            generation = index.generation
            if self._keeper is not None or self._ended or generation is None or generation.writer is None:
                return
            strategy = self._settings().indexing_strategy
            keeper = Keeper(self._root, self._run, strategy, self._remember, self._on_change)
            keeper.recall(generation.writer.manifest.dirty())
            if not reconcile:
                # What changed since its file was read: a search looks before watching begins, which looks too.
                keeper.recall(Pending(rescan={EVERYTHING}).names())
            if self._begin(keeper) and reconcile:
                keeper.add(rescan=[EVERYTHING], now=strategy != "lazy")

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

    def pause(self) -> None:
        """Leaves an unfinished index as it is until somebody searches it: the making of it was cancelled."""
        self.end()
        self._paused = True

    def end(self, *, for_good: bool = False) -> None:
        """Stops after the batch in flight."""
        with self._changing:
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
        if self._keeper is not None:
            self._keeper.add([path], now=True)

    def when_settled(self, call: Callable[[], None]) -> None:
        """Calls it whenever it turns out that this process stays."""
        self._on_settled = call

    def freshen(self) -> bool:
        """Applies what is pending, in bounded time; False when some is left."""
        if self._paused:
            self.start(reconcile=True)
        self.heed_settings()
        keeper = self._keeper
        return keeper is None or keeper.flush(self._freshness_seconds)

    def pending(self) -> int:
        return self._keeper.pending() if self._keeper is not None else 0

    def shortfall(self) -> Shortfall:
        keeper = self._keeper
        if keeper is None:
            return Shortfall()
        return Shortfall(keeper.pending(), keeper.looks_over(), keeper.last_error)

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
        """What hinders the watching, one line; empty when nothing does."""
        watcher = self._watcher
        return watcher.note if watcher is not None else ""

    def _run(self, pending: Pending, cancelled: IsCancelled) -> None:
        with self._passage.writing(cancelled):
            generation = self._index().generation
            if generation is not None and generation.writer is not None:
                self._apply(generation, pending, cancelled)

    def _remember(self, names: Iterable[str]) -> None:
        with self._passage.writing():
            generation = self._index().generation
            if generation is not None and generation.writer is not None:
                generation.writer.manifest.remember_dirty(names)

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
