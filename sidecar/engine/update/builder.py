"""Brings a generation up to date with the files: the whole workspace, some changed paths, or one file."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from sidecar import shown
from sidecar.engine.index.generation import Generation, Writer
from sidecar.engine.index.snapshot import Snapshot
from sidecar.engine.ingest.indexer import Tally
from sidecar.engine.ingest.plan import Plan, make_plan, tried_again
from sidecar.engine.ports import Parts, Walker
from sidecar.engine.update.activity import Activity
from sidecar.engine.update.change_queue import Pending
from sidecar.errors import FileExcluded, FileNotFound, IndexLocked, Internal, PermissionDenied
from sidecar.model import (
    COULD_NOT_BE,
    BuildReport,
    CollectionCounts,
    Decision,
    FileReport,
    FoundFile,
    IsCancelled,
    Progress,
    Rule,
    SkippedPath,
    Stat,
    WalkResult,
)
from sidecar.parts.left_out import is_at_or_below, put_left_out, put_looked_at
from sidecar.parts.manifest import KnownFile, Manifest, read_masked, read_skips
from sidecar.settings.load import Settings


@dataclass
class _Seen:
    """What looking again at some paths and folders has found. `walked` is by folder."""

    found: list[FoundFile] = field(default_factory=list)
    gone: dict[str, KnownFile | None] = field(default_factory=dict)
    unread: list[SkippedPath] = field(default_factory=list)
    walked: dict[str, WalkResult] = field(default_factory=dict)


class Builder:
    """Writes generations of one workspace; each call names the generation."""

    def __init__(self, root: str, parts: Parts, buffers: Mapping[str, str], activity: Activity) -> None:
        self._root = root
        self._parts = parts
        self._buffers = buffers
        self._activity = activity

    def bring_up_to_date(
        self,
        generation: Generation,
        settings: Settings,
        progress: Progress,
        cancelled: IsCancelled,
        *,
        wait_for_store: bool = True,
    ) -> BuildReport:
        """Walks the workspace, plans and carries out the plan.

        With `wait_for_store`, also waits until the vector store is filled, if searches need it. Raises Cancelled, after
        which committed work stays, and IndexLocked if the generation is read-only.
        """
        started = time.monotonic()
        writer = _writer(generation)
        stop = self._activity.or_stopped(cancelled)
        manifest = writer.manifest
        # Read before the walk: a file that another run adds during the walk must not look removed.
        known = manifest.known_files(), manifest.known_skips(), manifest.failures()
        walked = self._parts.make_walker(self._root, settings).walk(stop)
        plan = make_plan(walked, *known, self._buffers.keys())
        plan = self._with_buffers(plan, settings)
        if wait_for_store and (plan.changed or plan.removed):
            writer.store_sync.keep_up()
        tally = writer.indexer.carry_out(plan, self._activity.reporting(progress), stop)
        writer.finish()
        # The store takes a second to open, so a run that changed nothing does not open it.
        if wait_for_store and writer.store_sync.is_behind():
            writer.store_sync.keep_up()
            total = len(plan.changed) + plan.unchanged
            self._activity.reporting(progress)(total, total, "Filling the vector store")
            while not writer.store_sync.drain(0.2):
                if stop():
                    break
        return self._report(generation, plan, tally, started)

    def apply(self, generation: Generation, settings: Settings, pending: Pending, cancelled: IsCancelled) -> None:
        """Applies the changes of some paths and folders, and records the time of the update."""
        self.catch_up(generation, settings, pending, cancelled)
        _writer(generation).note_update()

    def catch_up(self, generation: Generation, settings: Settings, pending: Pending, cancelled: IsCancelled) -> None:
        """Like `apply`, but records no time: the generation may lack other changes."""
        writer = _writer(generation)
        walker = self._parts.make_walker(self._root, settings)
        seen = self._look_at(pending, writer.manifest, walker, settings)
        with writer.manifest.transaction() as connection:
            for folder, walked in seen.walked.items():
                put_left_out(
                    connection, tried_again(walked, writer.manifest.known_below(folder)), walked.unread, folder
                )
            put_looked_at(connection, pending.paths, seen.unread)
        writer.indexer.remove_as_known(seen.gone)
        writer.indexer.index_files(seen.found, self._activity.or_stopped(cancelled))

    def _look_at(self, pending: Pending, manifest: Manifest, walker: Walker, settings: Settings) -> _Seen:
        seen = _Seen()
        paths = set(pending.paths)
        for folder in pending.rescan:
            walked = seen.walked[folder] = walker.subtree(folder)
            paths |= {f.path for f in walked.files}
            paths |= {p for p in manifest.known_below(folder) if not is_at_or_below(p, walked.unread)}
        for path in sorted(paths):
            # A changed folder is reported as a path too, so indexed files below it are looked at as well.
            known = {p: manifest.known_file(p) for p in (path, *manifest.known_below(path))}
            answer = self._find(walker, path, settings)
            if isinstance(answer, FoundFile):
                seen.found.append(answer)
            elif answer is not None and answer.decision.rule in (Rule.NOT_READ, Rule.UNREADABLE):
                kept = any(file is not None for file in known.values())
                rule = Rule.NOT_READ if kept else answer.decision.rule
                seen.unread.append(SkippedPath(answer.path, Decision(rule, answer.decision.detail)))
            else:
                seen.gone.update(known if answer is None else {path: known[path]})
        return seen

    def find(self, path: str, settings: Settings) -> FoundFile | SkippedPath | None:
        """The file if the walk would offer it, the reason if it would not, or None if it does not exist."""
        return self._find(self._parts.make_walker(self._root, settings), path, settings)

    def reindex(self, generation: Generation, settings: Settings, path: str) -> FileReport:
        """Indexes one file again, or removes it from the index if it no longer exists.

        Raises FileNotFound if it is neither on disk nor in the index, FileExcluded if it does not belong in the index,
        PermissionDenied or Internal if it cannot be indexed, and IndexLocked.
        """
        indexer = _writer(generation).indexer
        found = self.find(path, settings)
        if found is None:
            if not indexer.remove(path) and not indexer.notice_removed(path):
                raise FileNotFound(f"{shown.place(path)} is neither on disk nor in the index.")
            return FileReport("removed", path, 0)
        if not isinstance(found, FoundFile):
            indexer.remove(path)
            raise FileExcluded(
                f"{shown.place(path or '.')}: {found.decision.rule.value} ({shown.reason(found.decision.detail)})."
            )
        return FileReport("reindexed", path, self.index_one(generation, found))

    def index_one(self, generation: Generation, found: FoundFile) -> int:
        """Indexes one file even if it seems unchanged; returns its number of chunks.

        Raises FileExcluded, PermissionDenied, Internal or IndexLocked.
        """
        writer = _writer(generation)
        writer.indexer.index_files([found], self._activity.or_stopped(lambda: False), force=True)
        writer.manifest.settle_dirty([found.path])
        with generation.snapshots.open() as snapshot:
            _raise_if_left_out(snapshot, found.path)
            files = [i for i, p in enumerate(snapshot.paths) if p == found.path]
            return int(np.isin(snapshot.chunk_file, files).sum())

    def _find(self, walker: Walker, path: str, settings: Settings) -> FoundFile | SkippedPath | None:
        text = self._buffers.get(path)
        try:
            answer = walker.found(path)
        except FileNotFound:
            answer = None
        if answer is None and text is not None:
            decision = walker.decide(path)
            if decision.indexed:
                docs = self._parts.is_documentation(path, settings)
                return FoundFile(path, Stat(len(text), 0, 0, 0), "docs" if docs else "code")
            return SkippedPath(path, decision)
        return answer

    def _with_buffers(self, plan: Plan, settings: Settings) -> Plan:
        """Adds unsaved files that do not exist on disk yet to the plan, so that it does not remove them."""
        walker = self._parts.make_walker(self._root, settings)
        planned = {f.path for f in plan.changed}
        extra = []
        for path in list(self._buffers):
            if path not in planned and isinstance(answer := self._find(walker, path, settings), FoundFile):
                extra.append(answer)
        found = {f.path for f in extra}
        removed = {path: known for path, known in plan.removed.items() if path not in found}
        return replace(plan, changed=(*plan.changed, *extra), removed=removed)

    def _report(self, generation: Generation, plan: Plan, tally: Tally, started: float) -> BuildReport:
        counts = count_collections(generation)
        return BuildReport(
            code=counts[0],
            docs=counts[1],
            duration_ms=round((time.monotonic() - started) * 1000),
            errors=tally.errors + sum(skipped.decision.rule in COULD_NOT_BE for skipped in plan.left_out),
            unchanged=plan.unchanged + tally.touched,
            embedded=tally.embedded,
            removed=tally.removed,
            withheld=count_withheld(generation),
            masked=count_masked(generation),
        )


def count_withheld(generation: Generation) -> int:
    """How many files are left out because their name or content looks like a secret."""
    with generation.snapshots.open() as snapshot:
        return sum(skip.decision.rule.value.startswith("secret") for skip in read_skips(snapshot.connection))


def count_masked(generation: Generation) -> int:
    """How many secret values are masked in the indexed text."""
    with generation.snapshots.open() as snapshot:
        return sum(values for _, values in read_masked(snapshot.connection))


def count_collections(generation: Generation) -> tuple[CollectionCounts, CollectionCounts]:
    """How many files and chunks there are of code, and of docs."""
    with generation.snapshots.open() as snapshot:
        files = np.bincount(snapshot.file_collection, minlength=2)
        chunks = np.bincount(snapshot.file_collection[snapshot.chunk_file], minlength=2)
    return (
        CollectionCounts(int(files[0]), int(chunks[0])),
        CollectionCounts(int(files[1]), int(chunks[1])),
    )


def _raise_if_left_out(snapshot: Snapshot, path: str) -> None:
    skip = snapshot.connection.execute("SELECT rule, detail FROM skipped WHERE path = ?", (path,)).fetchone()
    if skip is not None:
        raise FileExcluded(f"{shown.place(path)}: {skip[0]} ({shown.reason(skip[1])}).")
    failure = snapshot.connection.execute("SELECT message FROM failures WHERE path = ?", (path,)).fetchone()
    if failure is not None:
        said = PermissionDenied.user_message
        if failure[0].startswith(said):
            raise PermissionDenied(failure[0].removeprefix(said).strip())
        raise Internal(failure[0])


def _writer(generation: Generation) -> Writer:
    if generation.writer is None:
        raise IndexLocked("This process can only read it.")
    return generation.writer
