"""The inverted index on disk: segments of postings in the manifest's SQLite file, written in its transactions.

Each commit writes one segment and never changes an older one. Ids of files and chunks never repeat, so removing a file
is only "its ids are no longer in the tables `files` and `chunks`": readers mask dead postings, merges drop them.
Segments of a similar size are merged eight at a time, so that there are few of them and a posting is rewritten rarely;
at the end of a run all small ones become one, because every search seeks in each.

The primary key begins with the segment, not the term: a segment is appended and deleted as one stretch of the file,
and a merge of small segments never touches the large ones. A query seeks once per segment and term.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from sidecar.model import Ids
from sidecar.parts.lexical.analyse import FIELDS, Counts, FileTerms
from sidecar.parts.lexical.codec import Tfs, decode_all, decode_few, encode_runs

SCHEMA = """
CREATE TABLE lexical_segments(
    segment INTEGER PRIMARY KEY,
    postings INTEGER NOT NULL,
    chunk_ids BLOB NOT NULL,
    chunk_lengths BLOB NOT NULL,
    file_ids BLOB NOT NULL,
    field_lengths BLOB NOT NULL
);
CREATE TABLE lexical_postings(
    segment INTEGER NOT NULL,
    term TEXT NOT NULL,
    bodies BLOB,
    names BLOB,
    fields BLOB,
    PRIMARY KEY(segment, term)
) WITHOUT ROWID;
"""

MERGE_FACTOR = 8
MERGE_BUDGET = 3_000_000
"""Postings that one unforced merge may rewrite: about a second of one core."""
_SMALL = 300_000
"""Postings that a run's end may rewrite to leave fewer segments: a tenth of a second of one core."""
_FEW_SEGMENTS = 3
_FEW_CHUNKS = 1000
MOST_TERMS = 96
_COLUMNS = 3

Entry = tuple[int, Sequence[int], FileTerms]
"""File id, the ids of its chunks in order, and what `analyse` made of it."""


@dataclass(frozen=True, slots=True)
class Postings:
    """Where some terms stand, term by term: `places` in the list of terms, ids (of chunks, or file id * FIELDS + field)
    and how often. Parallel arrays; ids of one term in no order, dead ones included."""

    places: Ids
    ids: Ids
    tfs: Tfs


class FoundPostings:
    """The postings of some terms over all segments; each column is decoded when it is asked for."""

    def __init__(self, rows: Sequence[tuple[int, Sequence[bytes | None]]]) -> None:
        self._rows = rows

    @cached_property
    def bodies(self) -> Postings:
        return self._column(0)

    @cached_property
    def names(self) -> Postings:
        return self._column(1)

    @cached_property
    def fields(self) -> Postings:
        return self._column(2)

    def _column(self, column: int) -> Postings:
        rows = [(place, blob) for place, blobs in self._rows if (blob := blobs[column]) is not None]
        ids, tfs, sizes = decode_few([blob for _, blob in rows])
        return Postings(np.repeat(np.array([place for place, _ in rows], np.int64), sizes), ids, tfs)


@dataclass(frozen=True, slots=True)
class Lengths:
    """Lengths in terms, ids ascending, dead ids included. `fields` has shape [files, FIELDS]."""

    chunk_ids: Ids
    bodies: NDArray[np.uint32]
    file_ids: Ids
    fields: NDArray[np.uint32]


def create_tables(connection: sqlite3.Connection) -> None:
    for statement in SCHEMA.split(";\n"):
        if statement.strip():
            connection.execute(statement)


def write_segment(connection: sqlite3.Connection, entries: Sequence[Entry]) -> None:
    """Adds one segment with these files. Ids must be new."""
    entries = [entry for entry in entries if len(entry[1])]
    if not entries:
        return
    terms: dict[str, int] = {}
    columns: list[list[_Flat]] = [[] for _ in range(_COLUMNS)]
    for file_id, chunk_ids, analysed in entries:
        numbers = np.array([terms.setdefault(t, len(terms)) for t in analysed.vocabulary], np.int64)
        chunks = np.asarray(chunk_ids, np.int64)
        columns[0].append(_flatten(analysed.bodies, numbers, chunks))
        columns[1].append(_flatten(analysed.names, numbers, chunks))
        columns[2].append(_flatten(analysed.fields, numbers, file_id * FIELDS + np.arange(FIELDS)))
    lengths = Lengths(
        np.concatenate([np.asarray(e[1], np.int64) for e in entries]),
        np.concatenate([e[2].body_lengths for e in entries]),
        np.array([e[0] for e in entries], np.int64),
        np.stack([e[2].field_lengths for e in entries]),
    )
    _insert(connection, list(terms), [_join(parts) for parts in columns], lengths)


def read_postings(connection: sqlite3.Connection, terms: Sequence[str]) -> FoundPostings:
    """Of these terms, which are all different; only the first 96 are looked up."""
    return _read(connection, terms, "bodies, names, fields")


