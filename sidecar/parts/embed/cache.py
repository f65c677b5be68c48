"""The embedding cache: vectors by model and text hash, so that no text is embedded twice.

One SQLite file serves all indexes of a data folder, so the model need not run again after a rename, a branch switch, a
rebuild or the loss of a vector store, or for another worktree. The cache has only hashes and vectors. Manifests record
to which chunks these belong, and the vector store finds nearest neighbours. Several processes may have the file open.

Vectors are stored as float16. That halves the file, and the rounding changes a cosine by less than 0.001, which is too
little to affect the ranking.
"""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sidecar import shown
from sidecar.errors import DiskFull, IndexCorrupt, IndexLocked, PermissionDenied
from sidecar.locks import Rank, make_lock
from sidecar.model.terms import Ids, Vectors
from sidecar.parts.database import all_or_nothing, connect_readonly, has_room, no_room, open_file
from sidecar.parts.embed.cache_file import (
    ADVICE,
    HASH_BYTES,
    drop_aside,
    inode_of,
    is_aside,
    is_damage,
    is_readonly,
    mark_damaged,
    rescue,
    set_damaged_aside,
    translated,
)
from sidecar.parts.one_step import as_numbers, insert_in_few_steps, rows_in_one_step

_LOG = logging.getLogger(__name__)
_VERSION = 2
_BLOCK = 4096  # rows per statement
_PAGE_BYTES = 4096
_CACHE_KIB = 16 * 1024  # for scattered reads; with a memory map, a truncated file would crash the process
_DAY_S = 86_400
# An index asks for a vector some time before its manifest names it.
_GRACE_DAYS = 2
_WAIT_S = 60  # two processes that index take turns to write
_NOTE_NEW = "INSERT OR REPLACE INTO uses SELECT id, ? FROM vectors WHERE model = ? AND hash IN"
_NOTE_USE = "INSERT INTO uses VALUES (?, ?) ON CONFLICT(of) DO UPDATE SET day = excluded.day"
_NOTE_RELEASE = (
    "INSERT INTO meta VALUES ('releases', '1') ON CONFLICT(key) DO UPDATE SET value = CAST(value AS INTEGER) + 1"
)
_ROOM_AFTER = 0.8  # the share of the bound that stays in use, so that not every addition has to trim

