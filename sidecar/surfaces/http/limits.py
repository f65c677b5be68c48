"""Limits what one caller may ask of a server: requests a minute, and requests at the same time."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PER_MINUTE = 600
AT_ONCE = 16


class CallerLimits:
    """Counts the requests of each caller (token bucket). Lives on the event loop.

    Each caller has a bucket of `per_minute` requests that fills evenly, so a burst is possible after a pause.
    """

    def __init__(
        self, per_minute: int = PER_MINUTE, at_once: int = AT_ONCE, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._per_minute = per_minute
        self.at_once = at_once
        self._now = now
        self._left: dict[str, tuple[float, float]] = {}
        self._running: Counter[str] = Counter()

    def wait(self, caller: str) -> int:
        """Takes one request from the caller's bucket and returns 0; if none may be made now, returns the seconds to
        wait."""
        if self._running[caller] >= self.at_once:
            return 1
        now = self._now()
        left, since = self._left.get(caller, (float(self._per_minute), now))
        left = min(float(self._per_minute), left + (now - since) * self._per_minute / 60)
        if left < 1:
            self._left[caller] = (left, now)
            return math.ceil((1 - left) * 60 / self._per_minute)
        self._left[caller] = (left - 1, now)
        return 0

    @contextmanager
    def running(self, caller: str) -> Iterator[None]:
        """Counts a request for as long as the block runs."""
        self._running[caller] += 1
        try:
            yield
        finally:
            self._running[caller] -= 1
