"""What a search reads from start to end: one read transaction and arrays of a few bytes per chunk that belong to it.

A `Snapshots` keeps the arrays of the newest revision and brings them up to date by what was added and removed since,
so that a change of one file costs a search milliseconds. Texts stay on disk, vectors until they are asked for.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sidecar.engine.vector_cache import VectorCache
from sidecar.model import Ids, Vectors
from sidecar.parts.database import connect, translated
from sidecar.parts.manifest import unpack_names

Int32s = NDArray[np.int32]
Flags = NDArray[np.bool_]


class VectorSource(Protocol):
    def get(self, ids: Ids) -> tuple[Vectors, Flags]:
        """Kept vectors by id, shape [n, dimension], and which of them were found."""


@dataclass(frozen=True, slots=True)
class StoredChunk:
    text: str
    kind: str
    names: tuple[str, ...]
    enclosing: tuple[str, ...]


@dataclass(frozen=True)
class Arrays:
    """Of one revision. Files and chunks are in ascending order of their ids; `chunk_file` is a row of the files."""

    revision: int
    file_ids: Ids
    paths: list[str]
    languages: list[str]
    file_collection: NDArray[np.int8]
    file_vector: Ids
    chunk_ids: Ids
    chunk_file: Int32s
    chunk_start: Int32s
    chunk_end: Int32s
    chunk_kind: NDArray[np.int16]
    kinds: list[str]
    chunk_slot: Ids
    chunk_vector: Ids
    pending_slots: Ids
    cache: dict[str, Any] = field(default_factory=dict)


class Snapshot:
    """See `Arrays` for the attributes; `cache` lives as long as the revision does."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        arrays: Arrays,
        vectors: VectorSource | None,
        path_weight: float,
        cache: VectorCache | None = None,
    ) -> None:
        self.connection = connection
        self.arrays = arrays
        self._vectors = vectors
        self._path_weight = path_weight
        self._cache = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self.arrays, name)

    def chunk_rows(self, ids: Ids) -> Int32s:
        """Rows of these chunk ids; -1 for those that are gone."""
        return rows_of(self.arrays.chunk_ids, ids)

    def file_rows(self, ids: Ids) -> Int32s:
        return rows_of(self.arrays.file_ids, ids)

    def stored_chunks(self, rows: Sequence[int] | Int32s) -> list[StoredChunk]:
        """Text, kind and names of these chunk rows, in their order."""
        wanted = [int(self.arrays.chunk_ids[r]) for r in rows]
        found: dict[int, StoredChunk] = {}
        for some in _blocks(wanted, 500):
            marks = ",".join("?" * len(some))
            for i, text, kind, names, enclosing in self.connection.execute(
                f"SELECT id, text, kind, names, enclosing FROM chunks WHERE id IN ({marks})", some
            ):
                found[i] = StoredChunk(text, kind, unpack_names(names), unpack_names(enclosing))
        return [found[i] for i in wanted]

    def vectors(self, rows: Int32s) -> tuple[Vectors, Flags]:
        """Vectors of these chunk rows, shape [n, dimension], and which of them exist (the others are zero)."""
        arrays = self.arrays
        # Until both halves are there, the vector is not yet what it will be.
        if self._cache is None or not (arrays.file_vector[arrays.chunk_file[rows]] > 0).all():
            return self._read_vectors(rows)
        return self._cache.get(arrays.chunk_ids[rows], lambda positions: self._read_vectors(rows[positions]))

    def _read_vectors(self, rows: Int32s) -> tuple[Vectors, Flags]:
        if self._vectors is None:
            return np.zeros((len(rows), 0), np.float32), np.zeros(len(rows), bool)
        arrays = self.arrays
        body, found = self._vectors.get(arrays.chunk_vector[rows])
        files, inverse = np.unique(arrays.chunk_file[rows], return_inverse=True)
        path, path_found = self._vectors.get(arrays.file_vector[files])
        return combine(body, np.where(path_found[:, None], path, 0)[inverse], self._path_weight), found


def combine(body: Vectors, path: Vectors, path_weight: float) -> Vectors:
    """A chunk's vector: normalise(body + path_weight * path), row by row."""
    mixed = body + np.float32(path_weight) * path
    norms = np.linalg.norm(mixed, axis=1, keepdims=True)
    unit: Vectors = np.divide(mixed, norms, out=np.zeros_like(mixed), where=norms > 0)
    return unit


class Snapshots:
    """Hands out snapshots of one manifest file; every thread has its own connection."""

    def __init__(self, path: Path, vectors: Callable[[], VectorSource | None], path_weight: float) -> None:
        self._path = path
        self._vectors = vectors
        self._path_weight = path_weight
        self._cache = VectorCache()
        self._lock = threading.Lock()
        self._free: list[sqlite3.Connection] = []
        self._arrays: Arrays | None = None
        self._closed = False

    @contextmanager
    def open(self) -> Iterator[Snapshot]:
        """A snapshot of the newest commit; everything read through it belongs to that commit."""
        connection = self._borrow()
        try:
            with translated(self._path):
                connection.execute("BEGIN")
                try:
                    arrays = self._current(connection)
                    yield Snapshot(connection, arrays, self._vectors(), self._path_weight, self._cache)
                finally:
                    connection.execute("COMMIT")
        finally:
            self._give_back(connection)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            for connection in self._free:
                connection.close()
            self._free.clear()

    def _borrow(self) -> sqlite3.Connection:
        with self._lock:
            if self._free:
                return self._free.pop()
        return connect(self._path, readonly=True)

    def _give_back(self, connection: sqlite3.Connection) -> None:
        with self._lock:
            if self._closed or len(self._free) >= 8:
                connection.close()
            else:
                self._free.append(connection)

    def _current(self, connection: sqlite3.Connection) -> Arrays:
        (revision,) = connection.execute("SELECT value FROM meta WHERE key = 'revision'").fetchone()
        with self._lock:
            known = self._arrays
        if known is not None and known.revision == revision:
            return known
        arrays = load_arrays(connection, revision, known)
        with self._lock:
            if self._arrays is None or self._arrays.revision < revision:
                self._arrays = arrays
        return arrays


