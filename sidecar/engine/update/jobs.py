"""Runs jobs on a whole index one at a time in a workspace, and in fair turns with other workspaces."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sidecar.engine.concurrency.fair_slots import FairSlots
from sidecar.engine.update.activity import Activity
from sidecar.errors import IndexingInProgress
from sidecar.locks import Rank, make_lock
from sidecar.model.terms import IsCancelled

_GIVE_WAY_SECONDS = 0.01


class Jobs:
    """The jobs of one workspace. Requested jobs come before those in the background.

    `lock` is held while a job runs.
    """

    def __init__(self, activity: Activity, fair_slots: FairSlots) -> None:
        self.activity = activity
        self.fair_slots = fair_slots
        self.lock = make_lock(Rank.JOB)
        self._cancelled_by: str | None = None

    def begin(self, give_way: Callable[[], None]) -> None:
        """Takes `lock` for a requested job; `end` releases it.

        Calls `give_way` until the job in the background has ended. Raises IndexingInProgress if another requested job
        is running.
        """
        while not self.lock.acquire(timeout=_GIVE_WAY_SECONDS):
            if self.activity.kind:
                raise IndexingInProgress("`get_index_status` shows its progress. Wait for its end, or cancel it.")
            give_way()
        self._cancelled_by = None

    def end(self) -> None:
        """Releases `lock`."""
        self.lock.release()

    def cancel(self, by: str) -> bool:
        """Cancels the running job for a person at the client of this name. Returns False if none is running."""
        if not self.lock.locked():
            return False
        self._cancelled_by = by
        return True

    @property
    def cancelled_by(self) -> str | None:
        """The name of the client in which a person has cancelled the running job; None if nobody has."""
        return self._cancelled_by if self.lock.locked() else None

    def or_cancelled(self, cancelled: IsCancelled) -> IsCancelled:
        """Returns a callback that is True if `cancelled()` is, or if a person has cancelled the running job."""
        return lambda: self.cancelled_by is not None or cancelled()

    @contextmanager
    def in_background(self, cancelled: IsCancelled) -> Iterator[IsCancelled | None]:
        """Holds `lock` and a fair slot within the block. Yields a callback to ask before each batch in place of
        `cancelled`. Yields None, without waiting, if another job is running.
        """
        if not self.lock.acquire(blocking=False):
            yield None
            return
        try:
            self._cancelled_by = None
            with self.fair_slots.taking(self.or_cancelled(cancelled)) as stop:
                yield stop
        finally:
            self.lock.release()
