"""One root folder and its index, as the tools see it (`sidecar.model.Workspace`): opening, building, searching, ending.

Not here: how files become an index (indexing), what the index says of itself (status, explain).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from sidecar.engine.building import Builder
from sidecar.engine.directory import IndexDirectory
from sidecar.engine.explain import explain_path
from sidecar.engine.generation import Generation, Generations, ModelFacts
from sidecar.engine.keeper import EVERYTHING, Keeper, Pending
from sidecar.engine.ports import Parts, Searching, Watching
from sidecar.engine.status import Activity, Reporter
from sidecar.errors import (
    DocsIndexNotFound,
    FileExcluded,
    FileNotFound,
    IndexCorrupt,
    IndexExists,
    IndexingInProgress,
    IndexLocked,
    IndexNotFound,
    SidecarError,
)
from sidecar.model import (
    BuildReport,
    ConfigAnswer,
    Embedder,
    Explanation,
    FileReport,
    FoundFile,
    IsCancelled,
    PathsAnswer,
    Progress,
    SearchAnswer,
    SearchRequest,
    StatusAnswer,
    VectorStore,
    no_progress,
)
from sidecar.parts.globs import compile_glob
from sidecar.parts.paths import relative_path
from sidecar.settings.load import Settings

# A search waits this long for changes that are known but not yet applied; then it answers and says so.
FRESHNESS_SECONDS = 2.0
# Only a process that stays opens the vector store and watches files; a shell command is over before.
STAY_SECONDS = 1.0


class Lease(Protocol):
    def acquire(self, timeout: float = 0) -> None: ...

    def release(self) -> None: ...


class IndexedWorkspace:
    """See `sidecar.model.Workspace`. `buffers` of open editors live here and outlive generations."""

    def __init__(
        self,
        root: str,
        directory: IndexDirectory,
        parts: Parts,
        embedder: Callable[[Settings], Embedder],
        model_facts: Callable[[Settings], ModelFacts],
        make_lease: Callable[[Path], Lease],
        stay_seconds: float = STAY_SECONDS,
        freshness_seconds: float = FRESHNESS_SECONDS,
    ) -> None:
        self._root = root
        self._directory = directory
        self._parts = parts
        self._embedder = embedder
        self._model_facts = model_facts
        self._make_lease = make_lease
        self._stay_seconds = stay_seconds
        self._freshness_seconds = freshness_seconds
        self._buffers: dict[str, str] = {}
        self._gate = threading.RLock()
        self._job = threading.Lock()
        self._lease: Lease | None = None
        self._generation: Generation | None = None
        self._keeper: Keeper | None = None
        self._watcher: Watching | None = None
        self._stay: threading.Timer | None = None
        self._closed = False
        self.activity = Activity(self._tell)
        self._generations = Generations(root, directory, parts, embedder, self._buffers, self.activity.commit)
        self._builder = Builder(root, parts, self._buffers, self.activity)
        self._reporter = Reporter(root, directory, self.activity)
        self._listeners: list[Callable[[StatusAnswer], None]] = []
        self._searcher: Searching = parts.make_searcher(lambda: embedder(self.settings()), self._store)

    @property
    def root(self) -> str:
        return self._root

    def settings(self) -> Settings:
        return self._parts.load_settings(self._directory.config)

    # ------------------------------------------------------------ building

    def create(self, progress: Progress, cancelled: IsCancelled) -> BuildReport:
        number = self._directory.current()
        if number is not None and self._reporter.is_complete(number):
            raise IndexExists("Use reindex_project to build it anew.")
        return self.refresh(progress, cancelled)

    def refresh(self, progress: Progress, cancelled: IsCancelled) -> BuildReport:
        with self._only_job("create" if self._directory.current() is None else "refresh"):
            with self._gate:
                self._take_lease()
                generation = self._generation or self._open_or_make()
                self._check_model(generation, None)
            report = self._builder.bring_up_to_date(generation, self.settings(), progress, cancelled)
            self._keep()
            return report

    def rebuild(self, progress: Progress, cancelled: IsCancelled) -> BuildReport:
        if self._directory.current() is None:
            raise IndexNotFound("Run create_index first.")
        with self._only_job("rebuild"):
            settings = self.settings()
            with self._gate:
                self._take_lease()
            fresh = self._generations.make(settings, self._model_facts(settings))
            try:
                report = self._builder.bring_up_to_date(fresh, settings, progress, cancelled)
            except BaseException:
                fresh.close()
                self._directory.sweep()
                raise
            self._swap(fresh)
            self._keep()
            return report

    def reindex_file(self, path: str) -> FileReport:
        relative = relative_path(self._root, path)
        generation = self._writable()
        found = self._builder.find(relative, self.settings())
        if found is None:
            assert generation.writer is not None
            if not generation.writer.indexer.remove([relative]):
                raise FileNotFound(f"{relative} is neither on disk nor in the index.")
            return FileReport("removed", relative, 0)
        if not isinstance(found, FoundFile):
            assert generation.writer is not None
            generation.writer.indexer.remove([relative])
            raise FileExcluded(f"{relative}: {found.decision.rule.value} ({found.decision.detail}).")
        return FileReport("reindexed", relative, self._builder.index_one(generation, found))

    def delete(self) -> None:
        if self._directory.current() is None:
            raise IndexNotFound("There is nothing to delete.")
        with self._only_job("delete"), self._gate:
            self._take_lease()
            self._end_keeping()
            self._close_generation()
            self._directory.delete()
            self._release()

    # ------------------------------------------------------------ reading

    def search(self, request: SearchRequest, cancelled: IsCancelled) -> SearchAnswer:
        generation = self._readable()
        self._check_model(generation, request)
        fresh = self._freshen()
        answer = self._search(request, cancelled)
        notice = answer.notice or ("" if fresh else self._reporter.stale_notice(self._pending_count()))
        return replace(answer, notice=notice)

    def find_paths(self, pattern: str, limit: int) -> PathsAnswer:
        matches = compile_glob(pattern)
        self._readable()
        self._freshen()
        with self._readable().snapshots.open() as snapshot:
            paths = sorted(p for p in snapshot.paths if matches(p))
        return PathsAnswer(tuple(paths[:limit]), len(paths))

    def status(self) -> StatusAnswer:
        problem = ""
        generation = None
        if self._directory.current() is not None:
            try:
                generation = self._readable()
            except SidecarError as error:
                problem = error.message
        return self._status_of(generation, problem)

    def config(self) -> ConfigAnswer:
        settings = self.settings()
        return ConfigAnswer(
            exists=self._directory.config.exists(),
            config_path=str(self._directory.config),
            index_path=str(self._directory.path),
            config=settings.as_config(),
            origins=dict(settings.origins),
            problems=settings.problems,
        )

    def explain(self, path: str) -> Explanation:
        relative = relative_path(self._root, path)
        generation = self._readable() if self._directory.current() is not None else None
        return explain_path(self._root, relative, self._parts, self.settings(), generation, relative in self._buffers)

    # ------------------------------------------------------------ unsaved text, listeners, end

    def set_buffer(self, path: str, text: str) -> None:
        relative = relative_path(self._root, path)
        if self._buffers.get(relative) == text:
            return
        self._buffers[relative] = text
        self._note_buffer(relative)

    def drop_buffer(self, path: str) -> None:
        relative = relative_path(self._root, path)
        if self._buffers.pop(relative, None) is not None:
            self._note_buffer(relative)

    def on_change(self, listener: Callable[[StatusAnswer], None]) -> Callable[[], None]:
        self._listeners.append(listener)

        def end() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return end

    def close(self) -> None:
        self._closed = True
        self.activity.stop()
        with self._job, self._gate:
            self._end_keeping()
            self._close_generation()
            self._release()

    # ------------------------------------------------------------ opening

    def _readable(self) -> Generation:
        with self._gate:
            if self._generation is None:
                number = self._directory.current()
                if number is None:
                    raise IndexNotFound("Run create_index first.")
                writable = self._try_lease()
                self._generation = self._generations.open(number, self.settings(), writable=writable)
                self._keep(reconcile=True)
            elif self._generation.writer is None and self._directory.current() != self._generation.number:
                # Another process has rebuilt or deleted the index since.
                self._close_generation()
                return self._readable()
            return self._generation

    def _writable(self) -> Generation:
        with self._gate:
            generation = self._readable()
            if generation.writer is None:
                self._take_lease()
                self._close_generation()
                generation = self._readable()
            return generation

    def _open_or_make(self) -> Generation:
        number = self._directory.current()
        settings = self.settings()
        if number is not None:
            self._generation = self._generations.open(number, settings, writable=True)
            return self._generation
        self._directory.write_config_once(self._parts.default_config_text())
        self._generation = self._generations.make(settings, self._model_facts(settings))
        self._directory.set_current(self._generation.number)
        return self._generation

    def _swap(self, fresh: Generation) -> None:
        with self._gate:
            self._end_keeping()
            self._directory.set_current(fresh.number)
            old, self._generation = self._generation, fresh
            if old is not None:
                old.close()
            self._directory.sweep()

    def _check_model(self, generation: Generation, request: SearchRequest | None) -> None:
        if request is not None and (request.mode == "fts" or request.alpha == 0):
            return
        wanted = self._model_facts(self.settings()).model_id
        if wanted != generation.model.model_id:
            raise IndexCorrupt(
                f"It was made with the model {generation.model.model_id}, the settings say {wanted}."
                " Run reindex_project, or set the model back."
            )

    def _take_lease(self) -> None:
        if self._lease is None:
            self._directory.make()
            lease = self._make_lease(self._directory.path)
            lease.acquire()
            self._lease = lease
            self._directory.sweep()
            if self._generation is not None and self._generation.writer is None:
                self._close_generation()

    def _try_lease(self) -> bool:
        try:
            self._take_lease()
        except IndexLocked:
            return False
        return True

    def _release(self) -> None:
        lease, self._lease = self._lease, None
        if lease is not None:
            lease.release()

    def _close_generation(self) -> None:
        generation, self._generation = self._generation, None
        if generation is not None:
            generation.close()

    # ------------------------------------------------------------ keeping up

    def _keep(self, *, reconcile: bool = False) -> None:
        """Starts what keeps the open index up to date, unless it runs already."""
        with self._gate:
            generation = self._generation
            if self._keeper is not None or self._closed or generation is None or generation.writer is None:
                return
            strategy = self.settings().indexing_strategy
            keeper = Keeper(self._apply, strategy, generation.writer.manifest.remember_dirty, self._tell)
            keeper.start()
            self._keeper = keeper
            if reconcile:
                keeper.add(rescan=[EVERYTHING], now=strategy != "lazy")
            self._stay = threading.Timer(self._stay_seconds, self._settle_in)
            self._stay.daemon = True
            self._stay.start()

    def _settle_in(self) -> None:
        with self._gate:
            generation, keeper = self._generation, self._keeper
            if self._closed or generation is None or generation.writer is None or keeper is None:
                return
            generation.writer.feeder.start()
            if self._watcher is None:
                self._watcher = self._parts.make_watcher(self._root, self.settings(), keeper.add)
                self._watcher.start()
                # What changed before the watcher ran.
                keeper.add(rescan=[EVERYTHING])
        self._tell()

    def _end_keeping(self) -> None:
        stay, self._stay = self._stay, None
        watcher, self._watcher = self._watcher, None
        keeper, self._keeper = self._keeper, None
        if stay is not None:
            stay.cancel()
        if watcher is not None:
            watcher.stop()
        if keeper is not None:
            keeper.stop()

    def _apply(self, pending: Pending, cancelled: IsCancelled) -> None:
        generation = self._generation
        if generation is None or generation.writer is None:
            return
        if EVERYTHING not in pending.rescan:
            self._builder.apply(generation, self.settings(), pending, cancelled)
            return
        if not self._job.acquire(blocking=False):
            return
        try:
            self._builder.bring_up_to_date(generation, self.settings(), no_progress, cancelled, wait_for_store=False)
        finally:
            self._job.release()

    def _note_buffer(self, path: str) -> None:
        if self._keeper is not None:
            self._keeper.add([path], now=True)

    def _freshen(self) -> bool:
        keeper = self._keeper
        return keeper is None or keeper.flush(self._freshness_seconds)

    def _pending_count(self) -> int:
        return self._keeper.pending() if self._keeper is not None else 0

    # ------------------------------------------------------------ small things

    def _status_of(self, generation: Generation | None, problem: str) -> StatusAnswer:
        watching = bool(self._watcher and self._watcher.active)
        return self._reporter.status(generation, self.settings(), problem, self._pending_count(), watching)

    def _search(self, request: SearchRequest, cancelled: IsCancelled) -> SearchAnswer:
        generation = self._readable()
        try:
            with generation.snapshots.open() as snapshot:
                if request.collection == "docs" and not (snapshot.file_collection == 1).any():
                    raise DocsIndexNotFound("No .md or .txt file is in the index.")
                return self._searcher.search(snapshot, request, cancelled)
        except IndexCorrupt:
            if generation is self._generation:
                raise
            # The generation was swapped between opening and reading: the new one has the answer.
            return self._search(request, cancelled)

    def _store(self) -> VectorStore | None:
        generation = self._generation
        return generation.store() if generation is not None else None

    @contextmanager
    def _only_job(self, kind: str) -> Iterator[None]:
        """One job at a time. What the keeper does by itself gives way; what a person asked for does not."""
        if not self._job.acquire(blocking=False):
            if self.activity.kind:
                raise IndexingInProgress("Ask get_index_status how far it is, or cancel it.")
            with self._gate:
                self._end_keeping()
            self._job.acquire()
        try:
            with self.activity.running(kind):
                yield
        finally:
            self._job.release()
            self._tell()

    def _tell(self) -> None:
        if not self._listeners or self._closed:
            return
        status = self._status_of(self._generation, "")
        for listener in list(self._listeners):
            listener(status)
