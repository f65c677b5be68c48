"""A lock that lets many threads write into the current generation, or one thread swap it while no other writes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sidecar.errors import Cancelled
from sidecar.locks import Rank, make_condition
from sidecar.model.terms import IsCancelled, never_cancelled

_LOOK_S = 0.1


class RwLock:
    """Shared access for writers, exclusive access for a swap. Thread-safe. A thread that waits for exclusive access
    does not block new writers."""

    def __init__(self) -> None:
        self._changed = make_condition(Rank.GENERATION_WRITERS)
        self._writers = 0
        self._alone = False

    @contextmanager
    def writing(self, cancelled: IsCancelled = never_cancelled) -> Iterator[None]:
        """Gives shared access within the block. Raises Cancelled if cancelled while waiting."""
        with self._changed:
            self._wait(lambda: not self._alone, cancelled)
            self._writers += 1
        try:
            yield
        finally:
            with self._changed:
                self._writers -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self, cancelled: IsCancelled) -> Iterator[None]:
        """Gives exclusive access within the block. Raises Cancelled if cancelled while waiting."""
        with self._changed:
            self._wait(lambda: not self._alone and not self._writers, cancelled)
            self._alone = True
        try:
            yield
        finally:
            with self._changed:
                self._alone = False
                self._changed.notify_all()

    def _wait(self, may: IsCancelled, cancelled: IsCancelled) -> None:
        while not may():
            if cancelled():
                raise Cancelled
            self._changed.wait(_LOOK_S)
