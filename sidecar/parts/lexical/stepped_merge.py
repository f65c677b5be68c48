"""Merges segments of the lexical index in steps of at most a tenth of a second: those that are due after a few changes,
and segments of all sizes while the workspace is at rest.

The merged segment is written under a number that `lexical_segments` does not list yet, so no reader sees it. The last
step lists it in place of its sources, whose postings are then deleted in steps as well. A merge that ends early leaves
rows of segments that are not listed; the next merge at rest deletes them first.

A merge reads its sources, and asks for each of their files and chunks whether it is still alive. Nothing else of the
index is read.

In a large index, merges at rest also write bounds (`bounds.py`). Large segments that were not written at rest, or by an
earlier version, are rewritten alone for them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sidecar.model.terms import Ids
from sidecar.parts.lexical.alive import mostly_dead, still_with
from sidecar.parts.lexical.bounds import LONG, BoundsMaker
from sidecar.parts.lexical.merge_choice import due_segments
from sidecar.parts.lexical.postings import merge_rows, next_rows
from sidecar.parts.lexical.segments import (
    delete_rows,
    insert_rows,
    insert_segment,
    lengths_in,
    lengths_of,
    next_segment,
    segments_without_bounds,
)
from sidecar.parts.lexical.values import Lengths

ROWS = 4_000
"""The number of rows of postings (one term in one segment) that one step reads or deletes at rest."""
_SOONER = 4
"""Between changes, a step has a quarter of the rows, because the next saved file waits for it."""
MOST_LEFT = 6
"""The number of segments that are left alone at rest."""
_MUCH_LARGER = 2
_SHARE = 4
"""At rest, a merge of more than two segments rewrites at most this part of the index. So an index is merged in several
merges, each of which stays if the next is interrupted, and its largest segments are not rewritten for every small
one."""
LARGE = 12_000_000
"""The number of postings from which an index has bounds: about 100,000 chunks. Below, all files are scored."""
_WORTH = 12
"""A segment is rewritten for bounds if it has at least this part of the index."""
_RESERVED = ""
"""A term that no text has. Its row keeps the number of a segment that is being written."""


def _none() -> Ids:
    return np.zeros(0, np.int64)


@dataclass(eq=False)
class _Job:
    """One merge. `chunks` and `files` are those ids of the sources that are alive, as far as they have been looked up
    (`looked_up`: how many of both), and `holders` and `collections` the files and the collections that they are in;
    `after` is the last term that has been written, and `postings` their number so far. `at_rest`: whether it is not due
    otherwise. `bounded`: whether bounds are written."""

    sources: Sequence[int]
    target: int
    lengths: Lengths
    at_rest: bool
    bounded: bool
    chunks: Ids = field(default_factory=_none, init=False)
    holders: Ids = field(default_factory=_none, init=False)
    files: Ids = field(default_factory=_none, init=False)
    collections: Ids = field(default_factory=_none, init=False)
    looked_up: int = field(default=0, init=False)
    after: str = field(default="", init=False)
    postings: int = field(default=0, init=False)
    maker: BoundsMaker | None = field(default=None, init=False)

    @property
    def all_looked_up(self) -> bool:
        """Whether it is known of all ids whether they are alive."""
        return self.looked_up == len(self.lengths.chunk_ids) + len(self.lengths.file_ids)

    def look_up(self, connection: sqlite3.Connection, most: int) -> None:
        """Looks up at most `most` further ids: first those of chunks, then those of files."""
        first = self.looked_up - len(self.lengths.chunk_ids)
        if first < 0:
            some = self.lengths.chunk_ids[self.looked_up : self.looked_up + most]
            chunks, holders = still_with(connection, "chunks", "file_id", some)
            self.chunks, self.holders = np.append(self.chunks, chunks), np.append(self.holders, holders)
        else:
            some = self.lengths.file_ids[first : first + most]
            files, collections = still_with(connection, "files", "collection", some)
            self.files, self.collections = np.append(self.files, files), np.append(self.collections, collections)
        self.looked_up += len(some)

    @cached_property
    def alive(self) -> Lengths:
        """The lengths of the chunks and files that are alive."""
        return lengths_of(self.lengths, self.chunks, self.files)


@dataclass(frozen=True, slots=True)
class _Due:
    """The segments to merge next, whether that waits for the rest, and whether bounds are written."""

    sources: Sequence[int]
    only_at_rest: bool
    bounded: bool


class SteppedMerge:
    """The merge, step by step. Not thread-safe. Every step works in the caller's transaction; other transactions may
    write and merge between two steps. After a rolled back transaction, continue with a new `SteppedMerge`.

    `at_rest`: whether few segments are to be left. Otherwise only those are merged that `merge_segments` would merge
    after a commit, and what a merge at rest has begun or left waits for the next rest. `alive` is the number of chunks
    in the table `chunks`, if the caller knows it; otherwise they are counted.
    """

    def __init__(self, rows: int = ROWS, large: int = LARGE, long: int = LONG) -> None:
        """See `ROWS`, `LARGE` and `LONG`."""
        self._rows = rows
        self._large = large
        self._long = long
        self._jobs: list[_Job] = []
        """At most one for the rest, and before it one for the time between changes."""
        self._left: set[int] = set()
        """Segments whose postings are to be deleted without waiting for the rest."""

    def has_work(self, connection: sqlite3.Connection, *, at_rest: bool, alive: int | None = None) -> bool:
        """Whether `step` would do anything. Only reads."""
        if self._job(at_rest) is not None or self._unlisted(connection, at_rest):
            return True
        return bool(self._due(connection, at_rest, alive).sources)

    def step(self, connection: sqlite3.Connection, *, at_rest: bool, alive: int | None = None) -> bool:
        """Does a part of the remaining work. Returns False if there was none."""
        rows = self._rows if at_rest else max(1, self._rows // _SOONER)
        self._drop_overtaken(_listed(connection))
        if unlisted := self._unlisted(connection, at_rest):
            _delete_some(connection, unlisted[0], rows)
            return True
        job = self._job(at_rest)
        if job is None:
            job = self._begin(connection, at_rest, alive)
            if job is None:
                return False
            self._jobs.insert(0, job)
        if not job.all_looked_up:
            job.look_up(connection, rows)
        elif not self._write(connection, job, rows):
            self._end(job, job.sources)
        return True

    def _job(self, at_rest: bool) -> _Job | None:
        """Returns the merge to continue; None if none has been begun."""
        return next((job for job in self._jobs if at_rest or not job.at_rest), None)

    def _drop_overtaken(self, listed: set[int]) -> None:
        """Ends the merges of which another merge has taken a source."""
        for job in tuple(self._jobs):
            if not listed.issuperset(job.sources):
                self._end(job, [job.target])

    def _end(self, job: _Job, left: Sequence[int]) -> None:
        """Forgets a merge. `left` are the segments whose postings it leaves behind."""
        self._jobs.remove(job)
        if not job.at_rest:
            self._left.update(left)

    def _unlisted(self, connection: sqlite3.Connection, at_rest: bool) -> list[int]:
        """Returns the segments whose postings are to be deleted."""
        kept = _listed(connection).union(job.target for job in self._jobs)
        stored = _stored(connection)
        self._left.intersection_update(stored)
        return [segment for segment in stored if segment not in kept and (at_rest or segment in self._left)]

    def _begin(self, connection: sqlite3.Connection, at_rest: bool, alive: int | None) -> _Job | None:
        """Starts the next merge and reserves its number; None if no merge is due."""
        due = self._due(connection, at_rest, alive)
        if not due.sources:
            return None
        lengths = lengths_in(connection, due.sources)
        job = _Job(due.sources, next_segment(connection), lengths, due.only_at_rest, due.bounded)
        insert_rows(connection, job.target, [(_RESERVED, None, None, None)])
        return job

    def _due(self, connection: sqlite3.Connection, at_rest: bool, alive: int | None) -> _Due:
        """Returns the segments to merge next; none if none are due."""
        sizes = connection.execute("SELECT segment, postings FROM lexical_segments ORDER BY postings").fetchall()
        whole = sum(postings for _, postings in sizes)
        large = at_rest and whole >= self._large
        if mostly_dead(connection, alive):
            return _Due([segment for segment, _ in sizes], only_at_rest=False, bounded=large)
        if not at_rest:
            return _Due(due_segments(sizes), only_at_rest=False, bounded=False)
        chosen = _due_at_rest(sizes)
        if large and not chosen:
            chosen = segments_without_bounds(connection, whole // _WORTH)[:1]
        return _Due(chosen, only_at_rest=True, bounded=large)

    def _write(self, connection: sqlite3.Connection, job: _Job, most: int) -> bool:
        """Writes the next terms of the merged segment. Returns False once it has replaced its sources."""
        rows = next_rows(connection, job.sources, job.after, most)
        if not rows:
            _finish(connection, job)
            return False
        if job.maker is None and job.bounded:
            job.maker = BoundsMaker(job.alive, job.holders, job.collections, self._long)
        merged = merge_rows(rows, job.chunks, job.files, job.maker)
        insert_rows(connection, job.target, merged.rows, merged.bounds)
        job.postings += merged.postings
        job.after = rows[-1][0]
        return True


def _delete_some(connection: sqlite3.Connection, segment: int, most: int) -> None:
    """Deletes about `most` rows of this segment, the first ones."""
    delete_rows(
        connection,
        "segment = ?1 AND term <= coalesce((SELECT term FROM lexical_postings WHERE segment = ?1 ORDER BY term LIMIT 1"
        " OFFSET ?2), (SELECT max(term) FROM lexical_postings WHERE segment = ?1))",
        (segment, most),
    )


def _due_at_rest(sizes: Sequence[tuple[int, int]]) -> list[int]:
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
    lengths = job.alive
    marks = ",".join(map(str, job.sources))
    connection.execute(f"DELETE FROM lexical_segments WHERE segment IN ({marks})")
    delete_rows(connection, "segment = ? AND term = ?", (job.target, _RESERVED))
    if len(lengths.file_ids):
        insert_segment(connection, job.target, job.postings, lengths, bounded=job.bounded)


def _listed(connection: sqlite3.Connection) -> set[int]:
    return {segment for (segment,) in connection.execute("SELECT segment FROM lexical_segments")}


def _stored(connection: sqlite3.Connection) -> list[int]:
    """Returns the segments that have postings, found without reading the postings."""
    found: list[int] = []
    select = "SELECT min(segment) FROM lexical_postings WHERE segment > ?"
    while (segment := connection.execute(select, (found[-1] if found else -1,)).fetchone()[0]) is not None:
        found.append(segment)
    return found
