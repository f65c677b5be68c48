"""Reads the postings of terms in a form in which scores are looked up, with upper bounds for the scores of each file,
and keeps those that recent searches of a revision have used.

Long postings have stored bounds (`parts/lexical/bounds.py`). Of others, the scores themselves are computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sidecar.engine.concurrency.memo import ByCollection
from sidecar.engine.search.rank.index_columns import IndexColumns, RowTable
from sidecar.engine.search.rank.recent_terms import RecentTerms
from sidecar.engine.search.rank.term_runs import NO_ROWS, Keys, Runs, narrow
from sidecar.engine.search.source import Rows, SearchedSnapshot
from sidecar.model.terms import Ids
from sidecar.parts.lexical.analyse import FIELDS
from sidecar.parts.lexical.bm25 import Floats, idf, saturate
from sidecar.parts.lexical.bounds import BoundsReader, FileBounds, together
from sidecar.parts.lexical.codec import Tfs
from sidecar.parts.lexical.curves import CHUNK_CURVE, FILE_CURVE, damped, score_fields, weighted_sums
from sidecar.parts.lexical.postings import PostingsByTerm, read_with_bounds
from sidecar.parts.lexical.segments import COLUMNS

_AT_ONCE = 1 << 17
"""Postings without bounds that are scored together: enough to be fast, and few enough to take little memory."""
MOST_KEPT = 64 * 1024 * 1024
"""The maximum number of bytes of postings that are kept."""


@dataclass(frozen=True, slots=True)
class ScoredTerm:
    """The occurrences of a term in `bodies` and `names` of chunks and in `fields` of files.

    `files` are the rows of all files of the collection that have the term, ascending. Parallel to them are `counts`,
    how often their bodies have the term, and upper bounds, before the term's weight is applied and but for errors of
    rounding: `best` for BM25 of the file's best chunk, and `whole` for BM25F. `weight` and `chunk_weight` are the idf
    among files and among chunks.
    """

    files: Rows
    bodies: Runs
    names: Runs
    fields: Runs
    counts: Rows
    best: Floats
    whole: Floats
    weight: np.float32
    chunk_weight: np.float32

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays."""
        arrays = (self.files, self.counts, self.best, self.whole)
        return sum(array.nbytes for array in (*arrays, self.bodies, self.names, self.fields))


class _Recent(ByCollection[RecentTerms[ScoredTerm]]):
    """The recent terms of one revision."""


def scored_terms(snapshot: SearchedSnapshot, columns: IndexColumns, terms: Sequence[str]) -> list[ScoredTerm]:
    """Returns each of these terms, which must all be different, as it occurs in the collection."""
    recent = snapshot.memo.get(_Recent, lambda: _Recent(None)).get(columns.collection, lambda _: RecentTerms(MOST_KEPT))
    found = recent.get(terms, lambda unknown: _read(snapshot, columns, unknown))
    return [found[term] for term in terms]


def scores_in_fields(columns: IndexColumns, keys: Keys, tfs: Tfs, files: Rows) -> tuple[Keys, Floats]:
    """Returns the field and BM25 of each posting in fields. `files` are the rows of their files."""
    # numpy divides integers several times faster than it computes remainders.
    fields = keys - keys // FIELDS * FIELDS
    norms = columns.field_norms.ravel().take(files * np.int64(FIELDS) + fields)
    return fields, score_fields(fields, tfs, norms)


@dataclass(frozen=True, slots=True)
class _Part:
    """The files that have a term in some segments; a file that is gone has the row -1. `starts` and `sizes`, of shape
    [COLUMNS, files], say where the postings of each are among those of the term. For the others see `ScoredTerm`."""

    files: Rows
    starts: Rows
    sizes: Rows
    counts: Rows
    best: Floats
    whole: Floats


_NO_SCORES = np.zeros(0, np.float32)
_NO_RUNS = np.zeros((COLUMNS, 0), np.int32)
_NOTHING = _Part(NO_ROWS, _NO_RUNS, _NO_RUNS, NO_ROWS, _NO_SCORES, _NO_SCORES)


