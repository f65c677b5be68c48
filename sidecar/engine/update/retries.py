"""Schedules when to try again what could not be read: soon at first, then less and less often."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

FIRST_S = 1.0
LONGEST_S = 600.0


class Retries:
    """Names, and when each of them is due. `now` returns seconds of a monotonic clock. Not thread-safe."""

    def __init__(self, first_s: float = FIRST_S, now: Callable[[], float] = time.monotonic) -> None:
        self._first_s = first_s
        self._now = now
        self._waits: dict[str, float] = {}
        self._due: dict[str, float] = {}

    def replace(self, names: Iterable[str]) -> None:
        """Sets the names to retry.

        A name that is given again after it was due waits twice as long as before, at most LONGEST_S.
        """
        names = set(names)
        for gone in self._waits.keys() - names:
            del self._waits[gone]
            self._due.pop(gone, None)
        for name in names - self._due.keys():
            wait = self._waits.get(name, 0.0)
            self._waits[name] = min(2 * wait, LONGEST_S) or self._first_s
            self._due[name] = self._now() + self._waits[name]

    def wait_s(self) -> float | None:
        """Returns the seconds until a name is due, 0 if one is due now; None if no name is scheduled."""
        return max(0.0, min(self._due.values()) - self._now()) if self._due else None

    def take_due(self) -> list[str]:
        """Returns the names that are due. They are then no longer scheduled."""
        due = [name for name, at in self._due.items() if at <= self._now()]
        for name in due:
            del self._due[name]
        return due
