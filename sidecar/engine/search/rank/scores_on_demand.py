"""Scores a query's terms only for the files and chunks that are needed. This is for large indexes, in which most chunks
that contain a word of the query never need a score.

BM25F is summed for the files that contain a term. Chunks are scored only in files whose best chunk can still be among
the best. An upper bound for it, from the counts of each term in the whole file, decides in which order files are
examined, and when no further file can win. This is the idea of MaxScore (Turtle and Flood, "Query Evaluation:
Strategies and Optimizations", 1995) with files in place of terms.

The arithmetic and the order of additions are those of `lexical_scores.py`, and so are the results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sidecar.engine.search.rank.chunk_groups import ChunkGroups
from sidecar.engine.search.rank.index_columns import CHUNK_CURVE, FILE_CURVE, IndexColumns
from sidecar.engine.search.rank.lexical_scores import DAMPING, FIELD_K1, FIELD_WEIGHTS, idfs
from sidecar.engine.search.rank.strongest import strongest
from sidecar.engine.search.rank.term_postings import postings_of
from sidecar.engine.search.rank.term_runs import TermRuns, positions_of
from sidecar.engine.search.rank.word_scores import ChunkWords, FileWords, WordScores, balance, balanced, mean
from sidecar.engine.search.source import Flags, Rows, SearchedSnapshot
from sidecar.model.terms import Ids
from sidecar.parts.lexical.analyse import FIELDS
from sidecar.parts.lexical.bm25 import Floats, idf, saturate
from sidecar.parts.lexical.telling import most_telling

_AT_ONCE = 4
"""The first lot of files to examine has this many times the wanted number, the likeliest first. Each further lot is
twice as large."""
_SLACK = 1 + 1e-4
"""The factor for bounds. These are summed in another order than scores, so a rounding error could make them too low."""
_MOST = 255
"""The maximum count that is stored."""


@dataclass(frozen=True)
class _Cells:
    """The occurrences of terms in the fields of files: parallel arrays, term after term. `scores` is BM25 without
    idf."""

    runs: TermRuns
    fields: Ids
    scores: Floats
    sums: Floats
    """The weighted sum of the scores of each run, shape [runs]."""


class ScoresOnDemand:
    """The scores of one query; see `WordScores`."""

    def __init__(self, snapshot: SearchedSnapshot, columns: IndexColumns, terms: Sequence[str]) -> None:
        """If there are many terms, only the `most_telling` are looked up, and the others count as missing in the
        shares."""
        telling = most_telling(snapshot.connection, snapshot.chunk_ids, terms)
        found = postings_of(snapshot, columns, telling)
        self._columns = columns
        self._bodies, self._names = found.bodies, found.names
        self._fields = _cells(found.fields, columns)
        self._strengths = saturate(self._bodies.counts, columns.file_norms[self._bodies.files], FILE_CURVE.k1)
        self._chunk_weights = idfs(columns.chunk_count, self._bodies.postings)
        self.rarity = float(self._chunk_weights.sum(dtype=np.float64))
        self.files, self._weights = self._score_files(len(telling))
        missing = idf(columns.file_count, 0) * (len(terms) - len(telling))
        self._total = np.float32(float(self._weights.sum(dtype=np.float64)) + missing)
        self._kept: Flags | None = None
        self._kept_files: Flags | None = None

    def of_files(self, files: Rows) -> FileWords:
        """See `WordScores`."""
        position = positions_of(files, self._columns)
        held = self._bodies.in_files(position)
        weights = self._weights[held.terms]
        bodies, cover = np.zeros(len(files), np.float32), np.zeros(len(files), np.float32)
        np.add.at(bodies, held.position, weights * self._strengths[held.runs])
        np.add.at(cover, held.position, weights)
        shares, scores = np.zeros((FIELDS, len(files)), np.float32), np.zeros((FIELDS, len(files)), np.float32)
        found = self._fields.runs.in_files(position)
        at, run = self._fields.runs.spread(found.runs)
        cells = self._fields.fields[at] * len(files) + found.position[run]
        weights = self._weights[found.terms[run]]
        np.add.at(shares.ravel(), cells, weights)
        np.add.at(scores.ravel(), cells, weights * self._fields.scores[at])
        return FileWords(self._share(shares), bodies, scores, self._share(cover))

    def of_chunks(self, groups: ChunkGroups) -> ChunkWords:
        """See `WordScores`."""
        names = self._idf_in(groups, self._names)
        if self._kept is not None:
            names[~self._kept[groups.rows]] = 0
        return ChunkWords(self.bodies(groups), self._share(self._idf_in(groups, self._bodies)), self._share(names))

    def best_by_chunk(self, limit: int, paths: Sequence[str]) -> Rows:
        """See `WordScores`."""
        return strongest(self.best_chunks(limit), limit, paths)

    def best_chunks(self, limit: int) -> Floats:
        """Returns BM25 of the best chunk of every file row that may be among the `limit` best, shape [files]; 0 for the
        others."""
        return _best_chunks(self._columns, self.bounds(), self.bodies, limit)

    def keep(self, chunks: Flags, files: Flags) -> None:
        """See `WordScores`."""
        self._kept, self._kept_files = chunks, files
        self.files[~files] = 0

    def bounds(self) -> Floats:
        """Returns an upper bound for the score of the best chunk of each file row, shape [files]."""
        runs, norms = self._bodies, self._columns.least_norms
        most = saturate(np.minimum(runs.counts, _MOST), norms[runs.files], CHUNK_CURVE.k1)
        bounds = np.bincount(runs.files, weights=self._chunk_weights[runs.terms] * most, minlength=len(norms))
        if self._kept_files is not None:
            bounds[~self._kept_files] = 0
        return (bounds * _SLACK).astype(np.float32)

    def bodies(self, groups: ChunkGroups) -> Floats:
        """Returns BM25 of the bodies of these chunks, local to the groups."""
        held = self._bodies.in_files(positions_of(groups.files, self._columns))
        at, run = self._bodies.spread(held.runs)
        rows = self._columns.chunks.rows(self._bodies.ids[at])
        bodies = np.zeros(len(groups.rows), np.float32)
        np.add.at(bodies, groups.places(rows, held.position[run]), self._strengths_of(at, rows, held.terms[run]))
        if self._kept is not None:
            bodies[~self._kept[groups.rows]] = 0
        return bodies

    def _strengths_of(self, at: Ids, rows: Rows, terms: Ids) -> Floats:
        """Returns what the postings at `at` add to the scores of their chunks, whose rows are `rows`."""
        norms = self._columns.chunk_norms[rows]
        return np.asarray(self._chunk_weights[terms] * saturate(self._bodies.tfs[at], norms, CHUNK_CURVE.k1))

    def _idf_in(self, groups: ChunkGroups, runs: TermRuns) -> Floats:
        """Returns the sum of the idf of the terms that each chunk has among these runs."""
        sums = np.zeros(len(groups.rows), np.float32)
        held = runs.in_files(positions_of(groups.files, self._columns))
        at, run = runs.spread(held.runs)
        rows = self._columns.chunks.rows(runs.ids[at])
        np.add.at(sums, groups.places(rows, held.position[run]), self._weights[held.terms[run]])
        return sums

    def _share(self, sums: Floats) -> Floats:
        return sums / self._total if self._total else sums

    def _score_files(self, terms: int) -> tuple[Floats, Floats]:
        """Returns BM25F of every file row, and the idf of each term among files."""
        columns, bodies, fields = self._columns, self._bodies, self._fields
        scores, found = np.zeros(len(columns.group_of), np.float32), np.zeros(len(columns.group_of), np.float32)
        weights = np.zeros(terms, np.float32)
        for term in range(terms):
            held = slice(bodies.run_bounds[term], bodies.run_bounds[term + 1])
            named = slice(fields.runs.run_bounds[term], fields.runs.run_bounds[term + 1])
            in_body, in_fields = bodies.files[held], fields.runs.files[named]
            found[in_body] = self._strengths[held]
            beside = found[in_fields]
            found[in_fields] = beside + fields.sums[named]
            files = np.concatenate([in_body, in_fields[beside == 0]])
            weights[term] = idf(columns.file_count, len(files))
            combined = found[files]
            scores[files] += weights[term] * combined / (1 + np.float32(DAMPING) * combined)
            found[files] = 0
        return scores, weights


class MixedScores:
    """The mean of two queries' scores. Unbounded scores are first brought to the same maximum. See `WordScores`."""

    def __init__(self, one: ScoresOnDemand, other: ScoresOnDemand, columns: IndexColumns) -> None:
        self._one, self._other, self._columns = one, other, columns
        every = np.arange(len(columns.group_of), dtype=np.int32)
        first, second = one.of_files(every), other.of_files(every)
        self._bodies = _factors(first.bodies, second.bodies)
        self._fields = [_factors(a, b) for a, b in zip(first.field_scores, second.field_scores, strict=True)]
        self._chunks = balance(_highest_chunk(one), _highest_chunk(other))
        self.files = balanced(one.files, other.files, _factors(one.files, other.files))
        self.rarity = other.rarity

    def of_files(self, files: Rows) -> FileWords:
        """See `WordScores`."""
        one, other = self._one.of_files(files), self._other.of_files(files)
        by_field = zip(one.field_scores, other.field_scores, self._fields, strict=True)
        return FileWords(
            mean(one.fields, other.fields),
            balanced(one.bodies, other.bodies, self._bodies),
            np.stack([balanced(*scores) for scores in by_field]),
            mean(one.body_cover, other.body_cover),
        )

    def of_chunks(self, groups: ChunkGroups) -> ChunkWords:
        """See `WordScores`."""
        one, other = self._one.of_chunks(groups), self._other.of_chunks(groups)
        bodies = balanced(one.bodies, other.bodies, self._chunks)
        return ChunkWords(bodies, mean(one.cover, other.cover), mean(one.names, other.names))

    def best_by_chunk(self, limit: int, paths: Sequence[str]) -> Rows:
        """See `WordScores`."""
        bounds = balanced(self._one.bounds(), self._other.bounds(), self._chunks)
        return strongest(_best_chunks(self._columns, bounds, self._bodies_of, limit), limit, paths)

    def keep(self, chunks: Flags, files: Flags) -> None:
        """See `WordScores`."""
        self._one.keep(chunks, files)
        self._other.keep(chunks, files)
        self.files[~files] = 0

    def _bodies_of(self, groups: ChunkGroups) -> Floats:
        return balanced(self._one.bodies(groups), self._other.bodies(groups), self._chunks)