# AUTOINCREMENT: the id of a deleted vector is never given to another text's vector.
_SCHEMA = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE models(id INTEGER PRIMARY KEY, model_id TEXT NOT NULL UNIQUE, dimension INTEGER NOT NULL);
CREATE TABLE vectors(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    model INTEGER NOT NULL,
    hash BLOB NOT NULL,
    vector BLOB NOT NULL,
    UNIQUE(model, hash)
);
CREATE TABLE uses(of INTEGER PRIMARY KEY, day INTEGER NOT NULL);
"""


class EmbeddingCacheFile:
    """The cached vectors of one model. Only `release` and `trim` touch those of other models in the same file.

    Thread-safe: any number of readers beside one writer. Every method may raise DiskFull, IndexCorrupt, IndexLocked or
    PermissionDenied.
    """

    def __init__(
        self,
        path: Path,
        model_id: str,
        dimension: int,
        max_bytes: int = 0,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Opens or creates the file. `max_bytes` limits its size (0: no limit); `now` returns seconds since the epoch.

        A file that cannot be written, or that is on a full disk, is opened for reading only.
        """
        self._path = path
        self._dimension = dimension
        self._now = now
        self._write_lock = make_lock(Rank.EMBEDDING_CACHE)
        self._idle_lock = make_lock(Rank.EMBEDDING_CACHE_IDLE)
        self._idle: list[sqlite3.Connection] = []
        self._readonly = is_readonly(path)
        self._full = False
        """Whether the disk was full when the file was opened."""
        self._damaged = False
        self._inode: int | None = None
        if not self._readonly:
            set_damaged_aside(path)
        try:
            self._begin(max_bytes, model_id)
        except DiskFull:
            if self._readonly or not path.exists():
                raise
            self._readonly = self._full = True
            self._begin(max_bytes, model_id)
        self._rescue()

    def _begin(self, max_bytes: int, model_id: str) -> None:
        with self._noticing(), translated(self._path):
            self._writer = self._connect()
            try:
                self._prepare(max_bytes)
                self._uuid = self._meta("store_uuid")
                self._model = self._model_row(model_id)
                self._inode = inode_of(self._path)
            except BaseException:
                self._writer.close()
                raise

    @classmethod
    def open(cls, path: Path, model_id: str, dimension: int) -> EmbeddingCacheFile:
        """Opens or creates the file, without a limit on its size."""
        return cls(path, model_id, dimension)

    @property
    def store_uuid(self) -> str:
        """The id that the file got when it was created. Vector ids that were noted with another one belong to a file
        that no longer exists.
        """
        return self._uuid

    @property
    def dimension(self) -> int:
        """How many numbers a vector has."""
        return self._dimension

    @property
    def damaged(self) -> bool:
        """Whether the cache must be opened again, because the file is damaged or has been deleted or replaced, or was
        opened on a full disk that has room again."""
        if self._full and has_room(self._path.parent):
            return True
        return self._damaged or self._inode is None or inode_of(self._path) != self._inode

    def find(self, hashes: Sequence[bytes]) -> dict[bytes, int]:
        """Returns the ids of those hashes that have a vector, and notes that these vectors were used today."""
        found: dict[bytes, int] = {}
        unused: list[int] = []
        today = self._today()
        with self._reader() as reader:
            for start in range(0, len(hashes), _BLOCK):
                part = hashes[start : start + _BLOCK]
                source = f"FROM vectors LEFT JOIN uses ON of = id WHERE model = ? AND hash IN ({_marks(part)})"
                for key, number, day in rows_in_one_step(reader, "hex(hash), id, day", source, (self._model, *part)):
                    found[bytes.fromhex(key)] = number
                    if day != today:
                        unused.append(number)
        self._note_use(unused, today)
        return found

    def add(self, hashes: Sequence[bytes], vectors: Vectors) -> list[int]:
        """Stores vectors of shape [len(hashes), dimension] in one transaction and returns their ids in order.

        A hash that has a vector keeps it. Raises ValueError if the shape or the length of a hash is wrong.
        """
        if vectors.shape != (len(hashes), self._dimension) or any(len(key) != HASH_BYTES for key in hashes):
            raise ValueError(f"{len(hashes)} hashes of {HASH_BYTES} bytes need [n, {self._dimension}] vectors.")
        blobs = [row.tobytes() for row in vectors.astype("<f2")]
        today = self._today()
        rows = [(self._model, key, blob) for key, blob in zip(hashes, blobs, strict=True)]
        with self._writing() as writer:
            insert_in_few_steps(
                writer, "INSERT INTO vectors(model, hash, vector)", rows, columns=3, conflict="ON CONFLICT DO NOTHING"
            )
            for start in range(0, len(hashes), _BLOCK):
                part = hashes[start : start + _BLOCK]
                writer.execute(f"{_NOTE_NEW} ({_marks(part)})", (today, self._model, *part))
        ids = self.find(hashes)
        return [ids[key] for key in hashes]

    def get(self, ids: Ids) -> tuple[Vectors, NDArray[np.bool_]]:
        """Returns the vectors in the order of `ids`, float32 of shape [len(ids), dimension], and a mask of those that
        exist.

        The rows of the others are zeros.
        """
        unique, inverse = np.unique(np.asarray(ids, dtype=np.int64), return_inverse=True)
        vectors = np.zeros((len(unique), self._dimension), dtype=np.float32)
        there = np.zeros(len(unique), dtype=np.bool_)
        with self._reader() as reader:
            for start in range(0, len(unique), _BLOCK):
                part = unique[start : start + _BLOCK].tolist()
                # In one step, because Python's module releases the interpreter for each row (see `one_step`). `+model`
                # keeps SQLite from choosing the (model, hash) index: the lookup must go by id.
                packed = reader.execute(
                    "SELECT group_concat(id), CAST(group_concat(vector, '') AS BLOB) FROM vectors"
                    f" WHERE id IN ({_marks(part)}) AND +model = ?",
                    (*part, self._model),
                ).fetchone()
                found, block = self._unpack(*packed)
                places = np.searchsorted(unique, found)
                vectors[places], there[places] = block, True
        return vectors[inverse], there[inverse]

    def release(self, texts: Callable[[], Iterable[bytes]]) -> int:
        """Deletes the vectors, of any model, of all texts but those whose hashes `texts` yields. Returns how many it
        deleted.

        No other thread or process can write while `texts` is called. Nothing of a deleted vector is left in the file. A
        writer that has found a vector here and has not named it yet notices this by `releases`.
        """
        with self._write_lock:
            self._writer.execute("PRAGMA secure_delete = ON")
        with self._writing() as writer:
            writer.execute("CREATE TEMP TABLE needed(hash BLOB PRIMARY KEY) WITHOUT ROWID")
            writer.executemany("INSERT OR IGNORE INTO needed VALUES (?)", ((key,) for key in texts()))
            gone = writer.execute("DELETE FROM vectors WHERE hash NOT IN needed").rowcount
            writer.execute("DELETE FROM uses WHERE of NOT IN (SELECT id FROM vectors)")
            writer.execute(_NOTE_RELEASE)
            writer.execute("DROP TABLE needed")
        self._give_space_back()
        self._empty_journal()
        return gone

    def releases(self) -> int:
        """Returns how often `release` has been called for this file. Waits until a call in progress has ended."""
        with self._reader() if self._readonly else self._writing() as connection:
            row = connection.execute("SELECT value FROM meta WHERE key = 'releases'").fetchone()
        return int(row[0]) if row else 0

    def lost(self, ids: Ids) -> Ids:
        """Returns those of these vector ids that have no vector, ascending."""
        wanted = np.unique(np.asarray(ids, np.int64))
        there = [np.zeros(0, np.int64)]
        with self._reader() as reader:
            for start in range(0, len(wanted), _BLOCK):
                part = wanted[start : start + _BLOCK].tolist()
                rows = reader.execute(f"SELECT id FROM vectors WHERE id IN ({_marks(part)})", part).fetchall()
                there.append(np.array([row[0] for row in rows], np.int64))
        return np.setdiff1d(wanted, np.concatenate(there))

    def trim(self, max_bytes: int, referenced: Callable[[], Ids]) -> int:
        """Shrinks a file of more than `max_bytes` to about 80 % of that. Deletes the vectors that were used longest
        ago, of any model.

        Keeps the vectors whose ids `referenced` returns, and those used in the last two days. Returns how many were
        deleted.
        """
        size = self.size()
        if size <= max_bytes:
            return 0
        candidates = self._long_unused()
        candidates = candidates[~np.isin(candidates, referenced())]
        each = size / max(1, self._rows())
        gone = self._drop(candidates[: int((size - _ROOM_AFTER * max_bytes) / each) + 1])
        self._give_space_back()
        return gone

    def size(self) -> int:
        """Returns the number of bytes that the vectors of all models use."""
        with self._reader() as reader:
            (pages,) = reader.execute("PRAGMA page_count").fetchone()
            (free,) = reader.execute("PRAGMA freelist_count").fetchone()
        return int(pages - free) * _PAGE_BYTES

    def count(self) -> int:
        """Returns how many vectors of this model are stored."""
        with self._reader() as reader:
            (number,) = reader.execute("SELECT count(*) FROM vectors WHERE model = ?", (self._model,)).fetchone()
        return int(number)

    def close(self) -> None:
        """Closes the file. No method may be running or be called afterwards."""
        with self._write_lock, self._idle_lock:
            for connection in (*self._idle, self._writer):
                connection.close()
            self._idle.clear()

    # ------------------------------------------------------------ uses

    def _today(self) -> int:
        """Returns the day as a number of days since the epoch."""
        return int(self._now() // _DAY_S)

    def _note_use(self, ids: Sequence[int], day: int) -> None:
        """Notes that these vectors were used, at most once per vector and day. Does nothing if the file cannot be
        written now.
        """
        if not ids or self._readonly:
            return
        with contextlib.suppress(IndexLocked, DiskFull, PermissionDenied), self._writing() as writer:
            writer.executemany(_NOTE_USE, [(number, day) for number in ids])

    def _long_unused(self) -> Ids:
        """Returns the ids of the vectors of all models that were not used in the last two days, those used longest ago
        first.
        """
        with self._reader() as reader:
            today = self._today()
            # Days to come were noted while the clock was wrong.
            rows = reader.execute(
                "SELECT of FROM uses WHERE day NOT BETWEEN ? AND ? ORDER BY day, of",
                (today - _GRACE_DAYS + 1, today + _GRACE_DAYS - 1),
            ).fetchall()
        return np.array([row[0] for row in rows], np.int64)

    def _drop(self, ids: Ids) -> int:
        """Deletes vectors in blocks, so that other processes can write in between. Returns how many it deleted."""
        gone = 0
        for start in range(0, len(ids), _BLOCK):
            some = [(int(number),) for number in ids[start : start + _BLOCK]]
            with self._writing() as writer:
                gone += writer.executemany("DELETE FROM vectors WHERE id = ?", some).rowcount
                writer.executemany("DELETE FROM uses WHERE of = ?", some)
        return gone

    def _rows(self) -> int:
        """Returns how many vectors of all models are stored."""
        with self._reader() as reader:
            (number,) = reader.execute("SELECT count(*) FROM uses").fetchone()
        return int(number)

    def _give_space_back(self) -> None:
        """Returns the free pages of the file to the file system."""
        with self._write_lock, self._noticing(), translated(self._path):
            # Each step frees one page. `execute` takes a single step; `executescript` goes on to the end.
            self._writer.executescript("PRAGMA incremental_vacuum")

    def _empty_journal(self) -> None:
        """Writes the journal back into the file and empties it. If another connection is reading, this is left to the
        next writer."""
        with self._write_lock, self._noticing(), translated(self._path):
            self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    # ------------------------------------------------------------ connections

    def _connect(self) -> sqlite3.Connection:
        """Returns a new connection, for reading only if the file cannot be written."""
        if self._readonly:
            connection = connect_readonly(self._path)
            connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
            return connection
        connection = open_file(self._path, timeout=_WAIT_S)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        return connection

    @contextmanager
    def _reader(self) -> Iterator[sqlite3.Connection]:
        """Lends a connection for reading: an idle one, else a new one."""
        with self._idle_lock:
            connection = self._idle.pop() if self._idle else None
        with self._noticing(), translated(self._path):
            connection = connection or self._connect_again()
            try:
                yield connection
            finally:
                with self._idle_lock:
                    self._idle.append(connection)

    def _connect_again(self) -> sqlite3.Connection:
        """Opens a new connection to the same file. Raises IndexCorrupt if another file has taken its place, because
        vector ids differ between files.
        """
        self._check_place()
        connection = self._connect()
        try:
            self._check_place()
        except IndexCorrupt:
            connection.close()
            raise
        return connection

    def _check_place(self) -> None:
        if inode_of(self._path) != self._inode:
            raise IndexCorrupt(f"{shown.place(self._path)} was deleted or begun anew. Try again.", asked_wrongly=True)

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Runs a transaction on the writing connection."""
        if self._full:
            raise no_room(self._path.parent)
        with self._write_lock, self._noticing(), translated(self._path), all_or_nothing(self._writer):
            yield self._writer

    @contextmanager
    def _noticing(self) -> Iterator[None]:
        """Marks a file that proves damaged in the block, so that it is replaced by a new one when it is opened next.
        Only time is lost, because the vectors can be computed again.
        """
        try:
            yield
        except IndexCorrupt as error:
            if is_damage(error) and not self._full:
                self._damaged = True
                mark_damaged(self._path, self._inode)
            raise

    def _rescue(self) -> None:
        """Copies the vectors that can still be read from a damaged file that was set aside, and deletes that file."""
        if self._readonly or not is_aside(self._path):
            return
        count = 0
        try:
            with self._writing() as writer:
                count = rescue(self._path, writer, self._today())
        except IndexLocked:
            return  # tried again when the file is opened next
        except DiskFull:
            pass  # the vectors can be computed again, and storing them then reports the full disk
        _LOG.warning("%d vectors were rescued from a damaged embedding cache; the others are made again", count)
        drop_aside(self._path)

    # ------------------------------------------------------------ schema

    def _prepare(self, max_bytes: int) -> None:
        """Sets the limit on the size, and creates the tables of a new file. Raises IndexCorrupt if the file has another
        format.
        """
        if max_bytes and not self._readonly:
            self._writer.execute(f"PRAGMA max_page_count = {max(1, max_bytes // _PAGE_BYTES)}")
        (version,) = self._writer.execute("PRAGMA user_version").fetchone()
        if version == 0 and self._full:
            raise no_room(self._path.parent)
        if version == 0 and not self._readonly:
            self._create()
        elif version != _VERSION:
            raise IndexCorrupt(
                f"{shown.place(self._path)} was made by another version of sidecar (format {version}). {ADVICE}"
            )

    def _create(self) -> None:
        """Creates the tables."""
        self._writer.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
        self._writer.execute("PRAGMA auto_vacuum = INCREMENTAL")
        self._writer.execute("PRAGMA journal_mode = WAL")
        with self._writing() as writer:
            # Another process may have made the tables first.
            if writer.execute("PRAGMA user_version").fetchone()[0] == 0:
                for statement in filter(str.strip, _SCHEMA.split(";")):
                    writer.execute(statement)
                writer.execute("INSERT INTO meta VALUES ('store_uuid', ?)", (uuid.uuid4().hex,))
                writer.execute(f"PRAGMA user_version = {_VERSION}")

    def _meta(self, key: str) -> str:
        """Returns a value of the table `meta`. Raises IndexCorrupt if it is missing."""
        row = self._writer.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        if row is None:
            raise IndexCorrupt(f"{shown.place(self._path)} does not state its {key}. {ADVICE}")
        return str(row[0])

    def _model_row(self, model_id: str) -> int:
        """Returns the number of the model in the file. Raises IndexCorrupt if its vectors have another dimension."""
        wanted = "SELECT id, dimension FROM models WHERE model_id = ?"
        row = self._writer.execute(wanted, (model_id,)).fetchone()
        if row is None:
            with self._writing() as writer:
                writer.execute(
                    "INSERT INTO models(model_id, dimension) VALUES (?, ?) ON CONFLICT DO NOTHING",
                    (model_id, self._dimension),
                )
                row = writer.execute(wanted, (model_id,)).fetchone()
        number, dimension = row
        if dimension != self._dimension:
            raise IndexCorrupt(
                f"{shown.place(self._path)} holds vectors of {dimension} numbers for {model_id}, not of "
                f"{self._dimension}."
                " Run `reindex_project`; if that does not help, move the file away and run it again.",
                asked_wrongly=True,
            )
        return int(number)

    def _unpack(self, keys: str | None, joined: bytes | None) -> tuple[Ids, Vectors]:
        """Returns the ids and the float32 vectors of rows, whose ids are given with commas between them, and whose
        vectors one after the other. Raises IndexCorrupt if a vector has the wrong length."""
        ids = as_numbers(keys)
        if len(joined or b"") != len(ids) * self._dimension * 2:
            raise IndexCorrupt(f"{shown.place(self._path)} holds vectors of the wrong length. {ADVICE}")
        return ids, np.frombuffer(joined or b"", "<f2").reshape(len(ids), self._dimension).astype(np.float32)


def _marks(values: Sequence[object]) -> str:
    """Returns an SQL placeholder for each value, separated by commas."""
    return ",".join("?" * len(values))
