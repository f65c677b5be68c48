"""The columns that ranking needs of a revision besides its snapshot: length norms, rows by id, chunks by file. They
take a few bytes per chunk, and have no text and no vectors."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sidecar.engine.search.source import Flags, Rows, SearchedSnapshot
from sidecar.model.terms import Ids
from sidecar.parts.lexical.analyse import FIELDS
from sidecar.parts.lexical.bm25 import Curve, Floats, length_norms
from sidecar.parts.lexical.postings import Lengths, read_lengths

_T = TypeVar("_T", bound=np.generic)

CHUNK_CURVE = Curve(k1=1.5, b=0.75)
FILE_CURVE = Curve(k1=1.5, b=0.5)
FIELD_CURVES = (
    Curve(0.6, 0.3),  # path
    Curve(0.4, 0.5),  # stem
    Curve(0.4, 0.3),  # directories
    Curve(1.5, 0.75),  # names
    Curve(1.5, 0.75),  # signatures
    Curve(1.5, 0.75),  # comments
    Curve(1.5, 0.75),  # head
)
"""One curve for each `Field`. In short fields (path, stem, directories) only the first occurrence of a term matters
much, so k1 is small."""

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
        self._before = int(ids.min()) - 1 if len(ids) else 0
        span = int(ids.max()) - self._before if len(ids) else 0
        self._table: Rows | None = None
        if span <= _DENSE * len(ids):
            # One cell more at either end, to which ids outside the range are clipped.
            self._table = np.full(span + 2, -1, np.int32)
            _put_in(self._table, ids - self._before, given)
        else:
            order = np.argsort(ids)
            self._rows, self._ids = given[order], ids[order]

    def rows(self, ids: Ids) -> Rows:
        """Returns the row of each id, shape [n]; -1 for unknown ids."""
        if self._table is not None:
            return np.asarray(self._table.take(ids - self._before, mode="clip"))
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


@dataclass(frozen=True)
class IndexColumns:
    """Columns of one collection at one revision.

    The norms are BM25 length norms (`length_norms`) of shape [chunks] and [files], and of [files, FIELDS] for
    `field_norms`; those of the other collection's rows are meaningless and never used. `chunks` and `files` map ids to
    rows, and `holders` maps a chunk's id to its file's row; ids of the other collection are unknown to them.
    `body_lengths` are the numbers of terms per file.

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
    chunk_norms: Floats
    file_norms: Floats
    field_norms: Floats
    group_start: NDArray[np.int64]
    group_length: NDArray[np.int64]
    group_file: Rows
    group_of: Rows
    body_lengths: Floats

    @cached_property
    def least_norms(self) -> Floats:
        """The smallest norm of each file's chunks, shape [files]; 0 for files without chunks."""
        least = np.zeros(len(self.group_of), np.float32)
        if len(self.group_start):
            least[self.group_file] = np.minimum.reduceat(self.chunk_norms, self.group_start)
        return least

    def best_per_file(self, scores: Floats, files: int) -> Floats:
        """Returns the highest chunk score of each file row, shape [files]; 0 for files without chunks."""
        best = np.zeros(files, np.float32)
        if len(self.group_start):
            best[self.group_file] = np.maximum.reduceat(scores, self.group_start)
        return best


@dataclass(frozen=True)
class _Columns:
    """The columns of one revision that searches have used so far, by collection."""

    by_collection: dict[int, IndexColumns] = field(default_factory=dict)


def columns_of(snapshot: SearchedSnapshot, collection: int) -> IndexColumns:
    """Returns the columns of a collection in this snapshot, which are computed at the first search of its revision."""
    made = snapshot.memo.get(_Columns, _Columns).by_collection
    found = made.get(collection)
    return found if found is not None else made.setdefault(collection, _make(snapshot, collection))


