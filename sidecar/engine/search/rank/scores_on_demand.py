"""Scores a query's terms only for the files and chunks that are needed. This is for large indexes, in which most chunks
that contain a word of the query never need a score.

BM25F is summed for the files that contain a term. Chunks are scored only in files whose best chunk can still be among
the best. An upper bound for it, the sum of what each term adds to the chunk that has most of it, decides in which order
files are examined, and when no further file can win. This is the idea of MaxScore (Turtle and Flood, "Query Evaluation:
Strategies and Optimizations", 1995) with files in place of terms.

The arithmetic and the order of additions are those of `contributions.py` and `lexical_scores.py`, and so are the
results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sidecar.engine.search.rank.chunk_groups import ChunkGroups
from sidecar.engine.search.rank.contributions import DAMPING
from sidecar.engine.search.rank.index_columns import CHUNK_CURVE, IndexColumns
from sidecar.engine.search.rank.strongest import reached_by, strongest
from sidecar.engine.search.rank.term_postings import scored_terms
from sidecar.engine.search.rank.word_scores import ChunkWords, FileWords, WordScores, balance, balanced, mean
from sidecar.engine.search.source import Flags, Rows, SearchedSnapshot
from sidecar.parts.lexical.analyse import FIELDS
from sidecar.parts.lexical.bm25 import Floats, idf, saturate
from sidecar.parts.lexical.telling import TermCounts, most_telling

_AT_ONCE = 4
"""The first lot of files to examine has this many times the wanted number, the likeliest first. Each further lot is
twice as large as all before it."""
_SLACK = np.float32(1 + 1e-4)
"""The factor for bounds. These are summed in another order than scores, so a rounding error could make them too low."""


class ScoresOnDemand:
    """The scores of one query; see `WordScores`."""

    def __init__(self, snapshot: SearchedSnapshot, columns: IndexColumns, terms: Sequence[str]) -> None:
        """If there are many terms, only the `most_telling` are looked up, and the others count as missing in the
        shares."""
        counts = snapshot.memo.get(TermCounts, TermCounts)
        telling = most_telling(snapshot.connection, snapshot.chunk_ids, terms, counts)
        self._terms = scored_terms(snapshot, columns, telling)
        self._columns = columns
        self.rarity = float(np.sum([term.chunk_weight for term in self._terms], dtype=np.float64))
        self.files = self._score_files()
        missing = idf(columns.file_count, 0) * (len(terms) - len(telling))
        self._total = np.float32(float(np.sum([term.weight for term in self._terms], dtype=np.float64)) + missing)
        self._kept: Flags | None = None
        self._kept_files: Flags | None = None

    def of_files(self, files: Rows) -> FileWords:
        """See `WordScores`."""
        bodies, cover = np.zeros(len(files), np.float32), np.zeros(len(files), np.float32)
        shares, scores = np.zeros((FIELDS, len(files)), np.float32), np.zeros((FIELDS, len(files)), np.float32)
        for term in self._terms:
            runs, places = term.bodies.find(files)
            bodies[places] += term.weight * term.strengths[runs]
            cover[places] += term.weight
            at, places = term.fields.postings_in(files)
            cells = term.fields.cells[at], places
            shares[cells] += term.weight
            scores[cells] += term.weight * term.field_scores[at]
        return FileWords(self._share(shares), bodies, scores, self._share(cover))

    def of_chunks(self, groups: ChunkGroups) -> ChunkWords:
        """See `WordScores`."""
        cover, names = np.zeros(len(groups.rows), np.float32), np.zeros(len(groups.rows), np.float32)
        bodies = self._in_bodies(groups, cover)
        for term in self._terms:
            at, position = term.names.postings_in(groups.files)
            names[groups.places(term.names.cells[at], position)] += term.weight
        if self._kept is not None:
            names[~self._kept[groups.rows]] = 0
        return ChunkWords(bodies, self._share(cover), self._share(names))

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
        bounds = np.zeros(len(self.files), np.float32)
        for term in self._terms:
            bounds[term.bodies.files] += term.chunk_weight * term.best
        if self._kept_files is not None:
            bounds[~self._kept_files] = 0
        bounds *= _SLACK
        return bounds

    def bodies(self, groups: ChunkGroups) -> Floats:
        """Returns BM25 of the bodies of these chunks, local to the groups."""
        return self._in_bodies(groups)

    def _in_bodies(self, groups: ChunkGroups, cover: Floats | None = None) -> Floats:
        """Returns BM25 of the bodies of these chunks, and adds the idf of the terms that each has to `cover`."""
        bodies, norms = np.zeros(len(groups.rows), np.float32), self._columns.chunk_norms[groups.rows]
        for term in self._terms:
            at, position = term.bodies.postings_in(groups.files)
            places = groups.places(term.bodies.cells[at], position)
            bodies[places] += term.chunk_weight * saturate(term.bodies.tfs[at], norms[places], CHUNK_CURVE.k1)
            if cover is not None:
                cover[places] += term.weight
        if self._kept is not None:
            bodies[~self._kept[groups.rows]] = 0
        return bodies

    def _share(self, sums: Floats) -> Floats:
        return sums / self._total if self._total else sums

    def _score_files(self) -> Floats:
        """Returns BM25F of every file row."""
        scores = np.zeros(len(self._columns.group_of), np.float32)
        for term in self._terms:
            scores[term.files] += term.weight * term.combined / (1 + np.float32(DAMPING) * term.combined)
        return scores


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
    wanted, least, left = _AT_ONCE * limit, np.float32(0), np.float32(np.inf)
    reached, lowest = best[:0], bounds.min(initial=np.inf)
    while len(bounds) and left > 0 and left >= max(least, lowest):
        # Files with a bound above `left` have been examined. Of equal bounds there may be very many, so those that end
        # a lot come with the next one, if they still can win.
        low = max(least, reached_by(bounds, wanted))
        some = np.flatnonzero((bounds > low) & (bounds <= left) if low < left else bounds == left).astype(np.int32)
        left = low if low < left else np.nextafter(left, np.float32(0))
        if len(some):
            best[some] = scores = score(some)
            reached = np.concatenate([reached, scores[scores > 0]])
        if len(reached) >= limit:
            least = np.partition(reached, len(reached) - limit)[len(reached) - limit]
        wanted *= 3
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


def _factors(one: Floats, other: Floats) -> tuple[np.float32, np.float32]:
    return balance(float(one.max(initial=0)), float(other.max(initial=0)))


def _highest_chunk(scores: ScoresOnDemand) -> float:
    return float(scores.best_chunks(1).max(initial=0))
