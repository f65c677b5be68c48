"""Determines how current and complete an index is, for the notice of an answer and for a status.

The facts come from a commit of the manifest, the queue of changes, the running job, git, and the process that has the
lease.
"""

from __future__ import annotations

import sqlite3
from typing import Protocol

from sidecar.engine.concurrency.memo import Memo
from sidecar.engine.index.generation import Generation
from sidecar.engine.index.handle import IndexHandle
from sidecar.engine.ingest.workspace_files import WorkspaceFiles
from sidecar.engine.update.activity import Activity
from sidecar.engine.update.live import LiveUpdate
from sidecar.engine.update.shown_files import count_lacking
from sidecar.engine.update.staleness import RunningJob, Staleness, Standing
from sidecar.model.answers import Coverage
from sidecar.parts.coverage import read_coverage


class Commit(Protocol):
    """The part of a snapshot that is read here."""

    connection: sqlite3.Connection
    memo: Memo


class Standings:
    """Determines the `Standing` of one workspace's index."""

    def __init__(self, files: WorkspaceFiles, index: IndexHandle, live_update: LiveUpdate, activity: Activity) -> None:
        self._files = files
        self._index = index
        self._live_update = live_update
        self._activity = activity

    def of_answer(self, generation: Generation, commit: Commit, fresh: bool) -> Standing:
        """Returns the standing for an answer from this commit. `fresh`: the commit contains all changes that were known
        at the time of the request."""
        short = None if fresh else self._live_update.shortfall()
        return self._standing(generation, commit, self._job(), short)

    def now(self, generation: Generation, commit: Commit) -> Standing:
        """Returns the standing at this moment, without waiting for anything."""
        return self._standing(generation, commit, self._job(), self._live_update.known_shortfall())

    def _standing(self, generation: Generation, commit: Commit, job: RunningJob, short: Staleness | None) -> Standing:
        reads_only = generation.writer is None
        coverage = commit.memo.get(Coverage, lambda: read_coverage(commit.connection))
        if coverage.cancelled and short is not None and not (short.pending or short.error):
            short = None  # the noted pass over the whole workspace is the cancelled one
        if reads_only and (waiting := _dirty(commit.connection)):
            short = Staleness(waiting)
        return Standing(
            coverage=coverage,
            job=job,
            short=short,
            # Another process keeps this index up to date with the files, but not with the unsaved text of this
            # process's editors.
            reader_reason=generation.read_only_reason
            if self._files.buffers or not self._index.kept_up_elsewhere
            else "",
            moved=reads_only and self._is_elsewhere(commit.connection),
            next_commit=not reads_only and self._live_update.waits_for_commits,
            awaiting=self._count_awaiting(commit.connection),
            unread=self._live_update.unread,
            unapplied=self._index.unapplied(generation),
            limit=self._files.limit(),
        )

    def _job(self) -> RunningJob:
        if kind := self._index.doing:
            return RunningJob(kind, self._activity.done, self._activity.total, self._activity.says)
        return RunningJob(self._index.doing_elsewhere(), elsewhere=True)

    def _count_awaiting(self, connection: sqlite3.Connection) -> int:
        paths = self._live_update.awaiting_commit()
        return count_lacking(connection, self._files.root, paths) if paths else 0

    def _is_elsewhere(self, connection: sqlite3.Connection) -> bool:
        """Whether git's HEAD has moved since the last pass over the whole workspace."""
        row = connection.execute("SELECT value FROM meta WHERE key = 'head'").fetchone()
        return row is not None and str(row[0]) != self._files.checkout().head


def _dirty(connection: sqlite3.Connection) -> int:
    """Returns how many changes the process that writes the index has noted and not applied."""
    (count,) = connection.execute("SELECT count(*) FROM dirty WHERE path <> '/'").fetchone()
    return int(count)
