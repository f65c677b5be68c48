"""How long and how tests wait for an event.

There is one time limit for all tests. If an event never comes, the test fails with a message and does not hold up all
others."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE_S = 600.0
"""The limit in seconds for one wait. Only a hanging program reaches it, however busy the machine is. The whole test may
take longer, until the `timeout` of pyproject.toml ends it."""

T = TypeVar("T")


def until(holds: Callable[[], object], pause: Callable[[], object] = lambda: time.sleep(0.02)) -> None:
    """Waits until a condition holds. `pause` waits briefly for a reason to look again."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, f"it does not hold after {PATIENCE_S:.0f} s"
        pause()


def first_that(true_of: Callable[[T], object], arriving: queue.Queue[T]) -> T:
    """Returns the first item that satisfies the condition. Earlier items are taken out of the queue too."""
    deadline, last = time.monotonic() + PATIENCE_S, None
    while (left := deadline - time.monotonic()) > 0:
        try:
            last = arriving.get(timeout=left)
        except queue.Empty:
            break
        if true_of(last):
            return last
    raise AssertionError(f"what was waited for did not arrive within {PATIENCE_S:.0f} s; the last was {last}")
