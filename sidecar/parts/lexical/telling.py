"""Which terms of a long question are looked up: those that it begins with, and of the others the rarest.

The choice depends on what is in the index only, and not on how it came there: dead postings do not count, and neither
does how the living ones are distributed over segments. So an index that has followed its files for a year answers like
one made anew.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import numpy as np

from sidecar.model.terms import Ids
from sidecar.parts.lexical.alive import contains, indexed_chunks
from sidecar.parts.lexical.codec import decode_few, postings_in
from sidecar.parts.lexical.postings import MOST_TERMS, rows_of

_FIRST = MOST_TERMS // 3
_RAREST = MOST_TERMS - _FIRST
_MANY = 50_000
"""Counts that take some five megabytes."""


class _Counted:
    """How many chunks have a term in their bodies, as far as it was asked for: `exact` counts the living ones only,
    `with_dead` all that the segments have, which have `indexed` chunks. Several threads may add to it: they write the
    same."""

    def __init__(self, indexed: int) -> None:
        self.indexed = indexed
        self.exact: dict[str, int] = {}
        self.with_dead: dict[str, int] = {}

    def has(self, term: str) -> bool:
        """Whether anything is known of the term."""
        return term in self.exact or term in self.with_dead

    def of(self, term: str) -> int:
        """Returns how many chunks have the term, dead ones included unless the living ones were counted."""
        return self.exact[term] if term in self.exact else self.with_dead[term]


class TermCounts:
    """The counts of terms that searches of one revision have needed. They are begun anew when they are many, and after
    a merge, which drops dead chunks within a revision. A search that uses the former ones goes on with them."""

    def __init__(self) -> None:
        self._latest = _Counted(0)

    def of_segments(self, indexed: int) -> _Counted:
        """Returns the counts in segments that have so many chunks, dead or alive."""
        known = self._latest
        if known.indexed != indexed or len(known.exact) + len(known.with_dead) > _MANY:
            self._latest = known = _Counted(indexed)
        return known


def most_telling(
    connection: sqlite3.Connection, chunks: Ids, terms: Sequence[str], known: TermCounts | None = None
) -> list[str]:
    """Returns at most `MOST_TERMS` of these terms, in their order. If there are more, it takes the first `MOST_TERMS //
    3`, because a text begins with what it is about, and of the others the rarest that are in the body of a living
    chunk.

    `chunks` are the ids of the living chunks, ascending. `known` are counts of the same revision; those of other terms
    are added.
    """
    if len(terms) <= MOST_TERMS:
        return list(terms)
    indexed = indexed_chunks(connection)
    counts = (known or TermCounts()).of_segments(indexed)
    others = terms[_FIRST:]
    _count(connection, [term for term in others if not counts.has(term)], counts)
    dead = max(0, indexed - len(chunks))
    others = [term for term in others if counts.of(term)]
    if dead:
        others = _count_living(connection, chunks, others, counts, dead)
    rarest = sorted((term for term in others if counts.of(term)), key=counts.of)
    kept = frozenset((*terms[:_FIRST], *rarest[:_RAREST]))
    return [term for term in terms if term in kept]


def _count(connection: sqlite3.Connection, terms: Sequence[str], counts: _Counted) -> None:
    """Adds the counts of these terms, dead chunks included."""
    found = dict.fromkeys(terms, 0)
    for term, in_bodies, blob in rows_of(connection, terms, "in_bodies, short"):
        found[term] += in_bodies or (postings_in(blob) if blob else 0)
    counts.with_dead.update(found)


def _count_living(
    connection: sqlite3.Connection, chunks: Ids, terms: Sequence[str], counts: _Counted, dead: int
) -> list[str]:
    """Counts the living chunks that have a term, at least for all terms that may be among the rarest that any has:
    reading the postings of a frequent term takes long. Returns the terms that are counted. At most `dead` chunks are
    dead."""
    most = max(map(counts.of, terms), default=0)
    limit = sorted(map(counts.of, terms))[_RAREST - 1] if len(terms) >= _RAREST else most
    while unknown := [term for term in terms if term not in counts.exact and counts.of(term) - dead <= limit]:
        counts.exact.update(_living(connection, chunks, unknown))
        there = sorted(counts.of(term) for term in terms if counts.exact.get(term))
        limit = there[_RAREST - 1] if len(there) >= _RAREST else most
    return [term for term in terms if term in counts.exact]


def _living(connection: sqlite3.Connection, chunks: Ids, terms: Sequence[str]) -> dict[str, int]:
    """Returns how many living chunks have each of these terms."""
    held = [(term, blob) for term, blob in rows_of(connection, terms, "bodies") if blob is not None]
    ids, _, sizes = decode_few([blob for _, blob in held])
    of_each = np.bincount(np.repeat(np.arange(len(held)), sizes), weights=contains(chunks, ids), minlength=len(held))
    found = dict.fromkeys(terms, 0)
    for (term, _), count in zip(held, of_each.tolist(), strict=True):
        found[term] += int(count)
    return found
