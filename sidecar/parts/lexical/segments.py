"""The tables of the inverted index: postings by segment and term, and a list of the segments with the lengths of what
is in them.

The primary key begins with the segment and not with the term. So a segment is appended and deleted as one range of the
file, and a merge of small segments does not touch the large ones. A query seeks once per segment and term.

Long postings are in a table of their own, `lexical_long`. SQLite reads every row that it compares with the key sought,
and would read all postings of such rows on its way (docs/decisions/0042).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from sidecar.model.terms import Ids
from sidecar.parts.lexical.alive import contains
from sidecar.parts.lexical.analyse import FIELDS
from sidecar.parts.lexical.bounds import VERSION
from sidecar.parts.lexical.codec import postings_in
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
    long INTEGER,
    PRIMARY KEY(segment, term)
) WITHOUT ROWID;
"""
_LONG_SCHEMA = """
CREATE TABLE lexical_long(
    id INTEGER PRIMARY KEY,
    in_bodies INTEGER NOT NULL,
    bodies BLOB,
    names BLOB,
    fields BLOB,
    bounds BLOB
)
"""

COLUMNS = 3
NO_BOUNDS: Mapping[str, bytes] = {}
LONG_ROW = 512
"""Postings that take at least so many bytes together are in `lexical_long`."""
_SEGMENT = 1 << 32
"""The ids of a segment's long postings begin with its number times this."""
_MADE_AT_ONCE = 1024
_WHOLE = (
    "(SELECT p.segment AS segment, p.term AS term, coalesce(p.bodies, l.bodies) AS bodies, coalesce(p.names, l.names)"
    " AS names, coalesce(p.fields, l.fields) AS fields, l.bounds AS bounds, l.in_bodies AS in_bodies,"
    " CASE WHEN l.id IS NULL THEN p.bodies END AS short"
    " FROM lexical_postings p LEFT JOIN lexical_long l ON l.id = p.long)"
)
_OF_AN_EARLIER_VERSION = (
    "(SELECT segment, term, bodies, names, fields, NULL AS bounds, NULL AS in_bodies, bodies AS short"
    " FROM lexical_postings)"
)
_LENGTHS = "chunk_ids, chunk_lengths, file_ids, field_lengths"
_NO_BLOBS = (None,) * COLUMNS

Row = tuple[str, bytes | None, bytes | None, bytes | None]
"""A term with its encoded postings in each column; None where it has none."""


def create_tables(connection: sqlite3.Connection) -> None:
    """Makes the tables."""
    for statement in SCHEMA.split(";\n"):
        if statement.strip():
            connection.execute(statement)
    connection.execute(_LONG_SCHEMA)


def update_tables(connection: sqlite3.Connection) -> None:
    """Adds what the tables of an earlier version lack. Their rows stay as they are."""
    if has_long_rows(connection):
        return
    connection.execute("ALTER TABLE lexical_postings ADD COLUMN long INTEGER")
    if not connection.execute("SELECT 1 FROM pragma_table_info('lexical_segments') WHERE name = 'bounded'").fetchone():
        connection.execute("ALTER TABLE lexical_segments ADD COLUMN bounded INTEGER NOT NULL DEFAULT 0")
    connection.execute(_LONG_SCHEMA)


def has_long_rows(connection: sqlite3.Connection) -> bool:
    """Whether there is a table for long postings, which those of an earlier version lack until they are written."""
    return connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'lexical_long'").fetchone() is not None


def whole_rows(connection: sqlite3.Connection) -> str:
    """Returns a subquery with the postings of all segments, listed or not, wherever they are. It has the columns
    segment, term, bodies, names, fields and bounds; and to count postings in bodies, in_bodies, or where that is NULL,
    short, which is bodies."""
    return _WHOLE if has_long_rows(connection) else _OF_AN_EARLIER_VERSION


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
    into = "INSERT INTO lexical_postings(segment, term, bodies, names, fields, long)"
    into_long = "INSERT INTO lexical_long(id, in_bodies, bodies, names, fields, bounds)"
    rows, number = iter(rows), 0
    while some := list(islice(rows, _MADE_AT_ONCE)):
        short: list[tuple[object, ...]] = []
        long: list[tuple[object, ...]] = []
        for term, bodies, names, fields in some:
            # Merges write millions of rows, so what is done for a short one is little.
            if len(bodies or b"") + len(names or b"") + len(fields or b"") < LONG_ROW and term not in bounds:
                short.append((segment, term, bodies, names, fields, None))
            else:
                number = number + 1 if number else _next_long(connection, segment)
                short.append((segment, term, *_NO_BLOBS, number))
                in_bodies = postings_in(bodies) if bodies else 0
                long.append((number, in_bodies, bodies, names, fields, bounds.get(term)))
        insert_in_few_steps(connection, into, short, COLUMNS + 3)
        insert_in_few_steps(connection, into_long, long, COLUMNS + 3)


def _next_long(connection: sqlite3.Connection, segment: int) -> int:
    """Returns the next id for long postings of a segment."""
    find = "SELECT max(id) FROM lexical_long WHERE id < ?"
    (last,) = connection.execute(find, (_SEGMENT * (segment + 1),)).fetchone()
    return max(_SEGMENT * segment, last or 0) + 1


def delete_rows(connection: sqlite3.Connection, chosen: str, values: Sequence[object] = ()) -> None:
    """Deletes the postings of the terms and segments that this condition chooses."""
    connection.execute(
        f"DELETE FROM lexical_long WHERE id IN (SELECT long FROM lexical_postings WHERE long IS NOT NULL AND {chosen})",
        values,
    )
    connection.execute(f"DELETE FROM lexical_postings WHERE {chosen}", values)


def segments_without_bounds(connection: sqlite3.Connection, least: int) -> list[int]:
    """Returns the segments with at least so many postings that were written without bounds of this version, the
    smallest first."""
    found = connection.execute(
        "SELECT segment FROM lexical_segments WHERE postings >= ? AND bounded <> ? ORDER BY postings", (least, VERSION)
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
    values = (segment, postings, *_values_of(lengths), VERSION if bounded else 0)
    connection.execute(
        f"INSERT INTO lexical_segments(segment, postings, {_LENGTHS}, bounded) VALUES(?, ?, ?, ?, ?, ?, ?)", values
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
