"""Keeps what was read or computed for terms that recent searches have used. Keeping it pays, because words that many
chunks contain take long and are common in questions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Generic, Protocol, TypeVar

from sidecar.engine.search.source import SearchedSnapshot
from sidecar.locks import Rank, make_lock
from sidecar.parts.lexical.telling import TermCounts


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

    def keep(self, found: Mapping[str, T]) -> None:
        """Keeps the terms' values, and drops those whose last request is the longest ago if all take too much
        memory."""
        if not found:
            return
        with self._lock:
            for term, value in found.items():
                size = value.nbytes
                if term not in self._kept and size <= self._most:
                    self._kept[term] = value
                    self._size += size
            while self._size > self._most:
                self._size -= self._kept.pop(next(iter(self._kept))).nbytes


class _Counts:
    """The counts of one revision, which are begun anew when they are many. A search that uses the former ones goes on
    with them."""

    def __init__(self) -> None:
        self.latest = TermCounts()


def term_counts(snapshot: SearchedSnapshot) -> TermCounts:
    """Returns how many chunks have the terms that recent searches of this revision were asked for."""
    counts = snapshot.memo.get(_Counts, _Counts)
    if counts.latest.are_many:
        counts.latest = TermCounts()
    return counts.latest
