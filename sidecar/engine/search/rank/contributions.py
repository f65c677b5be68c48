"""Computes what each term of a query adds to the scores of files and chunks: BM25 of chunk bodies and of each file
field, and BM25F of all fields. It is kept for the terms that recent searches of a revision have used.

Source: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidecar.engine.concurrency.memo import ByCollection
from sidecar.engine.search.rank.index_columns import IndexColumns
from sidecar.engine.search.rank.recent_terms import RecentTerms
from sidecar.engine.search.source import Rows, SearchedSnapshot
from sidecar.model.terms import Ids
from sidecar.parts.lexical.analyse import FIELDS
from sidecar.parts.lexical.bm25 import Floats, idf, saturate
from sidecar.parts.lexical.curves import CHUNK_CURVE, FILE_CURVE, damped, score_fields, weighted_sums
from sidecar.parts.lexical.postings import FoundPostings, Postings, found_in, rows_of
from sidecar.parts.lexical.telling import TermCounts, most_telling

_CELLS = 1 << 20
"""The maximum of terms times files that are processed at once, in an array of four megabytes."""
_MOST_KEPT = 32 * 1024 * 1024
"""The maximum number of bytes of contributions that are kept."""
_OBJECTS = 1024
"""The bytes that the objects of a kept term take besides its numbers, roughly."""


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one term adds to the scores. `weight` is its idf among files, and `chunk_weight` that among chunks.

    Each array of scores is parallel to the rows above it: `files` have the term anywhere, `bodies` are the files that
    have it in their bodies, `chunks` have it in their bodies, `names` are the chunks that define a name with it.
    `fields` are the cells, in an array of shape [FIELDS, files], of the fields that have it.
    """

    weight: np.float32
    chunk_weight: np.float32
    files: Rows
    file_scores: Floats
    bodies: Rows
    body_scores: Floats
    chunks: Rows
    chunk_scores: Floats
    names: Rows
    fields: Rows
    field_scores: Floats

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays."""
        rows = (self.files, self.bodies, self.chunks, self.names, self.fields)
        scores = (self.file_scores, self.body_scores, self.chunk_scores, self.field_scores)
        return _OBJECTS + sum(array.nbytes for array in (*rows, *scores))


class _Recent(ByCollection[RecentTerms[Contribution]]):
    """The recent terms of one revision."""


def contributions_of(
    snapshot: SearchedSnapshot, columns: IndexColumns, queries: Sequence[Sequence[str]]
) -> list[list[Contribution]]:
    """Returns the contributions of the `most_telling` terms of each query, in their order. What queries share is read
    and computed once."""
    counts = snapshot.memo.get(TermCounts, TermCounts)
    telling = [most_telling(snapshot.connection, snapshot.chunk_ids, terms, counts) for terms in queries]
    recent = snapshot.memo.get(_Recent, lambda: _Recent(None)).get(
        columns.collection, lambda _: RecentTerms(_MOST_KEPT)
    )
    terms = list(dict.fromkeys(term for some in telling for term in some))
    found = recent.get(terms, lambda unknown: _compute(snapshot, columns, unknown))
    return [[found[term] for term in some] for some in telling]


def _compute(snapshot: SearchedSnapshot, columns: IndexColumns, terms: Sequence[str]) -> list[Contribution]:
    """Computes the contributions of these terms, of which there is at least one, as many at once as fit."""
    rows = rows_of(snapshot.connection, terms, "bodies, names, fields")
    step = max(1, _CELLS // max(1, len(snapshot.file_ids)))
    lots = (found_in(rows, terms[start : start + step]) for start in range(0, len(terms), step))
    return [each for lot in lots for each in _compute_together(snapshot, columns, lot)]


def _compute_together(snapshot: SearchedSnapshot, columns: IndexColumns, postings: FoundPostings) -> list[Contribution]:
    """Computes the contributions of these terms all at once: in all but large workspaces the number of numpy calls
    costs more than the arithmetic."""
    terms, files = postings.terms, len(snapshot.file_ids)
    in_bodies, in_names, in_fields = postings.together()
    bodies, chunks = _alive(in_bodies, columns.chunks.rows(in_bodies.ids))
    chunk_bounds = _bounds(bodies.places, terms)
    chunk_idf = idfs(columns.chunk_count, np.diff(chunk_bounds))
    strengths = saturate(bodies.tfs, columns.chunk_norms[chunks], CHUNK_CURVE.k1)

    holders = snapshot.chunk_file[chunks]
    starts, number = _runs(bodies.places, holders)
    body_terms, body_files = bodies.places[starts], holders[starts]
    counts = np.bincount(number, weights=bodies.tfs, minlength=len(starts))
    body = saturate(counts, columns.file_norms[body_files], FILE_CURVE.k1)

    held, holders = _alive(in_fields, columns.files.rows(in_fields.ids // FIELDS))
    fields = held.ids % FIELDS
    scores = score_fields(fields, held.tfs, columns.field_norms[holders, fields])
    starts, number = _runs(held.places, holders)
    field_terms, field_files = held.places[starts], holders[starts]
    weighted = weighted_sums(fields, scores, number, len(starts))

    found = np.zeros((terms, files), np.float32)
    found[body_terms, body_files] = body
    beside = found[field_terms, field_files]
    found[field_terms, field_files] = beside + weighted
    alone = beside == 0
    places = np.concatenate([body_terms, field_terms[alone]])
    order = places.argsort(kind="stable")
    places, in_files = places[order], np.concatenate([body_files, field_files[alone]])[order]
    file_bounds = _bounds(places, terms)
    combined = found[places, in_files]
    weights = idfs(columns.file_count, np.diff(file_bounds))
    names, named = _alive(in_names, columns.chunks.rows(in_names.ids))
    body_bounds, name_bounds, field_bounds = (_bounds(each, terms) for each in (body_terms, names.places, held.places))
    return list(
        map(
            Contribution,
            weights,
            chunk_idf,
            _parts(in_files, file_bounds, np.int32),
            _parts(damped(combined, weights[places]), file_bounds),
            _parts(body_files, body_bounds, np.int32),
            _parts(weights[body_terms] * body, body_bounds),
            _parts(chunks, chunk_bounds, np.int32),
            _parts(chunk_idf[bodies.places] * strengths, chunk_bounds),
            _parts(named, name_bounds, np.int32),
            _parts(fields * files + holders, field_bounds, np.int32),
            _parts(weights[held.places] * scores, field_bounds),
        )
    )


def _parts(values: NDArray[Any], bounds: list[int], kind: type = np.float32) -> list[NDArray[Any]]:
    """Returns a copy of each term's part, so that each can be dropped alone."""
    given: NDArray[Any] = values.astype(kind, copy=False)
    return [given[begin:end].copy() for begin, end in pairwise(bounds)]


def _bounds(places: Ids, terms: int) -> list[int]:
    """Returns where each term's part begins in an array parallel to `places`, which ascend, and where the last one
    ends."""
    bounds: list[int] = places.searchsorted(np.arange(terms + 1)).tolist()
    return bounds


def _runs(places: Ids, files: Rows) -> tuple[Ids, Ids]:
    """Returns the first posting of each term in each file, and for each posting the number of its run. The postings of
    a term in one file are side by side."""
    begins = np.ones(len(files), bool)
    np.logical_or(files[1:] != files[:-1], places[1:] != places[:-1], out=begins[1:])
    return begins.nonzero()[0], begins.cumsum() - 1


def _alive(postings: Postings, rows: Rows) -> tuple[Postings, Rows]:
    """Returns the postings whose row still exists, and their rows."""
    keep = rows >= 0
    if keep.all():
        return postings, rows
    return Postings(postings.places[keep], postings.ids[keep], postings.tfs[keep]), rows[keep]


def idfs(count: int, containing: NDArray[np.int64]) -> Floats:
    """Returns the idf of each term, shape [terms]. `containing` has the number of documents, of `count`, that contain
    the term."""
    return np.array([idf(count, held) for held in containing.tolist()], np.float32)
