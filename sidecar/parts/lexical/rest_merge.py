"""Merges segments of the lexical index of all sizes while the workspace is at rest, in steps of about a tenth of a
second.

The merged segment is written under a number that `lexical_segments` does not list yet, so no reader sees it. The last
step lists it in place of its sources, whose postings are then deleted in steps as well. A merge that ends early leaves
rows of segments that are not listed; the next merge deletes them first.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sidecar.model.terms import Ids
from sidecar.parts.lexical.postings import (
    Row,
    insert_rows,
    insert_segment,
    lengths_in,
    lengths_of,
    merge_rows,
    next_segment,
)

ROWS = 4_000
"""The number of rows of postings (one term in one segment) that one step reads or deletes."""
MOST_LEFT = 6
"""The number of segments that are left alone."""
_MUCH_LARGER = 2
_SHARE = 4
"""A merge of more than two segments rewrites at most this part of the index. So an index is merged in several merges,
each of which stays if the next is interrupted, and its largest segments are not rewritten for every small one."""
_RESERVED = ""
"""A term that no text has. Its row keeps the number of a segment that is being written."""


@dataclass
class _Job:
    """One merge. `chunks` and `files` are the ids that are alive, as far as they have been read (`all_read`: all of
    them); `after` is the last term that has been written, and `postings` their number so far."""

    sources: Sequence[int]
    target: int
    chunks: Ids = field(default_factory=lambda: np.zeros(0, np.int64))
    files: Ids = field(default_factory=lambda: np.zeros(0, np.int64))
    all_read: bool = False
    after: str = ""
    postings: int = 0

    def read(self, connection: sqlite3.Connection, most: int) -> None:
        """Reads at most `most` further ids that are alive: first those of chunks, then those of files."""
        more = _ids_after(connection, "chunks", self.chunks, most)
        self.chunks = np.append(self.chunks, more)
        if not len(more):
            more = _ids_after(connection, "files", self.files, most)
            self.files = np.append(self.files, more)
        self.all_read = not len(more)


class RestMerge:
    """The merge, step by step. Not thread-safe. Every step works in the caller's transaction; other transactions may
    write and merge between two steps. After a rolled back transaction, continue with a new `RestMerge`."""

    def __init__(self, rows: int = ROWS) -> None:
        self._rows = rows
        self._job: _Job | None = None

    def has_work(self, connection: sqlite3.Connection) -> bool:
        """Whether `step` would do anything. Only reads."""
        listed = _listed(connection)
        return len(listed) > MOST_LEFT or not listed.issuperset(_stored(connection))

    def step(self, connection: sqlite3.Connection) -> bool:
        """Does a part of the remaining work. Returns False if there was none."""
        if self._job is not None and not _listed(connection).issuperset(self._job.sources):
            self._job = None  # another merge has taken one of its sources, so its rows have to be deleted
        if self._sweep(connection):
            return True
        if self._job is None:
            self._job = _begin(connection)
        if self._job is None:
            return False
        if not self._job.all_read:
            self._job.read(connection, self._rows)
        elif not self._write(connection, self._job):
            self._job = None
        return True

    def _sweep(self, connection: sqlite3.Connection) -> bool:
        """Deletes some postings of a segment that is not listed. Returns False if there is none."""
        listed, current = _listed(connection), self._job.target if self._job is not None else None
        for segment in _stored(connection):
            if segment not in listed and segment != current:
                connection.execute(
                    "DELETE FROM lexical_postings WHERE segment = ?1 AND term <= coalesce((SELECT term FROM"
                    " lexical_postings WHERE segment = ?1 ORDER BY term LIMIT 1 OFFSET ?2), (SELECT max(term) FROM"
                    " lexical_postings WHERE segment = ?1))",
                    (segment, self._rows),
                )
                return True
        return False

    def _write(self, connection: sqlite3.Connection, job: _Job) -> bool:
        """Writes the next terms of the merged segment. Returns False once it has replaced its sources."""
        rows = self._next_rows(connection, job)
        if not rows:
            _finish(connection, job)
            return False
        merged, postings = merge_rows(rows, job.chunks, job.files)
        insert_rows(connection, job.target, merged)
        job.postings += postings
        job.after = rows[-1][0]
        return True

    def _next_rows(self, connection: sqlite3.Connection, job: _Job) -> list[Row]:
        """Returns the rows of the next terms in all sources, sorted by term: all rows of each term, and at least one
        term."""
        each = max(1, self._rows // len(job.sources))
        found: list[Row] = []
        ends: list[str] = []
        for segment in job.sources:
            rows = connection.execute(
                "SELECT term, bodies, names, fields FROM lexical_postings WHERE segment = ? AND term > ?"
                " ORDER BY term LIMIT ?",
                (segment, job.after, each),
            ).fetchall()
            found += rows
            if len(rows) == each:
                ends.append(rows[-1][0])
        end = min(ends, default=None)
        return sorted((row for row in found if end is None or row[0] <= end), key=lambda row: row[0])


def _begin(connection: sqlite3.Connection) -> _Job | None:
    """Starts the next merge and reserves its number; None if no merge is due."""
    sizes = connection.execute("SELECT segment, postings FROM lexical_segments ORDER BY postings").fetchall()
    sources = _due(sizes)
    if not sources:
        return None
    job = _Job(sources, next_segment(connection))
    connection.execute("INSERT INTO lexical_postings VALUES(?, ?, NULL, NULL, NULL)", (job.target, _RESERVED))
    return job


def _due(sizes: Sequence[tuple[int, int]]) -> list[int]:
    """Returns the segments to merge next. `sizes` are (segment, number of postings), the smallest first. The result is
    empty if there are few segments; else it is the two smallest, and the following ones as long as each is not much
    larger than those before it together, and all together are a small share of the index."""
    if len(sizes) <= MOST_LEFT:
        return []
    chosen = [segment for segment, _ in sizes[:2]]
    total, most = sum(size for _, size in sizes[:2]), sum(size for _, size in sizes) // _SHARE
    for segment, size in sizes[2:]:
        if size > _MUCH_LARGER * total or total + size > most:
            break
        chosen.append(segment)
        total += size
    return chosen


def _finish(connection: sqlite3.Connection, job: _Job) -> None:
    """Lists the merged segment in place of its sources."""
    lengths = lengths_of(lengths_in(connection, job.sources), job.chunks, job.files)
    marks = ",".join(map(str, job.sources))
    connection.execute(f"DELETE FROM lexical_segments WHERE segment IN ({marks})")
    connection.execute("DELETE FROM lexical_postings WHERE segment = ? AND term = ?", (job.target, _RESERVED))
    if len(lengths.file_ids):
        insert_segment(connection, job.target, job.postings, lengths)


def _ids_after(connection: sqlite3.Connection, table: str, known: Ids, most: int) -> Ids:
    """Returns at most `most` ids of a table that follow the known ones, ascending."""
    last = int(known[-1]) if len(known) else 0
    rows = connection.execute(f"SELECT id FROM {table} WHERE id > ? ORDER BY id LIMIT ?", (last, most)).fetchall()
    return np.array([row[0] for row in rows], np.int64)


def _listed(connection: sqlite3.Connection) -> set[int]:
    return {segment for (segment,) in connection.execute("SELECT segment FROM lexical_segments")}


def _stored(connection: sqlite3.Connection) -> list[int]:
    """Returns the segments that have postings, found without reading the postings."""
    found: list[int] = []
    select = "SELECT min(segment) FROM lexical_postings WHERE segment > ?"
    while (segment := connection.execute(select, (found[-1] if found else -1,)).fetchone()[0]) is not None:
        found.append(segment)
    return found
