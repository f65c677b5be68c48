"""The manifest: one SQLite file per generation, the authoritative record of its files, chunks, slots and pending
changes.

Postings are in the same database and transactions (`parts/lexical`), vectors in the embedding cache
(`parts/embed/cache`). `parts/slots` lists what the vector store lacks.

Files and chunks get new ids whenever they are (re)indexed, and ids only grow. A *slot* is the stable place of a chunk
in the vector store: the new chunks of a replaced file take over its slots, so the store is overwritten in place.
`pending_slots` lists the slots whose content in the store may differ from the tables.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from sidecar.locks import Rank, make_lock, make_rlock
from sidecar.model.files import Chunk, SkippedPath, Stat
from sidecar.model.terms import Collection, Ids
from sidecar.parts.coverage import AWAITED_TABLE, count_awaited, settle_awaited
from sidecar.parts.database import (
    all_or_nothing,
    closed_on_error,
    connect,
    contradicts_itself,
    new_file_id,
    open_file,
    translated,
)
from sidecar.parts.left_out import read_failed_reads, read_unread
from sidecar.parts.manifest_reads import read_first_beyond
from sidecar.parts.one_step import insert_in_few_steps, packed_by_id, unpacked, values_in_one_step
from sidecar.parts.paths import storable

SCHEMA_VERSION = 3
READABLE_VERSIONS = (2, SCHEMA_VERSION)
"""A manifest of an earlier one is updated when it is opened for writing, and from then on no earlier sidecar reads it:
that would miss what the new tables have."""
_LONGEST_JOURNAL = 4000
"""In pages. A commit that makes the journal longer also writes it into the file, and waits for the disk: with 1000,
which is SQLite's default, one saved file in ten waited for a tenth of a second."""
_MANY_COMMITS = 60
"""About ten saved files, which make a journal of 1000 pages."""
COLLECTIONS: tuple[Collection, ...] = ("code", "docs")
_BY_PATH = "sqlite_autoindex_files_1"
_KNOWN = "id, path, size, mtime_ns, ctime_ns, inode, settled, buffered, sha256, collection, blob"
_KNOWN_AS_JSON = (
    "json_group_array(json_array("
    "id, path, size, mtime_ns, ctime_ns, inode, settled, buffered, hex(sha256), collection, hex(blob)))"
)

_SCHEMA = """
CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE files(
  id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL UNIQUE, collection INTEGER NOT NULL,
  language TEXT NOT NULL, parser TEXT NOT NULL, sha256 BLOB NOT NULL,
  size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, ctime_ns INTEGER NOT NULL, inode INTEGER NOT NULL,
  settled INTEGER NOT NULL, buffered INTEGER NOT NULL,
  path_hash BLOB NOT NULL, path_vector INTEGER NOT NULL DEFAULT 0, indexed_at REAL NOT NULL,
  masked INTEGER NOT NULL DEFAULT 0, blob BLOB NOT NULL DEFAULT x'');
CREATE TABLE chunks(
  id INTEGER PRIMARY KEY AUTOINCREMENT, file_id INTEGER NOT NULL,
  start_line INTEGER NOT NULL, end_line INTEGER NOT NULL, kind TEXT NOT NULL,
  names TEXT NOT NULL, enclosing TEXT NOT NULL, text TEXT NOT NULL,
  body_hash BLOB NOT NULL, vector_id INTEGER NOT NULL DEFAULT 0, slot INTEGER NOT NULL UNIQUE);
CREATE INDEX chunks_of_file ON chunks(file_id);
CREATE INDEX chunks_without_vector ON chunks(id) WHERE vector_id = 0;
CREATE TABLE free_slots(slot INTEGER PRIMARY KEY, collection INTEGER NOT NULL);
CREATE TABLE pending_slots(slot INTEGER PRIMARY KEY, collection INTEGER NOT NULL);
CREATE TABLE skipped(path TEXT PRIMARY KEY, rule TEXT NOT NULL, detail TEXT NOT NULL,
  size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, ctime_ns INTEGER NOT NULL, inode INTEGER NOT NULL,
  settled INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE left_out(path TEXT PRIMARY KEY, rule TEXT NOT NULL, detail TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE failures(path TEXT PRIMARY KEY, message TEXT NOT NULL, at REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE dirty(path TEXT PRIMARY KEY) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class KnownFile:
    """What the manifest records about a file in order to find out whether it has changed.

    `settled`: the stat can be relied on, because it was old enough when it was read. `buffered`: the text came from an
    editor, not from disk. `blob` is git's id of the content; empty if it is not known.
    """

    id: int
    path: str
    stat: Stat
    settled: bool
    buffered: bool
    sha256: bytes
    collection: Collection
    blob: bytes = b""


@dataclass(frozen=True, slots=True)
class NewFile:
    """One file to be written. `body_hashes` is parallel to `chunks`; `masked` counts the hidden values in them.

    For `settled`, `buffered` and `blob` see `KnownFile`.
    """

    path: str
    collection: Collection
    language: str
    parser: str
    sha256: bytes
    stat: Stat
    settled: bool
    buffered: bool
    path_hash: bytes
    chunks: Sequence[Chunk]
    body_hashes: Sequence[bytes]
    masked: int = 0
    blob: bytes = b""


@dataclass(frozen=True, slots=True)
class ChunkToEmbed:
    """A chunk as it is stored, with what is needed to embed its body and its file's path."""

    chunk_id: int
    file_id: int
    path: str
    body_hash: bytes
    path_hash: bytes
    chunk: Chunk


