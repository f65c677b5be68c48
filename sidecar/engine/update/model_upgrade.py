"""The model upgrade, or second stage: while one model answers, the vectors of a better one are computed in the
background; then that model takes over.

All vectors go to the embedding cache, so that an interrupted upgrade embeds nothing twice. The index changes in one
step, by a swap of generations. `index/model_selection.py` chooses the model, `update/backfill.py` embeds, and
`index/relink.py` connects chunks with the new vectors.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

from sidecar import shown
from sidecar.engine.concurrency.right_of_way import step_back
from sidecar.engine.index.generation import Generation, Generations
from sidecar.engine.index.handle import IndexHandle
from sidecar.engine.index.model_selection import ModelChoice
from sidecar.engine.index.relink import carry_over, changed_paths, missing_vectors
from sidecar.engine.ingest.team_vectors import TeamVectors
from sidecar.engine.ingest.workspace_files import WorkspaceFiles
from sidecar.engine.models.facts import ModelFacts
from sidecar.engine.ports import EmbeddingCache
from sidecar.engine.update.activity import Activity
from sidecar.engine.update.backfill import Backfill, Pace, count_backfilled
from sidecar.engine.update.builder import Builder
from sidecar.engine.update.change_queue import Pending
from sidecar.errors import Cancelled, Internal, SidecarError
from sidecar.locks import Rank, make_lock
from sidecar.logs import workspace_log
from sidecar.model.answers import UpgradeProgress
from sidecar.model.terms import IsCancelled, Progress

UPGRADE_THREAD = "sidecar-model-upgrade"
_REPORT_S = 1.0
_AGAIN_S = 60.0
_LOOK_S = 0.1
_COUNT_S = 2.0
_CALM_S = 5.0
_MOST_WAITED_FOR = 100
"""The maximum number of files that are brought up to date during the swap, while writers have to wait."""


class ModelUpgrade:
    """Runs the model upgrade of one workspace, on a thread that exists only during an upgrade."""

    def __init__(
        self,
        files: WorkspaceFiles,
        index: IndexHandle,
        generations: Generations,
        choice: ModelChoice,
        pace: Pace,
        builder: Builder,
        activity: Activity,
    ) -> None:
        self._log = workspace_log(__name__, files.root)
        self._parts = files.parts
        self._index = index
        self._generations = generations
        self._choice = choice
        self._pace = pace
        self._builder = builder
        self._activity = activity
        self._lock = make_lock(Rank.UPGRADE)
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._holds = 0
        self._error: SidecarError | None = None
        self._not_before = 0.0
        self._reported = 0.0
        self._began = (0.0, 0)
        self._embedded = 0
        self._now: UpgradeProgress | None = None
        self._latest: UpgradeProgress | None = None  # of the last run, whether it has ended or not
        self._counted = (0.0, (0, ""), (0, 0))

    # ------------------------------------------------------------ called by other modules

    @property
    def active(self) -> bool:
        """Whether an upgrade is running."""
        thread = self._thread
        return thread is not None and thread.is_alive()

    def consider(self) -> None:
        """Starts an upgrade in the background if one is due. Cheap. To be called only in a process that does not end
        soon."""
        if not self.active and time.monotonic() >= self._not_before:
            with contextlib.suppress(SidecarError):  # `state` reports it
                self._start()

    def finish(self, progress: Progress, cancelled: IsCancelled) -> int:
        """Runs the upgrade at full speed, or waits for the one that is running. Returns how many bodies were embedded.

        Raises Cancelled, ModelLoadFailed and storage errors. Vectors that are already cached stay.
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
            raise Cancelled("The index or its settings have changed in the meantime. Index again to continue.")
        return self._embedded

    @contextmanager
    def held(self) -> Iterator[None]:
        """Stops the upgrade and keeps it from running within the block.

        It must not be entered while the index's gate is held: it waits for the upgrade's thread, which may need the
        gate.
        """
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
        """Stops the upgrade for good."""
        with self._lock:
            self._holds += 1
        with self.held():
            pass

    def state(self, generation: Generation) -> UpgradeProgress | None:
        """Returns the progress of the upgrade, even if another process or none is running it; None if there is nothing
        to upgrade."""
        now = self._now
        if now is not None and self.active:
            return now
        try:
            model = self._choice.next(generation.model)
            if model is None:
                return None
            done, total = self._count(generation, model)
        except SidecarError as error:
            return UpgradeProgress(self._choice.name, note=error.message)
        return UpgradeProgress(model.model_id, done, total, note=self._error.message if self._error else "")

    # ------------------------------------------------------------ the thread

    def _start(self) -> bool:
        """Starts the upgrade unless it is running. Returns False if there is nothing to do or the upgrade is held.
        Raises ModelLoadFailed."""
        with self._lock:
            if self._holds or self.active or self._due() is None:
                return self.active
            self._stop = threading.Event()
            self._error, self._embedded, self._latest = None, 0, None
            self._thread = threading.Thread(target=self._run, args=(self._stop,), name=UPGRADE_THREAD, daemon=True)
            self._thread.start()
            return True

    def _due(self) -> tuple[Generation, ModelFacts] | None:
        generation = self._index.generation
        if generation is None or generation.writer is None:
            return None
        model = self._choice.next(generation.model)
        # The manifest is read last, because every search calls this, and there is seldom an upgrade to do.
        return (generation, model) if model is not None and generation.writer.goes_on else None

    def _run(self, stopped: threading.Event) -> None:
        if not self._pace.hurry.is_set():
            step_back()
        due = None
        try:
            while (due := self._due()) is not None and not stopped.is_set():
                if not self._upgrade_once(*due, stopped):
                    stopped.wait(_CALM_S)
        except Cancelled:
            pass
        except SidecarError as error:
            # If the index was closed or swapped during the run, the error is its consequence.
            if due is None or self._index.generation is due[0]:
                self._error = error
                self._log.warning("the second stage has stopped: %s", error.message)
        except Exception as error:
            self._error = Internal(f"The second stage has stopped ({type(error).__name__}: {shown.reason(error)}).")
            self._log.exception("the second stage has stopped")
        finally:
            self._now = None
            self._not_before = time.monotonic() + _AGAIN_S if self._error else 0.0
            self._activity.changed()

    def _upgrade_once(self, generation: Generation, model: ModelFacts, stopped: threading.Event) -> bool:
        """Runs the upgrade once. Returns False if so much changed meanwhile that it has to be repeated."""

        def stop() -> bool:
            return stopped.is_set() or self._index.generation is not generation or not self._is_still(model)

        with closing(self._open(model)) as kept:
            backfill = self._backfill(generation, kept, model)
            self._begin(model, *count_backfilled(generation.snapshots, kept))
            self._embedded += backfill.run(stop, self._report)
            fresh = self._generations.succeed(generation, self._choice.settings_for(model), model)
            assert fresh.writer is not None
            try:
                self._make_ready(fresh, stop)
                # Covers texts that changed while the copy's vector store was filled.
                self._embedded += backfill.run(stop, self._report)
                self._follow(generation, fresh, stop)
                self._embedded += fresh.writer.indexer.finish_vectors(stop)
                changed_over = self._change_over(generation, fresh, stop)
            except BaseException:
                self._give_up(fresh)
                raise
            if not changed_over:
                self._give_up(fresh)
            return changed_over

    def _make_ready(self, fresh: Generation, stop: IsCancelled) -> None:
        """Loads what the first search would have to wait for, and fills the vector store if searches need it."""
        assert fresh.writer is not None
        fresh.writer.store_sync.keep_up()
        while not fresh.writer.store_sync.drain(_LOOK_S):
            if stop():
                raise Cancelled
        fresh.embedder().embed_query("ready")
        with fresh.snapshots.open():
            pass

    def _change_over(self, old: Generation, fresh: Generation, stop: IsCancelled) -> bool:
        """Swaps the generations.

        Returns False, without a swap, if so much work is left that writers would have to wait long.
        """
        assert old.writer is not None
        assert fresh.writer is not None
        with self._index.alone(stop):
            if self._index.generation is not old:
                raise Cancelled
            if self._follow(old, fresh, stop, most=_MOST_WAITED_FOR) is None:
                return False
            with fresh.snapshots.open() as snapshot:
                if missing_vectors(snapshot.connection):
                    return False
            carry_over(old.writer.manifest, fresh.writer.manifest)
            self._index.swap(fresh)
        return True

    def _follow(self, old: Generation, fresh: Generation, stop: IsCancelled, most: int = sys.maxsize) -> int | None:
        """Applies to `fresh` the changes that have been written into `old` since it was copied.

        Returns the number of files; None, without applying them, if there are more than `most`.
        """
        assert old.writer is not None
        assert fresh.writer is not None
        changed = changed_paths(old.writer.manifest, fresh.writer.manifest)
        if len(changed) > most:
            return None
        if changed:
            self._builder.catch_up(fresh, Pending(set(changed)), stop)
        return len(changed)

    def _give_up(self, fresh: Generation) -> None:
        if self._index.generation is not fresh:
            self._index.drop(fresh)

    # ------------------------------------------------------------ helpers

    def _is_still(self, model: ModelFacts) -> bool:
        due = self._due()
        return due is not None and due[1].model_id == model.model_id

    def _open(self, model: ModelFacts) -> EmbeddingCache:
        return self._generations.open_vectors(model)

    def _backfill(self, generation: Generation, kept: EmbeddingCache, model: ModelFacts) -> Backfill:
        shared = self._parts.shared_vectors(self._choice.settings_for(model))
        team = TeamVectors(model.model_id, model.dimension, model.slow, shared)
        return Backfill(generation.snapshots, kept, lambda: self._choice.embedder(model), self._parts, self._pace, team)

    def _count(self, generation: Generation, model: ModelFacts) -> tuple[int, int]:
        """Returns the progress, at most two seconds old, because counting reads every chunk."""
        at, about, counted = self._counted
        if about == (generation.number, model.model_id) and time.monotonic() - at < _COUNT_S:
            return counted
        with closing(self._open(model)) as kept:
            counted = count_backfilled(generation.snapshots, kept)
        self._counted = (time.monotonic(), (generation.number, model.model_id), counted)
        return counted

    def _wait(self, progress: Progress, cancelled: IsCancelled) -> None:
        thread = self._thread
        while thread is not None and thread.is_alive():
            if cancelled():
                raise Cancelled(
                    "The index is complete and can be searched; the better model's vectors made so far are kept."
                    " Index again to continue."
                )
            thread.join(_LOOK_S)
            latest = self._latest  # also if the run has ended meanwhile
            if latest is not None:
                step = f"Embedding with {latest.model.partition('@')[0]}"
                progress(latest.done, latest.total, shown.so_far(step, latest.done, latest.total, "chunk"))

    def _begin(self, model: ModelFacts, done: int, total: int) -> None:
        self._began = (time.monotonic(), done)
        self._now = self._latest = UpgradeProgress(model.model_id, done, total)
        self._activity.changed()

    def _report(self, done: int, total: int) -> None:
        if self._now is None:
            return
        started, already = self._began
        new, spent = done - already, time.monotonic() - started
        left = spent / new * (total - done) if new > 0 else None
        self._now = self._latest = UpgradeProgress(self._now.model, done, total, left)
        if time.monotonic() - self._reported >= _REPORT_S:
            self._reported = time.monotonic()
            self._activity.changed()
