"""The columns that ranking needs of a revision besides its snapshot: length norms, rows by id, chunks by file. They
take a few bytes per chunk, and have no text and no vectors."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from sidecar.engine.concurrency.memo import ByCollection
from sidecar.engine.concurrency.room import continues
from sidecar.engine.search.source import Flags, Rows, SearchedSnapshot
from sidecar.model.terms import Ids
from sidecar.parts.lexical.analyse import FIELDS
from sidecar.parts.lexical.bm25 import Floats, length_norms
from sidecar.parts.lexical.curves import CHUNK_CURVE, FIELD_CURVES, FILE_CURVE
from sidecar.parts.lexical.segments import newest_lengths, read_lengths
from sidecar.parts.lexical.values import Lengths

_T = TypeVar("_T", bound=np.generic)

Range: TypeAlias = tuple[int, int, int]
"""Rows that two revisions share: (first in the one, first in the other, length)."""

_MOST_STRETCHES = 100
_DENSE = 16
"""A table indexed by id is used if the range of ids is at most this many times their number."""


class RowTable:
    """Maps ids to rows, with a table if ids are dense and by binary search otherwise.

    `ids` must be distinct and may be in any order. `rows` are their rows; by default these are their positions in
    `ids`.
    """

    def __init__(self, ids: Ids, rows: Rows | None = None) -> None:
        given = np.arange(len(ids), dtype=np.int32) if rows is None else rows
        self.before = int(ids.min()) - 1 if len(ids) else 0
        span = int(ids.max()) - self.before if len(ids) else 0
        self.table: Rows | None = None
        if span <= _DENSE * len(ids):
            # One cell more at either end, to which ids outside the range are clipped.
            self.table = np.full(span + 2, -1, np.int32)
            _put_in(self.table, ids - self.before, given)
        else:
            order = np.argsort(ids)
            self._rows, self._ids = given[order], ids[order]

    def continued(self, ids: Ids, rows: Rows) -> RowTable | None:
        """Returns a table of these further ids too, which must ascend and follow all others. None if there is no table
        to continue. Copies the table, which takes a fraction of the time of making it."""
        if self.table is None or not len(ids):
            return self if self.table is not None else None
        longer = copy(self)
        longer.table = np.empty(int(ids[-1]) - self.before + 2, np.int32)
        longer.table[: len(self.table)] = self.table
        longer.table[len(self.table) :] = -1
        _put_in(longer.table, ids - self.before, rows)
        return longer

    def moved(self, known: Ids, shared: Sequence[Range]) -> RowTable | None:
        """Returns a table of those ids whose rows are in these ranges of `known`, the ids of all rows, with the rows
        that they have now. None if there is no table, or if it would be mostly empty."""
        if self.table is None or not shared:
            return None
        moved = copy(self)
        moved.table = np.full_like(self.table, -1)
        for begin, other, count in shared:
            first = max(int(known[other]) - self.before, 0)
            end = min(int(known[other + count - 1]) - self.before + 1, len(self.table) - 1)
            cells = slice(first, max(first, end))
            there = self.table[cells]
            np.add(there, begin - other, out=moved.table[cells], where=there >= 0)
        return moved if len(moved.table) <= _DENSE * sum(count for *_, count in shared) else None

    def renamed(self, rows: Rows) -> RowTable | None:
        """Returns a table in which each row is replaced by the entry of `rows` at its place, whose last entry must be
        -1. None if there is no table."""
        if self.table is None:
            return None
        renamed = copy(self)
        renamed.table = rows[self.table]
        return renamed

    def rows(self, ids: NDArray[np.integer]) -> Rows:
        """Returns the row of each id, shape [n]; -1 for unknown ids."""
        if self.table is not None:
            return np.asarray(self.table.take(ids - self.before, mode="clip"))
        at = np.minimum(np.searchsorted(self._ids, ids), len(self._ids) - 1)
        return np.where(self._ids[at] == ids, self._rows[at], np.int32(-1))


class _SortedIds:
    """Like `RowTable`, for ids in ascending order and their positions. No table is made first, so looking up a few ids
    is faster."""

    def __init__(self, ids: Ids) -> None:
        self._ids = ids

    def rows(self, ids: Ids) -> Rows:
        """See `RowTable.rows`."""
        at = np.minimum(np.searchsorted(self._ids, ids), len(self._ids) - 1)
        return np.where(self._ids[at] == ids, at, -1).astype(np.int32)


def _put_in(table: Rows, cells: Ids, rows: Rows) -> None:
    """Writes the rows into these cells. If the cells form few ranges of consecutive ones, copies range by range, which
    is faster."""
    breaks = np.flatnonzero(cells[1:] != cells[:-1] + 1)
    if len(breaks) >= _MOST_STRETCHES:
        table[cells] = rows
        return
    bounds = [0, *(breaks + 1).tolist(), len(cells)]
    for begin, end in pairwise(bounds) if len(cells) else ():
        first = int(cells[begin])
        table[first : first + end - begin] = rows[begin:end]


class ChunkNorms:
    """The length norms of chunks, computed where they are read: the average length changes with every revision."""

    def __init__(self, lengths: Floats, average: float) -> None:
        """`lengths` are numbers of terms, shape [chunks]; `average` is that of the collection."""
        self._lengths = lengths
        self._average = average

    def __getitem__(self, rows: Rows) -> Floats:
        """Returns the norms of these chunk rows, shape [n]."""
        return length_norms(self._lengths.take(rows), self._average, CHUNK_CURVE)

    def terms(self, rows: Rows) -> float:
        """Returns how many terms these chunk rows have."""
        return _sum(self._lengths[rows])


@dataclass(frozen=True)
class IndexColumns:
    """Columns of one collection at one revision.

    The norms are BM25 length norms (`length_norms`) of shape [chunks] and [files], and of [files, FIELDS] for
    `field_norms`; those of the other collection's rows are meaningless and never used. `chunks` and `files` map ids to
    rows, and `holders` maps a chunk's id to its file's row; ids of the other collection are unknown to them.
    `body_lengths` are the numbers of terms per file, and `averages` those of all lengths (see `AVERAGES`). `chunk_ids`
    and `file_ids` are those of the snapshot, and `terms` is how many terms all chunks of the collection have.

    The chunks of one file are consecutive rows, because their ids are assigned together. Each such run is a group:
    `group_start` is its first row, `group_length` its length, `group_file` its file's row. `group_of` is the group's
    number by file row, -1 for a file without chunks. Groups cover both collections.
    """

    collection: int
    chunks: RowTable
    files: RowTable
    holders: RowTable
    in_collection: Flags
    chunk_count: int
    file_count: int
    chunk_norms: ChunkNorms
    file_norms: Floats
    field_norms: Floats
    averages: Floats
    group_start: NDArray[np.int64]
    group_length: NDArray[np.int64]
    group_file: Rows
    group_of: Rows
    body_lengths: Floats
    chunk_ids: Ids
    file_ids: Ids
    terms: float

    def best_per_file(self, scores: Floats, files: int) -> Floats:
        """Returns the highest chunk score of each file row, shape [files]; 0 for files without chunks."""
        best = np.zeros(files, np.float32)
        if len(self.group_start):
            best[self.group_file] = np.maximum.reduceat(scores, self.group_start)
        return best


class _Columns(ByCollection[IndexColumns]):
    """The columns that searches have used so far."""


def columns_of(snapshot: SearchedSnapshot, collection: int) -> IndexColumns:
    """Returns the columns of a collection in this snapshot, which are computed at the first search of its revision."""
    columns = snapshot.memo.carried(_Columns, _Columns)
    return columns.get(collection, lambda former: _make(snapshot, collection, former))


@dataclass(frozen=True)
class _Parts:
    """What the columns of a collection have for each chunk, and for each group of chunks."""

    chunks: RowTable
    holders: RowTable
    in_collection: Flags
    terms: float
    starts: NDArray[np.int64]
    file_lengths: Floats


def _make(snapshot: SearchedSnapshot, collection: int, former: IndexColumns | None) -> IndexColumns:
    lengths = _lengths_of(snapshot)
    bodies, fields = lengths.bodies, lengths.fields
    file_flags = np.asarray(snapshot.file_collection == collection)
    parts = None
    if former is not None:
        ends_with_new = continues(snapshot.chunk_ids, former.chunk_ids)
        parts = (_continued if ends_with_new else _without_some)(former, snapshot, bodies, file_flags)
    parts = parts or _made_anew(snapshot, bodies, file_flags)
    file_lengths, starts = parts.file_lengths, parts.starts
    group_file = snapshot.chunk_file[starts]
    group_of = np.full(len(fields), -1, np.int32)
    group_of[group_file] = np.arange(len(starts), dtype=np.int32)
    file_rows = np.flatnonzero(file_flags).astype(np.int32)
    chunk_count = int(np.count_nonzero(parts.in_collection))
    of_chunks, of_files = parts.terms / chunk_count if chunk_count else 1.0, _average(file_lengths, file_flags)
    of_fields = [_average(fields[:, i], file_flags) for i in range(FIELDS)]
    return IndexColumns(
        collection=collection,
        chunks=parts.chunks,
        files=RowTable(snapshot.file_ids[file_rows], file_rows),
        holders=parts.holders,
        in_collection=parts.in_collection,
        chunk_count=chunk_count,
        file_count=int(file_flags.sum()),
        chunk_norms=ChunkNorms(bodies, of_chunks),
        file_norms=length_norms(file_lengths, of_files, FILE_CURVE),
        field_norms=np.stack([length_norms(fields[:, i], of_fields[i], c) for i, c in enumerate(FIELD_CURVES)], 1),
        averages=np.array([of_chunks, of_files, *of_fields], np.float32),
        group_start=starts,
        group_length=np.diff(starts, append=len(bodies)),
        group_file=group_file,
        group_of=group_of,
        body_lengths=file_lengths,
        chunk_ids=snapshot.chunk_ids,
        file_ids=snapshot.file_ids,
        terms=parts.terms,
    )


def _made_anew(snapshot: SearchedSnapshot, bodies: Floats, file_flags: Flags) -> _Parts:
    flags = file_flags[snapshot.chunk_file]
    rows = np.flatnonzero(flags).astype(np.int32)
    ids, holders = _at(snapshot.chunk_ids, rows), _at(snapshot.chunk_file, rows)
    return _Parts(
        chunks=RowTable(ids, rows),
        holders=RowTable(ids, holders),
        in_collection=flags,
        terms=_sum(bodies[flags]),
        starts=starts_of_runs(snapshot.chunk_file),
        file_lengths=_by_file(snapshot.chunk_file, bodies, len(file_flags)),
    )


def _continued(former: IndexColumns, snapshot: SearchedSnapshot, bodies: Floats, file_flags: Flags) -> _Parts | None:
    """Continues the columns of a former revision, whose chunks this one has too, followed by others. None if that is
    impossible."""
    known, files = len(former.chunk_ids), len(former.group_of)
    holders = snapshot.chunk_file[known:]
    if len(holders) and int(holders.min()) < files:
        return None
    flags = file_flags[holders]
    rows = (np.flatnonzero(flags) + known).astype(np.int32)
    ids = snapshot.chunk_ids[rows]
    chunks, held = former.chunks.continued(ids, rows), former.holders.continued(ids, snapshot.chunk_file[rows])
    if chunks is None or held is None:
        return None
    return _Parts(
        chunks=chunks,
        holders=held,
        in_collection=np.concatenate([former.in_collection, flags]),
        terms=former.terms + _sum(bodies[known:][flags]),
        starts=np.concatenate([former.group_start, starts_of_runs(holders) + known]),
        file_lengths=np.concatenate(
            [former.body_lengths, _by_file(holders - np.int32(files), bodies[known:], len(file_flags) - files)]
        ),
    )


def _without_some(former: IndexColumns, snapshot: SearchedSnapshot, bodies: Floats, file_flags: Flags) -> _Parts | None:
    """Makes the columns from those of a former revision, of which this one lacks a few files, and has others behind
    them. None if that is impossible. The arrays with an entry for each chunk are moved as ranges."""
    chunks, files = aligned(snapshot.chunk_ids, former.chunk_ids), aligned(snapshot.file_ids, former.file_ids)
    if not chunks or not files or not (_in_a_row(chunks) and _in_a_row(files)):
        return None
    stay, files_stay = (sum(count for *_, count in shared) for shared in (chunks, files))
    holders, ids_behind = snapshot.chunk_file[stay:], snapshot.chunk_ids[stay:]
    # The columns may be those of a later revision, which has lost what this one still has at its end.
    if len(holders) and (int(holders.min()) < files_stay or ids_behind[0] <= former.chunk_ids[-1]):
        return None
    rows_of_files = np.full(len(former.group_of) + 1, -1, np.int32)
    gone = np.ones(len(former.chunk_ids), bool)
    starts, lengths = [], []
    for begin, other, count in files:
        rows_of_files[other : other + count] = np.arange(begin, begin + count, dtype=np.int32)
        lengths.append(former.body_lengths[other : other + count])
    for begin, other, count in chunks:
        gone[other : other + count] = False
        first, end = np.searchsorted(former.group_start, [other, other + count])
        starts.append(former.group_start[first:end] + (begin - other))
    flags = file_flags[holders]
    rows = (np.flatnonzero(flags) + stay).astype(np.int32)
    ids = snapshot.chunk_ids[rows]
    moved, held = former.chunks.moved(former.chunk_ids, chunks), former.holders.renamed(rows_of_files)
    moved = moved and moved.continued(ids, rows)
    held = held and held.continued(ids, snapshot.chunk_file[rows])
    if moved is None or held is None:
        return None
    lost = former.chunk_norms.terms(np.flatnonzero(gone & former.in_collection).astype(np.int32))
    return _Parts(
        chunks=moved,
        holders=held,
        in_collection=np.concatenate([former.in_collection[~gone], flags]),
        terms=former.terms - lost + _sum(bodies[stay:][flags]),
        starts=np.concatenate([*starts, starts_of_runs(holders) + stay]),
        file_lengths=np.concatenate(
            [*lengths, _by_file(holders - np.int32(files_stay), bodies[stay:], len(file_flags) - files_stay)]
        ),
    )


def _in_a_row(shared: Sequence[Range]) -> bool:
    """Whether these ranges are all of the first rows of the later revision: what it has besides them follows them."""
    ends = [0, *(begin + count for begin, _, count in shared)]
    return all(begin == end for (begin, *_), end in zip(shared, ends, strict=False))


def _by_file(holders: Rows, bodies: Floats, files: int) -> Floats:
    return np.bincount(holders, weights=bodies, minlength=files).astype(np.float32)


def _sum(lengths: Floats) -> float:
    """Sums whole numbers, exactly."""
    return float(lengths.sum(dtype=np.float64))


def starts_of_runs(holders: Rows) -> NDArray[np.int64]:
    """Returns the first row of each run of equal values."""
    if not len(holders):
        return np.zeros(0, np.int64)
    return np.append(0, np.flatnonzero(holders[1:] != holders[:-1]) + 1).astype(np.int64)


class _Lengths:
    """Lengths in terms: of chunks, shape [chunks], and of the fields of files, shape [files, FIELDS]."""

    def __init__(self, chunk_ids: Ids, file_ids: Ids) -> None:
        self.chunk_ids = chunk_ids
        self.file_ids = file_ids
        self.bodies = np.zeros(len(self.chunk_ids), np.float32)
        self.fields = np.zeros((len(self.file_ids), FIELDS), np.float32)
        self.seen = np.zeros(len(self.chunk_ids), bool)

    def take_over(self, known: _Lengths) -> bool:
        """Copies the lengths of those ids that this revision has, range by range. Returns False if the ids form too
        many ranges; `take` then looks them up one by one."""
        chunks, files = aligned(self.chunk_ids, known.chunk_ids), aligned(self.file_ids, known.file_ids)
        if chunks is None or files is None:
            return False
        for begin, other, count in chunks:
            self.bodies[begin : begin + count] = known.bodies[other : other + count]
            self.seen[begin : begin + count] = True
        for begin, other, count in files:
            self.fields[begin : begin + count] = known.fields[other : other + count]
        return True

    def take(self, chunks: RowTable | _SortedIds, files: RowTable | _SortedIds, lengths: Lengths | _Lengths) -> None:
        """Copies the lengths of those ids that this revision has."""
        rows = chunks.rows(lengths.chunk_ids)
        here = rows >= 0
        self.bodies[rows[here]] = lengths.bodies[here]
        self.seen[rows[here]] = True
        rows = files.rows(lengths.file_ids)
        here = rows >= 0
        self.fields[rows[here]] = lengths.fields[here]

    def followed_by(self, later: _Lengths, snapshot: SearchedSnapshot) -> _Lengths:
        """Returns these lengths and the later ones, as those of a snapshot."""
        both = _Lengths(snapshot.chunk_ids, snapshot.file_ids)
        both.bodies = np.concatenate([self.bodies, later.bodies])
        both.fields = np.concatenate([self.fields, later.fields])
        both.seen = np.concatenate([self.seen, later.seen])
        return both

    @property
    def complete(self) -> bool:
        """Whether the lengths of all chunks are known."""
        return bool(self.seen.all())


def _lengths_of(snapshot: SearchedSnapshot) -> _Lengths:
    return snapshot.memo.carried(_Lengths, lambda known: _read_lengths(snapshot, known))


def _read_lengths(snapshot: SearchedSnapshot, known: _Lengths | None) -> _Lengths:
    """Takes over the lengths that `known` has from another revision, reads the others from the manifest, and returns
    all."""
    if known is not None and continues(snapshot.chunk_ids, known.chunk_ids):
        return _with_later(snapshot, known)
    found = _Lengths(snapshot.chunk_ids, snapshot.file_ids)
    if known is not None and len(known.chunk_ids):
        if not found.take_over(known):
            found.take(RowTable(snapshot.chunk_ids), RowTable(snapshot.file_ids), known)
        _take_newest(found, snapshot)
    # `known` may belong to a later revision, which lacks some of these chunks.
    if not found.complete:
        found.take(RowTable(snapshot.chunk_ids), RowTable(snapshot.file_ids), read_lengths(snapshot.connection))
    return found


def _with_later(snapshot: SearchedSnapshot, known: _Lengths) -> _Lengths:
    """Returns the lengths of a revision that has the chunks of `known`, followed by others."""
    found = _Lengths(snapshot.chunk_ids[len(known.chunk_ids) :], snapshot.file_ids[len(known.file_ids) :])
    _take_newest(found, snapshot)
    return known.followed_by(found, snapshot)


def _take_newest(found: _Lengths, snapshot: SearchedSnapshot) -> None:
    """Reads the lengths in one segment after the other, the newest first, until all are known."""
    for lengths in newest_lengths(snapshot.connection):
        if found.complete:
            return
        few = len(lengths.chunk_ids) < len(found.chunk_ids) // _DENSE
        table = _SortedIds if few else RowTable
        found.take(table(found.chunk_ids), table(found.file_ids), lengths)


def aligned(ids: Ids, known: Ids) -> list[Range] | None:
    """Returns the ranges that two ascending lists of ids share: (first in `ids`, first in `known`, length). None if
    there are too many."""
    found: list[Range] = []
    at = other = 0
    while at < len(ids) and other < len(known):
        if len(found) >= _MOST_STRETCHES:
            return None
        most = min(len(ids) - at, len(known) - other)
        differs = ids[at : at + most] != known[other : other + most]
        count = int(differs.argmax()) if differs.any() else most
        if count:
            found.append((at, other, count))
        at, other = at + count, other + count
        if at < len(ids) and other < len(known):
            # The smaller id is missing in the other list: continue where its list reaches the larger one.
            low, high = int(ids[at]), int(known[other])
            at += int(np.searchsorted(ids[at:], high)) if low < high else 0
            other += int(np.searchsorted(known[other:], low)) if high < low else 0
    return found


def _at(values: NDArray[_T], rows: Rows) -> NDArray[_T]:
    """Returns the values at these distinct rows, which must ascend; without copying if these are all rows."""
    return values if len(rows) == len(values) else values[rows]


def _average(values: Floats, flags: Flags) -> float:
    return float(values[flags].mean(dtype=np.float64)) if flags.any() else 1.0
