"""What a workspace is asked: answers of one snapshot, as fresh as bounded time allows, which say so when they are not.

Not here: how a search finds and ranks (search, similar, symbols), who keeps the index up (upkeep).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from sidecar.engine.freshness import Job, one_line, stale_notice
from sidecar.engine.opened import OpenIndex
from sidecar.engine.ports import Searching
from sidecar.engine.similar import SimilarSearch
from sidecar.engine.snapshot import Snapshot
from sidecar.engine.status import Activity
from sidecar.engine.symbols import find_symbols
from sidecar.engine.upkeep import Upkeep
from sidecar.errors import DocsIndexNotFound, IndexCorrupt
from sidecar.model import IsCancelled, PathsAnswer, SearchAnswer, SearchRequest, SymbolsAnswer
from sidecar.parts.globs import compile_glob

T = TypeVar("T")


class Reading:
    """Of one workspace. Raises as `sidecar.model.Workspace` says."""

    def __init__(
        self,
        index: OpenIndex,
        upkeep: Upkeep,
        activity: Activity,
        buffers: Mapping[str, str],
        searcher: Searching,
        similar: SimilarSearch,
    ) -> None:
        self._index = index
        self._upkeep = upkeep
        self._activity = activity
        self._buffers = buffers
        self._searcher = searcher
        self._similar = similar

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
        return self._searcher.search(snapshot, request, cancelled)

    def _on_snapshot(self, read: Callable[[Snapshot], T]) -> T:
        generation = self._index.readable()
        try:
            with generation.snapshots.open() as snapshot:
                return read(snapshot)
        except IndexCorrupt:
            if generation is self._index.generation:
                raise
            # The generation was swapped between opening and reading: the new one has the answer.
            return self._on_snapshot(read)

    def _freshen(self) -> str:
        """Waits for known changes, in bounded time; one line when the index is behind them all the same."""
        generation = self._index.readable()
        fresh = self._upkeep.freshen()
        # What another process keeps up is fresh, but it does not know of the text that is unsaved here.
        hindrance = generation.hindrance if self._buffers or not self._index.kept_up_elsewhere else ""
        job = Job(self._activity.kind, self._activity.done, self._activity.total)
        if fresh and not job.kind and not hindrance:
            return ""
        return stale_notice(job, self._upkeep.shortfall(), hindrance)