def _read(snapshot: SearchedSnapshot, columns: IndexColumns, terms: Sequence[str]) -> list[ScoredTerm]:
    """Reads each of these terms, of which there is at least one."""
    found = read_with_bounds(snapshot.connection, terms, BoundsReader(columns.collection, columns.averages))
    parts = [[] if bounds is None else [_bounded(columns, bounds)] for bounds in found.bounds]
    none = np.zeros(COLUMNS, np.int64)
    bounded = list(np.array([some[0].sizes.sum(axis=1) if some else none for some in parts], np.int64).T)
    left = np.sum([np.diff(each.bounds) for each in found.columns], axis=0) - np.sum(bounded, axis=0)
    for lot in _lots(left):
        of_columns = [each.of_terms(lot) for each in found.columns]
        for some, part in zip(parts[lot], _scored(columns, of_columns, [each[lot] for each in bounded]), strict=True):
            some.append(part)
    return [
        _joined(columns, some or [_NOTHING], [_of_term(of_column, number) for of_column in found.columns])
        for number, some in enumerate(parts)
    ]


def _lots(counts: Ids) -> Iterator[slice]:
    """Yields ranges of terms that have about `_AT_ONCE` postings together, or are a single one; terms without any are
    left out where that is possible. `counts` are the numbers of their postings."""
    begin, total = 0, 0
    for term, count in enumerate(counts.tolist()):
        if total and total + count > _AT_ONCE:
            yield slice(begin, term)
            begin, total = term, 0
        total += count
    if total:
        yield slice(begin, len(counts))


def _of_term(found: PostingsByTerm, number: int) -> tuple[Ids, Tfs]:
    part = slice(*found.bounds[number : number + 2].tolist())
    return found.ids[part], found.tfs[part]


def _bounded(columns: IndexColumns, bounds: FileBounds) -> _Part:
    """Returns the files in the segments that have bounds, whose postings come first."""
    starts = bounds.sizes.cumsum(axis=1, dtype=np.int32) - bounds.sizes
    files = columns.files.rows(bounds.files)
    return _Part(files, starts, bounds.sizes, bounds.counts, bounds.best, bounds.whole)


@dataclass(frozen=True, slots=True)
class _Cells:
    """Postings of several terms in one column, by cells. A cell is a term in a file that is not gone; those of a term
    follow each other. `terms` and `files` are their indexes and rows, `starts` and `sizes` say where the postings of
    each are among `keys` and `tfs`, and `firsts` says where each term's postings begin."""

    terms: Ids
    files: Rows
    starts: Ids
    sizes: Ids
    keys: Ids
    tfs: Tfs
    firsts: Ids


