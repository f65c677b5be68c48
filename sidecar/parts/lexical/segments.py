"""The tables of the inverted index: postings by segment and term, and a list of the segments with the lengths of what
is in them.

The primary key begins with the segment and not with the term. So a segment is appended and deleted as one range of the
file, and a merge of small segments does not touch the large ones. A query seeks once per segment and term.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from sidecar.model.terms import Ids
from sidecar.parts.lexical.alive import contains
from sidecar.parts.lexical.analyse import FIELDS
from sidecar.parts.lexical.bounds import VERSION
from sidecar.parts.lexical.values import Lengths
from sidecar.parts.one_step import insert_in_few_steps

SCHEMA = """
CREATE TABLE lexical_segments(
    segment INTEGER PRIMARY KEY,
    postings INTEGER NOT NULL,
    chunk_ids BLOB NOT NULL,
    chunk_lengths BLOB NOT NULL,
    file_ids BLOB NOT NULL,
    field_lengths BLOB NOT NULL,
    bounded INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE lexical_postings(
    segment INTEGER NOT NULL,
    term TEXT NOT NULL,
    bodies BLOB,
    names BLOB,
    fields BLOB,
    bounds BLOB,
    PRIMARY KEY(segment, term)
) WITHOUT ROWID;
"""

COLUMNS = 3
NO_BOUNDS: Mapping[str, bytes] = {}
_LENGTHS = "chunk_ids, chunk_lengths, file_ids, field_lengths"

Row = tuple[str, bytes | None, bytes | None, bytes | None]
"""A term with its encoded postings in each column; None where it has none."""


def create_tables(connection: sqlite3.Connection) -> None:
    """Makes the tables."""
    for statement in SCHEMA.split(";\n"):
        if statement.strip():
            connection.execute(statement)


def read_lengths(connection: sqlite3.Connection) -> Lengths:
    """Returns the lengths of everything in the index, dead or alive."""
    return _lengths(connection.execute(f"SELECT {_LENGTHS} FROM lexical_segments"))


def newest_lengths(connection: sqlite3.Connection) -> Iterator[Lengths]:
    """Yields the lengths in each segment, the newest first, so that those of new files are usually in the first few.

    A segment may contain older files too, because merges join old and new ones.
    """
    for (segment,) in connection.execute("SELECT segment FROM lexical_segments ORDER BY segment DESC").fetchall():
        yield lengths_in(connection, [segment])


def insert_rows(
    connection: sqlite3.Connection, segment: int, rows: Iterable[Row], bounds: Mapping[str, bytes] = NO_BOUNDS
) -> None:
    """Writes postings of a segment, with the bounds that some of the terms have."""
    into = "INSERT INTO lexical_postings(segment, term, bodies, names, fields"
    if bounds:
        found = ((segment, *row, bounds.get(row[0])) for row in rows)
        insert_in_few_steps(connection, f"{into}, bounds)", found, COLUMNS + 3)
    else:
        insert_in_few_steps(connection, f"{into})", ((segment, *row) for row in rows), COLUMNS + 2)


def has_bounds(connection: sqlite3.Connection) -> bool:
    """Whether the tables have columns for bounds: a manifest of an earlier version gets them when bounds are written
    for the first time."""
    found = connection.execute("SELECT 1 FROM pragma_table_info('lexical_postings') WHERE name = 'bounds'")
    return found.fetchone() is not None


def make_room_for_bounds(connection: sqlite3.Connection) -> None:
    """Adds the columns for bounds, unless there are any."""
    if not has_bounds(connection):
        connection.execute("ALTER TABLE lexical_postings ADD COLUMN bounds BLOB")
        connection.execute("ALTER TABLE lexical_segments ADD COLUMN bounded INTEGER NOT NULL DEFAULT 0")


def segments_without_bounds(connection: sqlite3.Connection, least: int) -> list[int]:
    """Returns the segments with at least so many postings that were written without bounds of this version, the
    smallest first."""
    bounded = "bounded" if has_bounds(connection) else "0"
    found = connection.execute(
        f"SELECT segment FROM lexical_segments WHERE postings >= ? AND {bounded} <> ? ORDER BY postings",
        (least, VERSION),
    )
    return [segment for (segment,) in found]


def next_segment(connection: sqlite3.Connection) -> int:
    """Returns a number that no segment has, listed or not."""
    (highest,) = connection.execute(
        "SELECT max(coalesce((SELECT max(segment) FROM lexical_segments), 0),"
        " coalesce((SELECT max(segment) FROM lexical_postings), 0))"
    ).fetchone()
    return int(highest) + 1


def newest_segment(connection: sqlite3.Connection) -> int:
    """Returns the highest number of a listed segment; 0 if there is none."""
    (highest,) = connection.execute("SELECT coalesce(max(segment), 0) FROM lexical_segments").fetchone()
    return int(highest)


def insert_segment(
    connection: sqlite3.Connection, segment: int, postings: int, lengths: Lengths, *, bounded: bool = False
) -> None:
    """Lists a segment, so that readers see its postings from now on. `postings` is their number; `bounded` says whether
    it has bounds."""
    # Without bounds, the tables may be those of an earlier version.
    column, version = (", bounded", (VERSION,)) if bounded else ("", ())
    values = (*_values_of(lengths), *version)
    connection.execute(
        f"INSERT INTO lexical_segments(segment, postings, {_LENGTHS}{column}) VALUES(?, ?{', ?' * len(values)})",
        (segment, postings, *values),
    )


def _values_of(lengths: Lengths) -> tuple[bytes, ...]:
    """Returns the values of `_LENGTHS`."""
    return (
        lengths.chunk_ids.astype("<i8").tobytes(),
        lengths.bodies.astype("<u4").tobytes(),
        lengths.file_ids.astype("<i8").tobytes(),
        lengths.fields.astype("<u4").tobytes(),
    )


def _lengths(rows: sqlite3.Cursor) -> Lengths:
    """Returns the lengths in several segments, in ascending order of ids."""
    blobs = rows.fetchall()

    def column(index: int, kind: str) -> NDArray[np.generic]:
        return np.frombuffer(b"".join(row[index] for row in blobs), kind)

    chunk_ids, file_ids = column(0, "<i8").astype(np.int64), column(2, "<i8").astype(np.int64)
    chunks, files = np.argsort(chunk_ids, kind="stable"), np.argsort(file_ids, kind="stable")
    return Lengths(
        chunk_ids[chunks],
        column(1, "<u4").astype(np.uint32)[chunks],
        file_ids[files],
        column(3, "<u4").astype(np.uint32).reshape(-1, FIELDS)[files],
    )


def lengths_in(connection: sqlite3.Connection, segments: Sequence[int]) -> Lengths:
    """Returns the lengths in these segments, dead or alive."""
    marks = ",".join(map(str, segments))
    return _lengths(connection.execute(f"SELECT {_LENGTHS} FROM lexical_segments WHERE segment IN ({marks})"))


def lengths_of(lengths: Lengths, chunks: Ids, files: Ids) -> Lengths:
    """Returns the lengths of these chunks and files, given in ascending order."""
    of_chunks, of_files = contains(chunks, lengths.chunk_ids), contains(files, lengths.file_ids)
    return Lengths(
        lengths.chunk_ids[of_chunks], lengths.bodies[of_chunks], lengths.file_ids[of_files], lengths.fields[of_files]
    )
