"""Opens SQLite files with the same options everywhere and turns sqlite3's errors into sidecar's.

For the parts that store data.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from sidecar import shown
from sidecar.errors import DiskFull, IndexCorrupt, IndexLocked, PermissionDenied, SidecarError
from sidecar.small_files import Look, is_fresh, look_of, what_else

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_CLOSED = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_AUTH)
_CACHE_KIB = 8 * 1024
_PROBED = 100_000
_ROOM_TO_WRITE = 256 * 1024
"""In bytes: two journals with their maps."""
_FILES = ("", "-wal", "-shm", "-journal")
_REBUILD = "{name}: {error}. Run `reindex_project` to rebuild it."


@contextmanager
def translated(path: Path, corrupt: str = _REBUILD) -> Iterator[None]:
    """Turns sqlite3's errors into sidecar's: DiskFull, PermissionDenied, IndexLocked, IndexCorrupt.

    `corrupt` says what to do about a damaged file; it is a format string with the fields `path`, `name` and `error`.
    """
    try:
        yield
    except sqlite3.Error as error:
        raise _translate(error, path, corrupt) from error


def _translate(error: sqlite3.Error, path: Path, corrupt: str) -> SidecarError:
    # The low byte is the primary code; the rest makes it an extended one.
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if _is_full(error):
        return no_room(path.parent)
    if code in _CLOSED and not _is_broken_place(path):
        return PermissionDenied(f"{shown.place(path)} cannot be written: {shown.reason(error)}.")
    if code in _BUSY:
        return IndexLocked(f"{shown.place(path)} is being written by another process. Try again.")
    return _corrupt(corrupt, path, error)


def _is_full(error: sqlite3.Error) -> bool:
    """Whether the disk has no space, not even for the map of a journal, which SQLite needs in order to read."""
    code = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF == sqlite3.SQLITE_FULL or code == sqlite3.SQLITE_IOERR_SHMSIZE


def no_room(folder: Path) -> DiskFull:
    """Returns the error for a file that could not be written because the disk of this folder is full."""
    return DiskFull(f"Free some space on the disk that holds {shown.place(folder)} and try again.")


def has_room(folder: Path) -> bool:
    """Whether the disk that holds this folder has room for opening and changing a database; True if the system does
    not say."""
    try:
        return shutil.disk_usage(folder).free >= _ROOM_TO_WRITE
    except OSError:
        return True


def _corrupt(text: str, path: Path, said: object) -> IndexCorrupt:
    filled = {"path": shown.place(path), "name": shown.place(path.name), "error": shown.reason(said)}
    return IndexCorrupt(text.format(**filled))


def contradicts_itself(path: Path) -> IndexCorrupt:
    """Returns the error for a file whose tables and indexes do not agree, which reading rarely notices."""
    return _corrupt(_REBUILD, path, find_fault(path) or "its tables and indexes do not agree")


def _is_broken_place(path: Path) -> bool:
    """Whether no database can be at this path, whatever the permissions: the file is gone, or a folder has its name."""
    if any(os.path.isdir(f"{path}{ending}") for ending in _FILES):  # noqa: PTH112 Path.is_dir raises where it may not look
        return True
    return _is_gone(path) and os.access(path.parent, os.R_OK | os.W_OK)


def _is_gone(path: Path) -> bool:
    """Whether nothing exists at this path, or not even its folder does; False if that cannot be determined."""
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        pass
    return False


def connect(path: Path, *, readonly: bool = False, corrupt: str = _REBUILD) -> sqlite3.Connection:
    """Opens a connection in autocommit mode. Several threads may use it, one at a time.

    Creates the file unless `readonly`. Raises the errors of `translated`, and IndexCorrupt if a file to read does not
    exist.
    """
    with translated(path, corrupt):
        if readonly and _is_gone(path):
            raise _corrupt(corrupt, path, "the file is gone")
        connection = connect_readonly(path) if readonly else open_file(path)
        with closed_on_error(connection):
            # A cache and no memory map: if the file is truncated, reading a map kills the process.
            connection.execute(f"PRAGMA cache_size=-{_CACHE_KIB}")
            if not readonly:
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute("PRAGMA synchronous=NORMAL")
        return connection


class _Closes(Protocol):
    def close(self) -> object: ...


@contextmanager
def closed_on_error(opened: _Closes) -> Iterator[None]:
    """Closes what was opened if the block raises. Connections that nobody closes are closed later, at any moment and in
    any thread."""
    try:
        yield
    except BaseException:
        opened.close()
        raise


def open_file(path: Path, way: str = "mode=rwc", timeout: float = 30) -> sqlite3.Connection:
    """Opens a connection in autocommit mode, without the other options of `connect`.

    Several threads may use it, one at a time. Raises sqlite3.Error, also if something else than a regular file has the
    name of the file or of its journal.

    SQLite opens whatever is there: it would read a pipe or a device for ever, and follow a link to nothing.
    """
    for ending in _FILES[:1] if "immutable" in way else _FILES:  # SQLite then opens no journal
        if kind := what_else(f"{path}{ending}"):
            raise sqlite3.DatabaseError(f"{path.name}{ending} is {kind}" if ending else f"it is {kind}")
    return sqlite3.connect(
        f"{path.as_uri()}?{way}", uri=True, isolation_level=None, check_same_thread=False, timeout=timeout
    )


def connect_readonly(path: Path) -> sqlite3.Connection:
    """Opens a connection for reading only. Raises sqlite3.Error.

    SQLite cannot read a WAL database without its shared-memory file. If that cannot be made, because the folder is
    read-only or the disk is full, no process is writing either, so the file is then opened as immutable. On a full disk
    a journal with commits prevents that.
    """
    connection = open_file(path, "mode=ro")
    try:
        connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
    except sqlite3.OperationalError as error:
        connection.close()
        unmapped = _is_full(error) and not _has_journal(path)
        if not unmapped and (_is_gone(path) or os.access(path.parent, os.W_OK)):
            raise
        return open_file(path, "mode=ro&immutable=1")
    return connection


def new_file_id(connection: sqlite3.Connection) -> int:
    """Gives the database a random id in its header, inside the transaction in progress, and returns it."""
    number = secrets.randbelow(2**31 - 1) + 1
    connection.execute(f"PRAGMA application_id = {number}")
    return number


def file_id(path: Path) -> int:
    """Returns the id in the header of a database file; 0 if it has none. Raises the errors of `translated`.

    The id is read from the file itself, because an open connection answers from its cache and the journal, even if the
    file has been replaced.
    """
    if _is_gone(path):
        raise _corrupt(_REBUILD, path, "the file is gone")
    with translated(path), contextlib.closing(open_file(path, "mode=ro&immutable=1")) as connection:
        if _has_journal(path):
            # A full disk can end the copying of the journal into the file. The header then counts pages that only the
            # journal has, and this setting keeps SQLite from calling that damage.
            connection.execute("PRAGMA writable_schema = ON")
        (number,) = connection.execute("PRAGMA application_id").fetchone()
    return int(number)


def _has_journal(path: Path) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"{path}-wal").stat().st_size > 0
    return False


class OpenedFile:
    """Checks that a database file is still the one that was opened. Thread-safe."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._id = file_id(path)
        self._settled: Look | None = None
        """The look of the file when its id was last read; None if a further change could leave the same look."""

    def check(self) -> None:
        """Raises IndexCorrupt if another file has taken its place, or its header cannot be read."""
        look = look_of(self._path)
        if look is not None and look == self._settled:
            return
        if file_id(self._path) != self._id:
            raise _corrupt(_REBUILD, self._path, "another file has taken its place")
        self._settled = None if is_fresh(look) else look


