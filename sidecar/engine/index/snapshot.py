"""What a search reads: one read transaction, and the arrays of its revision, a few bytes per chunk.

`Snapshots` keeps the arrays of the newest revision and derives the next one's from them by what was added and removed,
so that a change of one file costs a search milliseconds. Texts stay on disk, and so do vectors until they are needed.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import compress
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, get_type_hints

import numpy as np
from numpy.typing import NDArray

from sidecar.engine.concurrency.memo import Memo
from sidecar.engine.index.vector_cache import Compared, VectorCache
from sidecar.engine.ingest.chunk_vector import combine
from sidecar.engine.ingest.embedding_text import body_text
from sidecar.engine.ingest.prepare import text_hash
from sidecar.errors import IndexCorrupt
from sidecar.locks import Rank, make_lock
from sidecar.model import Ids, Vectors
from sidecar.parts.database import OpenedFile, blamed, connect, find_fault, translated
from sidecar.parts.manifest import unpack_names

REBUILD = "Run `reindex_project` to rebuild it."

Int32s = NDArray[np.int32]
Flags = NDArray[np.bool_]


class _ChangedText(IndexCorrupt):
    """A stored text is not the one whose hash was stored with it."""


class VectorSource(Protocol):
    """The part of the embedding cache that a snapshot reads."""

    @property
    def store_uuid(self) -> str:
        """The id of the cache's file. The vector ids of a manifest that names another one mean nothing here."""

    def get(self, ids: Ids) -> tuple[Vectors, Flags]:
        """Vectors by id, shape [n, dimension], and which of them were found."""


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A chunk as the manifest stores it. `names` are those it defines, `enclosing` those around it, outermost first."""

    text: str
    kind: str
    names: tuple[str, ...]
    enclosing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Column:
    """Marks an array of `Arrays` that holds one SQL column unchanged."""

    table: Literal["files", "chunks"]
    sql: str
    dtype: type[np.generic]


@dataclass(kw_only=True, eq=False)
class Arrays:
    """The arrays of one revision, with files and chunks in ascending order of their ids.

    `chunk_file` is the row of a chunk's file, `chunk_kind` an index into `kinds`. A vector id of 0 means that the text
    has no vector yet. Arrays with a `_Column` are loaded generically: a new one needs a line here, and a line in
    `search/source.py` if searches read it.
    """

    revision: int
    file_ids: Annotated[Ids, _Column("files", "id", np.int64)]
    paths: list[str]
    languages: list[str]
    file_collection: Annotated[NDArray[np.int8], _Column("files", "collection", np.int8)]
    file_vector: Annotated[Ids, _Column("files", "path_vector", np.int64)]
    chunk_ids: Annotated[Ids, _Column("chunks", "id", np.int64)]
    chunk_file: Int32s
    chunk_start: Annotated[Int32s, _Column("chunks", "start_line", np.int32)]
    chunk_end: Annotated[Int32s, _Column("chunks", "end_line", np.int32)]
    chunk_kind: NDArray[np.int16]
    kinds: list[str]
    chunk_slot: Annotated[Ids, _Column("chunks", "slot", np.int64)]
    chunk_vector: Annotated[Ids, _Column("chunks", "vector_id", np.int64)]
    memo: Memo = field(default_factory=Memo)


def _columns(table: Literal["files", "chunks"]) -> dict[str, _Column]:
    """The arrays of this table that have a `_Column`, by name."""
    hints = get_type_hints(Arrays, include_extras=True)
    marked = ((name, mark) for name, hint in hints.items() for mark in getattr(hint, "__metadata__", ()))
    return {name: mark for name, mark in marked if isinstance(mark, _Column) and mark.table == table}


_FILE_COLUMNS, _CHUNK_COLUMNS = _columns("files"), _columns("chunks")


@dataclass(frozen=True, slots=True, eq=False)
class _PendingSlots:
    slots: Ids


@dataclass(kw_only=True, eq=False)
class Snapshot(Arrays):
    """The arrays of a revision, and access to the texts and vectors of the same transaction."""

    connection: sqlite3.Connection
    source: VectorSource | None
    path_weight: float
    vector_cache: VectorCache

    def chunk_rows(self, ids: Ids) -> Int32s:
        """The rows of these chunk ids, shape [n]; -1 for chunks that no longer exist."""
        return rows_of(self.chunk_ids, ids)

    def file_rows(self, ids: Ids) -> Int32s:
        """The rows of these file ids, shape [n]; -1 for files that no longer exist."""
        return rows_of(self.file_ids, ids)

    def stored_chunks(self, rows: Sequence[int] | Int32s, *, checked: bool = True) -> list[StoredChunk]:
        """Text, kind and names of the chunks in these rows, in the same order.

        If `checked`, raises IndexCorrupt if a text is not the one whose hash was stored with it: SQLite notices no
        changed bit.
        """
        wanted = [int(self.chunk_ids[r]) for r in rows]
        found: dict[int, StoredChunk] = {}
        for some in _blocks(wanted, 500):
            marks = ",".join("?" * len(some))
            for i, text, kind, names, enclosing, digest in self.connection.execute(
                f"SELECT id, text, kind, names, enclosing, body_hash FROM chunks WHERE id IN ({marks})", some
            ):
                found[i] = chunk = StoredChunk(text, kind, unpack_names(names), unpack_names(enclosing))
                if checked and text_hash(body_text(chunk)) != digest:
                    raise _ChangedText(f"A stored text has been changed. {REBUILD}")
        return [found[i] for i in wanted]

    def pending_slots(self) -> Ids:
        """The slots whose vectors are out of date in the vector store, ascending."""
        # Read only on request: an index whose searches do not ask the store may have one for each chunk.
        select = "SELECT slot FROM pending_slots ORDER BY slot"
        return self.memo.get(_PendingSlots, lambda: _PendingSlots(_ints(self.connection.execute(select)))).slots

    def keeps_all(self, dimension: int) -> bool:
        """Whether the vectors of all chunks fit into memory."""
        return self.vector_cache.has_room(len(self.chunk_ids), dimension)

    def cosines(
        self, rows: Int32s, vector: NDArray[np.float32], check: Callable[[], None], *, rough: bool = False
    ) -> Compared:
        """Cosines between a unit vector and the vectors of these chunk rows, shape [n], and which rows have a vector.

        Rows without a vector get 0. If `rough`, two decimals are enough where they take less time. `check` is called
        before each read from disk, and what it raises ends the comparison.
        """

        def compared(cache: VectorCache, rows: Int32s) -> Compared:
            def load(positions: Ids) -> tuple[Vectors, Flags]:
                check()
                return self.vectors(rows[positions])

            return cache.compare(self.chunk_ids[rows], vector, load, rough=rough)

        # A chunk's vector is final only when its file's path has one too; until then it is not cached.
        if (self.file_vector > 0).all():
            return compared(self.vector_cache, rows)
        whole = self.file_vector[self.chunk_file[rows]] > 0
        cosines, found = np.zeros(len(rows), np.float32), np.zeros(len(rows), bool)
        coarse = np.zeros(len(rows), bool)
        for cache, some in ((self.vector_cache, whole), (VectorCache(0), ~whole)):
            part = compared(cache, rows[some])
            cosines[some], found[some] = part.products, part.found
            coarse[some] = False if part.rough is None else part.rough
        return Compared(cosines, found, coarse if coarse.any() else None)

    def vectors(self, rows: Int32s) -> tuple[Vectors, Flags]:
        """The vectors of these chunk rows, read from disk, shape [n, dimension], and which rows have one.

        Rows without a vector are zeros.
        """
        if self.source is None:
            return np.zeros((len(rows), 0), np.float32), np.zeros(len(rows), bool)
        body, found = self.source.get(self.chunk_vector[rows])
        files, inverse = np.unique(self.chunk_file[rows], return_inverse=True)
        path, path_found = self.source.get(self.file_vector[files])
        return combine(body, np.where(path_found[:, None], path, 0)[inverse], self.path_weight), found


class Snapshots:
    """Hands out snapshots of one manifest file. Thread-safe: each open snapshot has its own connection."""

    def __init__(
        self,
        path: Path,
        vectors: Callable[[], VectorSource | None],
        path_weight: float,
        on_left: Callable[[], None] = lambda: None,
        cache: VectorCache | None = None,
    ) -> None:
        """`on_left` is called once, after `close` and the last reader: the vectors may then be closed."""
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
        self._named: str | None = None
        self._closed = False

    @contextmanager
    def open(self) -> Iterator[Snapshot]:
        """A snapshot of the newest commit; everything read through it belongs to that commit.

        Raises IndexCorrupt after `close`: another generation has replaced this one, or the index was closed. Also if
        another file has taken the manifest's place.
        """
        with self._reading():
            self._file.check()
            connection = self._borrow()
            try:
                with translated(self._path), blamed(self._path):
                    connection.execute("BEGIN")
                    try:
                        meta = dict(
                            connection.execute("SELECT key, value FROM meta WHERE key IN ('revision', 'kept_uuid')")
                        )
                        named = meta.get("kept_uuid")
                        source, arrays = self._vectors(), self._current(connection, meta["revision"], named)
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
                    _note_of_damage(self._path).touch(mode=0o600)
                raise
            finally:
                self._give_back(connection)

    def close(self) -> None:
        """Refuses new snapshots; those already open stay usable."""
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

    def _current(self, connection: sqlite3.Connection, revision: int, named: str | None) -> Arrays:
        """The arrays of the transaction's revision. `named` is the cache file that its vector ids belong to."""
        with self._lock:
            if self._named != named:
                self._named, self._arrays = named, None
            known = self._arrays
        if known is not None and known.revision == revision:
            return known
        arrays = load_arrays(connection, revision, known)
        with self._lock:
            if self._named == named and (self._arrays is None or self._arrays.revision < revision):
                self._arrays = arrays
        return arrays


