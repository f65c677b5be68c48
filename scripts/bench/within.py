"""A series with a time limit, so that a check that cannot be finished says how far it came."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def within(seconds: float, items: Iterable[Item]) -> Iterator[Item]:
    """Yields the items until `seconds` after the first one was requested."""
    end = time.monotonic() + seconds
    for item in items:
        if time.monotonic() >= end:
            return
        yield item
