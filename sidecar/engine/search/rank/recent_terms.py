"""Keeps what was read or computed for terms that recent searches have used. Keeping it pays, because words that many
chunks contain take long and are common in questions."""

from __future__ import annotations

from typing import Generic, Protocol, TypeVar

from sidecar.locks import Rank, make_lock


class _Sized(Protocol):
    @property
    def nbytes(self) -> int:
        """The bytes that it takes."""


T = TypeVar("T", bound=_Sized)


class RecentTerms(Generic[T]):
    """A value for each of the terms that were requested last, at most `most` bytes in all. Thread-safe."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = make_lock(Rank.RECENT_TERMS)
        self._kept: dict[str, T] = {}
        self._size = 0

    def get(self, term: str) -> T | None:
        """Returns the term's value if it is kept, else None."""
        with self._lock:
            found = self._kept.pop(term, None)
            if found is not None:
                self._kept[term] = found  # moves it to the end, as the last one requested
            return found

    def keep(self, term: str, found: T) -> None:
        """Keeps the term's value, and drops those whose last request is the longest ago if all take too much memory."""
        size = found.nbytes
        with self._lock:
            if term in self._kept or size > self._most:
                return
            self._kept[term] = found
            self._size += size
            while self._size > self._most:
                self._size -= self._kept.pop(next(iter(self._kept))).nbytes