def _make(snapshot: SearchedSnapshot, collection: int) -> IndexColumns:
    lengths = _lengths_of(snapshot)
    bodies, fields = lengths.bodies, lengths.fields
    file_flags = np.asarray(snapshot.file_collection == collection)
    chunk_flags = file_flags[snapshot.chunk_file]
    file_lengths = np.bincount(snapshot.chunk_file, weights=bodies, minlength=len(fields)).astype(np.float32)
    starts = _starts(snapshot.chunk_file)
    group_file = snapshot.chunk_file[starts]
    group_of = np.full(len(fields), -1, np.int32)
    group_of[group_file] = np.arange(len(starts), dtype=np.int32)
    chunk_rows = np.flatnonzero(chunk_flags).astype(np.int32)
    file_rows = np.flatnonzero(file_flags).astype(np.int32)
    chunk_ids, chunk_file = _at(snapshot.chunk_ids, chunk_rows), _at(snapshot.chunk_file, chunk_rows)
    return IndexColumns(
        collection=collection,
        chunks=RowTable(chunk_ids, chunk_rows),
        files=RowTable(snapshot.file_ids[file_rows], file_rows),
        holders=RowTable(chunk_ids, chunk_file),
        in_collection=chunk_flags,
        chunk_count=int(chunk_flags.sum()),
        file_count=int(file_flags.sum()),
        chunk_norms=length_norms(bodies, _average(bodies, chunk_flags), CHUNK_CURVE),
        file_norms=length_norms(file_lengths, _average(file_lengths, file_flags), FILE_CURVE),
        field_norms=np.stack(
            [length_norms(fields[:, i], _average(fields[:, i], file_flags), c) for i, c in enumerate(FIELD_CURVES)], 1
        ),
        group_start=starts,
        group_length=np.diff(starts, append=len(bodies)),
        group_file=group_file,
        group_of=group_of,
        body_lengths=file_lengths,
    )


def _starts(holders: Rows) -> NDArray[np.int64]:
    """Returns the first row of each run of equal values."""
    if not len(holders):
        return np.zeros(0, np.int64)
    return np.append(0, np.flatnonzero(holders[1:] != holders[:-1]) + 1).astype(np.int64)


class _Lengths:
    """Lengths in terms: of chunks, shape [chunks], and of the fields of files, shape [files, FIELDS]."""

    def __init__(self, snapshot: SearchedSnapshot) -> None:
        self.chunk_ids: Ids = snapshot.chunk_ids
        self.file_ids: Ids = snapshot.file_ids
        self.bodies = np.zeros(len(self.chunk_ids), np.float32)
        self.fields = np.zeros((len(self.file_ids), FIELDS), np.float32)
        self._seen = np.zeros(len(self.chunk_ids), bool)

    def take_over(self, known: _Lengths) -> bool:
        """Copies the lengths of those ids that this revision has, range by range. Returns False if the ids form too
        many ranges; `take` then looks them up one by one."""
        chunks, files = aligned(self.chunk_ids, known.chunk_ids), aligned(self.file_ids, known.file_ids)
        if chunks is None or files is None:
            return False
        for begin, other, count in chunks:
            self.bodies[begin : begin + count] = known.bodies[other : other + count]
            self._seen[begin : begin + count] = True
        for begin, other, count in files:
            self.fields[begin : begin + count] = known.fields[other : other + count]
        return True

    def take(self, chunks: RowTable | _SortedIds, files: RowTable | _SortedIds, lengths: Lengths | _Lengths) -> None:
        """Copies the lengths of those ids that this revision has."""
        rows = chunks.rows(lengths.chunk_ids)
        here = rows >= 0
        self.bodies[rows[here]] = lengths.bodies[here]
        self._seen[rows[here]] = True
        rows = files.rows(lengths.file_ids)
        here = rows >= 0
        self.fields[rows[here]] = lengths.fields[here]

    @property
    def complete(self) -> bool:
        """Whether the lengths of all chunks are known."""
        return bool(self._seen.all())


def _lengths_of(snapshot: SearchedSnapshot) -> _Lengths:
    return snapshot.memo.carried(_Lengths, lambda known: _read_lengths(snapshot, known))


def _read_lengths(snapshot: SearchedSnapshot, known: _Lengths | None) -> _Lengths:
    """Takes over the lengths that `known` has from another revision, reads the others from the manifest, and returns
    all."""
    found = _Lengths(snapshot)
    if known is not None and len(known.chunk_ids):
        if not found.take_over(known):
            found.take(RowTable(snapshot.chunk_ids), RowTable(snapshot.file_ids), known)
        after = read_lengths(snapshot.connection, after=int(known.chunk_ids[-1]))
        few = len(after.chunk_ids) < len(snapshot.chunk_ids) // _DENSE
        table = _SortedIds if few else RowTable
        found.take(table(snapshot.chunk_ids), table(snapshot.file_ids), after)
    # `known` may belong to a later revision, which lacks some of these chunks.
    if not found.complete:
        found.take(RowTable(snapshot.chunk_ids), RowTable(snapshot.file_ids), read_lengths(snapshot.connection))
    return found


def aligned(ids: Ids, known: Ids) -> list[tuple[int, int, int]] | None:
    """Returns the ranges that two ascending lists of ids share: (first in `ids`, first in `known`, length). None if
    there are too many."""
    found: list[tuple[int, int, int]] = []
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
