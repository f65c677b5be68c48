"""Documents that callers supply, in a SQLite file of their own: named indexes with their documents and postings.

Several processes may use one file. `parts/lexical` has the query language, scores and highlights;
`engine/extras/documents.py` holds the indexes in memory.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sidecar.errors import IndexCorrupt
from sidecar.parts.database import readable_names, readable_rows
from sidecar.parts.own_file import Content, DamagedRow, OwnFile, Rescued, seal, stored_seal

SCHEMA_VERSION = 2
_LOWERCASE, _MIN_LENGTH = True, 2
"""The rules of an index whose own are lost."""
_SCHEMA = f"""
CREATE TABLE indexes(
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, lowercase INTEGER NOT NULL, min_length INTEGER NOT NULL
);
CREATE TABLE documents(
    number INTEGER PRIMARY KEY AUTOINCREMENT, index_id INTEGER NOT NULL, doc_id TEXT NOT NULL, content TEXT NOT NULL,
    metadata TEXT NOT NULL, seal INTEGER, UNIQUE(index_id, doc_id)
);
CREATE TABLE postings(
    index_id INTEGER NOT NULL, token TEXT NOT NULL, number INTEGER NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY(index_id, token, number)
) WITHOUT ROWID;
CREATE INDEX postings_by_document ON postings(number);
PRAGMA user_version = {SCHEMA_VERSION}
"""
_VALUES = "index_id, doc_id, content, metadata"
_UPGRADE = (
    "ALTER TABLE documents ADD COLUMN seal INTEGER",
    f"UPDATE documents SET seal = seal({_VALUES})",
    f"PRAGMA user_version = {SCHEMA_VERSION}",
)

CountWords = Callable[[str, bool, int], Mapping[str, int]]
"""Counts the words of a text: (text, whether case is ignored, minimum word length) -> count by word."""


class DocumentFile:
    """Named document indexes in one file. Thread-safe. The file and its folder are created with the first index."""

    def __init__(self, path: Path, count: CountWords) -> None:
        """`count` counts the words of documents that are rescued from a damaged file."""

        def rescue(old: sqlite3.Connection, new: sqlite3.Connection) -> Rescued:
            return _rescue(old, new, count)

        checked = ("indexes", "documents")  # without the postings, which are most of the file
        content = Content("documents", _SCHEMA.split(";"), SCHEMA_VERSION, rescue, _UPGRADE, checked)
        file = OwnFile(path, content)
        self.reading, self.writing, self.close = file.reading, file.writing, file.close

    def create(self, name: str, lowercase: bool, min_length: int) -> bool:
        """Creates an empty index. Returns False when the name is taken."""
        with self.writing() as connection:
            row = (name, int(lowercase), min_length)
            statement = "INSERT OR IGNORE INTO indexes(name, lowercase, min_length) VALUES(?, ?, ?)"
            return connection.execute(statement, row).rowcount == 1

    def find(self, name: str) -> KeptDocuments | None:
        """Returns the index with this name; None when no index has it."""
        with self.reading() as connection:
            if connection is None:
                return None
            row = connection.execute("SELECT id, lowercase, min_length FROM indexes WHERE name = ?", (name,)).fetchone()
        return None if row is None else KeptDocuments(self, row[0], bool(row[1]), row[2])

    def names(self) -> list[str]:
        """Returns the names of all indexes, sorted."""
        with self.reading() as connection:
            rows = [] if connection is None else connection.execute("SELECT name FROM indexes ORDER BY name").fetchall()
        return [row[0] for row in rows]

    def drop(self, name: str) -> bool:
        """Deletes an index with its documents. Returns False when no index has the name."""
        with self.writing() as connection:
            row = connection.execute("DELETE FROM indexes WHERE name = ? RETURNING id", (name,)).fetchone()
            if row is not None:
                connection.execute("DELETE FROM postings WHERE index_id = ?", row)
                connection.execute("DELETE FROM documents WHERE index_id = ?", row)
        return row is not None


class KeptDocuments:
    """One index of the file. See `engine.ports.DocumentStore`."""

    def __init__(self, file: DocumentFile, number: int, lowercase: bool, min_length: int) -> None:
        self._file = file
        self._id = number
        self.lowercase = lowercase
        self.min_length = min_length

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Makes all reads in the block see the same state of the file."""
        with self._file.reading():
            yield

    def put(self, doc_id: str, content: str, metadata: str, counts: Mapping[str, int]) -> bool:
        """Stores a document, replacing the one with the same id. Returns whether there was one."""
        with self._file.writing() as connection:
            place = (self._id, doc_id)
            old = connection.execute("SELECT number FROM documents WHERE index_id = ? AND doc_id = ?", place).fetchone()
            number = connection.execute(
                f"INSERT INTO documents({_VALUES}, seal) VALUES(?, ?, ?, ?, ?)"
                " ON CONFLICT(index_id, doc_id) DO UPDATE SET content = excluded.content, metadata = excluded.metadata,"
                " seal = excluded.seal RETURNING number",
                (*place, content, metadata, seal(*place, content, metadata)),
            ).fetchone()[0]
            if old is not None:
                connection.execute("DELETE FROM postings WHERE index_id = ? AND number = ?", (self._id, number))
            connection.executemany(
                "INSERT INTO postings VALUES(?, ?, ?, ?)",
                sorted((self._id, token, number, count) for token, count in counts.items()),
            )
        return old is not None

    def remove(self, doc_id: str) -> bool:
        """Deletes a document. Returns False when no document has this id."""
        with self._file.writing() as connection:
            row = connection.execute(
                "DELETE FROM documents WHERE index_id = ? AND doc_id = ? RETURNING number", (self._id, doc_id)
            ).fetchone()
            if row is not None:
                connection.execute("DELETE FROM postings WHERE index_id = ? AND number = ?", (self._id, row[0]))
        return row is not None

    def number_of(self, doc_id: str) -> int | None:
        """Returns the number of the document with this id; None when there is none."""
        rows = self._all("SELECT number FROM documents WHERE index_id = ? AND doc_id = ?", doc_id)
        return int(rows[0][0]) if rows else None

    def size(self) -> int:
        """Returns the number of documents."""
        return int(self._one("SELECT count(*) FROM documents WHERE index_id = ?")[0])

    def of(self, token: str) -> dict[int, int]:
        """Returns the postings of a token: its count by document number."""
        return dict(self._all("SELECT number, count FROM postings WHERE index_id = ? AND token = ?", token))

    def numbers(self) -> list[int]:
        """Returns the numbers of all documents, ascending."""
        return [row[0] for row in self._all("SELECT number FROM documents WHERE index_id = ? ORDER BY 1")]

    def content(self, number: int) -> str:
        """Returns the content of a document."""
        return str(self._row(number)[2])

    def doc_id(self, number: int) -> str:
        """Returns the id that the caller gave a document."""
        return str(self._row(number)[1])

    def metadata(self, number: int) -> str:
        """Returns the metadata of a document, as it was stored."""
        with self._file.reading():
            text = str(self._row(number)[3])
            if not _is_json(text):
                raise DamagedRow("the metadata of a document is damaged")
            return text

    def _row(self, number: int) -> tuple[Any, ...]:
        """Returns the `_VALUES` of a document. Raises DamagedRow if they are not what was stored."""
        with self._file.reading():
            found = self._one(f"SELECT {_VALUES}, seal FROM documents WHERE index_id = ? AND number = ?", number)
            *values, sealed = found
            if sealed not in (None, seal(*values)):
                raise DamagedRow("a document is not what was stored")
            return tuple(values)

    def _one(self, statement: str, *values: object) -> tuple[Any, ...]:
        with self._file.reading():
            rows = self._all(statement, *values)
            if not rows:
                raise DamagedRow("a document that the word index refers to is missing")
            return rows[0]

    def _all(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        with self._file.reading() as connection:
            if connection is None:
                raise IndexCorrupt(
                    "The file with the documents was removed while it was being read. Create the index again."
                )
            return connection.execute(statement, (self._id, *values)).fetchall()


def _rescue(old: sqlite3.Connection, new: sqlite3.Connection, count: CountWords) -> Rescued:
    """Copies indexes and documents and recreates the postings.

    Skips documents whose index is lost, and damaged metadata. An index of which only the name is left gets the usual
    rules.
    """
    rescued, names = Rescued(), dict[int, str]()
    rules: dict[int, tuple[bool, int]] = {}

    def keep_index(number: int, name: str, lowercase: object, shortest: object) -> None:
        with contextlib.suppress(sqlite3.IntegrityError, TypeError, ValueError):
            found = bool(lowercase), int(str(shortest))
            new.execute("INSERT INTO indexes VALUES(?, ?, ?, ?)", (number, name, *map(int, found)))
            names[number], rules[number] = name, found

    for row in readable_rows(old, "indexes", "id", "name, lowercase, min_length"):
        keep_index(*row)
    for number, name in _names_of_indexes(old):
        if number not in rules:
            keep_index(number, name, _LOWERCASE, _MIN_LENGTH)
            rescued.doubtful += [f"the rules of {name}"] if number in rules else []

    kept: set[int] = set()
    columns = f"{_VALUES}, {stored_seal(old, 'documents')}"
    for number, *values, sealed in readable_rows(old, "documents", "number", columns):
        index, doc_id, content, metadata = values
        if index not in rules:
            continue
        with contextlib.suppress(sqlite3.IntegrityError):
            is_json = _is_json(str(metadata))
            row = (index, doc_id, content, metadata if is_json else "{}")
            new.execute(
                f"INSERT INTO documents(number, {_VALUES}, seal) VALUES(?, ?, ?, ?, ?, ?)", (number, *row, seal(*row))
            )
            counts = count(str(content), *rules[index])
            new.executemany(
                "INSERT INTO postings VALUES(?, ?, ?, ?)",
                sorted((index, token, number, times) for token, times in counts.items()),
            )
            kept.add(number)
            rescued.count += 1
            if not is_json or sealed not in (None, seal(*values)):
                rescued.doubtful.append(f"{names[index]}/{doc_id}")
    rescued.lost = [
        f"{names.get(index, index)}/{doc_id}"
        for index, doc_id, number in readable_names(old, "documents", "index_id, doc_id, number")
        if number not in kept
    ]
    return rescued


def _names_of_indexes(old: sqlite3.Connection) -> list[tuple[Any, ...]]:
    """Returns the ids and names that the unique index of the names has."""
    return [(number, name) for name, number in readable_names(old, "indexes", "name, id")]


def _is_json(text: str) -> bool:
    """Whether a stored text is whole JSON. A damaged page of the file can leave a text of zeros in its place."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
