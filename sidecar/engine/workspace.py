"""One root folder and its index, as the tools see it (`sidecar.model.Workspace`): building, searching, telling, ending.

Not here: how files become an index (indexing), how it is opened and kept up (opened, upkeep), what it says of itself
(status, explain).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from sidecar.engine.building import Builder
from sidecar.engine.directory import IndexDirectory
from sidecar.engine.documents import DocumentIndexes
from sidecar.engine.explain import explain_path
from sidecar.engine.generation import Generation, Generations, ModelFacts
from sidecar.engine.keeper import EVERYTHING, Pending
from sidecar.engine.memory import WorkspaceMemories
from sidecar.engine.opened import Lease, OpenIndex
from sidecar.engine.patterns import index_matched, match_patterns
from sidecar.engine.ports import Parts, Searching
from sidecar.engine.similar import SimilarSearch
from sidecar.engine.snapshot import Snapshot
from sidecar.engine.status import Activity, Reporter
from sidecar.engine.symbols import find_symbols
from sidecar.engine.upkeep import Upkeep
from sidecar.errors import (
    DocsIndexNotFound,
    FileExcluded,
    FileNotFound,
    IndexCorrupt,
    IndexExists,
    IndexingInProgress,
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
    PatternReport,
    Progress,
    SearchAnswer,
    SearchRequest,
    StatusAnswer,
    SymbolsAnswer,
    VectorStore,
    no_progress,
)
from sidecar.parts.globs import compile_glob
from sidecar.parts.paths import relative_path
from sidecar.settings.load import Settings

T = TypeVar("T")

# A search waits this long for changes that are known but not yet applied; then it answers and says so.
FRESHNESS_SECONDS = 2.0
# Only a process that stays opens the vector store and watches files; a shell command is over before.
STAY_SECONDS = 1.0


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
        loaded: Callable[[Settings], Embedder | None] = lambda _: None,
        stay_seconds: float = STAY_SECONDS,
        freshness_seconds: float = FRESHNESS_SECONDS,
    ) -> None:
        self._root = root
        self._directory = directory
        self._parts = parts
        self._loaded = loaded
        self._buffers: dict[str, str] = {}
        self._job = threading.Lock()
        self._closed = False
        self._listeners: list[Callable[[StatusAnswer], None]] = []
        self.activity = Activity(self._tell)
        self._builder = Builder(root, parts, self._buffers, self.activity)
        self._reporter = Reporter(root, directory, self.activity)
        self._upkeep = Upkeep(
            lambda: self._index,
            self.settings,
            lambda settings, add: parts.make_watcher(root, settings, add),
            self._apply,
            self._tell,
            stay_seconds,
            freshness_seconds,
        )
        self._index = OpenIndex(
            directory,
            Generations(root, directory, parts, embedder, self._buffers, self.activity.commit),
            self.settings,
            model_facts,
            make_lease,
            parts.default_config_text,
            lambda: self._upkeep.start(reconcile=True),
        )
        self._memories = WorkspaceMemories(parts.open_memories(directory.memories), lambda: embedder(self.settings()))
        self._documents = DocumentIndexes(parts.open_documents(directory.documents))
        self._similar = SimilarSearch(lambda: embedder(self.settings()), self._store)
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
        with self._only_job("refresh" if self._index.exists() else "create"):
            generation = self._index.ready()
            return self._builder.bring_up_to_date(generation, self.settings(), progress, cancelled)

    def index_matching(
        self, patterns: Sequence[str], force: bool, progress: Progress, cancelled: IsCancelled
    ) -> PatternReport:
        stop = self.activity.or_stopped(cancelled)
        walker = self._parts.make_walker(self._root, self.settings())
        matched = match_patterns(self._root, walker, patterns, stop)
        if not any(matched.files):
            return PatternReport(0, 0, len(matched.failures), 0, matched.failures)
        with self._only_job("refresh" if self._index.exists() else "create"):
            generation = self._index.ready()
            return index_matched(generation, matched, self._buffers, force, self.activity.reporting(progress), stop)

    def rebuild(self, progress: Progress, cancelled: IsCancelled) -> BuildReport:
        if not self._index.exists():
            raise IndexNotFound("Run create_index first.")
        with self._only_job("rebuild"):
            fresh = self._index.aside()
            try:
                report = self._builder.bring_up_to_date(fresh, self.settings(), progress, cancelled)
            except BaseException:
                self._index.drop(fresh)
                raise
            with self._index.gate:
                self._upkeep.end()
                self._index.swap(fresh)
            return report

    def reindex_file(self, path: str) -> FileReport:
        relative = relative_path(self._root, path)
        generation = self._index.writable()
        found = self._builder.find(relative, self.settings())
        if found is None:
            assert generation.writer is not None
            indexer = generation.writer.indexer
            if not indexer.remove([relative]) and not indexer.notice_removed(relative):
                raise FileNotFound(f"{relative} is neither on disk nor in the index.")
            return FileReport("removed", relative, 0)
        if not isinstance(found, FoundFile):
            assert generation.writer is not None
            generation.writer.indexer.remove([relative])
            raise FileExcluded(f"{relative or '.'}: {found.decision.rule.value} ({found.decision.detail}).")
        return FileReport("reindexed", relative, self._builder.index_one(generation, found))

    def delete(self) -> None:
        if not self._index.exists():
            raise IndexNotFound("There is nothing to delete.")
        with self._only_job("delete"), self._index.gate:
            self._index.take_lease()
            self._upkeep.end()
            self._memories.close()
            self._documents.close()
            self._index.delete()

    # ------------------------------------------------------------ reading

    def search(self, request: SearchRequest, cancelled: IsCancelled) -> SearchAnswer:
        generation = self._index.readable()
        if request.mode != "fts" and request.alpha > 0:
            self._index.check_model(generation)
        fresh = self._upkeep.freshen()
        answer = self._search(request, cancelled)
        notice = answer.notice or ("" if fresh else self._reporter.stale_notice(self._upkeep.pending()))
        return replace(answer, notice=notice)

    def find_paths(self, pattern: str, limit: int) -> PathsAnswer:
        matches = compile_glob(pattern)
        self._index.readable()
        self._upkeep.freshen()
        with self._index.readable().snapshots.open() as snapshot:
            paths = sorted(p for p in snapshot.paths if matches(p))
        return PathsAnswer(tuple(paths[:limit]), len(paths))

    def find_symbols(self, name: str, kinds: Sequence[str], limit: int) -> SymbolsAnswer:
        notice = self._current_notice()
        return replace(self._on_snapshot(lambda snapshot: find_symbols(snapshot, name, kinds, limit)), notice=notice)

    def find_similar(self, path: str, line: int, end_line: int, limit: int, cancelled: IsCancelled) -> SearchAnswer:
        relative = relative_path(self._root, path)
        notice = self._current_notice()
        answer = self._on_snapshot(lambda s: self._similar.similar(s, relative, line, end_line, limit, cancelled))
        return replace(answer, notice=notice)

    def find_closest(self, query: str, limit: int, threshold: float, cancelled: IsCancelled) -> SearchAnswer:
        self._index.check_model(self._index.readable())
        notice = self._current_notice()
        answer = self._on_snapshot(lambda s: self._similar.closest(s, query, limit, threshold, cancelled))
        return replace(answer, notice=notice)

    def status(self) -> StatusAnswer:
        problem = ""
        generation = None
        if self._index.exists():
            try:
                generation = self._index.readable()
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
        generation = self._index.readable() if self._index.exists() else None
        return explain_path(self._root, relative, self._parts, self.settings(), generation, relative in self._buffers)

    @property
    def documents(self) -> DocumentIndexes:
        self._directory.rescue()
        return self._documents

    @property
    def memories(self) -> WorkspaceMemories:
        self._directory.rescue()
        return self._memories

    # ------------------------------------------------------------ unsaved text, listeners, end

    def set_buffer(self, path: str, text: str) -> None:
        relative = relative_path(self._root, path)
        if self._buffers.get(relative) == text:
            return
        self._buffers[relative] = text
        self._upkeep.note_buffer(relative)

    def drop_buffer(self, path: str) -> None:
        relative = relative_path(self._root, path)
        if self._buffers.pop(relative, None) is not None:
            self._upkeep.note_buffer(relative)

    def on_change(self, listener: Callable[[StatusAnswer], None]) -> Callable[[], None]:
        self._listeners.append(listener)

        def end() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return end

    def close(self) -> None:
        self._closed = True
        self.activity.stop()
        self._upkeep.end(for_good=True)
        with self._job:
            self._index.close()
        self._memories.close()
        self._documents.close()

    # ------------------------------------------------------------ small things

    def _apply(self, generation: Generation, pending: Pending, cancelled: IsCancelled) -> None:
        if EVERYTHING not in pending.rescan:
            self._builder.apply(generation, self.settings(), pending, cancelled)
            return
        # A job that a person asked for looks at everything too.
        if self._job.acquire(blocking=False):
            try:
                self._builder.bring_up_to_date(
                    generation, self.settings(), no_progress, cancelled, wait_for_store=False
                )
            finally:
                self._job.release()

    def _search(self, request: SearchRequest, cancelled: IsCancelled) -> SearchAnswer:
        generation = self._index.readable()
        try:
            with generation.snapshots.open() as snapshot:
                if request.collection == "docs" and not (snapshot.file_collection == 1).any():
                    raise DocsIndexNotFound("No .md or .txt file is in the index.")
                return self._searcher.search(snapshot, request, cancelled)
        except IndexCorrupt:
            if generation is self._index.generation:
                raise
            # The generation was swapped between opening and reading: the new one has the answer.
            return self._search(request, cancelled)

    def _on_snapshot(self, read: Callable[[Snapshot], T]) -> T:
        generation = self._index.readable()
        try:
            with generation.snapshots.open() as snapshot:
                return read(snapshot)
        except IndexCorrupt:
            if generation is self._index.generation:
                raise
            return self._on_snapshot(read)

    def _current_notice(self) -> str:
        """Waits for known changes; one line when the index is behind them all the same."""
        self._index.readable()
        return "" if self._upkeep.freshen() else self._reporter.stale_notice(self._upkeep.pending())

    def _store(self) -> VectorStore | None:
        generation = self._index.generation
        return generation.store() if generation is not None else None

    @contextmanager
    def _only_job(self, kind: str) -> Iterator[None]:
        """One job at a time. What upkeep does by itself gives way; what a person asked for does not."""
        if not self._job.acquire(blocking=False):
            if self.activity.kind:
                raise IndexingInProgress("Ask get_index_status how far it is, or cancel it.")
            self._upkeep.end()
            self._job.acquire()
        succeeded = False
        try:
            with self.activity.running(kind):
                yield
            succeeded = True
        finally:
            self._job.release()
            self._upkeep.start(reconcile=not succeeded)
            self._tell()

    def _status_of(self, generation: Generation | None, problem: str) -> StatusAnswer:
        settings = self.settings()
        return self._reporter.status(
            generation,
            settings,
            problem or self._upkeep.note,
            self._upkeep.pending(),
            self._upkeep.watching,
            self._loaded(settings),
        )

    def _tell(self) -> None:
        if not self._listeners or self._closed:
            return
        status = self._status_of(self._index.generation, "")
        for listener in list(self._listeners):
            listener(status)