class Manifest:
    """The manifest, open for writing. Every change happens inside `transaction()`; `lock` makes threads take turns.

    The methods raise DiskFull, PermissionDenied, IndexLocked and IndexCorrupt.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock = make_rlock(Rank.MANIFEST)
        self.connection = connect(path)
        self.connection.execute(f"PRAGMA wal_autocheckpoint={_LONGEST_JOURNAL}")
        self._commits = 0
        self._counted: int | None = None
        self._added = 0
        self._look_up_lock = make_lock(Rank.MANIFEST_LOOK_UP)
        with closed_on_error(self.connection):
            self._look_ups = connect(path, readonly=True)

    @classmethod
    def make(cls, path: Path, facts: dict[str, Any], more_tables: Iterable[Any] = ()) -> Manifest:
        """Creates an empty manifest with `facts` in its meta table.

        `more_tables` are functions of other parts that create their tables; they are called with the connection.
        """
        manifest = cls(path)
        with closed_on_error(manifest):
            with manifest.transaction() as connection:
                for statement in (*filter(str.strip, _SCHEMA.split(";")), AWAITED_TABLE):
                    connection.execute(statement)
                for create in more_tables:
                    create(connection)
                facts = {**facts, "file_id": new_file_id(connection)}
                manifest.set_meta(schema=SCHEMA_VERSION, revision=0, next_slot=1, complete=0, clean=1, **facts)
            with translated(path):
                # The id has to be in the file itself, not in its journal.
                manifest.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return manifest

    @contextmanager
    def transaction(self, *, unseen: bool = False) -> Iterator[sqlite3.Connection]:
        """Runs the block as one transaction, which also raises the revision: readers see all of it or nothing.
        `unseen`: they find the same before and after it, as when segments are merged, and the revision stays."""
        with self.lock, translated(self.path):
            self._added = 0
            with all_or_nothing(self.connection):
                yield self.connection
                if not unseen:
                    self.connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'revision'")
            self._commits += 1
            if self._counted is not None:
                self._counted += self._added

    @property
    def journal_is_long(self) -> bool:
        """Whether enough has been committed that `write_back` should be called soon."""
        return self._commits >= _MANY_COMMITS

    def write_back(self) -> None:
        """Writes the journal into the file, which waits for the disk. Transactions go on meanwhile, because this has a
        connection of its own."""
        self._commits = 0
        with translated(self.path), closing(open_file(self.path, "mode=rw")) as connection:
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def close(self) -> None:
        """Closes both connections."""
        with self.lock, self._look_up_lock:
            self._look_ups.close()
            self.connection.close()

    # ------------------------------------------------------------ meta

    def kept_releases(self) -> int:
        """Returns the value of `EmbeddingCache.releases` at which all vector ids of this manifest were last known to
        exist."""
        with self.lock, translated(self.path):
            row = self.connection.execute("SELECT value FROM meta WHERE key = 'kept_releases'").fetchone()
        return int(row[0]) if row else 0

    def begin(self, more_updates: Iterable[Any] = ()) -> None:
        """Records that the manifest is being written, so that an unclean end can be detected later, and adds what a
        manifest of an earlier version lacks. A transaction of its own. `more_updates` are functions of other parts that
        do this for their tables; they are called with the connection."""
        with self.transaction() as connection:
            for update in more_updates:
                update(connection)
            connection.execute(AWAITED_TABLE)
            if not connection.execute("SELECT 1 FROM pragma_table_info('files') WHERE name = 'blob'").fetchone():
                # A manifest of an earlier version: the ids come with the next reading of each file.
                connection.execute("ALTER TABLE files ADD COLUMN blob BLOB NOT NULL DEFAULT x''")
            self.set_meta(clean=0, schema=SCHEMA_VERSION)

    def set_meta(self, **facts: Any) -> None:
        """Writes entries of the meta table. Inside a transaction."""
        self.connection.executemany("INSERT OR REPLACE INTO meta VALUES(?, ?)", list(facts.items()))

    # ------------------------------------------------------------ what is known

    def count_chunks(self) -> int:
        """Returns the number of chunks. They are counted once, and then the changes of this object are added."""
        with self.lock, translated(self.path):
            added = self._added if self.connection.in_transaction else 0
            if self._counted is None:
                (count,) = self.connection.execute("SELECT count(*) FROM chunks").fetchone()
                self._counted = int(count) - added
            return self._counted + added

    def forget_count(self) -> None:
        """To be called by whoever writes rows of `chunks` without this object's methods."""
        self._counted = None

    def known_files(self) -> dict[str, KnownFile]:
        """Returns all indexed files by path.

        Raises IndexCorrupt if not the same paths are in the table and in the index by which files are found: then a
        pass over the workspace would write a file twice, or leave one for ever that is gone.
        """
        files: dict[str, KnownFile] = {}
        count = 0
        with self.lock, translated(self.path):
            found = values_in_one_step(self.connection, "path", f"FROM files INDEXED BY {_BY_PATH}")
            for (packed,) in packed_by_id(self.connection, _KNOWN_AS_JSON, _KNOWN, "files"):
                rows = unpacked(packed)
                files.update((row[1], _known_from_json(row)) for row in rows)
                count += len(rows)
        if len(files) != count or files.keys() != set(found):
            raise contradicts_itself(self.path)
        return files

    def count_files(self) -> int:
        """Returns the number of files that are indexed or are going to be read for the first time."""
        with self._look_up_lock, translated(self.path):
            (count,) = self._look_ups.execute("SELECT count(*) FROM files").fetchone()
            return int(count) + count_awaited(self._look_ups)

    def known_file(self, path: str) -> KnownFile | None:
        """Returns the indexed file with this path as of the last commit; None when it is not indexed.

        Never waits for a writer, because files are looked up while others are being written.
        """
        with self._look_up_lock, translated(self.path):
            r = self._look_ups.execute(f"SELECT {_KNOWN} FROM files WHERE path = ?", (path,)).fetchone()
        return r and _known(r)

    def known_below(self, folder: str) -> list[str]:
        """Returns paths of the indexed files in this folder, at any depth."""
        with self._look_up_lock, translated(self.path):
            # "0" is the character after "/".
            rows = self._look_ups.execute(
                "SELECT path FROM files WHERE path > ? AND path < ?", (f"{folder}/", f"{folder}0")
            ).fetchall()
        return [path for (path,) in rows]

    def known_skips(self) -> dict[str, tuple[Stat, bool]]:
        """Returns, by path, (stat, whether it is settled) of each file that is left out because of its content."""
        with self.lock, translated(self.path):
            rows = self.connection.execute(
                "SELECT path, size, mtime_ns, ctime_ns, inode, settled FROM skipped"
            ).fetchall()
        return {r[0]: (Stat(*r[1:5]), bool(r[5])) for r in rows}

    def first_beyond(self) -> str | None:
        """Returns the first path that the limit on the number of files left out in the last pass over the whole
        workspace; None if it left out none."""
        with self.lock, translated(self.path):
            return read_first_beyond(self.connection)

    def failures(self) -> dict[str, str]:
        """Returns the error message of each file that could not be indexed, by path."""
        with self.lock, translated(self.path):
            return dict(self.connection.execute("SELECT path, message FROM failures ORDER BY path"))

    def unread(self) -> tuple[list[tuple[str, str]], list[str]]:
        """Returns the results of `left_out.read_unread` and `left_out.read_failed_reads`."""
        with self.lock, translated(self.path):
            return read_unread(self.connection), read_failed_reads(self.connection)

    # ------------------------------------------------------------ writing (inside a transaction)

    def remove_files(self, paths: Iterable[str]) -> list[int]:
        """Removes files and their chunks; returns the ids of the files removed. Unknown paths are ignored.

        Their slots become free and pending, to be deleted from the vector store.
        """
        gone: list[int] = []
        for path in paths:
            row = self.connection.execute("SELECT id, collection FROM files WHERE path = ?", (path,)).fetchone()
            if row is None:
                continue
            slots = self._drop(row[0])
            self._free(slots, row[1])
            gone.append(row[0])
        return gone

    def put_file(self, new: NewFile, vector_ids: Sequence[int], path_vector: int) -> tuple[int, list[int], int | None]:
        """Writes a file in place of its former version. Returns (file id, chunk ids, replaced file id or None).

        `vector_ids` is parallel to the chunks; an id of 0 means that the vector has still to be computed.
        """
        wanted = COLLECTIONS.index(new.collection)
        old = self.connection.execute("SELECT id, collection FROM files WHERE path = ?", (new.path,)).fetchone()
        slots: list[int] = []
        if old is not None:
            slots = self._drop(old[0])
            if old[1] != wanted:
                self._free(slots, old[1])
                slots = []
        file_id = self._insert_file(new, wanted, path_vector)
        kept, spare = slots[: len(new.chunks)], slots[len(new.chunks) :]
        self._free(spare, wanted)
        kept += self._take_slots(len(new.chunks) - len(kept), wanted)
        chunk_ids = self._insert_chunks(file_id, new, vector_ids, kept)
        ready = [(s, wanted) for s, v in zip(kept, vector_ids, strict=True) if v or old is not None]
        insert_in_few_steps(self.connection, "INSERT OR REPLACE INTO pending_slots", ready, columns=2)
        self.connection.execute("DELETE FROM skipped WHERE path = ?", (new.path,))
        self.connection.execute("DELETE FROM failures WHERE path = ?", (new.path,))
        settle_awaited(self.connection, [new.path])
        return file_id, chunk_ids, old[0] if old else None

    def put_skip(self, skipped: SkippedPath, stat: Stat, settled: bool) -> list[int]:
        """Records a file that is left out because of its content, so that it is not read again until it changes.

        Returns the ids of the files removed: that of this file if it was indexed, else none.
        """
        self.connection.execute(
            "INSERT OR REPLACE INTO skipped VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
            (
                skipped.path,
                skipped.decision.rule.value,
                storable(skipped.decision.detail),
                *_stat_row(stat),
                int(settled),
            ),
        )
        self.connection.execute("DELETE FROM failures WHERE path = ?", (skipped.path,))
        settle_awaited(self.connection, [skipped.path])
        return self.remove_files([skipped.path])

    def put_failure(self, path: str, message: str) -> None:
        """Records why a file could not be indexed."""
        self.connection.execute(
            "INSERT OR REPLACE INTO failures VALUES(?, ?, ?)", (path, storable(message), time.time())
        )
        settle_awaited(self.connection, [path])

    def touch(self, path: str, stat: Stat, settled: bool, blob: bytes) -> None:
        """Records a new stat and git's id for a file whose content is unchanged."""
        self.connection.execute(
            "UPDATE files SET size = ?, mtime_ns = ?, ctime_ns = ?, inode = ?, settled = ?, blob = ? WHERE path = ?",
            (*_stat_row(stat), int(settled), blob, path),
        )
        self.connection.execute("DELETE FROM failures WHERE path = ?", (path,))

    def touch_known(self, files: Iterable[tuple[KnownFile, Stat, bool]]) -> None:
        """Records new stats, and whether they are settled, for files whose content is unchanged. A file that has been
        indexed again since it was looked up is not changed."""
        self.connection.executemany(
            "UPDATE files SET mtime_ns = ?, ctime_ns = ?, inode = ?, settled = ? WHERE id = ?",
            [(*_stat_row(stat)[1:], int(settled), known.id) for known, stat, settled in files],
        )

    def remember_dirty(self, paths: Iterable[str]) -> None:
        """Records changes that have not been applied; folders end in `/`, the root is `/`. A transaction of its own."""
        with self.transaction() as connection:
            connection.executemany("INSERT OR REPLACE INTO dirty VALUES(?)", [(p,) for p in paths])

    def dirty(self) -> list[str]:
        """Returns the recorded changes that have not been applied."""
        with self.lock, translated(self.path):
            return [row[0] for row in self.connection.execute("SELECT path FROM dirty")]

    def settle_dirty(self, paths: Iterable[str] | None = None) -> None:
        """Removes these recorded changes, or all of them for None. A transaction of its own."""
        with self.transaction() as connection:
            if paths is None:
                connection.execute("DELETE FROM dirty")
            else:
                connection.executemany("DELETE FROM dirty WHERE path = ?", [(p,) for p in paths])

    def forget(self, paths: Iterable[str]) -> list[int]:
        """Removes paths that no longer exist or belong in the index from files, skips, failures and recorded changes.

        Returns the ids of the files removed.
        """
        paths = list(paths)
        rows = [(p,) for p in paths]
        for table in ("skipped", "failures", "dirty"):
            self.connection.executemany(f"DELETE FROM {table} WHERE path = ?", rows)
        settle_awaited(self.connection, paths)
        return self.remove_files(paths)

    def set_vectors(self, chunk_vectors: Sequence[tuple[int, int]], path_vectors: Sequence[tuple[int, int]]) -> None:
        """Stores (chunk id, vector id) and (file id, path vector id) pairs; ids that no longer exist are ignored."""
        for table, column, pairs in (("files", "path_vector", path_vectors), ("chunks", "vector_id", chunk_vectors)):
            self.connection.execute(
                f"UPDATE {table} SET {column} = json_extract(given.value, '$[1]') FROM json_each(?) AS given"
                f" WHERE {table}.id = json_extract(given.value, '$[0]')",
                (json.dumps(pairs),),
            )
        self.connection.execute(
            "INSERT OR REPLACE INTO pending_slots SELECT c.slot, f.collection FROM json_each(?) AS given"
            " CROSS JOIN chunks c ON c.id = given.value JOIN files f ON f.id = c.file_id",
            (json.dumps([chunk for chunk, _ in chunk_vectors]),),
        )

    def vector_ids(self) -> Ids:
        """Returns the ids of all vectors that chunks or files name, ascending, without 0."""
        with self.lock, translated(self.path):
            rows = self.connection.execute(
                "SELECT vector_id FROM chunks WHERE vector_id > 0 UNION SELECT path_vector FROM files"
                " WHERE path_vector > 0"
            )
            return np.fromiter((row[0] for row in rows), np.int64)

    def forget_vectors(self, lost: Ids) -> None:
        """Marks the chunks and files that name these vector ids as having no vector. Inside a transaction."""
        self.connection.execute("CREATE TEMP TABLE lost(id INTEGER PRIMARY KEY)")
        self.connection.executemany("INSERT INTO lost VALUES (?)", ((int(number),) for number in lost))
        self.connection.execute("UPDATE chunks SET vector_id = 0 WHERE vector_id IN lost")
        self.connection.execute("UPDATE files SET path_vector = 0 WHERE path_vector IN lost")
        self.connection.execute("DROP TABLE lost")

    def without_vector(self, limit: int) -> list[ChunkToEmbed]:
        """Returns at most `limit` chunks that have no vector, for example after an interrupted run, or whose path has
        none, as after a move."""
        return self._chunks(
            "WHERE c.id IN (SELECT id FROM chunks WHERE vector_id = 0 UNION SELECT id FROM chunks"
            " WHERE file_id IN (SELECT id FROM files WHERE path_vector = 0)) ORDER BY c.id LIMIT ?",
            limit,
        )

    def chunks_after(self, chunk_id: int, limit: int) -> list[ChunkToEmbed]:
        """Returns the chunks with the next higher ids, ascending."""
        return self._chunks("WHERE c.id > ? ORDER BY c.id LIMIT ?", chunk_id, limit)

    def some_chunks(self, limit: int) -> list[ChunkToEmbed]:
        """Returns at most `limit` chunks, picked at random."""
        return self._chunks("WHERE c.id IN (SELECT id FROM chunks ORDER BY random() LIMIT ?)", limit)

    # ------------------------------------------------------------ private

    def _chunks(self, which: str, *values: int) -> list[ChunkToEmbed]:
        with self.lock, translated(self.path):
            rows = self.connection.execute(
                "SELECT c.id, c.file_id, f.path, c.body_hash, f.path_hash, c.start_line, c.end_line, c.text, c.kind,"
                f" c.names, c.enclosing FROM chunks c JOIN files f ON f.id = c.file_id {which}",
                values,
            ).fetchall()
        return [_stored(*row) for row in rows]

    def _drop(self, file_id: int) -> list[int]:
        slots = [
            r[0] for r in self.connection.execute("SELECT slot FROM chunks WHERE file_id = ? ORDER BY slot", (file_id,))
        ]
        self.connection.execute("DELETE FROM chunks WHERE file_id = ?", (file_id,))
        self._added -= len(slots)
        self.connection.execute("DELETE FROM files WHERE id = ?", (file_id,))
        return slots

    def _free(self, slots: Sequence[int], collection: int) -> None:
        rows = [(s, collection) for s in slots]
        for table in ("free_slots", "pending_slots"):
            insert_in_few_steps(self.connection, f"INSERT OR REPLACE INTO {table}", rows, columns=2)

    def _take_slots(self, count: int, collection: int) -> list[int]:
        if count <= 0:
            return []
        free = [
            r[0]
            for r in self.connection.execute(
                "SELECT slot FROM free_slots WHERE collection = ? ORDER BY slot LIMIT ?", (collection, count)
            )
        ]
        self.connection.executemany("DELETE FROM free_slots WHERE slot = ?", [(s,) for s in free])
        fresh = count - len(free)
        if fresh:
            (start,) = self.connection.execute("SELECT value FROM meta WHERE key = 'next_slot'").fetchone()
            self.connection.execute("UPDATE meta SET value = ? WHERE key = 'next_slot'", (start + fresh,))
            free += range(start, start + fresh)
        return free

    def _insert_file(self, new: NewFile, collection: int, path_vector: int) -> int:
        cursor = self.connection.execute(
            "INSERT INTO files(path, collection, language, parser, sha256, size, mtime_ns, ctime_ns, inode, settled,"
            " buffered, path_hash, path_vector, indexed_at, masked, blob) VALUES(" + ", ".join("?" * 16) + ")",
            (
                new.path,
                collection,
                new.language,
                new.parser,
                new.sha256,
                *_stat_row(new.stat),
                int(new.settled),
                int(new.buffered),
                new.path_hash,
                path_vector,
                time.time(),
                new.masked,
                new.blob,
            ),
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def _insert_chunks(self, file_id: int, new: NewFile, vector_ids: Sequence[int], slots: Sequence[int]) -> list[int]:
        (last,) = self.connection.execute(
            "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'chunks'), 0)"
        ).fetchone()
        ids = list(range(last + 1, last + 1 + len(new.chunks)))
        self._added += len(ids)
        rows = (
            (i, file_id, *_chunk_row(c), h, v, s)
            for i, c, h, v, s in zip(ids, new.chunks, new.body_hashes, vector_ids, slots, strict=True)
        )
        insert_in_few_steps(self.connection, "INSERT INTO chunks", rows, columns=11)
        return ids


def pack_names(names: Sequence[str]) -> str:
    """Returns names as one text for a column of the database (JSON); "" for none."""
    return json.dumps(names, ensure_ascii=False) if names else ""


@lru_cache(maxsize=4096)
def unpack_names(packed: str) -> tuple[str, ...]:
    """Returns the names that `pack_names` packed. Cached, because the hits of most questions have been hits before."""
    return tuple(json.loads(packed)) if packed else ()


def _known(row: Sequence[Any]) -> KnownFile:
    id_, path, *stat, settled, buffered, sha256, collection, blob = row
    return KnownFile(id_, path, Stat(*stat), bool(settled), bool(buffered), sha256, COLLECTIONS[collection], blob)


def _known_from_json(row: Sequence[Any]) -> KnownFile:
    *others, sha256, collection, blob = row
    return _known((*others, bytes.fromhex(sha256), collection, bytes.fromhex(blob)))


def _stored(chunk_id: int, file_id: int, path: str, body_hash: bytes, path_hash: bytes, *chunk: Any) -> ChunkToEmbed:
    start, end, text, kind, names, enclosing = chunk
    stored = Chunk(start, end, text, kind, unpack_names(names), unpack_names(enclosing))
    return ChunkToEmbed(chunk_id, file_id, path, body_hash, path_hash, stored)


def _chunk_row(c: Chunk) -> tuple[int, int, str, str, str, str]:
    return c.start_line, c.end_line, c.kind, pack_names(c.names), pack_names(c.enclosing), c.text


def _stat_row(stat: Stat) -> tuple[int, int, int, int]:
    return stat.size, stat.mtime_ns, stat.ctime_ns, stat.inode