def copy_database(source: Path, target: Path) -> None:
    """Copies the last commit of a database into a new file, without blocking readers or writers of the source."""
    closing = contextlib.closing
    with translated(target), closing(connect(source, readonly=True)) as old, closing(open_file(target)) as new:
        old.backup(new)


@contextmanager
def all_or_nothing(connection: sqlite3.Connection) -> Iterator[None]:
    """Runs the block in one writing transaction: commits everything, or on an exception rolls back and raises it."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # After a full disk, SQLite has rolled back already.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def find_fault(path: Path, *, quick: bool = False) -> str:
    """Returns one line on the first fault that SQLite's integrity check finds in a file; empty if it finds none, or if
    the file cannot be checked because it is busy, the disk is full, or it cannot be opened at the moment.

    `quick` does not compare tables with their indexes, and takes about 0.1 s per 150 MB.
    """
    try:
        with contextlib.closing(connect_readonly(path)) as connection:
            check = "quick_check" if quick else "integrity_check"
            (found,) = connection.execute(f"PRAGMA {check}(1)").fetchone()
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        unknown = (
            _is_full(error) or code in _BUSY or (code in _CLOSED and not _is_gone(path) and not _is_broken_place(path))
        )
        return "" if unknown else str(error)
    return "" if found == "ok" else str(found).replace("\n", " ")


@contextmanager
def blamed(path: Path) -> Iterator[None]:
    """Replaces an unexpected exception of the block by IndexCorrupt if the file proves damaged."""
    try:
        yield
    except (SidecarError, sqlite3.Error):
        raise
    except Exception as error:
        fault = find_fault(path)
        if fault:
            raise _corrupt(_REBUILD, path, fault) from error
        raise


def readable_names(connection: sqlite3.Connection, table: str, columns: str) -> list[tuple[Any, ...]]:
    """Returns the values of these columns, which a unique index has too, as far as that index can be read."""
    found: dict[tuple[Any, ...], None] = {}
    for order in ("ASC", "DESC"):
        by = ", ".join(f"{column.strip()} {order}" for column in columns.split(","))
        with contextlib.suppress(sqlite3.Error):
            for row in connection.execute(f"SELECT {columns} FROM {table} ORDER BY {by}"):
                found[row] = None
    return list(found)


def readable_rows(connection: sqlite3.Connection, table: str, key: str, columns: str) -> Iterator[tuple[Any, ...]]:
    """Yields every row of a damaged table that can still be read, by its integer key.

    Reads from both ends until an error, then key by key between them, at most `_PROBED` keys. Yields nothing if the
    table's definition cannot be read, as in a file that is not a database.
    """
    try:
        connection.execute(f"EXPLAIN SELECT {key}, {columns} FROM {table}")
    except sqlite3.Error:
        return  # no row could be read either, and each attempt would read the file's first page again
    low = high = None
    for order in ("ASC", "DESC"):
        beyond = "" if low is None else f"WHERE {key} > {low}"
        with contextlib.suppress(sqlite3.Error):
            for row in connection.execute(f"SELECT {key}, {columns} FROM {table} {beyond} ORDER BY {key} {order}"):
                low, high = (row[0], high) if order == "ASC" else (low, row[0])
                yield row
            return
    start = (low or 0) + 1
    for number in range(start, min(high if high is not None else start + _PROBED, start + _PROBED)):
        with contextlib.suppress(sqlite3.Error):
            yield from connection.execute(f"SELECT {key}, {columns} FROM {table} WHERE {key} = ?", (number,))
