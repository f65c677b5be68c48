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

    def begin(self, give_way: Callable[[], None]) -> None:
        """Takes `lock` for a requested job; `end` releases it.

        Calls `give_way` until the job in the background has ended. Raises IndexingInProgress if another requested job
        is running.
        """
        while not self.lock.acquire(timeout=_GIVE_WAY_SECONDS):
            if self.activity.kind:
                raise IndexingInProgress("`get_index_status` shows its progress. Wait for its end, or cancel it.")
            give_way()

    def end(self) -> None:
        """Releases `lock`."""
        self.lock.release()

    @contextmanager
    def in_background(self, cancelled: IsCancelled) -> Iterator[IsCancelled | None]:
        """Holds `lock` and a fair slot within the block. Yields a callback to ask before each batch in place of
        `cancelled`. Yields None, without waiting, if another job is running.
        """
        if not self.lock.acquire(blocking=False):
            yield None
            return
        try:
            with self.fair_slots.taking(cancelled) as stop:
                yield stop
        finally:
            self.lock.release()
