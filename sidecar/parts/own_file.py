"""A SQLite file of data that cannot be recreated.

A damaged file is renamed, never deleted, and replaced by a new one with everything that can still be read. SQLite
notices damage of its own structure only, so each row also has a checksum of what was stored (`seal`).
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import uuid
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sidecar import shown
from sidecar.errors import DiskFull, IndexCorrupt, PermissionDenied, SidecarError
from sidecar.locks import Rank, make_rlock
from sidecar.parts.database import (
    all_or_nothing,
    closed_on_error,
    connect,
    connect_readonly,
    find_fault,
    open_file,
    translated,
)

_MOST_CHECKED = 64 << 20
"""The size of the largest file, in bytes, that is checked when it is opened: 5 ms for 4 MB of memories."""
_MOST_NAMED = 10


@dataclass
class Rescued:
    """What has become of the entries of a damaged file: how many are in use, the names of those that are lost as far as
    their names can be read, and the names of those that may not be as they were stored."""

    count: int = 0
    lost: list[str] = field(default_factory=list)
    doubtful: list[str] = field(default_factory=list)


Rescue = Callable[[sqlite3.Connection, sqlite3.Connection], Rescued]
"""Takes connections to the damaged file and to a new one, and copies all entries that can still be read."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a file holds. `what` names it in messages ("memories").

    The last statement of `schema` sets `user_version` to `version`; `upgrade` does that to a whole file of the version
    before, and may call the SQL function `seal`. `checked` are the tables that are compared with their indexes when
    the file is opened; none of them means the whole file.
    """

    what: str
    schema: Sequence[str]
    version: int
    rescue: Rescue
    upgrade: Sequence[str] = ()
    checked: Sequence[str] = ()


def seal(*values: object) -> int:
    """Returns the checksum of a row's values, which is stored beside them."""
    checksum = 0
    for value in values:
        checksum = zlib.crc32(f"{value}\0".encode("utf-8", "surrogatepass"), checksum)
    return checksum


class DamagedRow(sqlite3.DatabaseError):
    """A row that its part of sidecar cannot have written, although SQLite finds no fault in the file."""


