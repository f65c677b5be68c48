"""Opening SQLite files the same way everywhere, with its errors turned into ours. Shared by the parts that store."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sidecar.errors import DiskFull, IndexCorrupt, IndexLocked, PermissionDenied, SidecarError

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_CLOSED = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_AUTH)
_REBUILD = "{path.name}: {error}. Run reindex_project to build it anew."


@contextmanager
def translated(path: Path, corrupt: str = _REBUILD) -> Iterator[None]:
    """Turns sqlite3's errors into ours. `corrupt` says what to do about a damaged file: a format of path and error."""
    try:
        yield
    except sqlite3.Error as error:
        raise _translate(error, path, corrupt) from error


def _translate(error: sqlite3.Error, path: Path, corrupt: str) -> SidecarError:
    # The low byte is the kind, the rest says where.
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return DiskFull(f"Free some space on the disk that holds {path.parent} and try again.")
    if code in _CLOSED:
        return PermissionDenied(f"{path} cannot be written: {error}.")
    if code in _BUSY:
        return IndexLocked(f"{path} is being written by another process. Try again.")
    return IndexCorrupt(corrupt.format(path=path, error=error))


def connect(path: Path, *, readonly: bool = False, corrupt: str = _REBUILD) -> sqlite3.Connection:
    """A connection in autocommit mode that several threads may use one at a time."""
    with translated(path, corrupt):
        connection = connect_readonly(path) if readonly else _connect(path, "mode=rwc")
        connection.execute("PRAGMA mmap_size=268435456")
        if not readonly:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
        return connection


def _connect(path: Path, way: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.as_uri()}?{way}", uri=True, isolation_level=None, check_same_thread=False, timeout=30
    )


def connect_readonly(path: Path) -> sqlite3.Connection:
    """Where the log's shared memory is not there and cannot be made, nobody writes: then it is read as it lies."""
    connection = _connect(path, "mode=ro")
    try:
        connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    except sqlite3.OperationalError:
        connection.close()
        if not path.exists() or os.access(path.parent, os.W_OK):
            raise
        return _connect(path, "mode=ro&immutable=1")
    return connection


def copy_database(source: Path, target: Path) -> None:
    """The last commit of a database as a new file. Who reads or writes the source is not held up."""
    closing = contextlib.closing
    with translated(target), closing(connect(source, readonly=True)) as old, closing(sqlite3.connect(target)) as new:
        old.backup(new)


@contextmanager
def all_or_nothing(connection: sqlite3.Connection) -> Iterator[None]:
    """One writing transaction: what happens inside is committed whole, or rolled back and raised."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # A full disk has rolled back already.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def make_schema(connection: sqlite3.Connection, statements: Sequence[str]) -> None:
    """Runs them where nobody has; the last one sets the file's user_version."""
    if connection.execute("PRAGMA user_version").fetchone()[0]:
        return
    with all_or_nothing(connection):
        # Another process may have been quicker.
        if not connection.execute("PRAGMA user_version").fetchone()[0]:
            for statement in statements:
                connection.execute(statement)


class OwnFile:
    """A SQLite file of its own that several processes may use. It and its folder come into being with the first
    writing; until then there are none. Thread-safe. `what` is in it: nothing can make it again.

    Its methods raise DiskFull, IndexCorrupt, IndexLocked, PermissionDenied.
    """

    def __init__(self, path: Path, schema: Sequence[str], what: str) -> None:
        self._path = path
        self._schema = schema
        self._corrupt = (
            f"The {what} in {{path}} cannot be read ({{error}}). Put a backup in its place,"
            f" or move the file away to begin without {what}."
        )
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None

    def close(self) -> None:
        """Lets go of the file; it is opened again when it is needed."""
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection | None]:
        """One view of the file from start to end, whoever writes; None while there is no file."""
        with self._lock, translated(self._path, self._corrupt):
            if self._connection is not None and self._connection.in_transaction:
                yield self._connection
                return
            if not self._path.exists():
                self.close()
                yield None
                return
            connection = self._open()
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.execute("COMMIT")

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """All of it or nothing."""
        with self._lock, translated(self._path, self._corrupt):
            if not self._path.exists():
                self.close()
            connection = self._open()
            with all_or_nothing(connection):
                yield connection

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            connection = connect(self._path, corrupt=self._corrupt)
            make_schema(connection, self._schema)
            self._connection = connection
        return self._connection
