"""Carries out a plan in stages, batch by batch: prepare, embed, write. The stages run at the same time, each on its own
thread. If there are only a few files, the caller's thread runs them in turn.

A slow model takes far longer than all other stages, so new files are then written before they are embedded, and can be
found by word as soon as they are read. A file that is already indexed keeps its former version until the new one is
complete, vectors included. An interrupted run is resumed from its last commit.
"""

from __future__ import annotations

import gc
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeAlias, TypeVar

from sidecar.engine.concurrency.right_of_way import QUESTIONS
from sidecar.engine.concurrency.stages import run_stages
from sidecar.engine.concurrency.usage import GIVE_BACK_S, give_memory_back
from sidecar.engine.ingest.in_hand import Forgotten
from sidecar.engine.ingest.plan import Plan, batches
from sidecar.engine.ingest.prepare import Failed, Gone, Job, LeftOut, Outcome, Prepared, Touched, is_settled, path_of
from sidecar.engine.ingest.team_vectors import TeamVectors, TextsOf, give_what_was_lost
from sidecar.engine.ports import EmbeddingCache, Parts
from sidecar.errors import Cancelled, DiskFull, IndexCorrupt, IndexLocked, PermissionDenied
from sidecar.locks import Rank, make_lock
from sidecar.model.files import FoundFile
from sidecar.model.terms import Embedder, IsCancelled, Progress, no_progress
from sidecar.parts.coverage import put_awaited
from sidecar.parts.database import translated
from sidecar.parts.left_out import put_left_out
from sidecar.parts.manifest import KnownFile, Manifest
from sidecar.settings.load import Settings
from sidecar.shown import so_far

T = TypeVar("T")

_EMBED_BATCH = 256
# A slow model embeds this many texts in about a second; fewer would not be worth a call to a GPU.
_EMBED_BATCH_SLOW = 32
_INLINE = 4
# Indexing this many bytes creates enough objects to trigger full collections of Python's garbage collector.
_MUCH_BYTES = 1_000_000
_MOST_NOTICED = 10_000
_LET_GO_S = 0.001
"""A lock goes to whoever asks first after it is free, so threads that wait for the manifest's need a moment between two
steps of a merge."""


@dataclass
class Tally:
    """Counts of one run: files and chunks written, distinct bodies embedded, files removed, errors, and files of which
    only the stat was updated (`touched`)."""

    files: int = 0
    chunks: int = 0
    embedded: int = 0
    removed: int = 0
    errors: int = 0
    touched: int = 0


_Written: TypeAlias = tuple[Prepared, int, Sequence[int]]
"""A file that was written, with its file id and chunk ids."""


@dataclass(frozen=True, slots=True)
class _Batch:
    outcomes: Sequence[Outcome]
    known: dict[str, KnownFile]
    began: int
    """The moment (`Forgotten.now`) before any file of the batch was read."""
    waiting: Sequence[Outcome] = ()
    """Outcomes that are not written yet."""
    written: Sequence[_Written] = ()
    vectors: Mapping[bytes, int] = field(default_factory=dict)
    """The ids of the vectors that are known so far, by the hashes of their texts."""
    embedded: int | None = None
    """How many texts of chunks the model has embedded; None as long as vectors are missing."""
    overtaken: frozenset[str] = frozenset()
    """Paths that another run wrote or removed after this run looked them up. Either run may have read the newer text,
    so these files are read again."""

    @property
    def prepared(self) -> list[Prepared]:
        """The files with a text to embed."""
        return [*(p for p, _, _ in self.written), *(o for o in self.waiting if isinstance(o, Prepared))]


class _Steps:
    """Reports how many files of a run are done. Only one thread reports, so the number never decreases."""

    def __init__(self, progress: Progress = no_progress, done: int = 0, total: int = 0) -> None:
        self._progress = progress
        self._done = done
        self._total = total

    def within(self, files: int) -> None:
        """Reports that this many files of the current batch have all their vectors."""
        done = self._done + files
        self._progress(done, self._total, so_far("Indexing", done, self._total))

    def after(self, batch: _Batch) -> None:
        """Reports that a batch is done."""
        self._done += len(batch.outcomes)
        self.within(0)


