"""Carries out a plan: prepare -> lexical commit -> embed -> vector commit, each on its own thread, batch by batch.

A file that is new becomes searchable by word as soon as it is read. A file that is already indexed keeps its former
version until the new one is complete, vectors included. Whatever is interrupted is redone from the last commit.
"""

from __future__ import annotations

import gc
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias, TypeVar

from sidecar.engine.concurrency.stages import run_stages
from sidecar.engine.ingest.in_hand import Forgotten
from sidecar.engine.ingest.plan import Plan, batches
from sidecar.engine.ingest.prepare import Failed, Gone, Job, LeftOut, Outcome, Prepared, Touched, path_of
from sidecar.engine.ports import Kept, Parts
from sidecar.errors import Cancelled
from sidecar.locks import Rank, make_lock
from sidecar.model import Embedder, FoundFile, IsCancelled, Progress, no_progress
from sidecar.parts.left_out import put_left_out
from sidecar.parts.manifest import KnownFile, Manifest
from sidecar.settings.load import Settings

T = TypeVar("T")

_EMBED_BATCH = 256
# A slow model takes about a second for these; no fewer, since a card is not woken for fewer.
_EMBED_BATCH_SLOW = 32
_INLINE = 4
# The outcomes of so much make Python's garbage collector look through everything there is.
_MUCH_BYTES = 1_000_000
_MOST_NOTICED = 10_000


@dataclass
class Tally:
    """Counts of one run."""

    files: int = 0
    chunks: int = 0
    embedded: int = 0
    removed: int = 0
    errors: int = 0
    touched: int = 0


_Written: TypeAlias = tuple[Prepared, int, Sequence[int]]
"""What was written, under which file id and chunk ids."""


@dataclass(frozen=True, slots=True)
class _Batch:
    outcomes: Sequence[Outcome]
    known: dict[str, KnownFile]
    began: int
    """Before any of it was read."""
    written: Sequence[_Written] = ()
    held: Sequence[Prepared] = ()
    embedded: int = 0
    overtaken: frozenset[str] = frozenset()
    """Paths that another run wrote after they were looked up for this one: whose reading is the newer one is open."""


class _Steps:
    """Tells how many files of a run are done, which only grows: one thread tells."""

    def __init__(self, progress: Progress = no_progress, done: int = 0, total: int = 0) -> None:
        self._progress = progress
        self._done = done
        self._total = total

    def within(self, files: int) -> None:
        """So many files of the batch in hand have all their vectors."""
        self._progress(self._done + files, self._total, "Indexing")

    def after(self, batch: _Batch) -> None:
        self._done += len(batch.outcomes)
        self.within(0)


@dataclass(frozen=True)
class Source:
    """What is indexed: the files of one workspace by its settings, and by path the unsaved text of open editors."""

    root: str
    settings: Settings
    buffers: Mapping[str, str]


