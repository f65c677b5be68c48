"""Brings a generation up to date with the files: the whole workspace, some changed paths, or one file.

A person (`workspace.py`) or `update/applier.py` decides when.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from sidecar import shown
from sidecar.engine.concurrency.background import beside
from sidecar.engine.concurrency.right_of_way import QUESTIONS
from sidecar.engine.concurrency.usage import give_memory_back
from sidecar.engine.index.generation import Generation, Writer, is_bare
from sidecar.engine.index.handle import IndexHandle
from sidecar.engine.index.snapshot import Snapshot
from sidecar.engine.ingest.indexer import Tally
from sidecar.engine.ingest.plan import Plan, batches, make_plan, tried_again, without_same
from sidecar.engine.ingest.prepare import Look
from sidecar.engine.ingest.workspace_files import WorkspaceFiles
from sidecar.engine.ports import Walker
from sidecar.engine.update.change_queue import EVERYTHING, Pending
from sidecar.engine.update.jobs import Jobs
from sidecar.engine.update.staleness import Unread, coverage_notice, unread_notice
from sidecar.errors import Cancelled, FileExcluded, FileNotFound, IndexLocked, Internal, PermissionDenied
from sidecar.model.answers import BuildReport, CollectionCounts, FileReport
from sidecar.model.files import COULD_NOT_BE, NO_FILES, Checkout, Decision, FoundFile, Rule, SkippedPath, WalkResult
from sidecar.model.terms import IsCancelled, Progress, never_cancelled, no_progress
from sidecar.parts.coverage import read_coverage, why_no_files
from sidecar.parts.database import blamed
from sidecar.parts.left_out import is_at_or_below, put_left_out, put_looked_at
from sidecar.parts.manifest import KnownFile, Manifest
from sidecar.parts.manifest_reads import read_masked, read_skips

_NEAR = 2_000
"""Walking through this many files takes a fraction of a second. In a smaller workspace all are found before any is
read."""

_MOST_READ = 50
"""The maximum number of files that are read in order to find out whether they have changed."""

_MOST_STEPS = 10
"""The maximum number of steps of a merge, a quarter of a second, for which the caller of `index_one` waits. The next
file, change or rest continues the merge."""


@dataclass
class _Seen:
    """The result of looking again at some paths and folders: files that exist, indexed files that are gone, and paths
    that could not be read. `walked` is by folder."""

    found: list[FoundFile] = field(default_factory=list)
    gone: dict[str, KnownFile | None] = field(default_factory=dict)
    unread: list[SkippedPath] = field(default_factory=list)
    walked: dict[str, WalkResult] = field(default_factory=dict)


class Builder:
    """Writes generations of one workspace. It is the `applier.Target` to which changes are applied.

    `walked`: the checkout when the last whole pass over the workspace began; None before the first.
    """

    def __init__(self, files: WorkspaceFiles, index: IndexHandle, jobs: Jobs) -> None:
        self._files = files
        self._index = index
        self._jobs = jobs
        self._activity = jobs.activity
        self.walked: Checkout | None = None

    def bring_up_to_date(
        self, generation: Generation, progress: Progress, cancelled: IsCancelled, *, wait_for_store: bool = True
    ) -> BuildReport:
        """Walks the workspace, plans what to do and carries out the plan.

        With `wait_for_store`, also waits until the vector store is filled, if searches need it. Raises Cancelled, after
        which committed work stays, and IndexLocked if the generation is read-only.
        """
        manifest = _writer(generation).manifest
        with blamed(manifest.path):
            dirty = manifest.dirty()
            report = self._pass(generation, progress, cancelled, wait_for_store)
            manifest.settle_dirty(dirty)
        self._index.trim(generation)
        give_memory_back()  # for a moment the pass held what is known of every file twice
        return report

    def _pass(
        self, generation: Generation, progress: Progress, cancelled: IsCancelled, wait_for_store: bool
    ) -> BuildReport:
        started = time.monotonic()
        writer = _writer(generation)
        stop = QUESTIONS.giving_way(self._activity.or_stopped(cancelled))
        manifest = writer.manifest
        checkout = self._files.checkout()
        QUESTIONS.give_way()
        is_first = not manifest.count_files()
        if is_first:  # there is nothing that a wrong glob could keep
            self._files.check_globs()
        early = self._read_early(writer, stop) if is_first else Tally()
        # Read before the walk, because a file that another run adds during the walk must not look removed.
        known = manifest.known_files(), manifest.known_skips(), manifest.failures()
        walker = self._files.walker()
        walker.keep(known[0].__contains__)
        walked = walker.walk(stop)
        QUESTIONS.give_way()
        plan = make_plan(walked, *known, self._files.buffers.keys())
        read_anyway = {*self._files.buffers, *known[2]}
        QUESTIONS.give_way()
        plan = without_same(self._with_buffers(plan, walker), known[0], read_anyway, self._files.unmodified)
        plan = self._in_order(plan)
        QUESTIONS.give_way()
        if wait_for_store and (plan.changed or plan.removed):
            writer.store_sync.keep_up()
        tally = writer.indexer.carry_out(plan, self._activity.reporting(progress), stop)
        tally.embedded += early.embedded
        writer.finish(checkout.head)
        self.walked = checkout
        # Opening the store takes a second, so a run that changed nothing does not open it.
        if wait_for_store and writer.store_sync.is_behind():
            writer.store_sync.keep_up()
            total = len(plan.changed) + plan.unchanged
            self._activity.reporting(progress)(total, total, "Filling the vector store")
            while not writer.store_sync.drain(0.2):
                if stop():
                    break
        if wait_for_store and plan.changed:
            self._save_vectors(generation, stop)
        # Nothing was indexed before the early files, so only they can have been found unchanged.
        unchanged = 0 if early.files else plan.unchanged + tally.touched
        return self._report(generation, plan, tally, unchanged, started)

    def _read_early(self, writer: Writer, stop: IsCancelled) -> Tally:
        """Indexes a few files of a large workspace that nobody has indexed yet: those that are read first of the ones
        near the root. The walk through all of its files takes seconds, in which a question can now be answered.

        Whatever the walk then leaves out is removed again. Raises Cancelled.
        """
        walker = self._files.walker()
        near = walker.near_the_root(_NEAR, stop)
        if len(near) < _NEAR:
            return Tally()
        opened = (self._files.find(path, walker) for path in self._files.in_editors())
        files = {found.path: found for found in (*near, *opened) if isinstance(found, FoundFile)}
        first = next(batches(self._files.in_order(list(files.values()))))
        return writer.indexer.index_files(first, stop)

    def _save_vectors(self, generation: Generation, stop: IsCancelled) -> None:
        """Saves the vectors of a large index, because reading them one by one keeps the first question waiting for
        seconds. Ends early if stopped, after which they are read as far as they are saved."""

        def check() -> None:
            if stop():
                raise Cancelled

        with suppress(Cancelled), generation.snapshots.open() as snapshot:
            snapshot.save_vectors(generation.model.dimension, check)

    def apply(self, pending: Pending, cancelled: IsCancelled) -> Pending:
        """Applies changes to the current generation. Returns those that are committed.

        A pass over the whole workspace is not made while another job is running, or if none `_goes_on`. If no
        generation is open for writing, nothing is applied. Raises Cancelled and the errors of the parts.
        """
        with self._index.writing(cancelled) as generation:
            if generation is None:
                return Pending()
            if EVERYTHING in pending.rescan and not self._jobs.is_running and self._goes_on(generation):
                with self._jobs.in_background(cancelled) as stop:
                    if stop is not None:
                        with self._index.announcing("update"):
                            self.bring_up_to_date(generation, no_progress, stop, wait_for_store=False)
                        self._activity.succeeded()
                        return pending
            known = Pending(pending.paths, pending.rescan - {EVERYTHING})
            if known:
                writer = _writer(generation)
                self.catch_up(generation, known, cancelled)
                writer.note_update()
                if writer.manifest.journal_is_long:
                    beside(writer.manifest.write_back)
            return known

    def _goes_on(self, generation: Generation) -> bool:
        """Whether a pass over the whole workspace is made without being asked for. Not if a person has cancelled the
        first one, nor if that one indexed nothing and whoever asks for it again may start from a team snapshot."""
        writer = _writer(generation)
        from_snapshot = self._files.settings().snapshot_source and self._files.limit() is None
        return writer.goes_on and not (from_snapshot and is_bare(writer.manifest.path))

    def note_cancelled(self) -> None:
        """Records that a person has cancelled the first pass over the workspace, so that it is not continued
        automatically."""
        with self._index.writing() as generation:
            if generation is not None:
                _writer(generation).note_cancelled(True)

    def differing(self, changes: Pending) -> frozenset[str]:
        """Returns those of these paths, and of the files in these folders, that are not the same in the current
        generation as on disk. Unsaved text does not count.

        After `_MOST_READ` files, a file with another stat counts as changed without being read.
        """
        with self._index.writing() as generation:
            if generation is None:
                return frozenset()
            manifest = _writer(generation).manifest
            seen = self._look_at(changes, manifest, self._walker(manifest))
            known = {found.path: manifest.known_file(found.path) for found in seen.found}
        gone = {path for path, file in seen.gone.items() if file is not None}
        doubtful = [found for found in seen.found if not _is_as_known(found, known[found.path])]
        saved = [found for found in doubtful if found.path not in self._files.buffers]
        read = {found.path for found in saved[:_MOST_READ] if not self._is_same(found, known[found.path])}
        return frozenset(gone | read | {found.path for found in saved[_MOST_READ:]})

    def _is_same(self, found: FoundFile, known: KnownFile | None) -> bool:
        """Whether the index has the file's present content, or leaves it out because of that."""
        files = self._files
        judged = files.parts.preparers.judge(files.root, files.settings(), Look(found.path, found.stat.size))
        return not judged.decision.indexed if known is None else judged.sha256 == known.sha256

    def unread(self) -> Unread:
        """Returns what could not be read when the current generation was last written."""
        generation = self._index.written()
        if generation is None:
            return Unread()
        unread, files = _writer(generation).manifest.unread()
        return Unread(unread_notice(unread), (*(name for name, _ in unread), *files))

    def remember(self, names: Iterable[str]) -> None:
        """Adds to the current generation's list of changes that wait for the next search."""
        with self._index.writing() as generation:
            if generation is not None:
                _writer(generation).manifest.remember_dirty(names)

    def forget(self, names: Iterable[str]) -> None:
        """Removes from that list."""
        with self._index.writing() as generation:
            if generation is not None:
                manifest = _writer(generation).manifest
                if settled := set(names) & set(manifest.dirty()):
                    manifest.settle_dirty(settled)

    def tidy(self, stop: IsCancelled) -> None:
        """Merges the segments that the applied changes have made due, in short steps. Nobody waits for it; questions,
        further changes and a swap of the generation go first, and a job merges them itself."""
        gives_way = QUESTIONS.giving_way(stop)
        while not (self._jobs.is_running or stop() or gives_way()):
            # A swap waits until nobody is writing, so writing must end with each step.
            with suppress(Cancelled), self._index.writing(stop) as generation:
                if generation is None or not _writer(generation).indexer.merge_step(at_rest=False):
                    return

    def catch_up(self, generation: Generation, pending: Pending, cancelled: IsCancelled) -> None:
        """Applies the changes of some paths and folders to this generation.

        It does not record the time of an update, because the generation may lack other changes.
        """
        writer = _writer(generation)
        seen = self._look_at(pending, writer.manifest, self._walker(writer.manifest))
        with writer.manifest.transaction() as connection:
            for folder, walked in seen.walked.items():
                put_left_out(
                    connection, tried_again(walked, writer.manifest.known_below(folder)), walked.unread, folder
                )
            put_looked_at(connection, pending.paths, seen.unread)
        writer.indexer.remove_as_known(seen.gone)
        writer.indexer.index_files(self._files.in_order(seen.found), self._activity.or_stopped(cancelled))

    def _look_at(self, pending: Pending, manifest: Manifest, walker: Walker) -> _Seen:
        seen = _Seen()
        paths = set(pending.paths)
        for folder in pending.rescan:
            walked = seen.walked[folder] = walker.subtree(folder)
            paths |= {f.path for f in walked.files}
            paths |= {p for p in manifest.known_below(folder) if not is_at_or_below(p, walked.unread)}
        for path in sorted(paths):
            # A changed folder is reported as a path too, so indexed files below it are examined as well.
            known = {p: manifest.known_file(p) for p in (path, *manifest.known_below(path))}
            answer = self._files.find(path, walker)
            if isinstance(answer, FoundFile):
                seen.found.append(answer)
            elif answer is not None and answer.decision.rule in (Rule.NOT_READ, Rule.UNREADABLE):
                kept = any(file is not None for file in known.values())
                rule = Rule.NOT_READ if kept else answer.decision.rule
                seen.unread.append(SkippedPath(answer.path, Decision(rule, answer.decision.detail)))
            else:
                seen.gone.update(known if answer is None else {path: known[path]})
        return seen

    def reindex(self, generation: Generation, path: str) -> FileReport:
        """Indexes one file again, or removes it from the index if it no longer exists.

        Raises FileNotFound if it is neither on disk nor in the index, FileExcluded if it does not belong in the index,
        PermissionDenied or Internal if it cannot be indexed, and IndexLocked.
        """
        indexer = _writer(generation).indexer
        found = self._files.find(path, self._walker(_writer(generation).manifest))
        if found is None:
            if not indexer.remove(path) and not indexer.notice_removed(path):
                raise FileNotFound(f"{shown.place(path)} is neither on disk nor in the index.")
            return FileReport("removed", path, 0)
        if not isinstance(found, FoundFile):
            indexer.remove(path)
            raise _not_indexable(path or ".", found.decision)
        return FileReport("reindexed", path, self.index_one(generation, found))

    def _walker(self, manifest: Manifest) -> Walker:
        """Returns a walker that limits the number of files as the last walk of the whole workspace did."""
        walker = self._files.walker()

        def is_indexed(path: str) -> bool:
            return manifest.known_file(path) is not None

        walker.leave_out_from(manifest.first_beyond(), is_indexed)
        walker.keep(is_indexed)
        return walker

    def index_one(self, generation: Generation, found: FoundFile) -> int:
        """Indexes one file even if it seems unchanged. Returns its number of chunks.

        Raises FileExcluded, PermissionDenied, Internal or IndexLocked.
        """
        writer = _writer(generation)
        stop = self._activity.or_stopped(never_cancelled)
        writer.indexer.index_files([found], stop, force=True)
        gives_way = QUESTIONS.giving_way(stop)
        for _ in range(_MOST_STEPS):
            if gives_way() or not writer.indexer.merge_step(at_rest=False):
                break
        writer.manifest.settle_dirty([found.path])
        with generation.snapshots.open() as snapshot:
            _raise_if_left_out(snapshot, found.path)
            files = [i for i, p in enumerate(snapshot.paths) if p == found.path]
            return int(np.isin(snapshot.chunk_file, files).sum())

    def _with_buffers(self, plan: Plan, walker: Walker) -> Plan:
        """Adds unsaved files that do not exist on disk yet to the plan, so that it does not remove them. `walker` has
        walked the whole workspace, and leaves out what the setting maxFiles has left out."""
        planned = {f.path for f in plan.changed}
        extra = []
        for path in list(self._files.buffers):
            if path not in planned and isinstance(answer := self._files.find(path, walker), FoundFile):
                extra.append(answer)
        found = {f.path for f in extra}
        removed = {path: known for path, known in plan.removed.items() if path not in found}
        return replace(plan, changed=(*plan.changed, *extra), removed=removed)

    def _in_order(self, plan: Plan) -> Plan:
        return replace(plan, changed=tuple(self._files.in_order(plan.changed)))

    def _report(self, generation: Generation, plan: Plan, tally: Tally, unchanged: int, started: float) -> BuildReport:
        counts = count_collections(generation)
        return BuildReport(
            code=counts[0],
            docs=counts[1],
            duration_ms=round((time.monotonic() - started) * 1000),
            errors=tally.errors + sum(skipped.decision.rule in COULD_NOT_BE for skipped in plan.left_out),
            unchanged=unchanged,
            embedded=tally.embedded,
            removed=tally.removed,
            withheld=count_withheld(generation),
            masked=count_masked(generation),
            notice=_notice(generation),
        )


