"""What searches and reports read of a manifest, each over a connection of its own. The tables are those of
`parts/manifest.py`."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from sidecar.model.files import Decision, Rule, SkippedPath
from sidecar.parts.database import connect, translated


def highest_chunk_id(path: Path) -> int:
    """Returns the highest id that a manifest has given a chunk so far; 0 if none. Raises the errors of `translated`."""
    with translated(path), contextlib.closing(connect(path, readonly=True)) as connection:
        row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'chunks'").fetchone()
    return int(row[0]) if row else 0


def chunks_containing(connection: sqlite3.Connection, text: str) -> list[int]:
    """Returns the ids of the chunks that contain this text literally, ascending. Reads every chunk."""
    rows = connection.execute("SELECT id FROM chunks WHERE instr(text, ?) ORDER BY id", (text,))
    return [number for (number,) in rows]


def read_failures(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """Returns (path, message) of each file that could not be indexed, in path order."""
    return connection.execute("SELECT path, message FROM failures ORDER BY path").fetchall()


def read_file_id(connection: sqlite3.Connection, path: str) -> int:
    """Returns the id of an indexed file; 0 if the path is not indexed."""
    row = connection.execute("SELECT id FROM files WHERE path = ?", (path,)).fetchone()
    return row[0] if row else 0


def read_masked_files(connection: sqlite3.Connection, file_ids: Sequence[int]) -> set[int]:
    """Returns those of these files that have hidden values (masked secrets) in their stored text."""
    marks = ",".join("?" * len(file_ids))
    return {i for (i,) in connection.execute(f"SELECT id FROM files WHERE masked > 0 AND id IN ({marks})", file_ids)}


def read_masked(connection: sqlite3.Connection) -> list[tuple[str, int]]:
    """Returns (path, number of hidden values) of each file that has any in its stored text, in path order."""
    return connection.execute("SELECT path, masked FROM files WHERE masked > 0 ORDER BY path").fetchall()


def read_first_beyond(connection: sqlite3.Connection) -> str | None:
    """See `Manifest.first_beyond`."""
    row = connection.execute("SELECT value FROM meta WHERE key = 'first_beyond'").fetchone()
    return None if row is None or row[0] is None else str(row[0])


def read_skips(connection: sqlite3.Connection) -> list[SkippedPath]:
    """Returns every path left out by the walk or because of its content, in path order."""
    rows = connection.execute(
        "SELECT path, rule, detail FROM skipped UNION ALL SELECT path, rule, detail FROM left_out ORDER BY 1"
    ).fetchall()
    return [SkippedPath(p, Decision(Rule(r), d)) for p, r, d in rows]