@dataclass(frozen=True)
class Source:
    """What is indexed: the files of the workspace at `root`. `settings` returns the settings in force for this
    generation; `buffers` maps paths to the unsaved text of open editors."""

    root: str
    settings: Callable[[], Settings]
    buffers: Mapping[str, str]


class Indexer:
    """Writes one generation. Runs may overlap (a rebuild and a saved file): they take turns, commit by commit.

    A slow model (see `team`) takes milliseconds per text instead of microseconds: it gets smaller batches, and only the
    texts whose vectors the team does not have. `on_commit` is called after every commit.
    """

    def __init__(
        self,
        manifest: Manifest,
        kept: EmbeddingCache,
        embedder: Callable[[], Embedder],
        source: Source,
        parts: Parts,
        on_commit: Callable[[], None],
        team: TeamVectors,
    ) -> None:
        self._embed_batch = _EMBED_BATCH_SLOW if team.slow else _EMBED_BATCH
        self._team = team
        self._manifest = manifest
        self._kept = kept
        self._embedder = embedder
        self._source = source
        self._parts = parts
        self._texts = TextsOf(parts.body_text, parts.path_text)
        self._lexical = parts.lexical
        self._on_commit = on_commit
        self._embedding = make_lock(Rank.EMBEDDING)
        self._noticed: set[str] = set()
        self._forgotten = Forgotten()
        self._steps_of_merge = self._lexical.merge_in_steps()

    def carry_out(self, plan: Plan, progress: Progress, cancelled: IsCancelled) -> Tally:
        """Brings the manifest up to date with the plan, and embeds the texts that an interrupted run left without a
        vector. Raises Cancelled between two batches; committed batches stay."""
        tally = Tally()
        newest = self._begin(plan, tally)
        total = len(plan.changed) + plan.unchanged
        progress(plan.unchanged, total, so_far("Reading files", plan.unchanged, total))
        overtaken: set[str] = set()
        gave_back = time.monotonic()
        with self._forgotten.recorded():
            for batch in self._run(plan.changed, _Steps(progress, plan.unchanged, total), cancelled):
                _count(batch, tally)
                overtaken |= batch.overtaken
                if time.monotonic() - gave_back >= GIVE_BACK_S:
                    give_memory_back()
                    gave_back = time.monotonic()
            self._index([f for f in plan.changed if f.path in overtaken], tally, cancelled)
        tally.embedded += self.finish_vectors(cancelled)
        self._remake_released(tally, cancelled)
        self._merge(since=newest)
        give_what_was_lost(self._manifest, self._kept, self._team, self._texts, cancelled)
        return tally

    def index_files(self, files: Sequence[FoundFile], cancelled: IsCancelled, *, force: bool = False) -> Tally:
        """Indexes a few files on the caller's thread. With `force`, files with unchanged bytes are parsed again. Raises
        Cancelled between two batches; committed batches stay.

        It does not merge segments, because somebody may wait for the files; see `merge_step`.
        """
        tally = Tally()
        with self._forgotten.recorded():
            self._index(files, tally, cancelled, force=force)
        self._remake_released(tally, cancelled)
        return tally

    def index_anew(self, files: Sequence[FoundFile], progress: Progress, cancelled: IsCancelled) -> Tally:
        """Indexes many files on the caller's thread, those with unchanged bytes too, and merges segments. Raises
        Cancelled between two batches; committed batches stay."""
        tally = Tally()
        with self._manifest.transaction(unseen=True) as connection:
            newest = self._lexical.newest_segment(connection)
        for batch in batches(files):
            some = self.index_files(batch, cancelled, force=True)
            tally.files += some.files
            tally.chunks += some.chunks
            tally.errors += some.errors
            done = tally.files + tally.errors
            progress(done, len(files), so_far("Indexing", done, len(files)))
            self._merge()
        self._merge(since=newest)
        return tally

    def _index(self, files: Sequence[FoundFile], tally: Tally, cancelled: IsCancelled, *, force: bool = False) -> None:
        """Indexes the files. Those that another run has overtaken are read again, until none is overtaken."""
        while files:
            overtaken: set[str] = set()
            for some in batches(files):
                _check(cancelled)
                batch = self._index_now(some, _Steps(), force=force)
                _count(batch, tally)
                overtaken |= batch.overtaken
            files = [f for f in files if f.path in overtaken]

    def finish_vectors(self, cancelled: IsCancelled) -> int:
        """Gives a vector to the chunks that have none because a run was interrupted or another model made the index.
        Returns how many bodies were embedded. Raises Cancelled."""
        embedded = 0
        while rows := self._manifest.without_vector(_EMBED_BATCH):
            _check(cancelled)
            made, new = self._make_vectors(self._texts.by_hash(rows), lambda _: None)
            with self._manifest.transaction():
                self._manifest.set_vectors(
                    [(r.chunk_id, made[r.body_hash]) for r in rows], [(r.file_id, made[r.path_hash]) for r in rows]
                )
            embedded += len(new & {r.body_hash for r in rows})
            self._on_commit()
        return embedded

    def notice_removed(self, path: str) -> bool:
        """Whether a pass or `remove_as_known` has removed this path since the last call for it. Returns True once per
        removal, so that a person is informed once."""
        if path not in self._noticed:
            return False
        self._noticed.discard(path)
        return True

    def remove(self, path: str) -> bool:
        """Removes a path; returns whether it was indexed."""
        with self._manifest.transaction():
            gone = self._forget([path])
        self._on_commit()
        return gone > 0

    def remove_as_known(self, known: Mapping[str, KnownFile | None]) -> None:
        """Removes the paths whose row is still the given one (None: no row). A path that another run has written since
        then stays."""
        if not known:
            return
        with self._manifest.transaction():
            self._forget_as_known(known)
        self._on_commit()

    def _forget_as_known(self, known: Mapping[str, KnownFile | None]) -> int:
        """Removes these paths; must be called inside a transaction. Returns how many of them were indexed."""
        paths = [path for path, file in known.items() if self._manifest.known_file(path) == file]
        self._note_removed(paths)
        return self._forget(paths)

    def _forget(self, paths: Sequence[str]) -> int:
        """Removes these paths; must be called inside a transaction. Returns how many of them were indexed."""
        self._forgotten.add(paths)
        gone = self._manifest.forget(paths)
        self._lexical.forget_files(self._manifest.connection, gone)
        return len(gone)

    def _note_removed(self, paths: Sequence[str]) -> None:
        if len(self._noticed) > _MOST_NOTICED:
            self._noticed.clear()
        self._noticed.update(paths)

    # ------------------------------------------------------------ stages

    def _begin(self, plan: Plan, tally: Tally) -> int:
        """Writes what the plan knows without reading files. Returns the newest segment of the lexical index."""
        with self._manifest.transaction() as connection:
            newest = self._lexical.newest_segment(connection)
            put_left_out(self._manifest.connection, plan.left_out, plan.unread)
            if plan.whole:
                self._manifest.set_meta(first_beyond=plan.first_beyond)
            tally.removed = self._forget_as_known(plan.removed)
            self._manifest.touch_known((known, found.stat, is_settled(found.stat)) for found, known in plan.same)
            put_awaited(self._manifest.connection, plan.new, all_of_them=plan.whole)
        self._on_commit()
        return newest

    def _run(self, files: Sequence[FoundFile], steps: _Steps, cancelled: IsCancelled) -> Iterator[_Batch]:
        def pieces() -> Iterator[list[FoundFile]]:
            for some in batches(files):
                _check(cancelled)
                yield some

        if len(files) <= _INLINE:
            yield from (self._index_now(some, steps) for some in pieces())
            return
        source = self._source
        received = partial(_received, self._forgotten.now())
        prepared = _while_wanted(
            self._parts.preparers.prepare_all(source.root, source.settings(), (self._jobs(some) for some in pieces())),
            cancelled,
        )
        failed: list[Exception] = []
        # No question needs the lock of the transactions in which this pauses.
        *first, last = self._stages(steps, failed, QUESTIONS.give_way)

        def write_and_merge(batch: _Batch) -> _Batch:
            """Merges segments too, so that merging overlaps with the other stages."""
            written = last(batch)
            QUESTIONS.give_way()
            self._merge()
            return written

        with _old_objects_left_alone() if sum(f.stat.size for f in files) >= _MUCH_BYTES else nullcontext():
            yield from run_stages(prepared, [received, *first, write_and_merge])
        _raise_first(failed)

    def _index_now(self, files: Sequence[FoundFile], steps: _Steps, *, force: bool = False) -> _Batch:
        """Runs all stages one after the other on the caller's thread."""
        failed: list[Exception] = []
        batch = self._prepare(files, force=force)
        for stage in self._stages(steps, failed, lambda: None):
            batch = stage(batch)
        _raise_first(failed)
        return batch

    def _stages(
        self, steps: _Steps, failed: list[Exception], pause: Callable[[], object]
    ) -> list[Callable[[_Batch], _Batch]]:
        """Returns what is done with a batch once its files are prepared. `pause` is called between parts of the work.

        If the model fails, its exception is added to `failed`, and no further text is embedded. New files are then
        written without vectors, so that they can be found by word, and the others keep their former version.
        """
        slow = self._team.slow

        def write_words(batch: _Batch) -> _Batch:
            pause()
            return self._write_words(batch, pause)

        def embed(batch: _Batch) -> _Batch:
            pause()
            try:
                return batch if failed else self._embed(batch, steps.within if slow else lambda _: None)
            except (DiskFull, IndexCorrupt, IndexLocked, PermissionDenied):
                raise
            except Exception as error:
                failed.append(error)
                return batch

        def write(batch: _Batch) -> _Batch:
            pause()
            written = (self._write_words if batch.embedded is None else self._write)(batch, pause)
            steps.after(written)
            return written

        def embed_and_write(batch: _Batch) -> _Batch:
            return write(embed(batch))

        return [write_words, embed_and_write] if slow else [embed, write]

    def _jobs(self, files: Sequence[FoundFile]) -> list[Job]:
        return [Job(f, self._manifest.known_file(f.path), self._source.buffers.get(f.path)) for f in files]

    def _prepare(self, files: Sequence[FoundFile], *, force: bool = False) -> _Batch:
        began = self._forgotten.now()
        jobs = self._jobs(files)
        asked = [replace(job, known=None) for job in jobs] if force else jobs
        return _received(
            began, (jobs, self._parts.preparers.prepare(self._source.root, self._source.settings(), asked))
        )

    def _write_words(self, batch: _Batch, pause: Callable[[], object]) -> _Batch:
        """Writes what can be written without embedding: everything but files that are already indexed. New files get
        the vectors that are already in the embedding cache."""
        now: list[Outcome] = []
        held: list[Outcome] = []
        for outcome in batch.waiting:
            (held if isinstance(outcome, Prepared) and outcome.new.path in batch.known else now).append(outcome)
        new = [o for o in now if isinstance(o, Prepared)]
        kept = self._kept.find([h for p in new for h in (p.new.path_hash, *p.new.body_hashes)])
        return self._write(replace(batch, vectors=kept, waiting=now), pause, held) if now else batch

    def _write(self, batch: _Batch, pause: Callable[[], object], held: Sequence[Outcome] = ()) -> _Batch:
        """Writes what waits to be written, and the vectors of files that were written without, in one transaction.
        `held` are the outcomes that go on waiting."""
        if not (batch.waiting or batch.written):
            return batch
        with self._manifest.transaction():
            overtaken = frozenset(p for o in batch.waiting if self._is_overtaken(p := path_of(o), batch))
            current = [o for o in batch.waiting if path_of(o) not in overtaken]
            for outcome in current:
                self._write_plain(outcome)
            written = self._write_files([o for o in current if isinstance(o, Prepared)], batch.vectors, pause)
            self._write_vectors(batch)
        self._on_commit()
        return replace(batch, waiting=held, written=[*batch.written, *written], overtaken=batch.overtaken | overtaken)

    def _write_vectors(self, batch: _Batch) -> None:
        """Writes the vectors of files that were written without. Must be called inside a transaction."""
        made = batch.vectors
        chunks = [
            (chunk, made[h]) for p, _, ids in batch.written for chunk, h in zip(ids, p.new.body_hashes, strict=True)
        ]
        if batch.written:
            self._manifest.set_vectors(chunks, [(file, made[p.new.path_hash]) for p, file, _ in batch.written])

    def _merge(self, *, since: int | None = None) -> None:
        """Merges the segments that are due. For `since`, at the end of a run, see `merge_segments`."""
        with self._manifest.transaction(unseen=True) as connection:
            # No question needs this transaction's lock, so none waits for a merge that waits for it.
            alive = self._manifest.count_chunks()
            self._lexical.merge_segments(connection, alive=alive, since=since, pause=QUESTIONS.give_way)

    def merge_in_steps(self, stop: Callable[[], bool], *, at_rest: bool) -> None:
        """Merges the segments that are due, or if the workspace is `at_rest` until few are left, or until `stop`
        returns True. The next call continues an unfinished merge."""
        merged = False
        while not stop() and self.merge_step(at_rest=at_rest):
            merged = True
        if merged and at_rest:
            give_memory_back()

    def merge_step(self, *, at_rest: bool) -> bool:
        """Does the next part of what `merge_in_steps` does, in a transaction of about a tenth of a second at rest, else
        of a quarter of that. Returns False if there was nothing to do."""
        manifest = self._manifest
        # Until a failed merge is replaced, no other thread may continue it.
        with manifest.lock, translated(manifest.path):
            alive = manifest.count_chunks()
            if not self._steps_of_merge.has_work(manifest.connection, at_rest=at_rest, alive=alive):
                return False
            try:
                with manifest.transaction(unseen=True) as connection:
                    self._steps_of_merge.step(connection, at_rest=at_rest, alive=alive)
            except BaseException:
                self._steps_of_merge = self._lexical.merge_in_steps()
                raise
        time.sleep(_LET_GO_S)
        return True

    def _is_overtaken(self, path: str, batch: _Batch) -> bool:
        """Whether another run has written or removed this path since the batch looked it up."""
        return self._manifest.known_file(path) != batch.known.get(path) or self._forgotten.after(batch.began, path)

    def _write_plain(self, outcome: Outcome) -> None:
        manifest = self._manifest
        gone: list[int] = []
        if isinstance(outcome, Touched):
            manifest.touch(outcome.path, outcome.stat, outcome.settled, outcome.blob)
        elif isinstance(outcome, LeftOut):
            gone = manifest.put_skip(outcome.skipped, outcome.stat, outcome.settled)
        elif isinstance(outcome, Gone):
            gone = manifest.forget([outcome.path])
        elif isinstance(outcome, Failed):
            manifest.put_failure(outcome.path, outcome.message)
        if not isinstance(outcome, Prepared | Touched):
            self._forgotten.add([path_of(outcome)])
        self._lexical.forget_files(manifest.connection, gone)

    def _write_files(
        self, prepared: Sequence[Prepared], vectors: Mapping[bytes, int], pause: Callable[[], object]
    ) -> list[_Written]:
        """Writes rows, slots and one lexical segment. A text without one of these vectors gets it later. Must be called
        inside a transaction."""
        written: list[_Written] = []
        entries = []
        replaced: list[int] = []
        for p in prepared:
            pause()
            of_bodies = [vectors.get(h, 0) for h in p.new.body_hashes]
            file_id, chunk_ids, old = self._manifest.put_file(p.new, of_bodies, vectors.get(p.new.path_hash, 0))
            entries.append((file_id, chunk_ids, p.terms))
            written.append((p, file_id, chunk_ids))
            if old is not None:
                replaced.append(old)
        self._lexical.forget_files(self._manifest.connection, replaced)
        if entries:
            self._lexical.write_segment(self._manifest.connection, entries, pause)
        return written

    def _embed(self, batch: _Batch, report: Callable[[int], None]) -> _Batch:
        """Makes the vectors of a batch. `report` is called with the number of files, counted from the first, that have
        all their vectors."""
        texts: dict[bytes, str] = {}
        ends = []
        for p in batch.prepared:
            texts[p.new.path_hash] = p.path_text
            texts.update(zip(p.new.body_hashes, p.bodies, strict=True))
            ends.append(len(texts))
        made, new = self._make_vectors(texts, lambda reached: report(bisect_right(ends, reached)))
        return replace(batch, vectors=made, embedded=len(new & {h for p in batch.prepared for h in p.new.body_hashes}))

    def _make_vectors(
        self, texts: Mapping[bytes, str], report: Callable[[int], None]
    ) -> tuple[dict[bytes, int], set[bytes]]:
        """Returns the vector ids of all texts by hash, and the hashes of those that the model had to embed: the texts
        that neither the embedding cache nor the team has. `report` is called with the number of texts, counted from the
        first, that have their vector."""
        with self._embedding:
            made = dict(self._kept.find(list(texts)))
            made.update(self._team.take(self._kept, {h: text for h, text in texts.items() if h not in made}))
            missing = [(place, h) for place, h in enumerate(texts) if h not in made]
            for part in _parts(missing, self._embed_batch):
                # No question needs the lock of embedding.
                QUESTIONS.give_way()
                some = [h for _, h in part]
                vectors = self._embedder().embed_documents([texts[h] for h in some])
                self._team.give([texts[h] for h in some], vectors)
                made.update(zip(some, self._kept.add(some, vectors), strict=True))
                report(part[-1][0] + 1)
        return made, {h for _, h in missing}

    def _remake_released(self, tally: Tally, cancelled: IsCancelled) -> None:
        """Embeds the texts again whose vectors were dropped because another index was deleted before this manifest
        referred to them."""
        while (releases := self._kept.releases()) != self._manifest.kept_releases():
            lost = self._kept.lost(self._manifest.vector_ids())
            with self._manifest.transaction():
                self._manifest.forget_vectors(lost)
                self._manifest.set_meta(kept_releases=releases)
            tally.embedded += self.finish_vectors(cancelled)