def read_bodies(connection: sqlite3.Connection, terms: Sequence[str]) -> Postings:
    """The same for those who ask in which chunks a term stands, and nothing else."""
    return _read(connection, terms, "bodies").bodies


def _read(connection: sqlite3.Connection, terms: Sequence[str], columns: str) -> FoundPostings:
    places = {term: place for place, term in enumerate(terms[:MOST_TERMS])}
    marks = ",".join("?" * len(places))
    rows = connection.execute(
        f"SELECT term, {columns} FROM lexical_postings"
        f" WHERE segment IN (SELECT segment FROM lexical_segments) AND term IN ({marks})",
        list(places),
    )
    return FoundPostings(sorted(((places[term], blobs) for term, *blobs in rows), key=itemgetter(0)))


def read_lengths(connection: sqlite3.Connection, after: int = 0) -> Lengths:
    """Lengths of everything in the index, dead or alive; `after`: of what stands in segments with chunks above that id.

    Some of that may be older: a merge puts old and new together.
    """
    columns = "chunk_ids, chunk_lengths, file_ids, field_lengths"
    if after <= 0:
        return _lengths(connection.execute(f"SELECT {columns} FROM lexical_segments"))
    # A segment's ids ascend.
    last = connection.execute("SELECT segment, substr(chunk_ids, -8) FROM lexical_segments").fetchall()
    marks = ",".join(str(segment) for segment, blob in last if int.from_bytes(blob, "little") > after)
    return _lengths(connection.execute(f"SELECT {columns} FROM lexical_segments WHERE segment IN ({marks})"))


