"""Reads the postings of terms in a form that can be scored, and keeps those that recent searches of a revision have
used.

Keeping them pays, because words that many chunks contain take long to read and are common in questions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from sidecar.engine.search.rank.index_columns import IndexColumns
from sidecar.engine.search.rank.term_runs import TermRuns, joined, runs_of
from sidecar.engine.search.source import SearchedSnapshot
from sidecar.locks import Rank, make_lock
from sidecar.model.terms import Ids
from sidecar.parts.lexical.analyse import FIELDS
from sidecar.parts.lexical.postings import PostingsByTerm, read_postings

MOST_KEPT = 4_000_000
"""The maximum number of postings that are kept, at about 16 bytes each."""


@dataclass(frozen=True, slots=True)
class TermPostings:
    """The occurrences of some terms in bodies and names of chunks, and in fields of files."""

    bodies: TermRuns
    names: TermRuns
    fields: TermRuns

    @property
    def size(self) -> int:
        """The number of postings."""
        return len(self.bodies.ids) + len(self.names.ids) + len(self.fields.ids)


class RecentTerms:
    """The postings of the single terms that were requested last, at most `most` postings in all. Thread-safe."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._lock = make_lock(Rank.RECENT_TERMS)
        self._kept: dict[str, TermPostings] = {}
        self._size = 0

    def get(self, term: str) -> TermPostings | None:
        """Returns the term's postings if they are kept, else None."""
        with self._lock:
            found = self._kept.pop(term, None)
            if found is not None:
                self._kept[term] = found  # moves it to the end, as the last one requested
            return found

    def keep(self, term: str, postings: TermPostings) -> None:
        """Keeps the term's postings, and drops those whose last request is the longest ago if there are too many."""
        with self._lock:
            if term in self._kept or postings.size > self._most:
                return
            self._kept[term] = postings
            self._size += postings.size
            while self._size > self._most:
                self._size -= self._kept.pop(next(iter(self._kept))).size


@dataclass(frozen=True)
class _Recent:
    """The recent terms of one revision, by collection."""

    by_collection: dict[int, RecentTerms] = field(default_factory=dict)


def postings_of(snapshot: SearchedSnapshot, columns: IndexColumns, terms: Sequence[str]) -> TermPostings:
    """Returns the postings of these terms, which must all be different, in living chunks and files of the
    collection."""
    by_collection = snapshot.memo.get(_Recent, _Recent).by_collection
    recent = by_collection.get(columns.collection) or by_collection.setdefault(columns.collection, RecentTerms())
    found = {term: postings for term in terms if (postings := recent.get(term)) is not None}
    unknown = [term for term in terms if term not in found]
    for term, postings in zip(unknown, _read(snapshot, columns, unknown), strict=True):
        found[term] = postings
        recent.keep(term, postings)
    each = [found[term] for term in terms]
    return TermPostings(
        joined([one.bodies for one in each]), joined([one.names for one in each]), joined([one.fields for one in each])
    )


def _read(snapshot: SearchedSnapshot, columns: IndexColumns, terms: Sequence[str]) -> list[TermPostings]:
    """Returns the postings of each of these terms."""
    if not terms:
        return []
    found = read_postings(snapshot.connection, terms)
    bodies = [runs_of(one, columns.holders) for one in _each(found.bodies_by_term)]
    names = [runs_of(one, columns.holders) for one in _each(found.names_by_term)]
    fields = [runs_of(one, columns.files, FIELDS) for one in _each(found.fields_by_term)]
    return [TermPostings(*columns) for columns in zip(bodies, names, fields, strict=True)]


def _each(found: PostingsByTerm) -> list[PostingsByTerm]:
    """Returns the same postings, separately for each term."""
    bounds = found.bounds.tolist()
    return [_between(found, begin, end) for begin, end in pairwise(bounds)]


def _between(found: PostingsByTerm, begin: int, end: int) -> PostingsByTerm:
    bounds: Ids = np.array([0, end - begin], np.int64)
    return PostingsByTerm(found.ids[begin:end].copy(), found.tfs[begin:end].copy(), bounds)
