"""Keeps what was read or computed for terms that recent searches have used. Keeping it pays, because words that many
chunks contain take long and are common in questions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
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

    def find(self, terms: Iterable[str]) -> dict[str, T]:
        """Returns the values of those of these terms that are kept."""
        found = {}
        with self._lock:
            for term in terms:
                value = self._kept.pop(term, None)
                if value is not None:
                    self._kept[term] = found[term] = value  # moves it to the end, as the last one requested
        return found

    def get(self, terms: Sequence[str], make: Callable[[Sequence[str]], Iterable[T]]) -> dict[str, T]:
        """Returns the value of each of these terms, which must all be different. `make` returns the values of those
        that are not kept, in their order; it is called at most once, without the lock."""
        found = self.find(terms)
        unknown = [term for term in terms if term not in found]
        if unknown:
            made = dict(zip(unknown, make(unknown), strict=True))
            self.keep(made)
            found |= made
        return found

    def keep(self, found: Mapping[str, T]) -> None:
        """Keeps the terms' values, and drops those whose last request is the longest ago if all take too much
        memory."""
        with self._lock:
            for term, value in found.items():
                size = value.nbytes
                if term not in self._kept and size <= self._most:
                    self._kept[term] = value
                    self._size += size
            while self._size > self._most:
                self._size -= self._kept.pop(next(iter(self._kept))).nbytes