def _is_as_known(found: FoundFile, known: KnownFile | None) -> bool:
    return known is not None and known.settled and known.stat == found.stat


def _notice(generation: Generation) -> str:
    """Returns one line that says why nothing is indexed, or what a limit in the settings has left out; else empty.

    The report counts everything else.
    """
    with generation.snapshots.open() as snapshot:
        coverage = read_coverage(snapshot.connection)
        if not coverage.indexed:
            return why_no_files(snapshot.connection)
    limited = coverage.lacks("maxFiles") or coverage.lacks("maxFileSize")
    return coverage_notice(coverage) if limited else ""


def count_withheld(generation: Generation) -> int:
    """Returns how many files are left out because their name or content looks like a secret."""
    with generation.snapshots.open() as snapshot:
        return sum(skip.decision.rule.value.startswith("secret") for skip in read_skips(snapshot.connection))


def count_masked(generation: Generation) -> int:
    """Returns how many secret values are masked in the indexed text."""
    with generation.snapshots.open() as snapshot:
        return sum(values for _, values in read_masked(snapshot.connection))


def count_collections(generation: Generation) -> tuple[CollectionCounts, CollectionCounts]:
    """Returns the numbers of files and chunks of code, and those of docs."""
    with generation.snapshots.open() as snapshot:
        files = np.bincount(snapshot.file_collection, minlength=2)
        chunks = np.bincount(snapshot.file_collection[snapshot.chunk_file], minlength=2)
    return (
        CollectionCounts(int(files[0]), int(chunks[0])),
        CollectionCounts(int(files[1]), int(chunks[1])),
    )


def _not_indexable(path: str, decision: Decision) -> FileNotFound | FileExcluded:
    """Returns the error for a path that exists and is not indexed. For a path that is not a file, it says what it
    is."""
    if decision.rule is Rule.FOLDER:
        return FileNotFound(f"{shown.place(path)} is {shown.reason(decision.detail)}. Name one file.")
    if decision.rule in NO_FILES:
        return FileExcluded(f"{shown.place(path)} is {shown.reason(decision.detail)}.")
    return FileExcluded(f"{shown.place(path)}: {decision.rule.value} ({shown.reason(decision.detail)}).")


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
        raise IndexLocked(generation.read_only_reason)
    return generation.writer
