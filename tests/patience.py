"""How long a test waits for what must come: one number, so that no test is in more of a hurry than another; and how it
waits, so that what never comes fails the test and says so, instead of holding up all others."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE_S = 600.0
"""Seconds. Only what hangs takes as long, however busy the machine is. A test may last longer in all, until the
`timeout` of pyproject.toml ends it."""

T = TypeVar("T")


def until(holds: Callable[[], object], pause: Callable[[], object] = lambda: time.sleep(0.02)) -> None:
    """Waits until a condition holds; `pause` waits for a reason to look again, but not for long."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, f"it does not hold after {PATIENCE_S:.0f} s"
        pause()


def first_that(true_of: Callable[[T], object], arriving: queue.Queue[T]) -> T:
    """The first thing to arrive of which something is true. Those before it are taken out of the queue, too."""
    deadline, last = time.monotonic() + PATIENCE_S, None
    while (left := deadline - time.monotonic()) > 0:
        try:
            last = arriving.get(timeout=left)
        except queue.Empty:
            break
        if true_of(last):
            return last
    raise AssertionError(f"what was waited for did not arrive within {PATIENCE_S:.0f} s; the last was {last}")