def merge_segments(
    connection: sqlite3.Connection, *, force: bool = False, at_end: bool = False, budget: int = MERGE_BUDGET
) -> int:
    """Merges what is due and returns how many segments went; `force` makes one segment of all, without dead postings.

    `at_end`: no more comes for now, so that small segments that are not due otherwise become one, if there are more
    than a few. What is due is at most `budget` postings, unless more than half of the index is dead: then all of it is
    written anew, which costs less than what made it so.

    The alive ids are those of the tables `files` and `chunks` of the same transaction.
    """
    sizes = connection.execute("SELECT segment, postings FROM lexical_segments ORDER BY segment").fetchall()
    chosen = [s for s, _ in sizes] if force or _mostly_dead(connection) else _due(sizes, budget)
    if at_end and not chosen:
        chosen = _small(sizes)
    if not chosen:
        return 0
    marks = ",".join(map(str, chosen))
    lengths = _alive_lengths(
        connection,
        _lengths(
            connection.execute(
                "SELECT chunk_ids, chunk_lengths, file_ids, field_lengths FROM lexical_segments"
                f" WHERE segment IN ({marks})"
            )
        ),
    )
    terms: dict[str, int] = {}
    blobs: list[list[tuple[int, bytes]]] = [[] for _ in range(_COLUMNS)]
    for term, *row in connection.execute(
        f"SELECT term, bodies, names, fields FROM lexical_postings WHERE segment IN ({marks})"
    ):
        number = terms.setdefault(term, len(terms))
        for column, blob in zip(blobs, row, strict=True):
            if blob is not None:
                column.append((number, blob))
    columns = [_unpack(column) for column in blobs]
    connection.execute(f"DELETE FROM lexical_postings WHERE segment IN ({marks})")
    connection.execute(f"DELETE FROM lexical_segments WHERE segment IN ({marks})")
    alive = [
        _where(columns[0], _contains(lengths.chunk_ids, columns[0].keys)),
        _where(columns[1], _contains(lengths.chunk_ids, columns[1].keys)),
        _where(columns[2], _contains(lengths.file_ids, columns[2].keys // FIELDS)),
    ]
    if len(lengths.file_ids):
        _insert(connection, list(terms), alive, lengths)
    return len(chosen)


# ---------------------------------------------------------------- in memory


@dataclass(frozen=True, slots=True)
class _Flat:
    """Postings of many terms: parallel arrays of term number, key and count."""

    terms: Ids
    keys: Ids
    tfs: Tfs


def _flatten(counts: Counts, numbers: Ids, keys: Ids) -> _Flat:
    return _Flat(numbers[counts.terms], np.repeat(keys, counts.starts[1:] - counts.starts[:-1]), counts.tfs)


def _join(parts: Sequence[_Flat]) -> _Flat:
    return _Flat(
        np.concatenate([p.terms for p in parts]),
        np.concatenate([p.keys for p in parts]),
        np.concatenate([p.tfs for p in parts]),
    )


def _where(flat: _Flat, mask: NDArray[np.bool_]) -> _Flat:
    return flat if mask.all() else _Flat(flat.terms[mask], flat.keys[mask], flat.tfs[mask])


def _contains(sorted_ids: Ids, ids: Ids) -> NDArray[np.bool_]:
    if not len(sorted_ids):
        return np.zeros(len(ids), bool)
    at = np.minimum(np.searchsorted(sorted_ids, ids), len(sorted_ids) - 1)
    return np.asarray(sorted_ids[at] == ids)


def _unpack(blobs: Sequence[tuple[int, bytes]]) -> _Flat:
    if not blobs:
        return _Flat(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.uint8))
    keys, tfs, sizes = decode_all([blob for _, blob in blobs])
    return _Flat(np.repeat(np.array([number for number, _ in blobs], np.int64), sizes), keys, tfs)


def _runs(flat: _Flat) -> Iterator[tuple[int, bytes]]:
    """Term number and encoded postings of every term that has any."""
    if not len(flat.terms):
        return
    order = np.lexsort((flat.keys, flat.terms))
    numbers = flat.terms[order]
    starts = np.flatnonzero(np.diff(numbers, prepend=-1))
    bounds = np.append(starts, len(numbers))
    yield from zip(numbers[starts].tolist(), encode_runs(flat.keys[order], flat.tfs[order], bounds), strict=True)


# ---------------------------------------------------------------- on disk


def _insert(connection: sqlite3.Connection, terms: Sequence[str], columns: Sequence[_Flat], lengths: Lengths) -> None:
    (segment,) = connection.execute("SELECT coalesce(max(segment), 0) + 1 FROM lexical_segments").fetchone()
    connection.execute(
        "INSERT INTO lexical_segments VALUES(?, ?, ?, ?, ?, ?)",
        (
            segment,
            sum(len(flat.keys) for flat in columns),
            lengths.chunk_ids.astype("<i8").tobytes(),
            lengths.bodies.astype("<u4").tobytes(),
            lengths.file_ids.astype("<i8").tobytes(),
            lengths.fields.astype("<u4").tobytes(),
        ),
    )
    encoded = [dict(_runs(flat)) for flat in columns]
    rows = (
        (segment, term, bodies, names, fields)
        for term, number in sorted(zip(terms, range(len(terms)), strict=True))
        if (bodies := encoded[0].get(number)) or encoded[2].get(number) or encoded[1].get(number)
        for names, fields in ((encoded[1].get(number), encoded[2].get(number)),)
    )
    connection.executemany("INSERT INTO lexical_postings VALUES(?, ?, ?, ?, ?)", rows)


def _lengths(rows: sqlite3.Cursor) -> Lengths:
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


def _alive_lengths(connection: sqlite3.Connection, lengths: Lengths) -> Lengths:
    chunks = _contains(_alive(connection, "chunks", lengths.chunk_ids), lengths.chunk_ids)
    files = _contains(_alive(connection, "files", lengths.file_ids), lengths.file_ids)
    return Lengths(lengths.chunk_ids[chunks], lengths.bodies[chunks], lengths.file_ids[files], lengths.fields[files])


def _alive(connection: sqlite3.Connection, table: str, ids: Ids) -> Ids:
    if not len(ids):
        return ids
    rows = connection.execute(
        f"SELECT id FROM {table} WHERE id BETWEEN ? AND ? ORDER BY id", (int(ids[0]), int(ids[-1]))
    ).fetchall()
    return np.fromiter((row[0] for row in rows), np.int64, len(rows))


def _due(sizes: Sequence[tuple[int, int]], budget: int) -> list[int]:
    """Of the lowest tier (one order of 8) with `MERGE_FACTOR` segments the smallest ones, as far as the budget goes."""
    tiers: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for segment, postings in sizes:
        tiers[max(postings, 1).bit_length() // 3].append((segment, postings))
    for _, group in sorted(tiers.items()):
        if len(group) >= MERGE_FACTOR:
            group.sort(key=lambda row: row[1])
            within = sum(total <= budget for total in accumulate(postings for _, postings in group))
            if within > 1:
                return [segment for segment, _ in group[:within]]
    return []


def _small(sizes: Sequence[tuple[int, int]]) -> list[int]:
    """The smallest segments, as many as hold `_SMALL` postings together; none where these are few."""
    group = sorted(sizes, key=lambda row: row[1])
    within = sum(total <= _SMALL for total in accumulate(postings for _, postings in group))
    return [segment for segment, _ in group[:within]] if within > _FEW_SEGMENTS else []


def _mostly_dead(connection: sqlite3.Connection) -> bool:
    (indexed,) = connection.execute("SELECT coalesce(sum(length(chunk_ids)), 0) / 8 FROM lexical_segments").fetchone()
    (alive,) = connection.execute("SELECT count(*) FROM chunks").fetchone()
    return bool(indexed - alive > max(indexed // 2, _FEW_CHUNKS))


__all__ = [
    "MERGE_BUDGET",
    "MERGE_FACTOR",
    "MOST_TERMS",
    "SCHEMA",
    "Entry",
    "FoundPostings",
    "Lengths",
    "Postings",
    "create_tables",
    "merge_segments",
    "read_bodies",
    "read_lengths",
    "read_postings",
    "write_segment",
]
