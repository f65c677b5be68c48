"""What a workspace is asked: answers of one snapshot, as fresh as bounded time allows, which say so when they are not.

Not here: how a search finds and ranks (search, similar, symbols), who keeps the index up (upkeep).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from sidecar.engine.diagnostics.status import Activity
from sidecar.engine.index.generation import Generation
from sidecar.engine.index.handle import IndexHandle
from sidecar.engine.index.snapshot import Snapshot
from sidecar.engine.ports import Searching
from sidecar.engine.search.similar import SimilarSearch
from sidecar.engine.search.symbols import find_symbols
from sidecar.engine.update.live import LiveUpdate
from sidecar.engine.update.staleness import RunningJob, one_line, stale_notice
from sidecar.errors import DocsIndexNotFound
from sidecar.model import (
    Embedder,
    IsCancelled,
    PathsAnswer,
    SearchAnswer,
    SearchRequest,
    SymbolsAnswer,
    VectorStore,
)
from sidecar.parts.globs import compile_glob

T = TypeVar("T")

MakeSearcher = Callable[[Callable[[], Embedder], Callable[[], VectorStore | None]], Searching]


class _Read(threading.local):
    """The generation that this thread reads: another one's model and vector store know nothing of its vectors."""

    generation: Generation | None = None

    def embedder(self) -> Embedder:
        assert self.generation is not None
        return self.generation.embedder()

    def store(self) -> VectorStore | None:
        assert self.generation is not None
        return self.generation.store()


class QueryService:
    """Of one workspace. Raises as `sidecar.model.Workspace` says."""

    def __init__(
        self,
        index: IndexHandle,
        live_update: LiveUpdate,
        activity: Activity,
        buffers: Mapping[str, str],
        make_searcher: MakeSearcher,
    ) -> None:
        self._index = index
        self._live_update = live_update
        self._activity = activity
        self._buffers = buffers
        self._read = _Read()
        self._searcher = make_searcher(self._read.embedder, self._read.store)
        self._similar = SimilarSearch(self._read.embedder, self._read.store)

    def search(self, request: SearchRequest, cancelled: IsCancelled) -> SearchAnswer:
        generation = self._index.readable()
        if request.mode != "fts" and request.alpha > 0:
            self._index.check_model(generation)
        # What is loaded only once is loaded while others look at what has changed.
        self._on_snapshot(lambda snapshot: self._searcher.prepare(snapshot, request, cancelled))
        notice = self._freshen()
        answer = self._on_snapshot(lambda snapshot: self._searched(snapshot, request, cancelled))
        return replace(answer, notice=one_line(notice, answer.notice))

    def find_paths(self, pattern: str, limit: int) -> PathsAnswer:
        matches = compile_glob(pattern)
        notice = self._freshen()
        paths = sorted(self._on_snapshot(lambda snapshot: [p for p in snapshot.paths if matches(p)]))
        return PathsAnswer(tuple(paths[:limit]), len(paths), notice)

    def find_symbols(self, name: str, kinds: Sequence[str], limit: int) -> SymbolsAnswer:
        notice = self._freshen()
        return replace(self._on_snapshot(lambda snapshot: find_symbols(snapshot, name, kinds, limit)), notice=notice)

    def find_similar(self, path: str, line: int, end_line: int, limit: int, cancelled: IsCancelled) -> SearchAnswer:
        notice = self._freshen()
        answer = self._on_snapshot(lambda s: self._similar.similar(s, path, line, end_line, limit, cancelled))
        return replace(answer, notice=one_line(notice, answer.notice))

    def find_closest(self, query: str, limit: int, threshold: float, cancelled: IsCancelled) -> SearchAnswer:
        self._index.check_model(self._index.readable())
        notice = self._freshen()
        answer = self._on_snapshot(lambda s: self._similar.closest(s, query, limit, threshold, cancelled))
        return replace(answer, notice=one_line(notice, answer.notice))

    def _searched(self, snapshot: Snapshot, request: SearchRequest, cancelled: IsCancelled) -> SearchAnswer:
        if request.collection == "docs" and not (snapshot.file_collection == 1).any():
            raise DocsIndexNotFound("No .md or .txt file is in the index.")
        answer = self._searcher.search(snapshot, request, cancelled)
        assert self._read.generation is not None
        return answer if answer.mode == "fts" else replace(answer, model=self._read.generation.model.model_id)

    def _on_snapshot(self, read: Callable[[Snapshot], T]) -> T:
        def on_generation(generation: Generation) -> T:
            self._read.generation = generation
            try:
                with generation.snapshots.open() as snapshot:
                    return read(snapshot)
            finally:
                self._read.generation = None

        return self._index.on_current(on_generation)

    def _freshen(self) -> str:
        """Waits for known changes, in bounded time; one line when the index is behind them all the same."""
        generation = self._index.readable()
        fresh = self._live_update.freshen()
        # What another process keeps up is fresh, but it does not know of the text that is unsaved here.
        read_only_reason = generation.read_only_reason if self._buffers or not self._index.kept_up_elsewhere else ""
        job = RunningJob(self._activity.kind, self._activity.done, self._activity.total)
        if fresh and not job.kind and not read_only_reason:
            return self._live_update.unread
        return one_line(stale_notice(job, self._live_update.shortfall(), read_only_reason), self._live_update.unread)
