"""The jobs that somebody asks for: each runs alone, can be cancelled by a person, and then stays cancelled."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sidecar import shown
from sidecar.engine.index.handle import IndexHandle
from sidecar.engine.update.builder import Builder
from sidecar.engine.update.jobs import Jobs
from sidecar.engine.update.live import LiveUpdate
from sidecar.engine.update.model_upgrade import ModelUpgrade
from sidecar.errors import Cancelled


class RequestedJobs:
    """The requested jobs of one workspace."""

    def __init__(
        self,
        jobs: Jobs,
        index: IndexHandle,
        live_update: LiveUpdate,
        upgrade: ModelUpgrade,
        builder: Builder,
        is_complete: Callable[[], bool],
    ) -> None:
        """`is_complete`: see `diagnostics.status.Reporter`."""
        self._jobs = jobs
        self._activity = jobs.activity
        self._index = index
        self._live_update = live_update
        self._upgrade = upgrade
        self._builder = builder
        self._is_complete = is_complete

    @contextmanager
    def only(self, kind: str) -> Iterator[None]:
        """Within the block, this job runs alone. Live update and model upgrade pause for it.

        Raises IndexingInProgress if another requested job is running, and Cancelled, which names the client in which a
        person has cancelled the job.
        """
        self._jobs.begin(give_way=self._live_update.end)
        reconcile = goes_on = True
        try:
            with self._upgrade.held(), self._activity.running(kind), self._index.announcing(kind):
                yield
            reconcile = False
        except Cancelled:
            goes_on = self._is_complete()
            if (by := self._jobs.cancelled_by) is not None:
                raise Cancelled(f"A person cancelled it in {shown.quoted(by)}.") from None
            raise
        finally:
            self._jobs.end()
            if goes_on:
                self._live_update.start(reconcile=reconcile)
            else:
                self._live_update.end()
            self._live_update.consider_upgrade()
            self._activity.changed()

    def cancel(self, by: str) -> bool:
        """See `sidecar.model.workspace.Workspace.cancel`."""
        kind = self._activity.kind
        builds = kind != "delete" if kind else not self._is_complete()
        with self._jobs.none_beginning():
            if not (builds and self._jobs.cancel(by)):
                return False
            self.stay_cancelled()
            return True

    def stay_cancelled(self) -> None:
        """See `sidecar.model.workspace.Workspace.stay_cancelled`."""
        with self._jobs.none_beginning(), self._jobs.lock:
            self._builder.note_cancelled()
        self._activity.changed()