class OwnFile:
    """One such file, which several processes may use. The file and its folder are created with the first write.
    Thread-safe.

    Methods raise DiskFull, IndexCorrupt, IndexLocked and PermissionDenied. The call that meets the damage gets an
    IndexCorrupt that says what has become of the file; the next call works with the rescued entries.
    """

    def __init__(self, path: Path, content: Content) -> None:
        self._path = path
        self._content = content
        what = self._what = content.what
        self._corrupt = (
            f"The {what} in {{path}} cannot be read ({{error}}). Put a backup in its place,"
            f" or move the file away to start without {what}."
        )
        self._lock = make_rlock(Rank.OWN_DATABASE)
        self._depth = 0
        self._connection: sqlite3.Connection | None = None

    def close(self) -> None:
        """Closes the file; it is opened again when needed."""
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection | None]:
        """Runs the block in one read transaction: it sees one state of the file. Yields None while the file does not
        exist."""
        with self._noticing():
            if self._connection is not None and self._connection.in_transaction:
                yield self._connection
                return
            if not os.path.lexists(self._path):
                self.close()
                yield None
                return
            with self._open_to_read() as connection:
                connection.execute("BEGIN")
                try:
                    yield connection
                finally:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Runs the block in one write transaction: everything in it is stored, or nothing."""
        with self._noticing():
            if not os.path.lexists(self._path):
                self.close()
            connection = self._open()
            with all_or_nothing(connection):
                yield connection

    @contextmanager
    def _open_to_read(self) -> Iterator[sqlite3.Connection]:
        """Yields a connection; on a full disk one that only reads, and is closed again."""
        try:
            connection = self._open()
        except DiskFull:
            if not os.path.lexists(self._path):
                raise
            with contextlib.closing(self._checked(connect(self._path, readonly=True, corrupt=self._corrupt))) as only:
                yield only
        else:
            yield connection

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            if not os.path.lexists(self._path):
                self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                self._put_new()
            self._connection = self._checked(connect(self._path, corrupt=self._corrupt))
        return self._connection

    def _checked(self, connection: sqlite3.Connection) -> sqlite3.Connection:
        with closed_on_error(connection):
            self._check_version(connection)
            self._check(connection)
        connection.text_factory = _readable
        return connection

    def _check_version(self, connection: sqlite3.Connection) -> None:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        known = self._content.version
        if version > known and not find_fault(self._path):
            raise IndexCorrupt(
                f"The {self._what} in {shown.place(self._path)} were written by a newer sidecar (format "
                f"{version}; this one knows"
                f" {known}). Use that one, or move the file away to start without {self._what}."
            )
        if version == known - 1 and self._content.upgrade:
            version = self._upgraded(connection)
        if version != known:
            raise sqlite3.DatabaseError(f"it is not a file of {self._what}")

    def _upgraded(self, connection: sqlite3.Connection) -> int:
        connection.create_function("seal", -1, seal, deterministic=True)
        with all_or_nothing(connection):
            # Another process may have upgraded it meanwhile.
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            for statement in self._content.upgrade if version == self._content.version - 1 else ():
                connection.execute(statement)
        return int(connection.execute("PRAGMA user_version").fetchone()[0])

    def _check(self, connection: sqlite3.Connection) -> None:
        """Raises DamagedRow if SQLite finds a fault in the file, unless it is too large to be checked."""
        if self._path.stat().st_size > _MOST_CHECKED:
            return
        for only in self._content.checked or (1,):
            (found,) = connection.execute(f"PRAGMA integrity_check({only})").fetchone()
            if found != "ok":
                raise DamagedRow(str(found).replace("\n", " "))

    def _put_new(self, old: sqlite3.Connection | None = None) -> Rescued:
        """Puts a new file in place, with the entries that can be rescued from `old`."""
        new = self._path.with_suffix(f".{uuid.uuid4().hex[:8]}.new")
        try:
            with contextlib.closing(open_file(new)) as connection:
                for statement in self._content.schema:
                    connection.execute(statement)
                with all_or_nothing(connection):
                    rescued = Rescued() if old is None else self._content.rescue(old, connection)
            if old is not None:
                new.replace(self._path)
            else:
                self._place(new)
        finally:
            new.unlink(missing_ok=True)
        return rescued

    def _place(self, new: Path) -> None:
        """Puts a new file in place unless another process has put one there first."""
        with contextlib.suppress(FileExistsError):
            try:
                os.link(new, self._path)
            except FileExistsError:
                raise
            except OSError:  # the file system has no links
                new.rename(self._path)

    # ------------------------------------------------------------ damage

    @contextmanager
    def _noticing(self) -> Iterator[None]:
        with self._lock:
            self._depth += 1
            try:
                with translated(self._path, self._corrupt):
                    yield
            except IndexCorrupt as error:
                if self._depth > 1 or not isinstance(error.__cause__, sqlite3.Error):
                    raise
                raise self._mended(error) from error
            finally:
                self._depth -= 1

    def _mended(self, error: IndexCorrupt) -> SidecarError:
        """Sets a damaged file aside; returns the error that says what happened to it."""
        self.close()
        fault = self._fault() or (str(error.__cause__) if isinstance(error.__cause__, DamagedRow) else "")
        if not fault:
            return error  # another process has replaced it, or the file is not the cause
        aside = self._free_name()
        try:
            rescued = self._set_aside(aside)
        except (OSError, sqlite3.Error) as problem:
            return PermissionDenied(
                f"{shown.place(self._path)} is damaged ({shown.reason(fault)}) and cannot be set aside: "
                f"{shown.reason(problem)}."
            )
        return IndexCorrupt(
            f"The {self._what} in {shown.place(self._path)} cannot be read ({shown.reason(fault)}). The file is "
            f"now {shown.place(aside.name)} in the same"
            f" folder; {self._rescued(rescued.count)}."
            f"{_said('Lost', rescued.lost)}{_said('Not certainly as they were', rescued.doubtful)} Try again."
        )

    def _rescued(self, number: int) -> str:
        verbs = ("has", "is") if number == 1 else ("have", "are")
        return f"{number:,} of the {self._what} {verbs[0]} been rescued and {verbs[1]} in use"

    def _fault(self) -> str:
        if self._path.is_dir():
            return "it is a folder"
        fault = find_fault(self._path)
        if fault:
            return fault
        with contextlib.suppress(sqlite3.Error), contextlib.closing(connect_readonly(self._path)) as connection:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            return "" if version >= self._content.version else f"it is not a file of {self._what}"
        return ""

    def _free_name(self) -> Path:
        number = 1
        while os.path.lexists(aside := self._path.with_name(f"{self._path.stem}.damaged-{number}.sqlite")):
            number += 1
        return aside

    def _set_aside(self, aside: Path) -> Rescued:
        """Renames the damaged file and its logs and puts a new file in place.

        The logs are renamed first, because the new file must not be opened with the logs of the old one.
        """
        for ending in ("-wal", "-shm"):
            part = Path(f"{self._path}{ending}")
            if os.path.lexists(part):
                part.rename(f"{aside}{ending}")
        try:
            os.link(self._path, aside)  # the path keeps a file until the new one replaces it
        except OSError:  # the path is a folder, or the file system has no links
            self._path.rename(aside)
        with contextlib.closing(_opened_for_rescue(aside)) as old:
            return self._put_new(old)


def _said(what: str, names: Sequence[str]) -> str:
    if not names:
        return ""
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f" {what}: {', '.join(map(shown.quoted, names[:_MOST_NAMED]))}{more}."


def stored_seal(old: sqlite3.Connection, table: str) -> str:
    """Returns the expression that reads the checksums of a damaged table; NULL in a format that had none."""
    with contextlib.suppress(sqlite3.Error):
        old.execute(f"EXPLAIN SELECT seal FROM {table}")
        return "seal"
    return "NULL"


def _opened_for_rescue(aside: Path) -> sqlite3.Connection:
    """Opens a connection that reads as much of a damaged file as possible."""
    try:
        connection = open_file(aside, "mode=ro")
    except sqlite3.Error:  # it is no file at all
        connection = sqlite3.connect("")
    connection.text_factory = _readable
    connection.execute("PRAGMA writable_schema = ON")  # reads even a truncated file
    return connection


def _readable(text: bytes) -> str:
    """Decodes text leniently: one damaged character must not hide the rest."""
    return text.decode("utf-8", "replace")
