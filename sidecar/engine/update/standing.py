"""Tells how an index stands to the files of its workspace: for the notice of an answer, and for a status.

It decides nothing itself: what is known comes from the manifest's commit, the queue of changes, the running job, git
and the process that has the lease.
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
    """What is read of a snapshot."""

    connection: sqlite3.Connection
    memo: Memo


class Standings:
    """Tells the `Standing` of one workspace's index."""

    def __init__(self, files: WorkspaceFiles, index: IndexHandle, live_update: LiveUpdate, activity: Activity) -> None:
        self._files = files
        self._index = index
        self._live_update = live_update
        self._activity = activity

    def of_answer(self, generation: Generation, commit: Commit, fresh: bool) -> Standing:
        """The standing for an answer from this commit; `fresh`: all changes that were known when it was asked for are
        in it."""
        short = None if fresh else self._live_update.shortfall()
        return self._standing(generation, commit, self._job(), short)

    def now(self, generation: Generation, commit: Commit) -> Standing:
        """The standing at this moment, without waiting for anything."""
        return self._standing(generation, commit, self._job(), self._live_update.known_shortfall())

    def _standing(self, generation: Generation, commit: Commit, job: RunningJob, short: Staleness | None) -> Standing:
        reads_only = generation.writer is None
        coverage = commit.memo.get(Coverage, lambda: read_coverage(commit.connection))
        if coverage.cancelled and short is not None and not (short.pending or short.error):
            short = None  # the look over the whole workspace that is noted is what was cancelled
        if reads_only and (waiting := _dirty(commit.connection)):
            short = Staleness(waiting)
        return Standing(
            coverage=coverage,
            job=job,
            short=short,
            # Another process keeps this index in step with the files, but not with the text that is unsaved here.
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
        """Whether git's HEAD is not where it was when the index was last looked over as a whole."""
        row = connection.execute("SELECT value FROM meta WHERE key = 'head'").fetchone()
        return row is not None and str(row[0]) != self._files.checkout().head


def _dirty(connection: sqlite3.Connection) -> int:
    """How many changes the process that writes the index has noted and not applied."""
    (count,) = connection.execute("SELECT count(*) FROM dirty WHERE path <> '/'").fetchone()
    return int(count)
