"""Scores a query's terms only for the files and chunks that are needed. This is for large indexes, in which most chunks
that contain a word of the query never need a score.

Files are scored only if they can still be among the best by BM25F or by their best chunk, or if they are asked for. An
upper bound, the sum of the bounds of all terms, decides in which order files are examined, and when no further file can
win. This is the idea of MaxScore (Turtle and Flood, "Query Evaluation: Strategies and Optimizations", 1995) with files
in place of terms.

The arithmetic and the order of additions are those of `contributions.py` and `lexical_scores.py`, and so are the
results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sidecar.engine.search.rank.chunk_groups import ChunkGroups
from sidecar.engine.search.rank.index_columns import IndexColumns
from sidecar.engine.search.rank.strongest import reached_by, strongest
from sidecar.engine.search.rank.term_postings import scored_terms, scores_in_fields
from sidecar.engine.search.rank.term_runs import NO_ROWS, FilesOfTerms, Found, Keys, Runs, joined
from sidecar.engine.search.rank.word_scores import ChunkWords, FileWords, WordScores, balance, balanced, mean
from sidecar.engine.search.source import Flags, Rows, SearchedSnapshot
from sidecar.model.terms import Ids
from sidecar.parts.lexical.analyse import FIELDS
from sidecar.parts.lexical.bm25 import Floats, idf, saturate
from sidecar.parts.lexical.curves import CHUNK_CURVE, FILE_CURVE, damped, weighted_sums
from sidecar.parts.lexical.telling import TermCounts, most_telling

_AT_ONCE = 4
"""The first lot of files to examine has this many times the wanted number, the likeliest first. Each further lot is
twice as large as all before it."""
_SLACK = np.float32(1 + 1e-4)
"""The factor for bounds. These are summed in another order than scores, so a rounding error could make them too low."""


@dataclass(frozen=True, slots=True)
class _InFiles:
    """What the postings of all terms give in some files. Parallel to `found` are BM25 of all bodies, 0 without any, and
    the weighted sum of BM25 of the fields. Of each posting in fields, `fields`, `scores` and `of` are the field, BM25
    and the index in `found`. Weights of terms are not applied."""

    found: Found
    bodies: Floats
    sums: Floats
    fields: Keys
    scores: Floats
    of: Ids


class _BestFiles:
    """The best files by BM25F, which are computed once for several callers."""

    def __init__(self, bounds: Callable[[], Floats], score: Callable[[Rows], Floats]) -> None:
        """See `best_files`; `bounds` is called when it is needed."""
        self._bounds, self._score = bounds, score
        self._known: tuple[int, Floats] | None = None

    def among(self, limit: int) -> Floats:
        """Returns the scores of every file row that may be among the `limit` best, shape [files]. Others have 0, or
        also their scores."""
        if self._known is None or self._known[0] < limit:
            self._known = limit, best_files(self._bounds(), self._score, limit)
        return self._known[1]

    def forget(self) -> None:
        """To be called when scores or bounds have changed."""
        self._known = None


class ScoresOnDemand:
    """The scores of one query; see `WordScores`."""

    def __init__(self, snapshot: SearchedSnapshot, columns: IndexColumns, terms: Sequence[str]) -> None:
        """If there are many terms, only the `most_telling` are looked up, and the others count as missing in the
        shares."""
        counts = snapshot.memo.get(TermCounts, TermCounts)
        telling = most_telling(snapshot.connection, snapshot.chunk_ids, terms, counts)
        self._terms = scored_terms(snapshot, columns, telling)
        self._columns = columns
        self._weights = np.array([term.weight for term in self._terms], np.float32)
        self._chunk_weights = np.array([term.chunk_weight for term in self._terms], np.float32)
        self.rarity = float(np.sum([term.chunk_weight for term in self._terms], dtype=np.float64))
        missing = idf(columns.file_count, 0) * (len(terms) - len(telling))
        self._total = np.float32(float(np.sum([term.weight for term in self._terms], dtype=np.float64)) + missing)
        self._kept: Flags | None = None
        self._kept_files: Flags | None = None
        self._best = _BestFiles(self.whole_bounds, self.score_whole)

    @cached_property
    def _files(self) -> FilesOfTerms:
        return FilesOfTerms([term.files for term in self._terms], len(self._columns.group_of))

    @cached_property
    def _bodies(self) -> Runs:
        return joined([term.bodies for term in self._terms])

    @cached_property
    def _counts(self) -> Rows:
        return np.concatenate([term.counts for term in self._terms]) if self._terms else NO_ROWS

    @cached_property
    def _names(self) -> Runs:
        return joined([term.names for term in self._terms])

    @cached_property
    def _fields(self) -> Runs:
        return joined([term.fields for term in self._terms])

    def of_files(self, files: Rows) -> FileWords:
        """See `WordScores`."""
        bodies, cover = np.zeros((2, len(files)), np.float32)
        shares, scores = np.zeros((2, FIELDS * len(files)), np.float32)
        terms = self._in_files(files)
        weights = self._weights[terms.found.terms]
        in_bodies = (terms.bodies > 0).nonzero()[0]
        np.add.at(bodies, terms.found.places, weights * terms.bodies)
        np.add.at(cover, terms.found.places[in_bodies], weights[in_bodies])
        cells = terms.fields * np.int64(len(files)) + terms.found.places[terms.of]
        np.add.at(shares, cells, weights[terms.of])
        np.add.at(scores, cells, weights[terms.of] * terms.scores)
        by_field = (self._share(shares).reshape(FIELDS, -1), scores.reshape(FIELDS, -1))
        return FileWords(self._whole(terms, files), by_field[0], bodies, by_field[1], self._share(cover))

    @property
    def highest_bodies(self) -> float:
        """The highest BM25 of all bodies of a file; 0 without any."""
        sums = np.zeros(len(self._columns.group_of), np.float32)
        for term in self._terms:
            norms = self._columns.file_norms[term.files]
            sums[term.files] += term.weight * saturate(term.counts, norms, FILE_CURVE.k1)
        return float(sums.max(initial=0))

    @property
    def highest_fields(self) -> list[float]:
        """The highest BM25 of each field of a file; 0 without any."""
        width = len(self._columns.group_of)
        sums = np.zeros(FIELDS * width, np.float32)
        for term in self._terms:
            keys, tfs = term.fields.keys, term.fields.tfs
            rows = self._columns.files.rows(keys // FIELDS)
            there = rows >= 0
            if not there.all():
                keys, tfs, rows = keys[there], tfs[there], rows[there]
            fields, scores = scores_in_fields(self._columns, keys, tfs, rows)
            sums[fields * np.int64(width) + rows] += term.weight * scores
        highest: list[float] = sums.reshape(FIELDS, width).max(axis=1, initial=0).tolist()
        return highest

    def _in_files(self, files: Rows) -> _InFiles:
        """Returns what the postings of all terms give in these distinct file rows."""
        found = self._files.find(files)
        in_fields = self._fields.of(found)
        rows = files[found.places]
        fields, scores = scores_in_fields(self._columns, in_fields.keys, in_fields.tfs, rows[in_fields.of])
        return _InFiles(
            found=found,
            bodies=saturate(self._counts[found.at], self._columns.file_norms[rows], FILE_CURVE.k1),
            sums=weighted_sums(fields, scores, in_fields.of, len(found.at)),
            fields=fields,
            scores=scores,
            of=in_fields.of,
        )

    def _whole(self, terms: _InFiles, files: Rows) -> Floats:
        """Returns BM25F of these file rows, from what the terms give in them."""
        scores = np.zeros(len(files), np.float32)
        of_terms = damped(terms.bodies + terms.sums, self._weights[terms.found.terms])
        np.add.at(scores, terms.found.places, of_terms)
        if self._kept_files is not None:
            scores[~self._kept_files[files]] = 0
        return scores

    @property
    def best_whole(self) -> np.float32:
        """See `WordScores`."""
        return np.float32(self._best.among(1).max(initial=0))

    def whole(self, files: Rows) -> Floats:
        """See `WordScores`."""
        return _each_once(files, len(self._columns.group_of), self.score_whole)

    def score_whole(self, files: Rows) -> Floats:
        """Returns the same as `whole` for distinct rows."""
        return self._whole(self._in_files(files), files)

    def whole_bounds(self) -> Floats:
        """Returns an upper bound for BM25F of each file row, shape [files]."""
        return self._summed((term.files, term.weight * term.whole) for term in self._terms)

    def of_chunks(self, groups: ChunkGroups) -> ChunkWords:
        """See `WordScores`."""
        names, cover = np.zeros((2, len(groups.rows)), np.float32)
        found = self._files.find(groups.files)
        bodies = self._in_bodies(groups, found, cover)
        in_names = self._names.of(found)
        places = groups.places(self._columns.chunks.rows(in_names.keys), found.places[in_names.of])
        np.add.at(names, places, self._weights[found.terms[in_names.of]])
        if self._kept is not None:
            names[~self._kept[groups.rows]] = 0
        return ChunkWords(bodies, self._share(cover), self._share(names))

    def best_by_whole(self, limit: int, paths: Sequence[str]) -> Rows:
        """See `WordScores`."""
        return strongest(self._best.among(limit), limit, paths)

    def best_by_chunk(self, limit: int, paths: Sequence[str]) -> Rows:
        """See `WordScores`."""

        def score(files: Rows) -> Floats:
            groups = ChunkGroups(self._columns, files)
            return groups.best(self._in_bodies(groups, self._files.find(files)))

        return strongest(best_files(self.bounds(), score, limit), limit, paths)

    def keep(self, chunks: Flags, files: Flags) -> None:
        """See `WordScores`."""
        self._kept, self._kept_files = chunks, files
        self._best.forget()

    def bounds(self) -> Floats:
        """Returns an upper bound for the score of the best chunk of each file row, shape [files]."""
        return self._summed((term.files, term.chunk_weight * term.best) for term in self._terms)

    def _summed(self, of_terms: Iterable[tuple[Rows, Floats]]) -> Floats:
        sums = np.zeros(len(self._columns.group_of), np.float32)
        for files, bounds in of_terms:
            np.add.at(sums, files, bounds)
        if self._kept_files is not None:
            sums[~self._kept_files] = 0
        sums *= _SLACK
        return sums

    def all_bodies(self) -> Floats:
        """Returns BM25 of the bodies of all chunks, shape [chunks]."""
        # One cell more, for chunks that no longer exist, whose row is -1.
        sums = np.zeros(len(self._columns.in_collection) + 1, np.float32)
        for term in self._terms:
            rows = self._columns.chunks.rows(term.bodies.keys)
            norms = self._columns.chunk_norms[rows]
            sums[rows] += term.chunk_weight * saturate(term.bodies.tfs, norms, CHUNK_CURVE.k1)
        return sums[:-1]

    def _in_bodies(self, groups: ChunkGroups, found: Found, cover: Floats | None = None) -> Floats:
        """Returns BM25 of the bodies of these chunks, and adds the idf of the terms that each has to `cover`."""
        bodies = np.zeros(len(groups.rows), np.float32)
        in_bodies = self._bodies.of(found)
        terms, rows = found.terms[in_bodies.of], self._columns.chunks.rows(in_bodies.keys)
        places = groups.places(rows, found.places[in_bodies.of])
        scores = saturate(in_bodies.tfs, self._columns.chunk_norms[rows], CHUNK_CURVE.k1)
        np.add.at(bodies, places, self._chunk_weights[terms] * scores)
        if cover is not None:
            np.add.at(cover, places, self._weights[terms])
        if self._kept is not None:
            bodies[~self._kept[groups.rows]] = 0
        return bodies

    def _share(self, sums: Floats) -> Floats:
        return sums / self._total if self._total else sums


class MixedScores:
    """The mean of two queries' scores. Unbounded scores are first brought to the same maximum. See `WordScores`.

    One of the queries has many terms. The sum of their bounds is far above the score of any one chunk, so that nearly
    all files would be examined. Scoring all chunks takes less time.
    """

    def __init__(self, one: ScoresOnDemand, other: ScoresOnDemand, columns: IndexColumns) -> None:
        self._one, self._other, self._columns = one, other, columns
        self._bodies = balance(one.highest_bodies, other.highest_bodies)
        self._fields = [balance(*highest) for highest in zip(one.highest_fields, other.highest_fields, strict=True)]
        first, second = one.all_bodies(), other.all_bodies()
        highest = float(first.max(initial=0)), float(second.max(initial=0))
        self._of_chunks = balanced(first, second, balance(*highest))
        self._whole = balance(float(one.best_whole), float(other.best_whole))
        self._best = _BestFiles(self._whole_bounds, self._score_whole)
        self.rarity = other.rarity

    def of_files(self, files: Rows) -> FileWords:
        """See `WordScores`."""
        one, other = self._one.of_files(files), self._other.of_files(files)
        by_field = zip(one.field_scores, other.field_scores, self._fields, strict=True)
        return FileWords(
            balanced(one.whole, other.whole, self._whole),
            mean(one.fields, other.fields),
            balanced(one.bodies, other.bodies, self._bodies),
            np.stack([balanced(*scores) for scores in by_field]),
            mean(one.body_cover, other.body_cover),
        )

    @property
    def best_whole(self) -> np.float32:
        """See `WordScores`."""
        return np.float32(self._best.among(1).max(initial=0))

    def whole(self, files: Rows) -> Floats:
        """See `WordScores`."""
        return balanced(self._one.whole(files), self._other.whole(files), self._whole)

    def best_by_whole(self, limit: int, paths: Sequence[str]) -> Rows:
        """See `WordScores`."""
        return strongest(self._best.among(limit), limit, paths)

    def _whole_bounds(self) -> Floats:
        return balanced(self._one.whole_bounds(), self._other.whole_bounds(), self._whole)

    def _score_whole(self, files: Rows) -> Floats:
        return balanced(self._one.score_whole(files), self._other.score_whole(files), self._whole)

    def of_chunks(self, groups: ChunkGroups) -> ChunkWords:
        """See `WordScores`."""
        one, other = self._one.of_chunks(groups), self._other.of_chunks(groups)
        return ChunkWords(self._of_chunks[groups.rows], mean(one.cover, other.cover), mean(one.names, other.names))

    def best_by_chunk(self, limit: int, paths: Sequence[str]) -> Rows:
        """See `WordScores`."""
        best = self._columns.best_per_file(self._of_chunks, len(self._columns.group_of))
        return strongest(best, limit, paths)

    def keep(self, chunks: Flags, files: Flags) -> None:
        """See `WordScores`."""
        self._one.keep(chunks, files)
        self._other.keep(chunks, files)
        self._of_chunks[~chunks] = 0
        self._best.forget()


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


def _each_once(files: Rows, count: int, score: Callable[[Rows], Floats]) -> Floats:
    """Returns the scores of these of `count` file rows, each computed once."""
    asked = np.zeros(count, bool)
    asked[files] = True
    rows = asked.nonzero()[0].astype(np.int32)
    scores = np.zeros(count, np.float32)
    scores[rows] = score(rows)
    return scores[files]
