"""The searches and look-ups of one workspace: each reads one snapshot, after a bounded wait for pending changes.

An answer that may be stale or partial says so. `search/` finds and ranks; `update/live.py` keeps the index up to date
with the files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import Generic, TypeVar

from sidecar.engine.concurrency.right_of_way import QUESTIONS
from sidecar.engine.index.generation import Generation
from sidecar.engine.index.handle import IndexHandle
from sidecar.engine.search.absent import is_complete
from sidecar.engine.search.nothing import why_no_docs, why_no_hits
from sidecar.engine.search.overview import overview_of
from sidecar.engine.search.paths import find_paths, find_paths_by_letters
from sidecar.engine.search.searcher import Searcher, Understood
from sidecar.engine.search.similar import find_closest, find_similar
from sidecar.engine.search.source import SearchedSnapshot, SearchSource
from sidecar.engine.search.symbols import find_symbols
from sidecar.engine.update.live import LiveUpdate
from sidecar.engine.update.shown_files import ShownFiles
from sidecar.engine.update.staleness import Standing, one_line
from sidecar.engine.update.standing import Standings
from sidecar.errors import DocsIndexNotFound, IndexCorrupt, ModelLoadFailed
from sidecar.model.answers import OverviewAnswer, PathsAnswer, SearchAnswer, SearchRequest, SymbolsAnswer
from sidecar.model.terms import Collection, Embedder, IsCancelled
from sidecar.parts.globs import compile_glob

T = TypeVar("T")


@dataclass(frozen=True)
class _Asked:
    """The generation that was current when a question was asked, and the moment before it was opened."""

    generation: Generation
    moment: int


@dataclass(frozen=True)
class _Read(Generic[T]):
    """An answer, the shown files that seem to have changed since it was read, and the state of the index."""

    answer: T
    seeming: dict[str, bytes]
    standing: Standing


class QueryService:
    """Answers the queries of one workspace. For their errors see `sidecar.model.workspace.Workspace`."""

    def __init__(
        self,
        index: IndexHandle,
        live_update: LiveUpdate,
        shown_files: ShownFiles,
        standings: Standings,
        searcher: Searcher,
    ) -> None:
        self._index = index
        self._live_update = live_update
        self._shown_files = shown_files
        self._standings = standings
        self._searcher = searcher

    def search(self, request: SearchRequest, cancelled: IsCancelled) -> SearchAnswer:
        """Searches code or docs. Raises DocsIndexNotFound if docs are searched and the index is complete and holds
        none, and the errors of `search/`.
        """
        _check_globs(request.paths)
        asked = self._asked()
        generation = asked.generation
        failed: ModelLoadFailed | None = None
        if request.mode != "fts" and request.alpha > 0:
            # Known changes can be applied while the vectors are being read, and the model can be checked.
            failed = self._preload(generation, request.collection, cancelled)
            failed = self._model_failure(generation) or failed
        with QUESTIONS.answering():
            # The system reports it while the query is understood.
            mark = self._live_update.mark()
            embedder = _embedder_of(generation, failed)
            understood = self._searcher.understand(request, embedder)

        def search(current: Generation, fresh: bool) -> _Read[SearchAnswer]:
            with _source_of(current, embedder if current is generation else None) as source:
                answer = self._search(current, source, request, understood, cancelled)
                return self._read(current, fresh, source, answer, (hit.path for hit in answer.hits))

        answer, notice = self._answer(search, asked, mark)
        return replace(answer, notice=one_line(notice, answer.notice)) if notice or answer.notice else answer

    def find_paths(self, pattern: str, limit: int) -> PathsAnswer:
        """Returns at most `limit` indexed paths that match a glob, sorted, and how many match. Raises
        InvalidPattern."""
        _check_globs([pattern])

        def find(source: SearchSource) -> PathsAnswer:
            return find_paths(source.snapshot, pattern, limit)

        answer, notice = self._answer_from(find, lambda answer: answer.paths)
        return replace(answer, notice=notice)

    def find_paths_by_letters(self, letters: str, limit: int) -> PathsAnswer:
        """Returns at most `limit` indexed paths that contain the letters in this order, best first, and how many do."""

        def find(source: SearchSource) -> PathsAnswer:
            return find_paths_by_letters(source.snapshot, letters, limit)

        answer, notice = self._answer_from(find, lambda answer: answer.paths)
        return replace(answer, notice=notice)

    def find_symbols(self, name: str, kinds: Sequence[str], limit: int) -> SymbolsAnswer:
        """Returns definitions by name: by the whole name, its beginning, or the words that it consists of."""

        def find(source: SearchSource) -> SymbolsAnswer:
            return find_symbols(source.snapshot, name, kinds, limit)

        answer, notice = self._answer_from(find, lambda answer: (symbol.path for symbol in answer.symbols))
        return replace(answer, notice=notice)

    def overview(self, central: int) -> OverviewAnswer:
        """Returns an overview of the workspace, with at most `central` central files."""

        def look(source: SearchSource) -> OverviewAnswer:
            return overview_of(source.snapshot, central)

        answer, notice = self._answer_from(look, OverviewAnswer.paths)
        return replace(answer, notice=notice)

    def find_similar(self, path: str, line: int, end_line: int, limit: int, cancelled: IsCancelled) -> SearchAnswer:
        """Returns chunks similar to the one at these lines of `path`, which is relative to the root. Scores are
        similarities, 0-1.
        """
        answer, notice = self._answer_from(
            lambda source: find_similar(source, path, line, end_line, limit, cancelled),
            lambda answer: (path, *(hit.path for hit in answer.hits)),
        )
        return replace(answer, notice=one_line(notice, answer.notice))

    def find_closest(self, query: str, limit: int, threshold: float, cancelled: IsCancelled) -> SearchAnswer:
        """Returns chunks of code and docs by meaning alone, with a similarity of at least `threshold` (0-1)."""
        asked = self._asked()
        self._index.check_model(asked.generation)
        answer, notice = self._answer_from(
            lambda source: find_closest(source, query, limit, threshold, cancelled),
            lambda answer: (hit.path for hit in answer.hits),
            asked,
        )
        return replace(answer, notice=one_line(notice, answer.notice))

    def _search(
        self,
        generation: Generation,
        source: SearchSource,
        request: SearchRequest,
        understood: Understood,
        cancelled: IsCancelled,
    ) -> SearchAnswer:
        if request.collection == "docs" and _holds_no_docs(source.snapshot):
            raise DocsIndexNotFound(why_no_docs(source.snapshot))
        answer = self._searcher.search(source, request, cancelled, understood)
        if not answer.hits:
            answer = replace(answer, reason=why_no_hits(source.snapshot, request, answer.total))
        return answer if answer.mode == "fts" else replace(answer, model=generation.model.model_id)

    def _model_failure(self, generation: Generation) -> ModelLoadFailed | None:
        """Returns why the model that the settings name cannot be loaded; None if it can. Raises IndexCorrupt like
        `check_model`."""
        try:
            self._index.check_model(generation)
        except ModelLoadFailed as error:
            return error
        return None

    def _preload(
        self, generation: Generation, collection: Collection, cancelled: IsCancelled
    ) -> ModelLoadFailed | None:
        """Loads the model and reads a collection's vectors into memory: once per open generation, and again if that was
        cancelled or failed.

        Returns why the model could not be loaded; None if it was. A damaged index is ignored here: the search itself
        reports it.
        """
        if collection in generation.preloaded:
            return None
        # The question waits for the pass too, so that one must go on beside the reading of vectors.
        goes_first = nullcontext() if self._live_update.pass_is_awaited else QUESTIONS.answering()
        try:
            with goes_first, suppress(IndexCorrupt), _source_of(generation) as source:
                self._searcher.preload(source, collection, generation.model.dimension, cancelled)
                generation.preloaded.add(collection)
        except ModelLoadFailed as error:
            return error
        return None

    def _asked(self) -> _Asked:
        moment = self._live_update.moment
        return _Asked(self._live_update.readable(), moment)

    def _answer_from(
        self, find: Callable[[SearchSource], T], shown: Callable[[T], Iterable[str]], asked: _Asked | None = None
    ) -> tuple[T, str]:
        def read(generation: Generation, fresh: bool) -> _Read[T]:
            with _source_of(generation) as source:
                answer = find(source)
                return self._read(generation, fresh, source, answer, shown(answer))

        return self._answer(read, asked or self._asked())

    def _answer(
        self, read: Callable[[Generation, bool], _Read[T]], asked: _Asked, mark: int | None = None
    ) -> tuple[T, str]:
        """Returns what `read` finds in the current generation, and one line if that may be stale or partial or lacks
        the effect of a changed setting.

        Waits a bounded time until changes before the `mark`, or before this call, are applied. If files that the answer
        shows have changed since, it waits once more, for those, and reads again.
        """
        fresh = self._live_update.freshen(asked.moment, mark)

        def read_now(generation: Generation) -> _Read[T]:
            with QUESTIONS.answering():
                return read(generation, fresh)

        found = self._live_update.on_current(read_now, asked.generation)
        if found.seeming and self._live_update.take_in(found.seeming):
            found = self._live_update.on_current(read_now)
        changed = self._shown_files.count_changed(found.seeming) if found.seeming else 0
        standing = replace(found.standing, changed=changed) if changed else found.standing
        return found.answer, standing.notice()

    def _read(
        self, generation: Generation, fresh: bool, source: SearchSource, answer: T, shown: Iterable[str]
    ) -> _Read[T]:
        """Returns the answer and how current it is, all from the same commit."""
        seeming = self._shown_files.seem_changed(source.snapshot.connection, shown)
        return _Read(answer, seeming, self._standings.of_answer(generation, source.snapshot, fresh))


def _check_globs(patterns: Iterable[str]) -> None:
    """Raises InvalidPattern. Called first, because an error in a call is reported before a missing index."""
    for pattern in patterns:
        compile_glob(pattern)


def _holds_no_docs(snapshot: SearchedSnapshot) -> bool:
    """Whether the index is complete and holds no documentation. An incomplete one does not count, because documentation
    is indexed after the code."""
    return is_complete(snapshot) and not (snapshot.file_collection == 1).any()


@contextmanager
def _source_of(generation: Generation, embedder: Callable[[], Embedder] | None = None) -> Iterator[SearchSource]:
    with generation.snapshots.open() as snapshot:
        yield SearchSource(snapshot, embedder or _embedder_of(generation), generation.store)


def _embedder_of(generation: Generation, failed: ModelLoadFailed | None = None) -> Callable[[], Embedder]:
    """Returns what loads the generation's model, at most once; or raises that it could not be loaded."""

    @cache
    def embedder() -> Embedder:
        if failed is not None:
            raise failed
        return generation.embedder()

    return embedder