def _in_cells(found: PostingsByTerm, bounded: Ids, table: RowTable, step: int) -> _Cells:
    """Returns the postings that follow the `bounded` first ones of each term. `table` has the file's row for each key
    divided by `step`."""
    begins, ends = found.bounds[:-1] + bounded, found.bounds[1:]
    keys, tfs, firsts = found.ids, found.tfs, begins
    if bounded.any():
        parts = [slice(*pair) for pair in zip(begins.tolist(), ends.tolist(), strict=True)]
        keys, tfs = (np.concatenate([values[part] for part in parts]) for values in (keys, tfs))
        firsts = (ends - begins).cumsum() - (ends - begins)
    rows = table.rows(keys // step if step > 1 else keys)
    begin = np.ones(len(rows), bool)
    np.not_equal(rows[1:], rows[:-1], out=begin[1:])
    begin[firsts[firsts < len(rows)]] = True
    starts = begin.nonzero()[0]
    sizes = np.diff(starts, append=len(rows))
    of_runs = rows[starts]
    living = of_runs >= 0
    if not living.all():
        starts, sizes, of_runs = starts[living], sizes[living], of_runs[living]
    return _Cells(firsts.searchsorted(starts, "right") - 1, of_runs, starts, sizes, keys, tfs, firsts)


def _scored(columns: IndexColumns, by_column: Sequence[PostingsByTerm], bounded: Sequence[Ids]) -> list[_Part]:
    """Computes the scores of all files that have each of the terms, all terms at once. `bounded` says, by column and
    term, how many postings have bounds; they come first and are left out."""
    width, terms = len(columns.group_of), len(bounded[0])
    tables = ((columns.holders, 1), (columns.holders, 1), (columns.files, FIELDS))
    bodies, _, fields = in_columns = [
        _in_cells(found, first, table, step)
        for found, first, (table, step) in zip(by_column, bounded, tables, strict=True)
    ]
    found, places = together([each.terms * width + each.files for each in in_columns], terms * width)
    files = np.empty(len(found), np.int32)
    whole, best = np.zeros((2, len(found)), np.float32)
    running = np.zeros(len(bodies.tfs) + 1, np.int32)
    bodies.tfs.cumsum(dtype=np.int32, out=running[1:])
    counts = np.zeros(len(found), np.int32)
    counts[places[0]] = in_bodies = running[bodies.starts + bodies.sizes] - running[bodies.starts]
    whole[places[0]] = saturate(in_bodies, columns.file_norms[bodies.files], FILE_CURVE.k1)
    best[places[0]] = _best_chunks(columns, bodies)
    whole[places[2]] += _weighted_fields(columns, fields)
    starts, sizes = np.zeros((2, COLUMNS, len(found)), np.int32)
    for column, (each, at, first) in enumerate(zip(in_columns, places, bounded, strict=True)):
        starts[column, at] = each.starts + (first - each.firsts)[each.terms]
        sizes[column, at] = each.sizes
        files[at] = each.files
    whole = damped(whole)
    ends = found.searchsorted(np.arange(terms + 1) * width).tolist()
    return [
        _Part(files[part], starts[:, part], sizes[:, part], counts[part], best[part], whole[part])
        for part in (slice(*pair) for pair in pairwise(ends))
    ]


def _weighted_fields(columns: IndexColumns, fields: _Cells) -> Floats:
    """Returns the weighted sum of BM25 of the fields of each cell."""
    of = np.arange(len(fields.files)).repeat(fields.sizes)
    keys, tfs = fields.keys, fields.tfs
    if len(of) < len(keys):
        at = (fields.starts - (fields.sizes.cumsum() - fields.sizes)).repeat(fields.sizes) + np.arange(len(of))
        keys, tfs = keys[at], tfs[at]
    in_fields, scores = scores_in_fields(columns, keys, tfs, fields.files[of])
    return weighted_sums(in_fields, scores, of, len(fields.files))


def _best_chunks(columns: IndexColumns, bodies: _Cells) -> Floats:
    """Returns BM25 of the best chunk of each cell, but for errors of rounding."""
    if not len(bodies.starts):
        return np.zeros(0, np.float32)
    rows = columns.chunks.rows(bodies.keys)
    # BM25 grows with this ratio, so only the highest of each cell is converted.
    ratios = np.divide(bodies.tfs, columns.chunk_norms[rows], dtype=np.float32)
    # What is left out belongs to the cell before it here.
    ratios *= rows >= 0
    best = np.maximum.reduceat(ratios, bodies.starts)
    return np.asarray(best * np.float32(CHUNK_CURVE.k1 + 1) / (best + 1), np.float32)


def _joined(columns: IndexColumns, parts: Sequence[_Part], postings: Sequence[tuple[Ids, Tfs]]) -> ScoredTerm:
    """Returns the occurrences in all segments, in order of files and without files that are gone. `postings` are the
    keys and counts in each column."""
    (part,) = parts if len(parts) == 1 else [_side_by_side(parts)]
    order = part.files.argsort(kind="stable")  # fast, because each segment is an ascending sequence
    order = order[part.files[order].searchsorted(0) :]
    bodies, names, fields = (
        Runs(starts.take(order), sizes.take(order), narrow(keys), tfs.copy())
        for starts, sizes, (keys, tfs) in zip(part.starts, part.sizes, postings, strict=True)
    )
    return ScoredTerm(
        files=part.files.take(order),
        bodies=bodies,
        names=names,
        fields=fields,
        counts=part.counts.take(order),
        best=part.best.take(order),
        whole=part.whole.take(order),
        weight=np.float32(idf(columns.file_count, int(np.count_nonzero(bodies.sizes + fields.sizes)))),
        chunk_weight=np.float32(idf(columns.chunk_count, int(bodies.sizes.sum()))),
    )


def _side_by_side(parts: Sequence[_Part]) -> _Part:
    return _Part(
        np.concatenate([part.files for part in parts]),
        np.concatenate([part.starts for part in parts], axis=1),
        np.concatenate([part.sizes for part in parts], axis=1),
        np.concatenate([part.counts for part in parts]),
        np.concatenate([part.best for part in parts]),
        np.concatenate([part.whole for part in parts]),
    )
