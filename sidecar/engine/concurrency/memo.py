"""Values that are computed at first use from something immutable, and kept for as long as it lives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar, cast

T = TypeVar("T")


class Memo:
    """Holds at most one value per type.

    Thread-safe: two threads may compute the same value, and both get the one that was stored first. The memo of the
    next revision (`successor`) starts empty. A value made by `carried` is passed to the next call that makes one of the
    same type, which then has to compute only what has changed.
    """

    def __init__(self, latest: dict[type, object] | None = None) -> None:
        self._made: dict[type, object] = {}
        self._latest: dict[type, object] = {} if latest is None else latest

    def get(self, kind: type[T], make: Callable[[], T]) -> T:
        """Returns the value of this type; `make` computes it at the first call."""
        found = self._made.get(kind)
        if found is None:
            found = self._made.setdefault(kind, make())
        return cast(T, found)

    def carried(self, kind: type[T], make: Callable[[T | None], T]) -> T:
        """Like `get`, but `make` gets the value that was made last, for this or an earlier revision, or None."""
        found = self._made.get(kind)
        if found is None:
            found = self._made.setdefault(kind, make(cast("T | None", self._latest.get(kind))))
            self._latest[kind] = found
        return cast(T, found)

    def successor(self) -> Memo:
        """Returns an empty memo for the next revision of the same thing."""
        return Memo(self._latest)


class ByCollection(Generic[T]):
    """Values of one revision by collection, each made at its first use; for `Memo.carried`. Those of a former revision
    are kept until then, because most of a value can be taken over."""

    def __init__(self, known: ByCollection[T] | None) -> None:
        self._made: dict[int, T] = {}
        self._former: dict[int, T] = {} if known is None else known.latest()

    def get(self, collection: int, make: Callable[[T | None], T]) -> T:
        """Returns the value of this collection; `make` computes it at the first call, from that of a former revision or
        None."""
        found = self._made.get(collection)
        if found is None:
            made = make(self._former.get(collection))
            self._former.pop(collection, None)
            found = self._made.setdefault(collection, made)
        return found

    def made(self) -> tuple[T, ...]:
        """Returns the values of this revision that have been made."""
        return tuple(self._made.values())

    def latest(self) -> dict[int, T]:
        """Returns the newest value of each collection that has one."""
        return {**self._former, **self._made}
