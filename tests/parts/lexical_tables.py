"""A small lexical index in memory: the tables, writing and removing files, and what is alive in it."""

from __future__ import annotations

import sqlite3

import numpy as np

from sidecar.model.files import Chunk, Definition, ParsedFile
from sidecar.parts.lexical.analyse import FIELDS, analyse
from sidecar.parts.lexical.codec import decode_few, encode_runs, postings_in
from sidecar.parts.lexical.index import LexicalIndex
from sidecar.parts.lexical.postings import Postings, read_postings

STEMS = ("alpha", "beta", "gamma", "delta", "epsilon")

Snapshot = dict[str, list[list[tuple[int, int]]]]
"""Per term the living (id, count) pairs of bodies, names and fields."""


def prepare(connection: sqlite3.Connection) -> None:
    """The ids of the manifest's tables are what decides who is alive."""
    connection.execute("CREATE TABLE files(id INTEGER PRIMARY KEY, collection INTEGER NOT NULL DEFAULT 0)")
    connection.execute("CREATE TABLE chunks(id INTEGER PRIMARY KEY, file_id INTEGER)")
    LexicalIndex().create_tables(connection)


def write(connection: sqlite3.Connection, *texts: str, path: str = "src/thing.py") -> list[int]:
    """One segment with one file of one chunk per text; returns the file ids, which are the chunk ids too."""
    (last,) = connection.execute("SELECT coalesce(max(id), 0) FROM files").fetchone()
    (seen,) = connection.execute("SELECT coalesce(max(file_id), 0) FROM definitions").fetchone()
    ids = list(range(max(last, seen) + 1, max(last, seen) + 1 + len(texts)))
    entries = []
    for i, text in zip(ids, texts, strict=True):
        connection.execute("INSERT INTO files(id) VALUES(?)", (i,))
        connection.execute("INSERT INTO chunks VALUES(?, ?)", (i, i))
        parsed = ParsedFile(
            "python", "lines", (Chunk(1, 1, text, "code"),), (Definition(f"name{i}", "function", 1, 1),)
        )
        entries.append((i, [i], analyse(path, parsed)))
    LexicalIndex().write_segment(connection, entries)
    return ids


def remove(connection: sqlite3.Connection, *ids: int) -> None:
    for i in ids:
        connection.execute("DELETE FROM files WHERE id = ?", (i,))
        connection.execute("DELETE FROM chunks WHERE file_id = ?", (i,))
    LexicalIndex().forget_files(connection, ids)


def alive_content(connection: sqlite3.Connection, *terms: str) -> Snapshot:
    """Per term the living (id, count) pairs of bodies, names and fields."""
    alive = {row[0] for row in connection.execute("SELECT id FROM files")}
    found = read_postings(connection, terms)
    return {
        term: [
            sorted((i, n) for i, n in of_place(part, place) if i // size in alive)
            for part, size in ((found.bodies, 1), (found.names, 1), (found.fields, FIELDS))
        ]
        for place, term in enumerate(terms)
    }


def of_place(postings: Postings, place: int) -> list[tuple[int, int]]:
    """Ids and counts of one term."""
    here = postings.places == place
    return list(zip(postings.ids[here].tolist(), postings.tfs[here].tolist(), strict=True))


def make_earlier(connection: sqlite3.Connection) -> None:
    """Turns the tables into those of an earlier version: all postings in one table, with plain blobs, and no bounds."""

    def plain(blob: bytes | None) -> bytes | None:
        return blob and next(encode_runs(*decode_few([blob])[:2], np.array([0, postings_in(blob)])))

    for segment, term, *blobs in connection.execute(
        "SELECT p.segment, term, coalesce(p.bodies, l.bodies), coalesce(p.names, l.names), coalesce(p.fields, l.fields)"
        " FROM lexical_postings p LEFT JOIN lexical_long l ON l.id = long"
    ).fetchall():
        connection.execute(
            "UPDATE lexical_postings SET bodies = ?, names = ?, fields = ? WHERE segment = ? AND term = ?",
            (*map(plain, blobs), segment, term),
        )
    connection.execute("DROP TABLE lexical_long")
    connection.execute("ALTER TABLE lexical_postings DROP COLUMN long")
    connection.execute("ALTER TABLE lexical_segments DROP COLUMN bounded")


def segments(connection: sqlite3.Connection) -> int:
    (number,) = connection.execute("SELECT count(*) FROM lexical_segments").fetchone()
    return int(number)
