"""A series that ends in time: a check that cannot be finished says how far it came."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")


def within(seconds: float, items: Iterable[Item]) -> Iterator[Item]:
    """The items, until so many seconds after the first was asked for; none is begun later."""
    end = time.monotonic() + seconds
    for item in items:
        if time.monotonic() >= end:
            return
        yield item
