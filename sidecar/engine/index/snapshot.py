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
from itertools import compress
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sidecar.engine.index.vector_cache import VectorCache
from sidecar.errors import IndexCorrupt
from sidecar.model import Ids, Vectors
from sidecar.parts.database import blamed, connect, translated
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
    lasting: dict[str, Any] = field(default_factory=dict)


class Snapshot:
    """The attributes of `Arrays`, and what reads the rest.

    `cache` lives as long as the revision does. `lasting` outlives it: it is for what is known of ids, which never come
    back with another meaning.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        arrays: Arrays,
        vectors: VectorSource | None,
        path_weight: float,
        cache: VectorCache,
    ) -> None:
        self.connection = connection
        self._vectors = vectors
        self._path_weight = path_weight
        self._vector_cache = cache
        self.revision = arrays.revision
        self.file_ids = arrays.file_ids
        self.paths = arrays.paths
        self.languages = arrays.languages
        self.file_collection = arrays.file_collection
        self.file_vector = arrays.file_vector
        self.chunk_ids = arrays.chunk_ids
        self.chunk_file = arrays.chunk_file
        self.chunk_start = arrays.chunk_start
        self.chunk_end = arrays.chunk_end
        self.chunk_kind = arrays.chunk_kind
        self.kinds = arrays.kinds
        self.chunk_slot = arrays.chunk_slot
        self.chunk_vector = arrays.chunk_vector
        self.pending_slots = arrays.pending_slots
        self.cache = arrays.cache
        self.lasting = arrays.lasting

    def chunk_rows(self, ids: Ids) -> Int32s:
        """Rows of these chunk ids; -1 for those that are gone."""
        return rows_of(self.chunk_ids, ids)

    def file_rows(self, ids: Ids) -> Int32s:
        return rows_of(self.file_ids, ids)

    def stored_chunks(self, rows: Sequence[int] | Int32s) -> list[StoredChunk]:
        """Text, kind and names of these chunk rows, in their order."""
        wanted = [int(self.chunk_ids[r]) for r in rows]
        found: dict[int, StoredChunk] = {}
        for some in _blocks(wanted, 500):
            marks = ",".join("?" * len(some))
            for i, text, kind, names, enclosing in self.connection.execute(
                f"SELECT id, text, kind, names, enclosing FROM chunks WHERE id IN ({marks})", some
            ):
                found[i] = StoredChunk(text, kind, unpack_names(names), unpack_names(enclosing))
        return [found[i] for i in wanted]

    def keeps_all(self, dimension: int) -> bool:
        """Whether the vectors of all chunks have room in memory."""
        return self._vector_cache.has_room(len(self.chunk_ids), dimension)

    def cosines(
        self, rows: Int32s, vector: NDArray[np.float32], check: Callable[[], None]
    ) -> tuple[NDArray[np.float32], Flags]:
        """Of these chunk rows' vectors to a unit vector, shape [n], and which exist (the others are zero).

        `check` is called before each read from disk; what it raises ends the comparison.
        """

        def compared(cache: VectorCache, rows: Int32s) -> tuple[NDArray[np.float32], Flags]:
            def load(positions: Ids) -> tuple[Vectors, Flags]:
                check()
                return self.vectors(rows[positions])

            return cache.compare(self.chunk_ids[rows], vector, load)

        # Until both halves are there, a vector is not yet what it will be, and is not kept.
        if (self.file_vector > 0).all():
            return compared(self._vector_cache, rows)
        whole = self.file_vector[self.chunk_file[rows]] > 0
        cosines, found = np.zeros(len(rows), np.float32), np.zeros(len(rows), bool)
        for cache, some in ((self._vector_cache, whole), (VectorCache(0), ~whole)):
            cosines[some], found[some] = compared(cache, rows[some])
        return cosines, found

    def vectors(self, rows: Int32s) -> tuple[Vectors, Flags]:
        """Vectors of these chunk rows from disk, shape [n, dimension], and which exist (the others are zero)."""
        if self._vectors is None:
            return np.zeros((len(rows), 0), np.float32), np.zeros(len(rows), bool)
        body, found = self._vectors.get(self.chunk_vector[rows])
        files, inverse = np.unique(self.chunk_file[rows], return_inverse=True)
        path, path_found = self._vectors.get(self.file_vector[files])
        return combine(body, np.where(path_found[:, None], path, 0)[inverse], self._path_weight), found


def combine(body: Vectors, path: Vectors, path_weight: float) -> Vectors:
    """A chunk's vector: normalise(body + path_weight * path), row by row."""
    mixed = body + np.float32(path_weight) * path
    norms = np.linalg.norm(mixed, axis=1, keepdims=True)
    unit: Vectors = np.divide(mixed, norms, out=np.zeros_like(mixed), where=norms > 0)
    return unit


