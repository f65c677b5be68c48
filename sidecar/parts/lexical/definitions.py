"""Stores definitions and file names, in tables beside the inverted index in the same database, and looks them up."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from sidecar.model.terms import Ids
from sidecar.parts.lexical.analyse import file_stem
from sidecar.parts.lexical.postings import Entry
from sidecar.parts.lexical.tokens import fold_name
from sidecar.parts.one_step import insert_in_few_steps, numbers_in_one_step, rows_in_one_step, values_in_one_step

SCHEMA = """
CREATE TABLE definitions(
    file_id INTEGER NOT NULL,
    chunk_id INTEGER NOT NULL,
    name TEXT NOT NULL,
    folded TEXT NOT NULL,
    kind TEXT NOT NULL,
    start_line INTEGER NOT NULL,
    end_line INTEGER NOT NULL,
    depth INTEGER NOT NULL,
    exported INTEGER NOT NULL,
    container TEXT NOT NULL
);
CREATE INDEX definitions_folded ON definitions(folded, depth, file_id, start_line);
CREATE INDEX definitions_file ON definitions(file_id);
CREATE TABLE file_stems(folded TEXT NOT NULL, file_id INTEGER NOT NULL, PRIMARY KEY(folded, file_id)) WITHOUT ROWID;
CREATE INDEX file_stems_file ON file_stems(file_id);
"""
T = TypeVar("T")
_COLUMNS = "file_id, chunk_id, name, folded, kind, start_line, end_line, depth, exported, container"
_OF_ONE_NAME = (
    f"SELECT * FROM (SELECT {_COLUMNS} FROM definitions WHERE folded = ? ORDER BY depth, file_id, start_line LIMIT ?)"
)
_PLACES_OF_ONE_NAME = (
    "SELECT * FROM (SELECT file_id, rowid AS number FROM definitions"
    " WHERE folded = ? ORDER BY depth, file_id, start_line LIMIT ?)"
)
_AT_PLACES = (
    "FROM (WITH places(number, file, line, last) AS (VALUES {})"
    f" SELECT number, {_COLUMNS} FROM places CROSS JOIN definitions ON definitions.rowid = coalesce("
    "(SELECT rowid FROM definitions WHERE file_id = file AND start_line <= line AND line <= end_line"
    " ORDER BY start_line DESC, end_line, depth DESC, rowid DESC LIMIT 1),"
    "(SELECT rowid FROM definitions WHERE file_id = file AND start_line > line AND start_line <= last"
    " ORDER BY start_line, depth, rowid LIMIT 1)))"
)
_MOST_PLACES = 100
_MOST_READ = 500
_MOST_NAMES = 100
"""The maximum number of names in one statement. SQLite accepts at most 500 parts of a union."""
MAX_ROWS_PER_NAME = 400
"""The maximum number of definitions that are read for one name. For names such as `new` and `run`, more of them add
nothing. """


class DefinitionRow(NamedTuple):
    """A definition as stored. `chunk_id` is the chunk where it starts; `folded` is its name after `fold_name`; lines
    are 1-based."""

    file_id: int
    chunk_id: int
    name: str
    folded: str
    kind: str
    start_line: int
    end_line: int
    depth: int
    exported: bool
    container: str


def create_tables(connection: sqlite3.Connection) -> None:
    """Creates the tables of this module."""
    for statement in SCHEMA.split(";\n"):
        if statement.strip():
            connection.execute(statement)


def write_definitions(connection: sqlite3.Connection, entries: Sequence[Entry]) -> None:
    """Adds the definitions and the stems of these files."""
    insert_in_few_steps(
        connection,
        "INSERT INTO definitions",
        (
            (
                file_id,
                chunk_ids[entry.chunk],
                entry.definition.name,
                fold_name(entry.definition.name),
                entry.definition.kind,
                entry.definition.start_line,
                entry.definition.end_line,
                entry.definition.depth,
                int(entry.definition.exported),
                entry.definition.container,
            )
            for file_id, chunk_ids, analysed in entries
            for entry in analysed.definitions
        ),
        columns=len(DefinitionRow._fields),
    )
    connection.executemany(
        "INSERT OR IGNORE INTO file_stems VALUES(?, ?)",
        ((fold_name(file_stem(analysed.path)), file_id) for file_id, _, analysed in entries),
    )


def forget_files(connection: sqlite3.Connection, file_ids: Sequence[int]) -> None:
    """Deletes the definitions and the stems of these files."""
    rows = [(i,) for i in file_ids]
    connection.executemany("DELETE FROM definitions WHERE file_id = ?", rows)
    connection.executemany("DELETE FROM file_stems WHERE file_id = ?", rows)


def find_definitions(connection: sqlite3.Connection, folded: Iterable[str]) -> list[DefinitionRow]:
    """Returns the definitions with these folded names, at most `MAX_ROWS_PER_NAME` for each name, outermost first."""
    rows: list[DefinitionRow] = []
    for names in _in_blocks(folded):
        each = " UNION ALL ".join([_OF_ONE_NAME] * len(names))
        values = [value for name in names for value in (name, MAX_ROWS_PER_NAME)]
        found = map(DefinitionRow._make, rows_in_one_step(connection, _COLUMNS, f"FROM ({each})", values))
        # SQL does not promise an order of the parts of a union, only of the rows within a part.
        rows += _in_order_of(names, found, lambda row: row.folded)
    return rows


def find_places(connection: sqlite3.Connection, folded: Iterable[str]) -> tuple[Ids, Ids]:
    """Returns the file ids, and the numbers for `read_definitions`, of the definitions that `find_definitions` returns,
    in any order. This reads only an index, which is several times faster."""
    files, numbers = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for names in _in_blocks(folded):
        each = " UNION ALL ".join([_PLACES_OF_ONE_NAME] * len(names))
        values = [value for name in names for value in (name, MAX_ROWS_PER_NAME)]
        file_ids, rows = numbers_in_one_step(connection, ("file_id", "number"), f"FROM ({each})", values)
        files.append(file_ids)
        numbers.append(rows)
    return np.concatenate(files), np.concatenate(numbers)


def read_definitions(connection: sqlite3.Connection, numbers: Sequence[int]) -> list[DefinitionRow]:
    """Returns the definitions with these numbers (see `find_places`), in any order."""
    found: list[DefinitionRow] = []
    for start in range(0, len(numbers), _MOST_READ):
        some = numbers[start : start + _MOST_READ]
        found += _rows(connection, f"rowid IN ({','.join('?' * len(some))})", some)
    return found


def defined_names(connection: sqlite3.Connection, after: int = 0) -> Iterator[str]:
    """Yields the distinct folded names of all definitions, or of those in files with an id above `after`."""
    chosen = "WHERE file_id > ? " if after else ""
    rows = connection.execute(f"SELECT DISTINCT folded FROM definitions {chosen}", [after] if after else [])
    return (name for (name,) in rows)


def defined_among(connection: sqlite3.Connection, folded: Iterable[str]) -> frozenset[str]:
    """Returns those of these folded names that some file defines."""
    found: set[str] = set()
    for names in _in_blocks(folded):
        marks = ",".join("?" * len(names))
        rows = connection.execute(f"SELECT DISTINCT folded FROM definitions WHERE folded IN ({marks})", names)
        found.update(name for (name,) in rows)
    return frozenset(found)


def newest_defining_file(connection: sqlite3.Connection) -> int:
    """Returns the highest id of a file that defines a name; 0 if none does."""
    (highest,) = connection.execute("SELECT max(file_id) FROM definitions").fetchone()
    return int(highest or 0)


def find_definitions_by_prefix(connection: sqlite3.Connection, folded: str, limit: int) -> list[DefinitionRow]:
    """Returns at most `limit` definitions whose folded name begins with `folded` and is longer, shortest names
    first."""
    return _rows(
        connection,
        "folded > ? AND folded < ? ORDER BY length(folded), depth, file_id, start_line LIMIT ?",
        (folded, folded + "\U0010ffff", limit),
    )


def find_definitions_containing(
    connection: sqlite3.Connection, pieces: Sequence[str], limit: int
) -> list[DefinitionRow]:
    """Returns at most `limit` definitions whose folded name contains every piece, shortest names first.

    Reads the whole table. `pieces` must not be empty.
    """
    where = " AND ".join("instr(folded, ?)" for _ in pieces)
    return _rows(connection, f"{where} ORDER BY length(folded), depth, file_id, start_line LIMIT ?", (*pieces, limit))


def find_definitions_around(connection: sqlite3.Connection, file_id: int, line: int) -> list[DefinitionRow]:
    """Returns the definitions of a file that contain this line (1-based), outermost first."""
    return _rows(
        connection,
        "file_id = ? AND start_line <= ? AND ? <= end_line ORDER BY start_line, end_line DESC, depth",
        (file_id, line, line),
    )


def find_definitions_at(
    connection: sqlite3.Connection, places: Sequence[tuple[int, int, int]]
) -> list[DefinitionRow | None]:
    """Returns for each place (file id, first line, last line) the innermost definition around its first line; without
    one, the first definition that starts below that line and not below the last line; None if there is neither."""
    found: list[DefinitionRow | None] = [None] * len(places)
    for start in range(0, len(places), _MOST_PLACES):
        some = places[start : start + _MOST_PLACES]
        source = _AT_PLACES.format(", ".join("(?, ?, ?, ?)" for _ in some))
        values = [value for number, place in enumerate(some, start) for value in (number, *place)]
        for number, *row in rows_in_one_step(connection, f"number, {_COLUMNS}", source, values):
            found[number] = DefinitionRow._make(row)
    return found


def find_main_definition(connection: sqlite3.Connection, file_id: int) -> DefinitionRow | None:
    """Returns the main definition of a file: the longest of its outermost types, else of its outermost functions and
    values. Headings and modules of tests do not count. None if there is no definition."""
    found = _rows(
        connection,
        "file_id = ? AND kind != 'section' AND folded NOT IN ('test', 'tests')"
        " ORDER BY depth, kind IN ('class', 'type') DESC,"
        " end_line - start_line DESC, start_line LIMIT 1",
        (file_id,),
    )
    return found[0] if found else None


def find_ends(connection: sqlite3.Connection, file_id: int, first_line: int, last_line: int) -> list[int]:
    """Returns the lines from `first_line` to `last_line` (1-based, inclusive) on which a definition of the file ends,
    ascending."""
    return values_in_one_step(
        connection,
        "end_line",
        "FROM (SELECT DISTINCT end_line FROM definitions WHERE file_id = ? AND end_line BETWEEN ? AND ?"
        " ORDER BY end_line)",
        (file_id, first_line, last_line),
    )


def _rows(connection: sqlite3.Connection, which: str, values: Sequence[object]) -> list[DefinitionRow]:
    """Returns the definitions that a query selects. `which` is its part after WHERE."""
    found = rows_in_one_step(connection, _COLUMNS, f"FROM (SELECT {_COLUMNS} FROM definitions WHERE {which})", values)
    return list(map(DefinitionRow._make, found))


def find_stems(connection: sqlite3.Connection, folded: Iterable[str]) -> list[tuple[str, int]]:
    """Returns (folded stem, file id) of the files whose stem is one of these, which are folded by `fold_name`."""
    found: list[tuple[str, int]] = []
    for names in _in_blocks(folded):
        source = f"FROM file_stems WHERE folded IN ({', '.join('?' * len(names))})"
        rows = sorted(map(tuple, rows_in_one_step(connection, "folded, file_id", source, names)))
        found += _in_order_of(names, rows, lambda row: row[0])
    return found


def _in_blocks(folded: Iterable[str]) -> Iterator[list[str]]:
    """Yields the distinct names in their order, at most `_MOST_NAMES` at a time."""
    names = list(dict.fromkeys(folded))
    for start in range(0, len(names), _MOST_NAMES):
        yield names[start : start + _MOST_NAMES]


def _in_order_of(names: Sequence[str], rows: Iterable[T], name_of: Callable[[T], str]) -> list[T]:
    """Returns the rows sorted by the place of their name in `names`; rows of the same name stay in their order."""
    places = {name: place for place, name in enumerate(names)}
    return sorted(rows, key=lambda row: places[name_of(row)])
