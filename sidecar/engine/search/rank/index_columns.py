"""What ranking keeps per revision of an index: lengths, rows by id, groups. Bytes per chunk, no text, no vector."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sidecar.engine.search.source import Flags, Rows, SearchedSnapshot
from sidecar.model import Ids
from sidecar.parts.lexical.analyse import FIELDS
from sidecar.parts.lexical.bm25 import Curve, Floats, length_norms
from sidecar.parts.lexical.postings import Lengths, read_lengths

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
"""Short fields say all at the first occurrence."""

_DENSE = 16
"""A table of rows by id is kept while ids are at most this many times more than rows."""


class RowTable:
    """Rows by id, -1 where an id is not known: one look-up per id while ids are dense, a binary search when not.

    `ids` are all different, in any order; `rows` are theirs, without it their places in `ids`.
    """

    def __init__(self, ids: Ids, rows: Rows | None = None) -> None:
        given = np.arange(len(ids), dtype=np.int32) if rows is None else rows
        self._before = int(ids.min()) - 1 if len(ids) else 0
        span = int(ids.max()) - self._before if len(ids) else 0
        self._table: Rows | None = None
        if span <= _DENSE * len(ids):
            # A place at either end for what lies outside.
            self._table = np.full(span + 2, -1, np.int32)
            self._table[ids - self._before] = given
        else:
            order = np.argsort(ids)
            self._rows, self._ids = given[order], ids[order]

    def rows(self, ids: Ids) -> Rows:
        if self._table is not None:
            return np.asarray(self._table.take(ids - self._before, mode="clip"))
        at = np.minimum(np.searchsorted(self._ids, ids), len(self._ids) - 1)
        return np.where(self._ids[at] == ids, self._rows[at], np.int32(-1))


@dataclass(frozen=True)
class IndexColumns:
    """Of one collection at one revision. Norms of the other collection's rows are meaningless and never used.

    Chunks of one file are consecutive rows because their ids are given together; `group_start` is where each run
    begins, `group_length` how long it is, `group_file` its file's row, and `group_of` its number by file row (-1: a
    file without chunks). `holders` gives the file's row by chunk id. `chunks`, `files` and `holders` know no ids of the
    other collection. `body_lengths` counts terms per file.
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

    def best_per_file(self, scores: Floats, files: int) -> Floats:
        """The best chunk score of each file row; 0 for files without chunks."""
        best = np.zeros(files, np.float32)
        if len(self.group_start):
            best[self.group_file] = np.maximum.reduceat(scores, self.group_start)
        return best


@dataclass(frozen=True)
class _Columns:
    """Those of one revision that a search has asked for."""

    by_collection: dict[int, IndexColumns] = field(default_factory=dict)


def columns_of(snapshot: SearchedSnapshot, collection: int) -> IndexColumns:
    """Made at the first search of a revision."""
    made = snapshot.memo.get(_Columns, _Columns).by_collection
    found = made.get(collection)
    return found if found is not None else made.setdefault(collection, _make(snapshot, collection))


def _make(snapshot: SearchedSnapshot, collection: int) -> IndexColumns:
    lengths = _lengths_of(snapshot)
    bodies, fields = lengths.bodies, lengths.fields
    file_flags = np.asarray(snapshot.file_collection == collection)
    chunk_flags = file_flags[snapshot.chunk_file]
    file_lengths = np.bincount(snapshot.chunk_file, weights=bodies, minlength=len(fields)).astype(np.float32)
    starts = np.flatnonzero(np.diff(snapshot.chunk_file, prepend=-1)).astype(np.int64)
    group_file = snapshot.chunk_file[starts]
    group_of = np.full(len(fields), -1, np.int32)
    group_of[group_file] = np.arange(len(starts), dtype=np.int32)
    chunk_rows = np.flatnonzero(chunk_flags).astype(np.int32)
    file_rows = np.flatnonzero(file_flags).astype(np.int32)
    return IndexColumns(
        collection=collection,
        chunks=RowTable(snapshot.chunk_ids[chunk_rows], chunk_rows),
        files=RowTable(snapshot.file_ids[file_rows], file_rows),
        holders=RowTable(snapshot.chunk_ids[chunk_rows], snapshot.chunk_file[chunk_rows]),
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


class _Lengths:
    """Lengths in terms by row: of chunks, and of the fields of files ([files, FIELDS])."""

    def __init__(self, snapshot: SearchedSnapshot) -> None:
        self.chunk_ids: Ids = snapshot.chunk_ids
        self.file_ids: Ids = snapshot.file_ids
        self.bodies = np.zeros(len(self.chunk_ids), np.float32)
        self.fields = np.zeros((len(self.file_ids), FIELDS), np.float32)
        self._seen = np.zeros(len(self.chunk_ids), bool)

    def take(self, chunks: RowTable, files: RowTable, lengths: Lengths | _Lengths) -> None:
        """Takes over what `lengths` knows of the ids of this revision."""
        rows = chunks.rows(lengths.chunk_ids)
        here = rows >= 0
        self.bodies[rows[here]] = lengths.bodies[here]
        self._seen[rows[here]] = True
        rows = files.rows(lengths.file_ids)
        here = rows >= 0
        self.fields[rows[here]] = lengths.fields[here]

    @property
    def complete(self) -> bool:
        return bool(self._seen.all())


def _lengths_of(snapshot: SearchedSnapshot) -> _Lengths:
    return snapshot.memo.carried(_Lengths, lambda known: _read_lengths(snapshot, known))


def _read_lengths(snapshot: SearchedSnapshot, known: _Lengths | None) -> _Lengths:
    """Of ids that `known` has from another revision, only what is new is read."""
    found = _Lengths(snapshot)
    chunks, files = RowTable(snapshot.chunk_ids), RowTable(snapshot.file_ids)
    if known is not None and len(known.chunk_ids):
        found.take(chunks, files, known)
        found.take(chunks, files, read_lengths(snapshot.connection, after=int(known.chunk_ids[-1])))
    # `known` may also be of a later revision, where some of these chunks are gone.
    if not found.complete:
        found.take(chunks, files, read_lengths(snapshot.connection))
    return found


def _average(values: Floats, flags: Flags) -> float:
    return float(values[flags].mean(dtype=np.float64)) if flags.any() else 1.0