@contextmanager
def _old_objects_left_alone() -> Iterator[None]:
    """Exempts all existing objects from Python's garbage collection for the length of the block. Indexing creates so
    many objects that it triggers full collections, each of which would stop all threads for some 80 ms."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _parts(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Splits items into parts of about equal length, none shorter than `size` unless there are fewer items than
    that."""
    count = max(1, len(items) // size) if items else 0
    for number in range(count):
        yield items[len(items) * number // count : len(items) * (number + 1) // count]


def _while_wanted(items: Iterator[T], cancelled: IsCancelled) -> Iterator[T]:
    """Yields the items, and raises Cancelled once the run is cancelled. Work is submitted ahead, so all of it may have
    been then."""
    for item in items:
        _check(cancelled)
        yield item


def _received(began: int, prepared: tuple[Sequence[Job], Sequence[Outcome]]) -> _Batch:
    jobs, outcomes = prepared
    return _Batch(outcomes, {job.found.path: job.known for job in jobs if job.known}, began, outcomes)


def _count(batch: _Batch, tally: Tally) -> None:
    tally.files += len(batch.written)
    tally.chunks += sum(len(ids) for _, _, ids in batch.written)
    tally.embedded += batch.embedded or 0
    for outcome in batch.outcomes:
        tally.errors += isinstance(outcome, Failed)
        tally.touched += isinstance(outcome, Touched)


def _raise_first(failed: Sequence[Exception]) -> None:
    if failed:
        raise failed[0]


def _check(cancelled: IsCancelled) -> None:
    if cancelled():
        raise Cancelled("What has been indexed so far is kept. Index again to continue.")