def load_arrays(connection: sqlite3.Connection, revision: int, known: Arrays | None) -> Arrays:
    """The arrays of the transaction's revision, made from those of an earlier one where there is one."""
    if known is not None and known.revision > revision:
        known = None
    files = _load_files(connection, known)
    chunks = _load_chunks(connection, known, files["file_ids"])
    pending = _column(connection.execute("SELECT slot FROM pending_slots ORDER BY slot").fetchall())
    return Arrays(revision=revision, pending_slots=pending, **files, **chunks)


def _load_files(connection: sqlite3.Connection, known: Arrays | None) -> dict[str, Any]:
    if known is None:
        last, keep = 0, np.zeros(0, np.int64)
    else:
        last = int(known.file_ids[-1]) if len(known.file_ids) else 0
        alive = _column(connection.execute("SELECT id FROM files WHERE id <= ? ORDER BY id", (last,)).fetchall())
        keep = rows_of(known.file_ids, alive).astype(np.int64)
    new = connection.execute(
        "SELECT id, path, language, collection, path_vector FROM files WHERE id > ? ORDER BY id", (last,)
    ).fetchall()
    old_ids = known.file_ids[keep] if known is not None else np.zeros(0, np.int64)
    old_vectors = known.file_vector[keep].copy() if known is not None else np.zeros(0, np.int64)
    if known is not None and (old_vectors == 0).any():
        _refresh(connection, "SELECT id, path_vector FROM files WHERE id BETWEEN ? AND ?", old_ids, old_vectors)
    kept = [int(k) for k in keep]
    return {
        "file_ids": np.concatenate([old_ids, _column(new, 0)]),
        "paths": [known.paths[k] for k in kept] + [r[1] for r in new] if known else [r[1] for r in new],
        "languages": [known.languages[k] for k in kept] + [r[2] for r in new] if known else [r[2] for r in new],
        "file_collection": np.concatenate(
            [known.file_collection[keep] if known else np.zeros(0, np.int8), _column(new, 3).astype(np.int8)]
        ),
        "file_vector": np.concatenate([old_vectors, _column(new, 4)]),
    }


def _load_chunks(connection: sqlite3.Connection, known: Arrays | None, file_ids: Ids) -> dict[str, Any]:
    kinds: list[str] = list(known.kinds) if known else []
    codes = {k: i for i, k in enumerate(kinds)}
    last = int(known.chunk_ids[-1]) if known is not None and len(known.chunk_ids) else 0
    new = connection.execute(
        "SELECT id, file_id, start_line, end_line, slot, vector_id, kind FROM chunks WHERE id > ? ORDER BY id", (last,)
    ).fetchall()
    for kind in sorted({r[6] for r in new} - set(kinds)):
        codes[kind] = len(kinds)
        kinds.append(kind)
    fresh = np.array([r[:6] for r in new], np.int64).reshape(-1, 6)
    fresh_kind = np.array([codes[r[6]] for r in new], np.int16)
    table, kind_column = fresh, fresh_kind
    if known is not None and len(known.chunk_ids):
        old_files = known.file_ids[known.chunk_file]
        keep = np.flatnonzero(rows_of(file_ids, old_files) >= 0)
        old = np.stack(
            [
                known.chunk_ids[keep],
                old_files[keep],
                known.chunk_start[keep],
                known.chunk_end[keep],
                known.chunk_slot[keep],
                known.chunk_vector[keep],
            ],
            axis=1,
        )
        if (old[:, 5] == 0).any():
            vectors = old[:, 5].copy()
            _refresh(connection, "SELECT id, vector_id FROM chunks WHERE id BETWEEN ? AND ?", old[:, 0], vectors)
            old[:, 5] = vectors
        table = np.concatenate([old, fresh])
        kind_column = np.concatenate([known.chunk_kind[keep], fresh_kind])
    return {
        "chunk_ids": np.ascontiguousarray(table[:, 0]),
        "chunk_file": rows_of(file_ids, table[:, 1]),
        "chunk_start": table[:, 2].astype(np.int32),
        "chunk_end": table[:, 3].astype(np.int32),
        "chunk_slot": np.ascontiguousarray(table[:, 4]),
        "chunk_vector": np.ascontiguousarray(table[:, 5]),
        "chunk_kind": kind_column,
        "kinds": kinds,
    }


def _refresh(connection: sqlite3.Connection, query: str, ids: Ids, values: Ids) -> None:
    """Reads again those values that were still 0."""
    missing = ids[values == 0]
    rows = connection.execute(query, (int(missing[0]), int(missing[-1]))).fetchall()
    at = rows_of(ids, _column(rows, 0))
    values[at[at >= 0]] = _column(rows, 1)[at >= 0]


def rows_of(sorted_ids: Ids, ids: Ids) -> Int32s:
    """Position of each id in `sorted_ids`, -1 where it is absent."""
    if len(sorted_ids) == 0:
        return np.full(len(ids), -1, np.int32)
    at = np.minimum(np.searchsorted(sorted_ids, ids), len(sorted_ids) - 1)
    return np.where(sorted_ids[at] == ids, at, -1).astype(np.int32)


def _column(rows: Sequence[tuple[Any, ...]], index: int = 0) -> Ids:
    return np.fromiter((r[index] for r in rows), np.int64, len(rows))


def _blocks(items: list[int], size: int) -> Iterator[list[int]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