class Snapshots:
    """Hands out snapshots of one manifest file; every thread has its own connection."""

    def __init__(
        self,
        path: Path,
        vectors: Callable[[], VectorSource | None],
        path_weight: float,
        on_left: Callable[[], None] = lambda: None,
        cache: VectorCache | None = None,
    ) -> None:
        """`on_left` is called once it is closed and nobody reads any more: the vectors may then go."""
        self._path = path
        self._on_left = on_left
        self._readers = 0
        self._vectors = vectors
        self._path_weight = path_weight
        self._cache = cache or VectorCache()
        self._lock = threading.Lock()
        self._free: list[sqlite3.Connection] = []
        self._arrays: Arrays | None = None
        self._closed = False

    @contextmanager
    def open(self) -> Iterator[Snapshot]:
        """A snapshot of the newest commit; everything read through it belongs to that commit.

        Raises IndexCorrupt when closed: another generation has taken its place, or will.
        """
        with self._reading():
            connection = self._borrow()
            try:
                with translated(self._path), blamed(self._path):
                    connection.execute("BEGIN")
                    try:
                        arrays = self._current(connection)
                        yield Snapshot(connection, arrays, self._vectors(), self._path_weight, self._cache)
                    finally:
                        connection.execute("COMMIT")
            finally:
                self._give_back(connection)

    def close(self) -> None:
        """Who reads already ends undisturbed."""
        with self._lock:
            left = not self._closed and self._readers == 0
            self._closed = True
            for connection in self._free:
                connection.close()
            self._free.clear()
        if left:
            self._on_left()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with self._lock:
            if self._closed:
                raise IndexCorrupt("It was closed while it was about to be read; ask again.")
            self._readers += 1
        try:
            yield
        finally:
            with self._lock:
                self._readers -= 1
                left = self._closed and self._readers == 0
            if left:
                self._on_left()

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
    lasting = known.lasting if known is not None else {}
    if known is None or known.revision > revision:
        known = _nothing()
    alive, files = _load_files(connection, known)
    chunks = _load_chunks(connection, known, alive, files["file_ids"])
    pending = _column(connection.execute("SELECT slot FROM pending_slots ORDER BY slot").fetchall())
    return Arrays(revision=revision, pending_slots=pending, lasting=lasting, **files, **chunks)


def _nothing() -> Arrays:
    ids, short = np.zeros(0, np.int64), np.zeros(0, np.int32)
    return Arrays(
        revision=-1,
        file_ids=ids,
        paths=[],
        languages=[],
        file_collection=np.zeros(0, np.int8),
        file_vector=ids,
        chunk_ids=ids,
        chunk_file=short,
        chunk_start=short,
        chunk_end=short,
        chunk_kind=np.zeros(0, np.int16),
        kinds=[],
        chunk_slot=ids,
        chunk_vector=ids,
        pending_slots=ids,
    )


