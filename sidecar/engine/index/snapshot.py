"""What a search reads: one read transaction, and the arrays of its revision, a few bytes per chunk.

`Snapshots` keeps the arrays of the newest revision and derives the next revision's from them, so that after a change of
one file a search takes milliseconds longer. Texts stay on disk, and so do vectors until they are needed.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sidecar.engine.concurrency.memo import ByCollection, Memo
from sidecar.engine.concurrency.room import continues
from sidecar.engine.index.arrays import Arrays, Flags, Int32s, load_arrays, rows_of
from sidecar.engine.index.held_rows import Compared
from sidecar.engine.index.saved_columns import SAVED_FROM, Identity, SavedColumns
from sidecar.engine.index.vector_cache import VectorCache
from sidecar.engine.ingest.chunk_vector import combine
from sidecar.engine.ingest.embedding_text import has_body
from sidecar.engine.ingest.prepare import text_hash
from sidecar.errors import IndexCorrupt
from sidecar.locks import Rank, make_lock
from sidecar.model.terms import Ids, Vectors
from sidecar.parts.database import OpenedFile, blamed, connect, find_fault, translated
from sidecar.parts.manifest import unpack_names
from sidecar.parts.one_step import numbers_in_one_step, rows_with_text_in_one_step
from sidecar.small_files import open_new

_READ_META = ("revision", "kept_uuid", "kept_releases", "file_id", "created")
_SELECT_META = "SELECT {} FROM meta WHERE key IN ({})".format(
    ", ".join(f"max(CASE key WHEN '{key}' THEN value END)" for key in _READ_META),
    ", ".join(f"'{key}'" for key in _READ_META),
)
"""One row, because Python's module releases the interpreter for each."""
REBUILD = "Run `reindex_project` to rebuild it."


class _ChangedText(IndexCorrupt):
    """A stored text does not match the hash that was stored with it."""


