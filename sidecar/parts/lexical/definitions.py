"""Who defines a name, and which file bears it: exact look-ups beside the inverted index, in the same database."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sidecar.parts.lexical.analyse import file_stem
from sidecar.parts.lexical.postings import Entry
from sidecar.parts.lexical.tokens import fold_name

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
CREATE INDEX definitions_folded ON definitions(folded);
CREATE INDEX definitions_file ON definitions(file_id);
CREATE TABLE file_stems(folded TEXT NOT NULL, file_id INTEGER NOT NULL, PRIMARY KEY(folded, file_id)) WITHOUT ROWID;
CREATE INDEX file_stems_file ON file_stems(file_id);
"""
_COLUMNS = "file_id, chunk_id, name, folded, kind, start_line, end_line, depth, exported, container"
MAX_ROWS_PER_NAME = 400
"""A name that is defined more often than this (`new`, `run`) tells nothing more by its further definitions."""


class DefinitionRow(NamedTuple):
    """One definition as stored; `chunk_id` is the chunk where it starts."""

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
    for statement in SCHEMA.split(";\n"):
        if statement.strip():
            connection.execute(statement)


def write_definitions(connection: sqlite3.Connection, entries: Sequence[Entry]) -> None:
    connection.executemany(
        "INSERT INTO definitions VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
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
    )
    connection.executemany(
        "INSERT OR IGNORE INTO file_stems VALUES(?, ?)",
        ((fold_name(file_stem(analysed.path)), file_id) for file_id, _, analysed in entries),
    )


def forget_files(connection: sqlite3.Connection, file_ids: Sequence[int]) -> None:
    rows = [(i,) for i in file_ids]
    connection.executemany("DELETE FROM definitions WHERE file_id = ?", rows)
    connection.executemany("DELETE FROM file_stems WHERE file_id = ?", rows)


def find_definitions(connection: sqlite3.Connection, folded: Iterable[str]) -> list[DefinitionRow]:
    """Definitions of these folded names, at most 400 of each, outermost first."""
    rows: list[DefinitionRow] = []
    for name in dict.fromkeys(folded):
        found = connection.execute(
            f"SELECT {_COLUMNS} FROM definitions WHERE folded = ? ORDER BY depth, file_id, start_line LIMIT ?",
            (name, MAX_ROWS_PER_NAME),
        )
        rows += map(DefinitionRow._make, found)
    return rows


def find_definitions_by_prefix(connection: sqlite3.Connection, folded: str, limit: int) -> list[DefinitionRow]:
    """Definitions whose folded name begins so and goes on, shortest names first."""
    return [
        DefinitionRow._make(row)
        for row in connection.execute(
            f"SELECT {_COLUMNS} FROM definitions WHERE folded > ? AND folded < ?"
            " ORDER BY length(folded), depth, file_id, start_line LIMIT ?",
            (folded, folded + "\U0010ffff", limit),
        )
    ]


def find_definitions_containing(
    connection: sqlite3.Connection, pieces: Sequence[str], limit: int
) -> list[DefinitionRow]:
    """Definitions whose folded name holds every piece somewhere, shortest names first. Reads the whole table."""
    where = " AND ".join("instr(folded, ?)" for _ in pieces)
    return [
        DefinitionRow._make(row)
        for row in connection.execute(
            f"SELECT {_COLUMNS} FROM definitions WHERE {where}"
            " ORDER BY length(folded), depth, file_id, start_line LIMIT ?",
            (*pieces, limit),
        )
    ]


def find_stems(connection: sqlite3.Connection, folded: Iterable[str]) -> list[tuple[str, int]]:
    """`(folded stem, file id)` of the files that bear one of these names."""
    return [
        (name, file_id)
        for name in dict.fromkeys(folded)
        for (file_id,) in connection.execute("SELECT file_id FROM file_stems WHERE folded = ?", (name,))
    ]
