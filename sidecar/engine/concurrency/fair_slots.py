"""Fair turns between workspaces that index: only a few read and embed at a time, first come, first served.

A huge and a small workspace that are indexed together take turns batch by batch. Searches need no slot.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from sidecar.locks import Rank, make_condition, make_lock
from sidecar.model.terms import IsCancelled

_LOOK_S = 0.2


class FairSlots:
    """The slots that the workspaces of a process share. Thread-safe."""

    def __init__(self, slots: int = 2) -> None:
        self._free = slots
        self._waiting: deque[object] = deque()
        self._changed = make_condition(Rank.FAIR_SLOTS)

    @contextmanager
    def taking(self, cancelled: IsCancelled) -> Iterator[IsCancelled]:
        """Holds a slot within the block, and yields a replacement for `cancelled` to be called before each batch.

        The call gives the slot to a waiting job, and waits for the next turn. If `cancelled` becomes true while it
        waits, the block runs without a slot, and should end at its next check.
        """
        turn = _Slot(self, cancelled)
        turn.take()
        try:
            yield turn
        finally:
            turn.give_up()

    def wait(self, ticket: object, cancelled: IsCancelled) -> bool:
        """Waits for a slot, first come, first served. Returns False, without a slot, if cancelled."""
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
        """Returns a slot."""
        with self._changed:
            self._free += 1
            self._changed.notify_all()

    def wanted(self) -> bool:
        """Whether a job waits for a slot."""
        return bool(self._waiting)


class _Slot:
    """The slot of one job. Thread-safe."""

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
        """Waits for a slot."""
        with self._lock:
            self._take()

    def give_up(self) -> None:
        """Returns the slot, if it is held."""
        with self._lock:
            self._give_up()

    def _take(self) -> None:
        self._held = self._fair_slots.wait(self, self._cancelled)

    def _give_up(self) -> None:
        if self._held:
            self._held = False
            self._fair_slots.end()