class VectorSource(Protocol):
    """The part of the embedding cache that a snapshot reads."""

    @property
    def store_uuid(self) -> str:
        """The id of the cache's file. The vector ids of a manifest that names another id are invalid here."""

    def get(self, ids: Ids) -> tuple[Vectors, Flags]:
        """Returns vectors by id, shape [n, dimension], and flags those that were found."""


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk as the manifest stores it. `names` are those it defines, `enclosing` those around it, outermost first."""

    text: str
    kind: str
    names: tuple[str, ...]
    enclosing: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _PendingSlots:
    slots: Ids


@dataclass(frozen=True, slots=True, eq=False)
class _WithVector:
    """The rows and the ids of a collection's chunks with a vector, ascending and read-only, in a revision with these
    `chunk_ids`. None of the first `settled` chunks of all collections lacks a vector."""

    rows: Int32s
    ids: Ids
    revision: int
    chunk_ids: Ids
    settled: int


class _Embedded(ByCollection[_WithVector]):
    """The chunks with a vector."""


@dataclass(kw_only=True, eq=False)
class Snapshot(Arrays):
    """The arrays of a revision, and access to the texts and vectors of the same transaction."""

    connection: sqlite3.Connection
    source: VectorSource | None
    path_weight: float
    vector_cache: VectorCache

    def chunk_rows(self, ids: Ids) -> Int32s:
        """Returns the rows of these chunk ids, shape [n]; -1 for chunks that no longer exist."""
        return rows_of(self.chunk_ids, ids)

    def file_rows(self, ids: Ids) -> Int32s:
        """Returns the rows of these file ids, shape [n]; -1 for files that no longer exist."""
        return rows_of(self.file_ids, ids)

    def stored_chunks(self, rows: Sequence[int] | Int32s) -> list[StoredChunk]:
        """Returns text, kind and names of the chunks in these rows, in the same order.

        Raises IndexCorrupt if a text does not match the hash that was stored with it: SQLite does not notice changed
        bits.
        """
        wanted: list[int] = self.chunk_ids[np.asarray(rows, np.int64)].tolist()
        found: dict[int, StoredChunk] = {}
        for some in _blocks(wanted, 500):
            marks = ",".join("?" * len(some))
            columns, source = "id, kind, names, enclosing, hex(body_hash)", f"FROM chunks WHERE id IN ({marks})"
            stored = rows_with_text_in_one_step(self.connection, columns, "text", source, some)
            for i, kind, names, enclosing, digest, text in stored:
                found[i] = chunk = StoredChunk(text, kind, unpack_names(names), unpack_names(enclosing))
                if not has_body(chunk, bytes.fromhex(digest), text_hash):
                    raise _ChangedText(f"A stored text has been changed. {REBUILD}")
        return [found[i] for i in wanted]

    def stored_texts(self, rows: Sequence[int] | Int32s) -> list[str]:
        """The texts of the chunks in these rows, in the same order, unchecked: for comparisons, not to be shown."""
        wanted = [int(self.chunk_ids[r]) for r in rows]
        found: dict[int, str] = {}
        for some in _blocks(wanted, 500):
            marks = ",".join("?" * len(some))
            source = f"FROM chunks WHERE id IN ({marks})"
            found.update(map(tuple, rows_with_text_in_one_step(self.connection, "id", "text", source, some)))
        return [found[i] for i in wanted]

    def embedded_rows(self, collection: int) -> Int32s:
        """Returns the rows of a collection's chunks that have a vector, ascending. Each call for this revision returns
        the same array, which is read-only, and `cosines` is faster for it."""
        embedded = self.memo.carried(_Embedded, _Embedded)
        return embedded.get(collection, lambda former: self._embedded(collection, former)).rows

    def _embedded(self, collection: int, former: _WithVector | None) -> _WithVector:
        """Finds the chunks with a vector, from the first one on that lacked one in a former revision."""
        rows, ids, start = np.zeros(0, np.int32), np.zeros(0, np.int64), 0
        if former is not None and former.revision <= self.revision and continues(self.chunk_ids, former.chunk_ids):
            start = former.settled
            known = int(former.rows.searchsorted(start))
            rows, ids = former.rows[:known], former.ids[:known]
        there = self.chunk_vector[start:] > 0
        settled = start + (len(there) if there.all() else int(there.argmin()))
        found = np.flatnonzero((self.file_collection == collection)[self.chunk_file[start:]] & there) + start
        rows, ids = np.concatenate([rows, found.astype(np.int32)]), np.concatenate([ids, self.chunk_ids[found]])
        rows.flags.writeable = ids.flags.writeable = False
        return _WithVector(rows, ids, self.revision, self.chunk_ids, settled)

    def _ids_of(self, rows: Int32s) -> Ids:
        for known in self.memo.carried(_Embedded, _Embedded).made():
            if known.rows is rows:
                return known.ids
        return self.chunk_ids[rows]

    def pending_slots(self) -> Ids:
        """Returns the slots whose vectors are out of date in the vector store, ascending."""
        # Read only on request: an index whose searches do not use the store may have one pending slot for each chunk.
        source = "FROM (SELECT slot FROM pending_slots ORDER BY slot)"
        return self.memo.get(
            _PendingSlots, lambda: _PendingSlots(*numbers_in_one_step(self.connection, ("slot",), source))
        ).slots

    def keeps_all(self, dimension: int) -> bool:
        """Whether the vectors of all chunks fit into memory."""
        return self.vector_cache.has_room(len(self.chunk_ids), dimension)

    def cosines(
        self,
        rows: Int32s,
        vector: NDArray[np.float32],
        check: Callable[[], None],
        *,
        rough: bool = False,
        threads: int = 2,
    ) -> Compared:
        """Returns the cosines between a unit vector and the vectors of these chunk rows, shape [n], and which rows have
        a vector.

        Rows without a vector get 0. If `rough`, a first look suffices where that is faster; at very many rows, up to
        this many `threads` look, at most two. `check` is called before each read from disk, and an error that it raises
        ends the comparison.
        """
        ids, passing, chunks = self._ids_of(rows), self._unfinished(rows), len(self.chunk_ids)
        load = self._loader(rows, check)
        return self.vector_cache.compare(
            ids, vector, load, rough=rough, threads=threads, passing=passing, chunks=chunks
        )

    def read_vectors(self, rows: Int32s, dimension: int, check: Callable[[], None]) -> None:
        """Reads the vectors of these chunk rows into memory. For `check` see `cosines`."""
        ids, passing, chunks = self._ids_of(rows), self._unfinished(rows), len(self.chunk_ids)
        self.vector_cache.read(ids, dimension, self._loader(rows, check), passing=passing, chunks=chunks)

    def _loader(self, rows: Int32s, check: Callable[[], None]) -> Callable[[Ids], tuple[Vectors, Flags]]:
        def load(positions: Ids) -> tuple[Vectors, Flags]:
            check()
            return self.vectors(rows[positions])

        return load

    def _unfinished(self, rows: Int32s) -> Ids:
        """Returns the positions of those chunks, ascending, whose vectors are not final: their files' paths have no
        vectors yet."""
        files = np.flatnonzero(self.file_vector == 0)
        if not len(files):
            return files
        # Most are files that were indexed last, so most chunks need not be looked up.
        holders = self.chunk_file[rows]
        behind = np.flatnonzero(holders >= files[0])
        return np.asarray(behind[self.file_vector[holders[behind]] == 0])

    def save_vectors(self, dimension: int, check: Callable[[], None]) -> None:
        """Saves the vectors of a large index in the form in which the next opening reads them. See `VectorCache.save`;
        for `check` see `cosines`."""
        rows = np.flatnonzero((self.chunk_vector > 0) & (self.file_vector > 0)[self.chunk_file]).astype(np.int32)

        self.vector_cache.save(self.chunk_ids[rows], dimension, self._loader(rows, check))

    def vectors(self, rows: Int32s) -> tuple[Vectors, Flags]:
        """Returns the vectors of these chunk rows, read from disk, shape [n, dimension], and which rows have one.

        Rows without a vector are zeros.
        """
        if self.source is None:
            return np.zeros((len(rows), 0), np.float32), np.zeros(len(rows), bool)
        body, found = self.source.get(self.chunk_vector[rows])
        files, inverse = np.unique(self.chunk_file[rows], return_inverse=True)
        path, path_found = self.source.get(self.file_vector[files])
        return combine(body, np.where(path_found[:, None], path, 0)[inverse], self.path_weight), found


class Snapshots:
    """Opens snapshots of one manifest file. Thread-safe: each open snapshot has its own connection."""

    def __init__(
        self,
        path: Path,
        vectors: Callable[[], VectorSource | None],
        path_weight: float,
        on_left: Callable[[], None] = lambda: None,
        cache: VectorCache | None = None,
        saved_from: int = SAVED_FROM,
    ) -> None:
        """`on_left` is called once, after `close` and after the last reader has finished: the vectors may then be
        closed. The arrays of an index of at least `saved_from` chunks are saved in a file."""
        self._path = path
        self._file = OpenedFile(path)
        self._on_left = on_left
        self._readers = 0
        self._vectors = vectors
        self._path_weight = path_weight
        self._cache = cache or VectorCache()
        self._lock = make_lock(Rank.SNAPSHOTS)
        self._free: list[sqlite3.Connection] = []
        self._arrays: Arrays | None = None
        self._saved = SavedColumns(path, saved_from)
        self._identity: Identity = {}
        self._closed = False

    @contextmanager
    def open(self) -> Iterator[Snapshot]:
        """Opens a snapshot of the newest commit; everything read through it belongs to that commit.

        Raises IndexCorrupt after `close`, that is, if another generation has replaced this one or the index was closed,
        and if another file has replaced the manifest.
        """
        with self._reading():
            self._file.check()
            connection = self._borrow()
            try:
                with translated(self._path), blamed(self._path):
                    connection.execute("BEGIN")
                    try:
                        row = connection.execute(_SELECT_META).fetchone()
                        meta = {key: value for key, value in zip(_READ_META, row, strict=True) if value is not None}
                        named = meta.get("kept_uuid")
                        source, arrays = self._vectors(), self._current(connection, meta.pop("revision"), meta)
                        if source is not None and named not in (None, source.store_uuid):
                            source, arrays = None, _without_vectors(arrays)
                        yield Snapshot(
                            **vars(arrays),
                            connection=connection,
                            source=source,
                            path_weight=self._path_weight,
                            vector_cache=self._cache,
                        )
                    finally:
                        connection.execute("COMMIT")
            except _ChangedText:
                with contextlib.suppress(OSError):
                    open_new(_note_of_damage(self._path)).close()
                raise
            finally:
                self._give_back(connection)

    def close(self, *, keep: bool = False) -> None:
        """Refuses new snapshots; those already open stay usable. If `keep`, the arrays of a large index are saved for
        the next opening."""
        with self._lock:
            arrays, identity = self._arrays, self._identity
        self._saved.finish(arrays, identity, keep=keep)
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
                raise IndexCorrupt("It was closed before it could be read. Try again.")
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

    def _current(self, connection: sqlite3.Connection, revision: int, identity: Identity) -> Arrays:
        """Returns the arrays of the transaction's revision. `identity` says which file and which vectors its ids belong
        to."""
        with self._lock:
            if self._identity != identity:
                self._identity, self._arrays = identity, None
            known = self._arrays
        if known is not None and known.revision == revision:
            return known
        saved = self._saved.read(identity, revision) if known is None else None
        if saved is not None and saved.revision == revision:
            arrays = saved
        else:
            arrays = load_arrays(connection, revision, known or saved)
        with self._lock:
            if self._identity == identity and (self._arrays is None or self._arrays.revision < revision):
                self._arrays = arrays
                if known is None and saved is None:
                    self._saved.write_beside(arrays, identity)
        return arrays


def fault_of(manifest: Path) -> str:
    """Returns one line on the damage of a manifest; empty if none is found. Reads the whole file, but compares no text
    with its hash: for texts it relies on what searches have found."""
    noted = os.path.exists(_note_of_damage(manifest))  # noqa: PTH110 Path.exists raises where it may not look
    return "a stored text has been changed" if noted else find_fault(manifest, quick=True)


def _note_of_damage(manifest: Path) -> Path:
    return manifest.with_suffix(".damaged")


def _without_vectors(arrays: Arrays) -> Arrays:
    """Returns the arrays without vector ids, for a manifest that its writer has not yet linked to a new cache file."""
    return replace(
        arrays,
        file_vector=np.zeros_like(arrays.file_vector),
        chunk_vector=np.zeros_like(arrays.chunk_vector),
        memo=Memo(),
    )


def _blocks(items: list[int], size: int) -> Iterator[list[int]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