def _load_files(connection: sqlite3.Connection, known: Arrays) -> tuple[Flags, dict[str, Any]]:
    """Which of the known files are still there, and the columns of all."""
    last = int(known.file_ids[-1]) if len(known.file_ids) else 0
    new = connection.execute(
        "SELECT id, path, language, collection, path_vector FROM files WHERE id > ? ORDER BY id", (last,)
    ).fetchall()
    alive = _alive_files(connection, known, new)
    ids, vectors = known.file_ids[alive], known.file_vector[alive]
    if (vectors == 0).any():
        _refresh(connection, "SELECT id, path_vector FROM files WHERE id BETWEEN ? AND ?", ids, vectors)
    still = alive.tolist()
    return alive, {
        "file_ids": np.concatenate([ids, _column(new, 0)]),
        "paths": [*compress(known.paths, still), *(r[1] for r in new)],
        "languages": [*compress(known.languages, still), *(r[2] for r in new)],
        "file_collection": np.concatenate([known.file_collection[alive], _column(new, 3).astype(np.int8)]),
        "file_vector": np.concatenate([vectors, _column(new, 4)]),
    }


def _alive_files(connection: sqlite3.Connection, known: Arrays, new: Sequence[tuple[Any, ...]]) -> Flags:
    """Flags of the known files. One whose path has a new id is gone; mostly the count says that these are all."""
    replaced = {row[1] for row in new}
    alive = np.fromiter((path not in replaced for path in known.paths), bool, len(known.paths))
    (count,) = connection.execute("SELECT count(*) FROM files").fetchone()
    if int(alive.sum()) == count - len(new):
        return alive
    last = int(known.file_ids[-1])
    ids = _column(connection.execute("SELECT id FROM files WHERE id <= ? ORDER BY id", (last,)).fetchall())
    return rows_of(ids, known.file_ids) >= 0


def _load_chunks(connection: sqlite3.Connection, known: Arrays, alive: Flags, file_ids: Ids) -> dict[str, Any]:
    kinds = list(known.kinds)
    new, kind_names = _new_chunks(connection, int(known.chunk_ids[-1]) if len(known.chunk_ids) else 0)
    kinds += sorted(set(kind_names) - set(kinds))
    codes = {kind: number for number, kind in enumerate(kinds)}
    keep = alive[known.chunk_file]
    rows = np.cumsum(alive, dtype=np.int32) - np.int32(1)
    ids, vectors = known.chunk_ids[keep], known.chunk_vector[keep]
    if (vectors == 0).any():
        _refresh(connection, "SELECT id, vector_id FROM chunks WHERE id BETWEEN ? AND ?", ids, vectors)
    kind = np.fromiter((codes[name] for name in kind_names), np.int16, len(kind_names))
    return {
        "chunk_ids": np.concatenate([ids, new[:, 0]]),
        "chunk_file": np.concatenate([rows[known.chunk_file[keep]], rows_of(file_ids, new[:, 1])]),
        "chunk_start": np.concatenate([known.chunk_start[keep], new[:, 2].astype(np.int32)]),
        "chunk_end": np.concatenate([known.chunk_end[keep], new[:, 3].astype(np.int32)]),
        "chunk_slot": np.concatenate([known.chunk_slot[keep], new[:, 4]]),
        "chunk_vector": np.concatenate([vectors, new[:, 5]]),
        "chunk_kind": np.concatenate([known.chunk_kind[keep], kind]),
        "kinds": kinds,
    }


def _new_chunks(connection: sqlite3.Connection, last: int) -> tuple[Ids, list[str]]:
    """Columns id, file, lines, slot and vector of the chunks after `last`, shape [n, 6], and their kinds."""
    rows = connection.execute(
        "SELECT id, file_id, start_line, end_line, slot, vector_id, kind FROM chunks WHERE id > ? ORDER BY id", (last,)
    )
    # In blocks: numpy keeps every other thread waiting while it reads a list.
    blocks: list[Ids] = [np.zeros((0, 6), np.int64)]
    kinds: list[str] = []
    while block := rows.fetchmany(2048):
        blocks.append(np.array([row[:6] for row in block], np.int64))
        kinds += [row[6] for row in block]
    return np.concatenate(blocks), kinds


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
