"""Reads the postings of terms in a form that can be scored, and keeps those that recent searches of a revision have
used.

What they add to scores is computed once too, except for what depends on the rest of the question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from sidecar.engine.concurrency.memo import ByCollection
from sidecar.engine.search.rank.contributions import FIELD_K1, FIELD_WEIGHTS
from sidecar.engine.search.rank.index_columns import CHUNK_CURVE, FILE_CURVE, IndexColumns, starts_of_runs
from sidecar.engine.search.rank.recent_terms import RecentTerms
from sidecar.engine.search.rank.term_runs import TermRuns, runs_of
from sidecar.engine.search.source import Rows, SearchedSnapshot
from sidecar.model.terms import Ids
from sidecar.parts.lexical.analyse import FIELDS
from sidecar.parts.lexical.bm25 import Floats, idf, saturate
from sidecar.parts.lexical.codec import Tfs
from sidecar.parts.lexical.postings import PostingsByTerm, read_postings

MOST_KEPT = 64 * 1024 * 1024
"""The maximum number of bytes of postings that are kept."""

_MOSTLY_LIVING = 0.9
"""If this share of the postings is alive and in the collection, the others are left out with their runs: there are
several times fewer runs to look at."""

_Found: TypeAlias = tuple[Rows, Ids | Rows, Tfs]
"""Postings: the row of the file of each, -1 if it is not alive or not in the collection, and for the others see
`TermRuns`."""


@dataclass(frozen=True, slots=True)
class ScoredTerm:
    """The occurrences of a term in `bodies` and `names` of chunks and in `fields` of files, and what they add to scores
    before the term's weight is applied.

    - `strengths`: BM25 of all bodies of a file; `best`: BM25 of its best chunk, but for errors of rounding; both
      parallel to `bodies.files`.
    - `field_scores`: BM25 of a field of a file, parallel to the postings in `fields`.
    - `combined`: the weighted sum for BM25F of each file in `files`, which are all that have the term.
    - `weight` and `chunk_weight`: the idf among files and among chunks.
    """

    bodies: TermRuns
    names: TermRuns
    fields: TermRuns
    strengths: Floats
    best: Floats
    field_scores: Floats
    files: Rows
    combined: Floats
    weight: np.float32
    chunk_weight: np.float32

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays."""
        arrays = (self.strengths, self.best, self.field_scores, self.files, self.combined)
        runs = (self.bodies, self.names, self.fields)
        return sum(array.nbytes for array in arrays) + sum(each.nbytes for each in runs)


class _Recent(ByCollection[RecentTerms[ScoredTerm]]):
    """The recent terms of one revision."""


def scored_terms(snapshot: SearchedSnapshot, columns: IndexColumns, terms: Sequence[str]) -> list[ScoredTerm]:
    """Returns each of these terms, which must all be different, as it occurs in the collection."""
    recent = snapshot.memo.get(_Recent, lambda: _Recent(None)).get(columns.collection, lambda _: RecentTerms(MOST_KEPT))
    found = recent.get(terms, lambda unknown: _read(snapshot, columns, unknown))
    return [found[term] for term in terms]


def _read(snapshot: SearchedSnapshot, columns: IndexColumns, terms: Sequence[str]) -> list[ScoredTerm]:
    """Reads each of these terms, of which there is at least one."""
    found = read_postings(snapshot.connection, terms)
    bodies, names = (_in_chunks(columns, each) for each in (found.bodies_by_term, found.names_by_term))
    fields = _in_fields(columns, found.fields_by_term)
    return [
        _scored(columns, runs_of(*in_bodies), runs_of(*in_names), in_fields)
        for in_bodies, in_names, in_fields in zip(bodies, names, fields, strict=True)
    ]


def _in_chunks(columns: IndexColumns, found: PostingsByTerm) -> list[_Found]:
    return _by_term(columns.holders.rows(found.ids), columns.chunks.rows(found.ids), found)


def _in_fields(columns: IndexColumns, found: PostingsByTerm) -> list[_Found]:
    ids = found.ids // FIELDS
    return _by_term(columns.files.rows(ids), found.ids - ids * FIELDS, found)


def _by_term(files: Rows, cells: Ids | Rows, found: PostingsByTerm) -> list[_Found]:
    """Returns the postings of each term; only living ones if many are not."""
    tfs, bounds, living = found.tfs, found.bounds, files >= 0
    if np.count_nonzero(living) < _MOSTLY_LIVING * len(files):
        files, cells, tfs = files[living], cells[living], tfs[living]
        bounds = np.concatenate([[0], living.cumsum()])[bounds]
    return [(files[part], cells[part], tfs[part]) for part in (slice(*ends) for ends in pairwise(bounds.tolist()))]


def _scored(columns: IndexColumns, bodies: TermRuns, names: TermRuns, in_fields: _Found) -> ScoredTerm:
    counts, in_bodies = bodies.counts, bodies.files
    strengths = saturate(counts, columns.file_norms[in_bodies], FILE_CURVE.k1)
    fields = runs_of(*in_fields)
    field_scores, sums = _score_fields(columns, in_fields, fields)
    files, combined = _add(bodies, strengths, fields, sums)
    return ScoredTerm(
        bodies=bodies,
        names=names,
        fields=fields,
        strengths=strengths,
        best=_best_chunks(columns, bodies),
        field_scores=field_scores,
        files=files,
        combined=combined,
        weight=np.float32(idf(columns.file_count, len(files))),
        chunk_weight=np.float32(idf(columns.chunk_count, int(bodies.sizes.sum()))),
    )


def _best_chunks(columns: IndexColumns, bodies: TermRuns) -> Floats:
    """Returns BM25 of the best chunk of each run, but for errors of rounding."""
    best = np.zeros(len(bodies.starts), np.float32)
    if len(best):
        # BM25 grows with this ratio, so only the highest of each run is converted.
        ratios = np.divide(bodies.tfs, columns.chunk_norms[bodies.cells], dtype=np.float32)
        # What is left out belongs to the run before it here.
        ratios *= bodies.cells >= 0
        in_order = bodies.starts.argsort(kind="stable")
        best[in_order] = np.maximum.reduceat(ratios, bodies.starts[in_order])
    return np.asarray(best * np.float32(CHUNK_CURVE.k1 + 1) / (best + 1), np.float32)


def _score_fields(columns: IndexColumns, found: _Found, fields: TermRuns) -> tuple[Floats, Floats]:
    """Returns BM25 of each posting, and the weighted sum of each run."""
    holders, cells, counts = found
    tfs, cells = counts.astype(np.float32), cells.astype(np.int64)
    norms = columns.field_norms.ravel().take(holders * np.int64(FIELDS) + cells)
    scores = tfs * (FIELD_K1 + 1).take(cells) / (tfs + norms)
    starts = starts_of_runs(holders)
    number = np.arange(len(starts)).repeat(np.diff(starts, append=len(holders)))
    # Summed in double precision, one after the other, as `contributions.py` does.
    sums = np.bincount(number, weights=scores * FIELD_WEIGHTS.take(cells), minlength=len(fields.files))
    return scores, sums[number[fields.starts]].astype(np.float32)


def _add(bodies: TermRuns, strengths: Floats, fields: TermRuns, sums: Floats) -> tuple[Rows, Floats]:
    """Returns the files of both, and the sums of what both have for them."""
    runs, places = bodies.find(fields.files)
    combined = strengths.copy()
    combined[runs] += sums[places]
    alone = np.ones(len(sums), bool)
    alone[places] = False
    return np.concatenate([bodies.files, fields.files[alone]]), np.concatenate([combined, sums[alone]])
