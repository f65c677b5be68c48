"""Tracks the job that is running on an index, and its progress."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sidecar.errors import Cancelled, SidecarError
from sidecar.locks import Rank, make_lock
from sidecar.model.terms import IsCancelled, Progress

_CALL_SECONDS = 0.25


class Activity:
    """The running job and its progress.

    All objects of a workspace announce here that its status has changed. This then calls `on_change`, for commits and
    progress at most four times a second. It is the only call upwards in the engine.

    One thread at a time calls `on_change`, which reads the status anew, so an older status is never reported after a
    newer one. A thread that announces a change meanwhile does not wait; the calling thread then calls once more.
    """

    def __init__(self, on_change: Callable[[], None]) -> None:
        self._on_change = on_change
        self._lock = make_lock(Rank.ACTIVITY)
        self._called = 0.0
        self._due = False
        self._calling = False
        self._stopping = False
        self.kind = ""
        self.done = 0
        self.total = 0
        self.says = ""
        self._began: tuple[float, int] | None = None
        self.failure = ""

    @contextmanager
    def running(self, kind: str) -> Iterator[None]:
        """Within the block, `kind` is the running job.

        If it raises a SidecarError other than Cancelled, `failure` is its message; after a success, `failure` is empty.
        """
        self.kind, self.done, self.total, self.says = kind, 0, 0, ""
        self._began = None
        try:
            yield
            self.failure = ""
        except Cancelled:
            raise
        except SidecarError as error:
            self.failure = error.message
            raise
        finally:
            self.kind = ""

    def succeeded(self) -> None:
        """Forgets the failure of an earlier job: a pass over the whole workspace has succeeded since."""
        self.failure = ""

    def reporting(self, progress: Progress) -> Progress:
        """Wraps a progress callback so that status also sees the progress."""

        def report(done: int, total: int, message: str) -> None:
            if self._began is None or self.total != total:
                self._began = (time.monotonic(), done)
            self.done, self.total, self.says = done, total, message
            progress(done, total, message)
            self.commit()

        return report

    def seconds_left(self) -> float | None:
        """Returns the seconds that the job will still take at its pace so far; None if that is not known yet."""
        if self._began is None:
            return None
        start, already = self._began
        done = self.done - already
        return (time.monotonic() - start) / done * (self.total - self.done) if done > 0 else None

    def commit(self) -> None:
        """Announces that something new can be searched, unless `on_change` was called in the last quarter of a
        second."""
        with self._lock:
            now = time.monotonic()
            if now - self._called < _CALL_SECONDS:
                return
            self._called = now
        self.changed()

    def changed(self) -> None:
        """Announces a change: `on_change` is called after this moment, on this thread or on the one that is calling it
        now. Raises its errors."""
        with self._lock:
            self._due = True
            if self._calling:
                return
            self._calling = True
        failed: BaseException | None = None
        while self._take_due():
            try:
                self._on_change()
            except BaseException as error:  # the changes of other threads are still announced
                failed = error
        if failed is not None:
            raise failed

    def _take_due(self) -> bool:
        """Whether a call is due. If so, the caller has to make it."""
        with self._lock:
            due = self._calling = self._due
            self._due = False
            return due

    def stop(self) -> None:
        """Makes every callback from `or_stopped` return True."""
        self._stopping = True

    def or_stopped(self, cancelled: IsCancelled) -> IsCancelled:
        """Returns a callback that is True if `cancelled()` is, or after `stop`."""
        return lambda: self._stopping or cancelled()