def fault_of(manifest: Path) -> str:
    """One line on the damage of a manifest; empty if there is none. Reads all of it, but compares no text: for those,
    it goes by what searches have found.
    """
    noted = os.path.exists(_note_of_damage(manifest))  # noqa: PTH110 Path.exists raises where it may not look
    return "a stored text has been changed" if noted else find_fault(manifest, quick=True)


def _note_of_damage(manifest: Path) -> Path:
    return manifest.with_suffix(".damaged")


def load_arrays(connection: sqlite3.Connection, revision: int, known: Arrays | None) -> Arrays:
    """The arrays of the transaction's revision, derived from `known` unless that is newer or None."""
    memo = known.memo.successor() if known is not None else Memo()
    if known is None or known.revision > revision:
        known = _nothing()
    alive, files = _load_files(connection, known)
    chunks = _load_chunks(connection, known, alive, files["file_ids"])
    return Arrays(revision=revision, memo=memo, **files, **chunks)


def _without_vectors(arrays: Arrays) -> Arrays:
    """The same arrays for a manifest that this process cannot link to a new cache file: its writer is yet to do it."""
    return replace(
        arrays,
        file_vector=np.zeros_like(arrays.file_vector),
        chunk_vector=np.zeros_like(arrays.chunk_vector),
        memo=Memo(),
    )