def best_files(bounds: Floats, score: Callable[[Rows], Floats], limit: int) -> Floats:
    """Returns exact scores of those file rows that may be among the `limit` best, and 0 for the others, shape [files].

    `bounds` has an upper bound for the score of each file. `score` computes the scores of some file rows.
    """
    best = np.zeros(len(bounds), np.float32)
    left = np.flatnonzero(bounds > 0).astype(np.int32)
    lot, least = _AT_ONCE * limit, np.float32(0)
    while len(left):
        if len(left) > lot:
            order = np.argpartition(-bounds[left], lot)
            some, left = left[order[:lot]], left[order[lot:]]
        else:
            some, left = left, left[:0]
        best[some] = score(some)
        reached = best[best > 0]
        if len(reached) >= limit:
            least = np.partition(reached, len(reached) - limit)[len(reached) - limit]
        left = left[bounds[left] >= least]
        lot *= 2
    return best


def score_on_demand(
    snapshot: SearchedSnapshot, columns: IndexColumns, terms: Sequence[str], title: Sequence[str]
) -> WordScores:
    """Returns the scores of a query's terms. For a long question, the whole text and the title count half each."""
    whole = ScoresOnDemand(snapshot, columns, terms)
    return MixedScores(ScoresOnDemand(snapshot, columns, title), whole, columns) if title else whole


