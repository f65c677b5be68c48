"""Runs jobs on a whole index one at a time in a workspace, and in fair turns with other workspaces."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sidecar.engine.concurrency.fair_slots import FairSlots
from sidecar.engine.update.activity import Activity
from sidecar.errors import Cancelled, IndexingInProgress
from sidecar.locks import Rank, make_lock
from sidecar.model.terms import IsCancelled

_GIVE_WAY_SECONDS = 0.01


@dataclass(eq=False, slots=True)
class _Job:
    """One running job, and the name of the client in which a person has cancelled it."""

    cancelled_by: str | None = None


class Jobs:
    """The jobs of one workspace. Requested jobs come before those in the background.

    `lock` is held while a job runs.
    """

    def __init__(self, activity: Activity, fair_slots: FairSlots) -> None:
        self.activity = activity
        self.fair_slots = fair_slots
        self.lock = make_lock(Rank.JOB)
        self._running: _Job | None = None
        self._cancellations = 0
        self._holding_back: set[object] = set()

    def begin(self, give_way: Callable[[], None]) -> None:
        """Takes `lock` for a requested job; `end` releases it.

        Calls `give_way` until the job in the background has ended. Raises IndexingInProgress if another requested job
        is running, and Cancelled if a person cancels the one in the background while this one waits for it.
        """
        cancellations = self._cancellations
        while not self.lock.acquire(timeout=_GIVE_WAY_SECONDS):
            if self.activity.kind:
                raise IndexingInProgress("`get_index_status` shows its progress. Wait for its end, or cancel it.")
            give_way()
        if self._cancellations != cancellations:
            self.lock.release()
            raise Cancelled("A person cancelled the indexing that was going on.")
        self._running = _Job()

    def end(self) -> None:
        """Releases `lock`."""
        self._running = None
        self.lock.release()

    def cancel(self, by: str) -> bool:
        """Cancels the running job for a person at the client of this name. Returns False if none is running."""
        job = self._running
        if job is None:
            return False
        job.cancelled_by = by
        self._cancellations += 1
        return True

    @property
    def is_running(self) -> bool:
        """Whether a job is running at the moment."""
        return self._running is not None

    @property
    def cancelled_by(self) -> str | None:
        """The name of the client in which a person has cancelled the running job; None if nobody has."""
        job = self._running
        return job.cancelled_by if job is not None else None

    def or_cancelled(self, cancelled: IsCancelled) -> IsCancelled:
        """Returns a callback for the running job: it is True if `cancelled()` is, or if a person has cancelled the
        job."""
        job = self._running
        assert job is not None
        return lambda: job.cancelled_by is not None or cancelled()

    @contextmanager
    def none_beginning(self) -> Iterator[None]:
        """Within the block, no job begins in the background. Between the end of a cancelled job and the note that says
        so, the same work would be begun again."""
        this = object()
        self._holding_back.add(this)
        try:
            yield
        finally:
            self._holding_back.discard(this)

    @contextmanager
    def in_background(self, cancelled: IsCancelled) -> Iterator[IsCancelled | None]:
        """Holds `lock` and a fair slot within the block. Yields a callback to ask before each batch in place of
        `cancelled`. Yields None, without waiting, if another job is running or none may begin.
        """
        if not self.lock.acquire(blocking=False):
            yield None
            return
        if self._holding_back:
            self.lock.release()
            yield None
            return
        self._running = _Job()
        try:
            with self.fair_slots.taking(self.or_cancelled(cancelled)) as stop:
                yield stop
        finally:
            self.end()
