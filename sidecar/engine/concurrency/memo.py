"""Values that are computed at first use from something immutable, and kept as long as that lives."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

T = TypeVar("T")


class Memo:
    """Holds at most one value per type.

    Thread-safe: two threads may compute the same value, and both get the first one. The memo of the next revision
    (`successor`) starts empty. A value made by `carried` is handed to the next call that makes one of the same type,
    which then has to compute only what has changed.
    """

    def __init__(self, latest: dict[type, object] | None = None) -> None:
        self._made: dict[type, object] = {}
        self._latest: dict[type, object] = {} if latest is None else latest

    def get(self, kind: type[T], make: Callable[[], T]) -> T:
        """The value of this type; `make` computes it if there is none yet."""
        found = self._made.get(kind)
        if found is None:
            found = self._made.setdefault(kind, make())
        return cast(T, found)

    def carried(self, kind: type[T], make: Callable[[T | None], T]) -> T:
        """Like `get`, but `make` gets the value last made, for this or an earlier revision, or None."""
        found = self._made.get(kind)
        if found is None:
            found = self._made.setdefault(kind, make(cast("T | None", self._latest.get(kind))))
            self._latest[kind] = found
        return cast(T, found)

    def successor(self) -> Memo:
        """An empty memo for the next revision of the same thing."""
        return Memo(self._latest)
