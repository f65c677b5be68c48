"""Records which rows on a server belong to which slots of one generation, in a small SQLite file of the store's own.

On the server, rows are named by their content alone, so that checkouts can share them; a generation uses slots. Several
slots may have the same content. If the file is lost, the server is asked again which rows it has.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sidecar import shown
from sidecar.errors import IndexCorrupt, StoreFailed, disk_error
from sidecar.locks import Rank, make_lock
from sidecar.model.terms import Ids
from sidecar.parts.database import all_or_nothing, open_file, translated

Names = NDArray[np.int64]
"""Names of rows, shape [n, 2]."""

_SCHEMA = (
    "CREATE TABLE slots(collection TEXT, slot INTEGER, name BLOB, PRIMARY KEY(collection, slot)) WITHOUT ROWID",
    "CREATE INDEX by_name ON slots(collection, name)",
    "CREATE TABLE server(identities TEXT)",
)
_BLOCK = 900
_FILE = "sent.sqlite"


def slots_by_name(names: int) -> str:
    """Returns the question for the slots of a collection that have one of so many names: by name, then ascending."""
    # Ordered by slot alone, SQLite would read every slot of the collection, in the order of the primary key.
    marks = ",".join("?" * names)
    return f"SELECT name, slot FROM slots WHERE collection = ? AND name IN ({marks}) ORDER BY name, slot"


class SentRows:
    """The rows that have been sent. Thread-safe. Methods raise DiskFull, PermissionDenied, and StoreFailed with
    `rebuild` if the file is damaged."""

    def __init__(self, folder: Path, identities: Mapping[str, str]) -> None:
        """Opens the file, or creates it for the collections with these identities."""
        self._path = folder / _FILE
        self._lock = make_lock(Rank.MANIFEST_LOOK_UP)
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise disk_error(error, folder) from error
        with self._translated():
            self._connection = open_file(self._path)
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._connection.execute("PRAGMA journal_mode = WAL")
            if not self._connection.execute("SELECT 1 FROM sqlite_master").fetchone():
                with all_or_nothing(self._connection):
                    for statement in _SCHEMA:
                        self._connection.execute(statement)
                    self._connection.execute("INSERT INTO server VALUES (?)", (json.dumps(dict(identities)),))

    @staticmethod
    def exist(folder: Path) -> bool:
        """Whether this folder has such a file."""
        return (folder / _FILE).exists()

    @staticmethod
    def forget(folder: Path) -> None:
        """Deletes the file. Raises nothing."""
        for ending in ("", "-wal", "-shm"):
            with contextlib.suppress(OSError):
                (folder / f"{_FILE}{ending}").unlink()

    def identities(self) -> dict[str, str]:
        """Returns the identities of the collections to which the rows were sent."""
        with self._reading() as read:
            return dict(json.loads(read.execute("SELECT identities FROM server").fetchone()[0]))

    def put(self, collection: str, slots: Ids, names: Names) -> None:
        """Records that these slots have the rows with these names, shape [n, 2]."""
        rows = [(collection, slot, name.tobytes()) for slot, name in zip(slots.tolist(), names, strict=True)]
        with self._reading() as connection, all_or_nothing(connection):
            connection.executemany("INSERT OR REPLACE INTO slots VALUES (?, ?, ?)", rows)

    def remove(self, collection: str, slots: Ids) -> None:
        """Forgets these slots."""
        with self._reading() as connection, all_or_nothing(connection):
            connection.executemany(
                "DELETE FROM slots WHERE collection = ? AND slot = ?", [(collection, slot) for slot in slots.tolist()]
            )

    def count(self, collection: str) -> int:
        """Returns how many slots have rows."""
        with self._reading() as read:
            (number,) = read.execute("SELECT count(*) FROM slots WHERE collection = ?", (collection,)).fetchone()
        return int(number)

    def slots_of(self, collection: str, names: Names) -> dict[bytes, list[int]]:
        """Returns the slots by name, for those names that have any."""
        found: dict[bytes, list[int]] = {}
        wanted = [name.tobytes() for name in names]
        with self._reading() as read:
            for start in range(0, len(wanted), _BLOCK):
                part = wanted[start : start + _BLOCK]
                for name, slot in read.execute(slots_by_name(len(part)), (collection, *part)):
                    found.setdefault(name, []).append(slot)
        return found

    def some(self, collection: str, count: int) -> Names:
        """Returns the names of `count` slots at random, or of all if there are fewer."""
        with self._reading() as read:
            rows = read.execute(
                "SELECT name FROM slots WHERE collection = ? ORDER BY random() LIMIT ?", (collection, count)
            ).fetchall()
        return _names([row[0] for row in rows])

    def pages(self, collection: str, rows: int) -> Iterator[tuple[Ids, Names]]:
        """Yields all slots with their names, ascending by slot, in pages of the given size."""
        after = -(2**63)
        while True:
            with self._reading() as read:
                page: Sequence[tuple[int, bytes]] = read.execute(
                    "SELECT slot, name FROM slots WHERE collection = ? AND slot > ? ORDER BY slot LIMIT ?",
                    (collection, after, rows),
                ).fetchall()
            if not page:
                return
            yield np.array([slot for slot, _ in page], np.int64), _names([name for _, name in page])
            after = page[-1][0]

    def close(self) -> None:
        """Closes the file."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        with self._lock, self._translated():
            yield self._connection

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            with translated(self._path, "{name}: {error}."):
                yield
        except (IndexCorrupt, ValueError, TypeError) as error:
            raise StoreFailed(
                f"The record of what a Chroma server holds is damaged ({shown.reason(error)}). It is written again.",
                rebuild=True,
            ) from error


def _names(blobs: Sequence[bytes]) -> Names:
    """Returns packed names as an array, shape [n, 2]. Raises ValueError if one has a wrong length."""
    return np.frombuffer(b"".join(blobs), np.int64).reshape(len(blobs), 2)