class Indexer:
    """Writes one generation. Several runs may overlap (a rebuild and a saved file): they take turns by commits.

    `slow`: its model embeds a text in milliseconds, not microseconds.
    """

    def __init__(
        self,
        manifest: Manifest,
        kept: Kept,
        embedder: Callable[[], Embedder],
        source: Source,
        parts: Parts,
        on_commit: Callable[[], None],
        *,
        slow: bool = False,
    ) -> None:
        self._embed_batch = _EMBED_BATCH_SLOW if slow else _EMBED_BATCH
        self._manifest = manifest
        self._kept = kept
        self._embedder = embedder
        self._source = source
        self._parts = parts
        self._lexical = parts.lexical
        self._on_commit = on_commit
        self._embedding = make_lock(Rank.EMBEDDING)
        self._noticed: set[str] = set()
        self._forgotten = Forgotten()

    def carry_out(self, plan: Plan, progress: Progress, cancelled: IsCancelled) -> Tally:
        """Brings the manifest up to the plan. Raises Cancelled between two batches; what was committed stays."""
        tally = Tally()
        self._begin(plan, tally)
        total = len(plan.changed) + plan.unchanged
        progress(plan.unchanged, total, "Reading files")
        overtaken: set[str] = set()
        with self._forgotten.heeded():
            for batch in self._run(plan.changed, _Steps(progress, plan.unchanged, total), cancelled):
                _count(batch, tally)
                overtaken |= batch.overtaken
            self._index([f for f in plan.changed if f.path in overtaken], tally, cancelled)
        self._finish_vectors(tally, cancelled)
        self._merge(at_end=True)
        return tally

    def index_files(self, files: Sequence[FoundFile], cancelled: IsCancelled, *, force: bool = False) -> Tally:
        """The same for a few files, on the caller's thread; `force` parses again what has the same bytes."""
        tally = Tally()
        with self._forgotten.heeded():
            self._index(files, tally, cancelled, force=force)
        self._merge()
        return tally

    def _index(self, files: Sequence[FoundFile], tally: Tally, cancelled: IsCancelled, *, force: bool = False) -> None:
        """What another run overtakes is read again until nobody does."""
        while files:
            overtaken: set[str] = set()
            for some in batches(files):
                _check(cancelled)
                batch = self._index_now(some, _Steps(), force=force)
                _count(batch, tally)
                overtaken |= batch.overtaken
            files = [f for f in files if f.path in overtaken]

    def notice_removed(self, path: str) -> bool:
        """Whether upkeep has removed this path since somebody last asked: then a person hears of it once."""
        if path not in self._noticed:
            return False
        self._noticed.discard(path)
        return True

    def remove(self, path: str) -> bool:
        """Forgets a path; whether it was indexed."""
        with self._manifest.transaction():
            gone = self._forget([path])
        self._on_commit()
        return gone > 0

    def remove_as_known(self, known: Mapping[str, KnownFile | None]) -> None:
        """Upkeep's: forgets these paths, save those that another run has written since they were known so."""
        if not known:
            return
        with self._manifest.transaction():
            self._forget_as_known(known)
        self._on_commit()

    def _forget_as_known(self, known: Mapping[str, KnownFile | None]) -> int:
        """Inside a transaction."""
        paths = [path for path, file in known.items() if self._manifest.known_file(path) == file]
        self._note_removed(paths)
        return self._forget(paths)

    def _forget(self, paths: Sequence[str]) -> int:
        """Inside a transaction; returns how many were indexed."""
        self._forgotten.add(paths)
        gone = self._manifest.forget(paths)
        self._lexical.forget_files(self._manifest.connection, gone)
        return len(gone)

    def _note_removed(self, paths: Sequence[str]) -> None:
        if len(self._noticed) > _MOST_NOTICED:
            self._noticed.clear()
        self._noticed.update(paths)

    # ------------------------------------------------------------ stages

    def _begin(self, plan: Plan, tally: Tally) -> None:
        with self._manifest.transaction():
            put_left_out(self._manifest.connection, plan.left_out, plan.unread)
            tally.removed = self._forget_as_known(plan.removed)
        self._on_commit()

    def _run(self, files: Sequence[FoundFile], steps: _Steps, cancelled: IsCancelled) -> Iterator[_Batch]:
        def embed(batch: _Batch) -> _Batch:
            return self._embed(batch, steps)

        def pieces() -> Iterator[list[FoundFile]]:
            for some in batches(files):
                _check(cancelled)
                yield some

        if len(files) <= _INLINE:
            for some in pieces():
                yield self._index_now(some, steps)
            return
        source = self._source
        received = partial(_received, self._forgotten.now())
        prepared = self._parts.preparers.prepare_all(
            source.root, source.settings, (self._jobs(some) for some in pieces())
        )
        with _old_objects_left_alone() if sum(f.stat.size for f in files) >= _MUCH_BYTES else nullcontext():
            yield from run_stages(prepared, [received, self._write_and_merge, embed])

    def _index_now(self, files: Sequence[FoundFile], steps: _Steps, *, force: bool = False) -> _Batch:
        """Every stage in turn, on the caller's thread."""
        return self._embed(self._write_new(self._prepare(files, force=force)), steps)

    def _jobs(self, files: Sequence[FoundFile]) -> list[Job]:
        return [Job(f, self._manifest.known_file(f.path), self._source.buffers.get(f.path)) for f in files]

    def _prepare(self, files: Sequence[FoundFile], *, force: bool = False) -> _Batch:
        began = self._forgotten.now()
        jobs = self._jobs(files)
        asked = [replace(job, known=None) for job in jobs] if force else jobs
        return _received(began, (jobs, self._parts.preparers.prepare(self._source.root, self._source.settings, asked)))

    def _write_new(self, batch: _Batch) -> _Batch:
        with self._manifest.transaction():
            overtaken = frozenset(p for o in batch.outcomes if self._is_overtaken(p := path_of(o), batch))
            current = [o for o in batch.outcomes if path_of(o) not in overtaken]
            prepared = [o for o in current if isinstance(o, Prepared)]
            held = [o for o in prepared if o.new.path in batch.known]
            for outcome in current:
                self._write_plain(outcome)
            written = self._write_files([o for o in prepared if o.new.path not in batch.known])
        self._on_commit()
        return _Batch(batch.outcomes, batch.known, batch.began, written, held, overtaken=overtaken)

    def _write_and_merge(self, batch: _Batch) -> _Batch:
        """As a stage: segments are merged beside the other stages, and not at the end of all."""
        written = self._write_new(batch)
        self._merge()
        return written

    def _merge(self, *, at_end: bool = False) -> None:
        with self._manifest.transaction() as connection:
            self._lexical.merge_segments(connection, at_end=at_end)

    def _is_overtaken(self, path: str, batch: _Batch) -> bool:
        """Whether another run has written or forgotten this file since it was looked up for this one."""
        return self._manifest.known_file(path) != batch.known.get(path) or self._forgotten.after(batch.began, path)

    def _write_plain(self, outcome: Outcome) -> None:
        manifest = self._manifest
        gone: list[int] = []
        if isinstance(outcome, Touched):
            manifest.touch(outcome.path, outcome.stat, outcome.settled)
        elif isinstance(outcome, LeftOut):
            gone = manifest.put_skip(outcome.skipped, outcome.stat, outcome.settled)
        elif isinstance(outcome, Gone):
            gone = manifest.forget([outcome.path])
        elif isinstance(outcome, Failed):
            manifest.put_failure(outcome.path, outcome.message)
        if not isinstance(outcome, Prepared | Touched):
            self._forgotten.add([path_of(outcome)])
        self._lexical.forget_files(manifest.connection, gone)

    def _write_files(self, prepared: Sequence[Prepared]) -> list[_Written]:
        """Inside a transaction: rows, slots and one lexical segment; vectors where they are kept already."""
        wanted = [h for p in prepared for h in (p.new.path_hash, *p.new.body_hashes)]
        kept = self._kept.find(wanted)
        written: list[_Written] = []
        entries = []
        replaced: list[int] = []
        for p in prepared:
            vectors = [kept.get(h, 0) for h in p.new.body_hashes]
            file_id, chunk_ids, old = self._manifest.put_file(p.new, vectors, kept.get(p.new.path_hash, 0))
            entries.append((file_id, chunk_ids, p.terms))
            written.append((p, file_id, chunk_ids))
            if old is not None:
                replaced.append(old)
        self._lexical.forget_files(self._manifest.connection, replaced)
        if entries:
            self._lexical.write_segment(self._manifest.connection, entries)
        return written

    def _embed(self, batch: _Batch, steps: _Steps) -> _Batch:
        prepared = [*(w[0] for w in batch.written), *batch.held]
        embedded = self._embed_files(batch, prepared, steps) if prepared else batch
        steps.after(embedded)
        return embedded

    def _embed_files(self, batch: _Batch, prepared: Sequence[Prepared], steps: _Steps) -> _Batch:
        texts: dict[bytes, str] = {}
        ends = []
        for p in prepared:
            texts[p.new.path_hash] = p.path_text
            texts.update(zip(p.new.body_hashes, p.bodies, strict=True))
            ends.append(len(texts))
        made, new = self._make_vectors(texts, lambda reached: steps.within(bisect_right(ends, reached)))
        with self._manifest.transaction():
            late = {p.new.path for p in batch.held if self._is_overtaken(p.new.path, batch)}
            held = self._write_files([p for p in batch.held if p.new.path not in late])
            chunks = [
                (chunk, made[h]) for p, _, ids in batch.written for chunk, h in zip(ids, p.new.body_hashes, strict=True)
            ]
            self._manifest.set_vectors(chunks, [(file, made[p.new.path_hash]) for p, file, _ in batch.written])
        self._on_commit()
        embedded = len(new & {h for p in prepared for h in p.new.body_hashes})
        written = [*batch.written, *held]
        return _Batch(batch.outcomes, batch.known, batch.began, written, (), embedded, batch.overtaken | late)

    def _make_vectors(
        self, texts: Mapping[bytes, str], told: Callable[[int], None]
    ) -> tuple[dict[bytes, int], set[bytes]]:
        """Vector ids of all texts by hash, and those that went through the model: only those not kept yet do.

        `told`: how many texts, from the first one on, have their vector.
        """
        with self._embedding:
            made = dict(self._kept.find(list(texts)))
            missing = [(place, h) for place, h in enumerate(texts) if h not in made]
            for part in _parts(missing, self._embed_batch):
                some = [h for _, h in part]
                vectors = self._embedder().embed_documents([texts[h] for h in some])
                made.update(zip(some, self._kept.add(some, vectors), strict=True))
                told(part[-1][0] + 1)
        return made, {h for _, h in missing}

    def _finish_vectors(self, tally: Tally, cancelled: IsCancelled) -> None:
        """What an earlier, interrupted run left without a vector."""
        while rows := self._manifest.without_vector(_EMBED_BATCH):
            _check(cancelled)
            bodies = {r.body_hash: self._parts.body_text(r.chunk) for r in rows}
            paths = {r.path_hash: self._parts.path_text(r.path) for r in rows}
            made, new = self._make_vectors({**paths, **bodies}, lambda _: None)
            with self._manifest.transaction():
                self._manifest.set_vectors(
                    [(r.chunk_id, made[r.body_hash]) for r in rows], [(r.file_id, made[r.path_hash]) for r in rows]
                )
            tally.embedded += len(new & bodies.keys())
            self._on_commit()


@contextmanager
def _old_objects_left_alone() -> Iterator[None]:
    """Meanwhile Python's garbage collector does not look through what there was before, which holds everything else up
    for some 80 ms each time that indexing's own objects make it look.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _parts(items: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """About equally long, and none shorter than `size` where there is so much."""
    count = max(1, len(items) // size) if items else 0
    for number in range(count):
        yield items[len(items) * number // count : len(items) * (number + 1) // count]


def _received(began: int, prepared: tuple[Sequence[Job], Sequence[Outcome]]) -> _Batch:
    jobs, outcomes = prepared
    return _Batch(outcomes, {job.found.path: job.known for job in jobs if job.known}, began)


def _count(batch: _Batch, tally: Tally) -> None:
    tally.files += len(batch.written)
    tally.chunks += sum(len(ids) for _, _, ids in batch.written)
    tally.embedded += batch.embedded
    for outcome in batch.outcomes:
        tally.errors += isinstance(outcome, Failed)
        tally.touched += isinstance(outcome, Touched)


def _check(cancelled: IsCancelled) -> None:
    if cancelled():
        raise Cancelled("What was indexed so far is kept; index again to go on.")
