"""Values that are computed from something immutable at first use and kept as long as it lives."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

T = TypeVar("T")


class Memo:
    """At most one value per type. Thread-safe: two threads may compute the same value, and both get the first one.

    The memo of the next revision (`successor`) starts empty, but what was made by `carried` is handed to the next
    maker of the same type, which need then compute only what has changed.
    """

    def __init__(self, latest: dict[type, object] | None = None) -> None:
        self._made: dict[type, object] = {}
        self._latest: dict[type, object] = {} if latest is None else latest

    def get(self, kind: type[T], make: Callable[[], T]) -> T:
        """The value of this type, made by `make` where there is none yet."""
        found = self._made.get(kind)
        if found is None:
            found = self._made.setdefault(kind, make())
        return cast(T, found)

    def carried(self, kind: type[T], make: Callable[[T | None], T]) -> T:
        """The same; `make` is given the value that was made last, for this or another revision, or None."""
        found = self._made.get(kind)
        if found is None:
            found = self._made.setdefault(kind, make(cast("T | None", self._latest.get(kind))))
            self._latest[kind] = found
        return cast(T, found)

    def successor(self) -> Memo:
        """An empty memo for the next revision of the same thing."""
        return Memo(self._latest)
