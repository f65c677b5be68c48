"""The searches and look-ups of one workspace: each reads one snapshot, after a bounded wait for pending changes.

An answer that may be stale or partial says so. Not here: how a search finds and ranks (`search/`), and how the index is
kept in step with the files (`update/live.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TypeVar

from sidecar.engine.index.generation import Generation
from sidecar.engine.index.handle import IndexHandle
from sidecar.engine.search.letters import best_fits
from sidecar.engine.search.searcher import Searcher
from sidecar.engine.search.similar import find_closest, find_similar
from sidecar.engine.search.source import SearchSource
from sidecar.engine.search.symbols import find_symbols
from sidecar.engine.update.activity import Activity
from sidecar.engine.update.live import LiveUpdate
from sidecar.engine.update.staleness import RunningJob, one_line, stale_notice
from sidecar.errors import DocsIndexNotFound, IndexCorrupt, ModelLoadFailed
from sidecar.model import (
    Collection,
    Embedder,
    IsCancelled,
    PathsAnswer,
    SearchAnswer,
    SearchRequest,
    SymbolsAnswer,
)
from sidecar.parts.globs import compile_glob

T = TypeVar("T")


class QueryService:
    """Answers for one workspace. Methods raise what `sidecar.model.Workspace` says."""

    def __init__(
        self,
        index: IndexHandle,
        live_update: LiveUpdate,
        activity: Activity,
        buffers: Mapping[str, str],
        searcher: Searcher,
    ) -> None:
        self._index = index
        self._live_update = live_update
        self._activity = activity
        self._buffers = buffers
        self._searcher = searcher

    def search(self, request: SearchRequest, cancelled: IsCancelled) -> SearchAnswer:
        """Searches code or docs. Raises DocsIndexNotFound if docs are searched and none are indexed, and what `search/`
        raises.
        """
        generation = self._live_update.readable()
        failed: ModelLoadFailed | None = None
        if request.mode != "fts" and request.alpha > 0:
            failed = self._model_failure(generation)
            # Known changes can be applied while the vectors are being read.
            failed = failed or self._preload(generation, request.collection, cancelled)
        notice = self._freshen(generation)

        def search(current: Generation) -> SearchAnswer:
            return self._search(current, request, cancelled, failed if current is generation else None)

        answer = self._live_update.on_current(search)
        return replace(answer, notice=one_line(notice, answer.notice))

    def find_paths(self, pattern: str, limit: int) -> PathsAnswer:
        """At most `limit` indexed paths that match a glob, sorted, and how many match. Raises InvalidPattern."""
        matches = compile_glob(pattern)
        notice = self._freshen(self._live_update.readable())
        paths = sorted(self._on_source(lambda source: [p for p in source.snapshot.paths if matches(p)]))
        return PathsAnswer(tuple(paths[:limit]), len(paths), notice)

    def find_paths_by_letters(self, letters: str, limit: int) -> PathsAnswer:
        """At most `limit` indexed paths that have the letters in their order, best first, and how many have."""
        notice = self._freshen(self._live_update.readable())
        best, total = self._on_source(lambda source: best_fits(source.snapshot.paths, letters, limit))
        return PathsAnswer(tuple(fit.path for fit in best), total, notice, scores=tuple(fit.score for fit in best))

    def find_symbols(self, name: str, kinds: Sequence[str], limit: int) -> SymbolsAnswer:
        """Definitions by name: exact, by its beginning, or by the words it consists of."""
        notice = self._freshen(self._live_update.readable())
        answer = self._on_source(lambda source: find_symbols(source.snapshot, name, kinds, limit))
        return replace(answer, notice=notice)

    def find_similar(self, path: str, line: int, end_line: int, limit: int, cancelled: IsCancelled) -> SearchAnswer:
        """Chunks similar to the one at these lines of `path`, which is relative to the root. Scores are similarities,
        0-1.
        """
        notice = self._freshen(self._live_update.readable())
        answer = self._on_source(lambda source: find_similar(source, path, line, end_line, limit, cancelled))
        return replace(answer, notice=one_line(notice, answer.notice))

    def find_closest(self, query: str, limit: int, threshold: float, cancelled: IsCancelled) -> SearchAnswer:
        """Chunks of code and docs by meaning alone, with a similarity of at least `threshold` (0-1)."""
        generation = self._live_update.readable()
        self._index.check_model(generation)
        notice = self._freshen(generation)
        answer = self._on_source(lambda source: find_closest(source, query, limit, threshold, cancelled))
        return replace(answer, notice=one_line(notice, answer.notice))

    def _search(
        self, generation: Generation, request: SearchRequest, cancelled: IsCancelled, failed: ModelLoadFailed | None
    ) -> SearchAnswer:
        """`failed`: why the model of this generation could not be loaded a moment ago; it is not tried again."""
        with _source_of(generation, failed) as source:
            if request.collection == "docs" and not (source.snapshot.file_collection == 1).any():
                raise DocsIndexNotFound("No .md or .txt file is in the index.")
            answer = self._searcher.search(source, request, cancelled)
        return answer if answer.mode == "fts" else replace(answer, model=generation.model.model_id)

    def _model_failure(self, generation: Generation) -> ModelLoadFailed | None:
        """Why the model that the settings name is not there, if so. Raises IndexCorrupt like `check_model`."""
        try:
            self._index.check_model(generation)
        except ModelLoadFailed as error:
            return error
        return None

    def _preload(
        self, generation: Generation, collection: Collection, cancelled: IsCancelled
    ) -> ModelLoadFailed | None:
        """Loads the model and reads a collection's vectors into memory, once per open generation; again if it was
        cancelled or failed.

        Returns why the model could not be loaded, if so. Damage is ignored: the search itself meets it, and reports it.
        """
        if collection in generation.preloaded:
            return None
        try:
            with suppress(IndexCorrupt), _source_of(generation) as source:
                self._searcher.preload(source, collection, cancelled)
                generation.preloaded.add(collection)
        except ModelLoadFailed as error:
            return error
        return None

    def _on_source(self, read: Callable[[SearchSource], T]) -> T:
        def on_generation(generation: Generation) -> T:
            with _source_of(generation) as source:
                return read(source)

        return self._live_update.on_current(on_generation)

    def _freshen(self, generation: Generation) -> str:
        """Waits a bounded time for known changes. Returns one line if the answer may be stale or partial."""
        fresh = self._live_update.freshen()
        # Another process keeps this index in step with the files, but not with the text that is unsaved here.
        read_only_reason = generation.read_only_reason if self._buffers or not self._index.kept_up_elsewhere else ""
        job = RunningJob(self._activity.kind, self._activity.done, self._activity.total)
        if fresh and not job.kind and not read_only_reason:
            return self._live_update.unread
        return one_line(stale_notice(job, self._live_update.shortfall(), read_only_reason), self._live_update.unread)


@contextmanager
def _source_of(generation: Generation, failed: ModelLoadFailed | None = None) -> Iterator[SearchSource]:
    def embedder() -> Embedder:
        if failed is not None:
            raise failed
        return generation.embedder()

    with generation.snapshots.open() as snapshot:
        yield SearchSource(snapshot, embedder, generation.store)