def _nothing() -> Arrays:
    empty: dict[str, Any] = {name: np.zeros(0, c.dtype) for name, c in (_FILE_COLUMNS | _CHUNK_COLUMNS).items()}
    return Arrays(
        revision=-1,
        paths=[],
        languages=[],
        kinds=[],
        chunk_file=np.zeros(0, np.int32),
        chunk_kind=np.zeros(0, np.int16),
        **empty,
    )


def _load_files(connection: sqlite3.Connection, known: Arrays) -> tuple[Flags, dict[str, Any]]:
    """Which of the known files still exist, and the file columns of this revision by name."""
    last = int(known.file_ids[-1]) if len(known.file_ids) else 0
    names = ", ".join(column.sql for column in _FILE_COLUMNS.values())
    new = connection.execute(f"SELECT path, language, {names} FROM files WHERE id > ? ORDER BY id", (last,)).fetchall()
    alive = _alive_files(connection, known, [row[0] for row in new])
    still = alive.tolist()
    loaded: dict[str, Any] = {
        "paths": [*compress(known.paths, still), *(row[0] for row in new)],
        "languages": [*compress(known.languages, still), *(row[1] for row in new)],
    }
    for number, (name, column) in enumerate(_FILE_COLUMNS.items(), start=2):
        added = _ints(new, number).astype(column.dtype)
        loaded[name] = np.concatenate([getattr(known, name)[alive], added])
    before = slice(0, len(loaded["file_ids"]) - len(new))
    _refresh(connection, "SELECT id, path_vector FROM files", loaded["file_ids"][before], loaded["file_vector"][before])
    return alive, loaded


