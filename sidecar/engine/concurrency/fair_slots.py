"""Who of several workspaces reads and embeds its next batch: so many at a time, in the order in which they come.

A huge workspace and a small one that are indexed together take turns batch by batch; searches take no turn at all.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from sidecar.locks import Rank, make_condition, make_lock
from sidecar.model import IsCancelled

_LOOK_S = 0.2


class FairSlots:
    """Shared by the workspaces of a process. Thread-safe."""

    def __init__(self, slots: int = 2) -> None:
        self._free = slots
        self._waiting: deque[object] = deque()
        self._changed = make_condition(Rank.FAIR_SLOTS)

    @contextmanager
    def taking(self, cancelled: IsCancelled) -> Iterator[IsCancelled]:
        """Yields the same question, to be asked before each batch: asking lets those who wait have their turn first."""
        turn = _Slot(self, cancelled)
        turn.take()
        try:
            yield turn
        finally:
            turn.give_up()

    def wait(self, ticket: object, cancelled: IsCancelled) -> bool:
        """False when cancelled meanwhile: then there is no turn."""
        with self._changed:
            self._waiting.append(ticket)
            try:
                while not (self._free and self._waiting[0] is ticket):
                    if cancelled():
                        return False
                    self._changed.wait(_LOOK_S)
                self._free -= 1
                return True
            finally:
                self._waiting.remove(ticket)
                self._changed.notify_all()

    def end(self) -> None:
        with self._changed:
            self._free += 1
            self._changed.notify_all()

    def wanted(self) -> bool:
        return bool(self._waiting)


class _Slot:
    """One job's. Several threads may ask."""

    def __init__(self, fair_slots: FairSlots, cancelled: IsCancelled) -> None:
        self._fair_slots = fair_slots
        self._cancelled = cancelled
        self._lock = make_lock(Rank.FAIR_SLOT)
        self._held = False

    def __call__(self) -> bool:
        if self._fair_slots.wanted():
            with self._lock:
                self._give_up()
                self._take()
        return self._cancelled()

    def take(self) -> None:
        with self._lock:
            self._take()

    def give_up(self) -> None:
        with self._lock:
            self._give_up()

    def _take(self) -> None:
        self._held = self._fair_slots.wait(self, self._cancelled)

    def _give_up(self) -> None:
        if self._held:
            self._held = False
            self._fair_slots.end()
