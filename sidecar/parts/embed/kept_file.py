"""The file of the kept vectors beneath its tables: opening it read-only, damage, errors in our words."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sidecar.errors import DiskFull, IndexCorrupt, IndexLocked, PermissionDenied, SidecarError


def is_readonly(path: Path) -> bool:
    """Whether the file is there and cannot be written, or its folder cannot."""
    writable = os.access(path.parent, os.W_OK) and (not path.exists() or os.access(path, os.W_OK))
    return path.exists() and not writable


def connect_readonly(path: Path) -> sqlite3.Connection:
    """A write-ahead log needs a file for shared memory; where that is not and cannot be made, nobody writes either."""
    for way in ("mode=ro", "mode=ro&immutable=1"):
        connection = sqlite3.connect(f"{path.as_uri()}?{way}", uri=True, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError:
            connection.close()
            continue
        return connection
    raise PermissionDenied(f"{path} cannot be read.")


def _mark_of(path: Path) -> Path:
    return path.with_suffix(".damaged")


def mark_damaged(path: Path) -> None:
    """The next one who opens the file begins a new one."""
    with contextlib.suppress(OSError):
        _mark_of(path).touch(mode=0o600)


def set_damaged_aside(path: Path) -> None:
    mark = _mark_of(path)
    if mark.exists():
        with contextlib.suppress(OSError):
            for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
                path.with_name(name).unlink(missing_ok=True)
            mark.unlink()


@contextmanager
def translated(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise _sidecar_error(path, error) from error


def _sidecar_error(path: Path, error: sqlite3.Error) -> SidecarError:
    # The low byte is the kind, the rest says where.
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return DiskFull(f"{path} cannot grow: free some space and try again.")
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return IndexLocked(f"{path} is being written by another process.")
    if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_AUTH):
        return PermissionDenied(f"{path} cannot be opened for writing ({error}).")
    return IndexCorrupt(f"{path} cannot be read ({error}). Reindex: nothing but time is lost.")