def _alive_files(connection: sqlite3.Connection, known: Arrays, new_paths: Sequence[str]) -> Flags:
    """Which of the known files still exist.

    A file is written again under a new id, so a known path among the new ones is gone. The number of rows then usually
    shows that no other file is gone. If it does not, all ids are read.
    """
    replaced = set(new_paths)
    alive = np.fromiter((path not in replaced for path in known.paths), bool, len(known.paths))
    (count,) = connection.execute("SELECT count(*) FROM files").fetchone()
    if int(alive.sum()) == count - len(new_paths):
        return alive
    last = int(known.file_ids[-1])
    ids = _ints(connection.execute("SELECT id FROM files WHERE id <= ? ORDER BY id", (last,)).fetchall())
    return rows_of(ids, known.file_ids) >= 0


def _load_chunks(connection: sqlite3.Connection, known: Arrays, alive: Flags, file_ids: Ids) -> dict[str, Any]:
    last = int(known.chunk_ids[-1]) if len(known.chunk_ids) else 0
    new, new_files, kind_names = _new_chunks(connection, last)
    kinds = [*known.kinds, *sorted(set(kind_names) - set(known.kinds))]
    codes = {kind: number for number, kind in enumerate(kinds)}
    keep = alive[known.chunk_file]
    rows = np.cumsum(alive, dtype=np.int32) - np.int32(1)
    added_kinds = np.fromiter((codes[name] for name in kind_names), np.int16, len(kind_names))
    loaded: dict[str, Any] = {
        "chunk_file": np.concatenate([rows[known.chunk_file[keep]], rows_of(file_ids, new_files)]),
        "chunk_kind": np.concatenate([known.chunk_kind[keep], added_kinds]),
        "kinds": kinds,
    }
    for number, (name, column) in enumerate(_CHUNK_COLUMNS.items()):
        added = new[:, number].astype(column.dtype)
        loaded[name] = np.concatenate([getattr(known, name)[keep], added])
    before = slice(0, len(loaded["chunk_ids"]) - len(new))
    ids, vectors = loaded["chunk_ids"][before], loaded["chunk_vector"][before]
    _refresh(connection, "SELECT id, vector_id FROM chunks", ids, vectors)
    return loaded


def _new_chunks(connection: sqlite3.Connection, last: int) -> tuple[Ids, Ids, list[str]]:
    """The chunks with an id above `last`: their columns, shape [n, columns], their file ids and their kinds."""
    names = ", ".join(column.sql for column in _CHUNK_COLUMNS.values())
    rows = connection.execute(f"SELECT kind, file_id, {names} FROM chunks WHERE id > ? ORDER BY id", (last,))
    # In blocks, because numpy holds the interpreter lock while it converts a list.
    blocks: list[Ids] = [np.zeros((0, 1 + len(_CHUNK_COLUMNS)), np.int64)]
    kinds: list[str] = []
    while block := rows.fetchmany(2048):
        blocks.append(np.array([row[1:] for row in block], np.int64))
        kinds += [row[0] for row in block]
    numbers = np.concatenate(blocks)
    return numbers[:, 1:], numbers[:, 0], kinds


def _refresh(connection: sqlite3.Connection, select: str, ids: Ids, values: Ids) -> None:
    """Reads the vector ids again that were still 0, and writes them into `values` in place."""
    missing = ids[values == 0]
    if not len(missing):
        return
    rows = connection.execute(f"{select} WHERE id BETWEEN ? AND ?", (int(missing[0]), int(missing[-1]))).fetchall()
    at = rows_of(ids, _ints(rows, 0))
    values[at[at >= 0]] = _ints(rows, 1)[at >= 0]


def rows_of(sorted_ids: Ids, ids: Ids) -> Int32s:
    """The position of each id in `sorted_ids`, shape [n]; -1 if it is absent."""
    if len(sorted_ids) == 0:
        return np.full(len(ids), -1, np.int32)
    at = np.minimum(np.searchsorted(sorted_ids, ids), len(sorted_ids) - 1)
    return np.where(sorted_ids[at] == ids, at, -1).astype(np.int32)


def _ints(rows: Iterable[tuple[Any, ...]], index: int = 0) -> Ids:
    return np.fromiter((r[index] for r in rows), np.int64)


def _blocks(items: list[int], size: int) -> Iterator[list[int]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
