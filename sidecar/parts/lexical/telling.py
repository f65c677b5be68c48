"""Which terms of a long question are looked up: those that it begins with, and of the others the rarest.

The choice depends on what is in the index only, and not on how it came there: dead postings do not count, and neither
does how the living ones are distributed over segments. So an index that has followed its files for a year answers like
one made anew.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from sidecar.model.terms import Ids
from sidecar.parts.lexical.alive import contains, indexed_chunks
from sidecar.parts.lexical.codec import decode_few, postings_in
from sidecar.parts.lexical.postings import MOST_TERMS, FoundPostings, found_in, rows_of

_FIRST = MOST_TERMS // 3
_RAREST = MOST_TERMS - _FIRST

_Bodies = Iterable[tuple[str, bytes | None]]
_Counts = Mapping[str, int]


def most_telling(connection: sqlite3.Connection, chunks: Ids, terms: Sequence[str]) -> list[str]:
    """Returns at most `MOST_TERMS` of these terms, in their order. If there are more, it takes the first `MOST_TERMS //
    3`, because a text begins with what it is about, and of the others the rarest that are in the body of a living
    chunk.

    `chunks` are the ids of the living chunks, ascending.
    """
    if len(terms) <= MOST_TERMS:
        return list(terms)
    counts: Counter[str] = Counter()
    for term, length, width in rows_of(connection, terms, "length(bodies), substr(bodies, 1, 1)"):
        if length is not None:
            counts[term] += postings_in(length, width[0])
    return _rarest(
        terms, counts, _dead(connection, chunks), lambda some: _living(rows_of(connection, some, "bodies"), chunks)
    )


def read_most_telling(
    connection: sqlite3.Connection, chunks: Ids, *queries: Sequence[str]
) -> tuple[list[Ids], FoundPostings]:
    """Returns the postings of the `most_telling` terms of each query, with one look at the index, and for each query
    the places of these terms, in their order; those of the first are 0, 1, 2 … It reads the postings of the other terms
    too, so it is for indexes in which these are short."""
    asked = list(dict.fromkeys(term for terms in queries for term in terms))
    rows = rows_of(connection, asked, "bodies, names, fields")
    telling = [
        list(terms) if len(terms) <= MOST_TERMS else _telling_in(connection, chunks, terms, rows) for terms in queries
    ]
    read = list(dict.fromkeys(term for terms in telling for term in terms))
    places = {term: place for place, term in enumerate(read)}
    return [np.array([places[term] for term in terms], np.int64) for terms in telling], found_in(rows, read)


def _telling_in(
    connection: sqlite3.Connection,
    chunks: Ids,
    terms: Sequence[str],
    rows: Sequence[tuple[str, bytes | None, bytes | None, bytes | None]],
) -> list[str]:
    counts: Counter[str] = Counter()
    for term, bodies, _, _ in rows:
        if bodies is not None:
            counts[term] += postings_in(len(bodies), bodies[0])

    def living(some: Sequence[str]) -> _Counts:
        wanted = frozenset(some)
        return _living(((term, bodies) for term, bodies, _, _ in rows if term in wanted), chunks)

    return _rarest(terms, counts, _dead(connection, chunks), living)


def _dead(connection: sqlite3.Connection, chunks: Ids) -> int:
    """Returns how many chunks of the segments are dead."""
    return max(0, indexed_chunks(connection) - len(chunks))


def _living(rows: _Bodies, chunks: Ids) -> _Counts:
    """Returns how many living chunks have each term."""
    held = [(term, blob) for term, blob in rows if blob is not None]
    ids, _, sizes = decode_few([blob for _, blob in held])
    of_each = np.bincount(np.repeat(np.arange(len(held)), sizes), weights=contains(chunks, ids), minlength=len(held))
    counts: Counter[str] = Counter()
    for (term, _), count in zip(held, of_each.tolist(), strict=True):
        counts[term] += int(count)
    return counts


def _rarest(terms: Sequence[str], counts: _Counts, dead: int, living: Callable[[Sequence[str]], _Counts]) -> list[str]:
    """Returns the first terms and, of the others, the rarest in their order. `counts` has for each term how many chunks
    have it, of which at most `dead` are dead; `living` counts for some terms those that are not."""
    others = [term for term in terms[_FIRST:] if counts.get(term)]
    known = _rarest_living(others, counts, dead, living) if dead else counts
    rarest = sorted((term for term in others if known.get(term)), key=known.__getitem__)
    kept = frozenset((*terms[:_FIRST], *rarest[:_RAREST]))
    return [term for term in terms if term in kept]


def _rarest_living(
    terms: Sequence[str], counts: _Counts, dead: int, living: Callable[[Sequence[str]], _Counts]
) -> _Counts:
    """Returns how many living chunks have each term, at least for all terms that may be among the rarest that any has:
    reading the postings of a frequent term takes long."""
    known: dict[str, int] = {}
    most = max((counts[term] for term in terms), default=0)
    limit = sorted(counts[term] for term in terms)[_RAREST - 1] if len(terms) >= _RAREST else most
    while unknown := [term for term in terms if term not in known and counts[term] - dead <= limit]:
        found = living(unknown)
        known |= {term: found.get(term, 0) for term in unknown}
        there = sorted(count for count in known.values() if count)
        limit = there[_RAREST - 1] if len(there) >= _RAREST else most
    return known
