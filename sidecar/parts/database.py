"""Opening SQLite files the same way everywhere, with its errors turned into ours. Shared by the parts that store."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sidecar.errors import DiskFull, IndexCorrupt, PermissionDenied, SidecarError


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turns sqlite3's errors into ours."""
    try:
        yield
    except sqlite3.Error as error:
        raise _translate(error, path) from error


def _translate(error: sqlite3.Error, path: Path) -> SidecarError:
    text = str(error)
    if "full" in text:
        return DiskFull(f"Free some space on the disk that holds {path.parent} and try again.")
    if "readonly" in text or "unable to open" in text:
        return PermissionDenied(f"{path} cannot be written: {text}.")
    return IndexCorrupt(f"{path.name}: {text}. Run reindex_project to build it anew.")


def connect(path: Path, *, readonly: bool = False) -> sqlite3.Connection:
    """A connection in autocommit mode that several threads may use one at a time."""
    with translated(path):
        connection = _connect_readonly(path) if readonly else _connect(path, "mode=rwc")
        connection.execute("PRAGMA mmap_size=268435456")
        if not readonly:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
        return connection


def _connect(path: Path, way: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"{path.as_uri()}?{way}", uri=True, isolation_level=None, check_same_thread=False, timeout=30
    )


def _connect_readonly(path: Path) -> sqlite3.Connection:
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