def _best_chunks(columns: IndexColumns, bounds: Floats, bodies: Callable[[ChunkGroups], Floats], limit: int) -> Floats:
    """Returns the score of the best chunk of every file row that may be among the `limit` best, shape [files]; 0 for
    the others."""

    def score(files: Rows) -> Floats:
        groups = ChunkGroups(columns, files)
        return groups.best(bodies(groups))

    return best_files(bounds, score, limit)


def _cells(runs: TermRuns, columns: IndexColumns) -> _Cells:
    fields, tfs = runs.ids - runs.ids // FIELDS * FIELDS, runs.tfs.astype(np.float32)
    norms = columns.field_norms.ravel().take(runs.files.astype(np.int64)[runs.runs] * FIELDS + fields)
    scores = tfs * (FIELD_K1 + 1).take(fields) / (tfs + norms)
    # Summed in double precision, one after the other, as `lexical_scores.py` does.
    sums = np.bincount(runs.runs, weights=scores * FIELD_WEIGHTS.take(fields), minlength=len(runs.files)).astype(
        np.float32
    )
    return _Cells(runs, fields, scores, sums)


def _factors(one: Floats, other: Floats) -> tuple[np.float32, np.float32]:
    return balance(float(one.max(initial=0)), float(other.max(initial=0)))


def _highest_chunk(scores: ScoresOnDemand) -> float:
    return float(scores.best_chunks(1).max(initial=0))
