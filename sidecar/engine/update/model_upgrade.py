"""The second stage: while one model answers, another one's vectors are made in the background and take its place.

Everything that it makes is kept (gathering), so that whoever goes on after a kill embeds nothing twice; the index
changes in one step (successor, the swap of opened). Not here: which model that is (choice).
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from sidecar.engine.concurrency.rwlock import RwLock
from sidecar.engine.index.generation import Generation, Generations
from sidecar.engine.index.handle import IndexHandle
from sidecar.engine.index.model_selection import ModelChoice
from sidecar.engine.index.relink import carry_over, changed_paths, missing_vectors
from sidecar.engine.models.facts import ModelFacts
from sidecar.engine.ports import Kept, Parts
from sidecar.engine.update.backfill import Backfill, Pace, count_gathered
from sidecar.engine.update.change_queue import Pending
from sidecar.engine.update.live import LiveUpdate
from sidecar.errors import Cancelled, Internal, SidecarError
from sidecar.locks import Rank, make_lock
from sidecar.logs import workspace_log
from sidecar.model import IsCancelled, Progress, Refinement

_TELL_S = 1.0
_AGAIN_S = 60.0
_LOOK_S = 0.1
_COUNT_S = 2.0
_CALM_S = 5.0
_MOST_WAITED_FOR = 100
"""Files that a writer waits for while the models change places."""


class ModelUpgrade:
    """One thread of a workspace, while there is something to refine."""

    def __init__(
        self,
        root: str,
        index: IndexHandle,
        generations: Generations,
        choice: ModelChoice,
        live_update: LiveUpdate,
        write_lock: RwLock,
        parts: Parts,
        vectors: Path,
        pace: Pace,
        catch_up: Callable[[Generation, Pending, IsCancelled], None],
        on_change: Callable[[], None],
    ) -> None:
        self._log = workspace_log(__name__, root)
        self._index = index
        self._generations = generations
        self._choice = choice
        self._live_update = live_update
        self._write_lock = write_lock
        self._parts = parts
        self._vectors = vectors
        self._pace = pace
        self._catch_up = catch_up
        self._on_change = on_change
        self._lock = make_lock(Rank.UPGRADE)
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._holds = 0
        self._error: SidecarError | None = None
        self._not_before = 0.0
        self._told = 0.0
        self._began = (0.0, 0)
        self._embedded = 0
        self._now: Refinement | None = None
        self._counted = (0.0, (0, ""), (0, 0))
        live_update.when_settled(self.consider)

    # ------------------------------------------------------------ from outside

    @property
    def active(self) -> bool:
        thread = self._thread
        return thread is not None and thread.is_alive()

    def consider(self) -> None:
        """Begins in the background where there is something to do, in a process that stays. Cheap."""
        if self._live_update.settled and not self.active and time.monotonic() >= self._not_before:
            with contextlib.suppress(SidecarError):  # the state tells it
                self._start()

    def finish(self, progress: Progress, cancelled: IsCancelled) -> int:
        """Does it, or waits for it, with all that the machine has; returns how many chunks were embedded.

        Raises Cancelled, ModelLoadFailed and what storage raises. What is kept by then stays.
        """
        self._pace.hurry.set()
        try:
            if not self.active and not self._start():
                return 0
            self._wait(progress, cancelled)
        finally:
            self._pace.hurry.clear()
        if self._error is not None:
            raise self._error
        if self._due() is not None:
            raise Cancelled("The index was changed meanwhile, or its settings; index again to go on.")
        return self._embedded

    @contextmanager
    def held(self) -> Iterator[None]:
        """Within it nothing is refined. Not to be entered under the index's gate."""
        with self._lock:
            self._holds += 1
            thread = self._thread
            self._stop.set()
        if thread is not None:
            thread.join()
        try:
            yield
        finally:
            with self._lock:
                self._holds -= 1

    def end(self) -> None:
        """For good."""
        with self._lock:
            self._holds += 1
        with self.held():
            pass

    def state(self, generation: Generation) -> Refinement | None:
        """How far it is, also where another process does it or nobody does; None when there is nothing to do."""
        now = self._now
        if now is not None and self.active:
            return now
        try:
            model = self._choice.next(generation.model)
            if model is None:
                return None
            done, total = self._count(generation, model)
        except SidecarError as error:
            return Refinement(self._choice.name, note=error.message)
        return Refinement(model.model_id, done, total, note=self._error.message if self._error else "")

    # ------------------------------------------------------------ the thread

    def _start(self) -> bool:
        """False when there is nothing to do, or it must not be done now. Raises ModelLoadFailed."""
        with self._lock:
            if self._holds or self.active or self._due() is None:
                return self.active
            self._stop = threading.Event()
            self._error, self._embedded = None, 0
            self._thread = threading.Thread(target=self._run, args=(self._stop,), name="sidecar-refining", daemon=True)
            self._thread.start()
            return True

    def _due(self) -> tuple[Generation, ModelFacts] | None:
        generation = self._index.generation
        if generation is None or generation.writer is None:
            return None
        model = self._choice.next(generation.model)
        return None if model is None else (generation, model)

    def _run(self, stopped: threading.Event) -> None:
        if not self._pace.hurry.is_set():
            self._pace.step_back()
        due = None
        try:
            while (due := self._due()) is not None and not stopped.is_set():
                if not self._refine(*due, stopped):
                    stopped.wait(_CALM_S)
        except Cancelled:
            pass
        except SidecarError as error:
            # Of an index that was closed meanwhile nothing is the matter.
            if due is None or self._index.generation is due[0]:
                self._error = error
                self._log.warning("the second stage stops: %s", error.message)
        except Exception as error:
            self._error = Internal(f"The second stage has stopped ({type(error).__name__}: {error}).")
            self._log.exception("the second stage stops")
        finally:
            self._now = None
            self._not_before = time.monotonic() + _AGAIN_S if self._error else 0.0
            self._on_change()

    def _refine(self, generation: Generation, model: ModelFacts, stopped: threading.Event) -> bool:
        """False when so much has changed meanwhile that it has to be done once more."""

        def stop() -> bool:
            return stopped.is_set() or self._index.generation is not generation or not self._is_still(model)

        with closing(self._open(model)) as kept:
            backfill = self._backfill(generation, kept, model)
            self._begin(model, *count_gathered(generation.snapshots, kept))
            self._embedded += backfill.run(stop, self._report)
            fresh = self._generations.succeed(generation, self._choice.settings_for(model), model)
            try:
                self._make_ready(fresh, stop)
                # What has changed while the copy's store was filled.
                self._embedded += backfill.run(stop, self._report)
                self._follow(generation, fresh, stop)
                changed_over = self._change_over(generation, fresh, stop)
            except BaseException:
                self._give_up(fresh)
                raise
            if not changed_over:
                self._give_up(fresh)
            return changed_over

    def _make_ready(self, fresh: Generation, stop: IsCancelled) -> None:
        """The vector store is filled, and what the first question would wait for is loaded."""
        assert fresh.writer is not None
        fresh.writer.store_sync.start()
        while not fresh.writer.store_sync.drain(_LOOK_S):
            if stop():
                raise Cancelled
        fresh.embedder().embed_query("ready")
        with fresh.snapshots.open():
            pass

    def _change_over(self, old: Generation, fresh: Generation, stop: IsCancelled) -> bool:
        """False when that cannot be done without keeping writers waiting."""
        assert old.writer is not None
        assert fresh.writer is not None
        with self._write_lock.alone(stop):
            if self._index.generation is not old:
                raise Cancelled
            with fresh.snapshots.open() as snapshot:
                if missing_vectors(snapshot.connection):
                    return False
            if self._follow(old, fresh, stop, most=_MOST_WAITED_FOR) is None:
                return False
            carry_over(old.writer.manifest, fresh.writer.manifest)
            self._index.swap(fresh)
        return True

    def _follow(self, old: Generation, fresh: Generation, stop: IsCancelled, most: int = sys.maxsize) -> int | None:
        """Brings the copy up to what was written into the other since; how many files, None when they were too many."""
        assert old.writer is not None
        assert fresh.writer is not None
        changed = changed_paths(old.writer.manifest, fresh.writer.manifest)
        if len(changed) > most:
            return None
        if changed:
            self._catch_up(fresh, Pending(set(changed)), stop)
        return len(changed)

    def _give_up(self, fresh: Generation) -> None:
        if self._index.generation is not fresh:
            self._index.drop(fresh)

    # ------------------------------------------------------------ small things

    def _is_still(self, model: ModelFacts) -> bool:
        due = self._due()
        return due is not None and due[1].model_id == model.model_id

    def _open(self, model: ModelFacts) -> Kept:
        return self._parts.open_kept(self._vectors, model.model_id, model.dimension)

    def _backfill(self, generation: Generation, kept: Kept, model: ModelFacts) -> Backfill:
        return Backfill(generation.snapshots, kept, lambda: self._choice.embedder(model), self._parts, self._pace)

    def _count(self, generation: Generation, model: ModelFacts) -> tuple[int, int]:
        """As it was at most two seconds ago: it looks at every chunk."""
        at, about, counted = self._counted
        if about == (generation.number, model.model_id) and time.monotonic() - at < _COUNT_S:
            return counted
        with closing(self._open(model)) as kept:
            counted = count_gathered(generation.snapshots, kept)
        self._counted = (time.monotonic(), (generation.number, model.model_id), counted)
        return counted

    def _wait(self, progress: Progress, cancelled: IsCancelled) -> None:
        thread = self._thread
        while thread is not None and thread.is_alive():
            if cancelled():
                raise Cancelled(
                    "The index is complete and answers; the better model's vectors made so far are kept."
                    " Index again to go on."
                )
            thread.join(_LOOK_S)
            now = self._now
            if now is not None:
                progress(now.done, now.total, f"Embedding with {now.model.partition('@')[0]}")

    def _begin(self, model: ModelFacts, done: int, total: int) -> None:
        self._began = (time.monotonic(), done)
        self._now = Refinement(model.model_id, done, total)
        self._on_change()

    def _report(self, done: int, total: int) -> None:
        if self._now is None:
            return
        started, already = self._began
        new, spent = done - already, time.monotonic() - started
        left = spent / new * (total - done) if new > 0 else None
        self._now = Refinement(self._now.model, done, total, left)
        if time.monotonic() - self._told >= _TELL_S:
            self._told = time.monotonic()
            self._on_change()
