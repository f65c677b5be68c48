"""Runs one search, from request to answer: words and vectors propose files, features rank them, and chunks of them are
shown.

Candidates are files, so that ten results are ten different places. Modes differ only in alpha, the weight of meaning:
`fts` is alpha 0 and uses no model; `vector` is alpha 1 and reads no postings.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sidecar.engine.concurrency.background import beside
from sidecar.engine.search.budget import within_budget
from sidecar.engine.search.filters import allowed_chunks
from sidecar.engine.search.foreign import in_english
from sidecar.engine.search.hits import rank_spans, to_hits
from sidecar.engine.search.named import ends_of
from sidecar.engine.search.query import Query, understand
from sidecar.engine.search.rank.candidates import keep_allowed, propose, propose_by_words
from sidecar.engine.search.rank.chunk_choice import shown
from sidecar.engine.search.rank.chunk_groups import ChunkGroups
from sidecar.engine.search.rank.chunk_scores import ChunkScores, Closeness
from sidecar.engine.search.rank.confidence import Confidence, Ranked
from sidecar.engine.search.rank.confidence import learned as learned_confidence
from sidecar.engine.search.rank.definitions import DefinitionScores, add_plain, look_up
from sidecar.engine.search.rank.features import compute_features
from sidecar.engine.search.rank.index_columns import IndexColumns, columns_of
from sidecar.engine.search.rank.lexical_scores import match_query
from sidecar.engine.search.rank.scorer import Combiner, learned
from sidecar.engine.search.rank.scores_on_demand import score_on_demand
from sidecar.engine.search.rank.signals import Signals
from sidecar.engine.search.rank.word_scores import WordScores
from sidecar.engine.search.source import Flags, Rows, SearchedSnapshot, SearchSource
from sidecar.engine.search.typos import corrected
from sidecar.engine.search.vector_search import VectorSearch
from sidecar.errors import Cancelled, InvalidQuery, ModelLoadFailed
from sidecar.model.answers import SearchAnswer, SearchRequest
from sidecar.model.terms import Collection, Embedder, IsCancelled, Mode
from sidecar.parts.lexical.bm25 import Floats
from sidecar.parts.manifest import COLLECTIONS
from sidecar.shown import count

SCORED_BEFOREHAND = 100_000
"""The number of chunks up to which all word scores are computed at once. That takes no longer than finding out which
are needed."""


@dataclass
class _Clock:
    """Measures the time of each stage in milliseconds: `with clock.stage("rank"): ...`. Stages follow each other."""

    stages: dict[str, float] = field(default_factory=dict)
    _name: str = ""
    _start: float = 0.0

    def stage(self, name: str) -> _Clock:
        self._name = name
        return self

    def __enter__(self) -> None:
        self._start = time.perf_counter()

    def __exit__(self, *_: object) -> None:
        self.stages[self._name] = self.stages.get(self._name, 0.0) + (time.perf_counter() - self._start) * 1000


@dataclass(frozen=True)
class _Found:
    """The results of the word search and the vector search. `alpha` and `mode` are those in effect, which differ from
    the requested ones if the model cannot be loaded. `proposed` flags the files that words propose. `closest` are chunk
    rows, best first. `nearest` is None if no vectors were compared. `model` is the model's id; empty if no vectors were
    compared or some chunks have no vector yet."""

    match: WordScores
    symbols: DefinitionScores
    proposed: Flags
    nearest: VectorSearch | None
    closest: Rows
    alpha: float
    mode: Mode
    notice: str
    model: str

    @cached_property
    def cosines(self) -> Floats:
        """The cosines of the chunks in `closest`."""
        return np.zeros(0, np.float32) if self.nearest is None else self.nearest.similarities.of(self.closest)


@dataclass(frozen=True)
class RankingInput:
    """The facts about the candidate files before features are weighed.

    `features` has shape [files, FEATURES]. `shown` is local to `groups` and says how well each chunk answers, in order
    to choose among the chunks of one file. `cosines` are those of the closest chunks, best first.
    """

    groups: ChunkGroups
    features: Floats
    shown: Floats
    alpha: float
    signals: Signals
    cosines: Floats

    def ranked(self, scores: Floats) -> Ranked:
        """Returns the facts about an answer whose candidates have these scores; there must be at least one."""
        return Ranked(self.signals, self.cosines, int(np.argmax(scores)))


@dataclass(frozen=True)
class Understood:
    """A query that has been understood before the index is looked at, and what that took, in milliseconds."""

    query: Query
    stages_ms: Mapping[str, float]


def alpha_of(request: SearchRequest) -> float:
    """Returns the weight of meaning in the request's mode, 0-1: 0 uses words alone, 1 meaning alone."""
    return {"fts": 0.0, "vector": 1.0}.get(request.mode, request.alpha)


class Searcher:
    """Searches any `SearchSource`; scores are computed by `combiner`. Stateless and thread-safe."""

    def __init__(self, combiner: Combiner | None = None, scored_beforehand: int = SCORED_BEFOREHAND) -> None:
        """With up to `scored_beforehand` chunks, words are scored in all of them at once; with more, only where
        necessary."""
        self._combiner: Combiner = combiner or learned()
        self._scored_beforehand = scored_beforehand
        self._confidence: Confidence = learned_confidence()

    def preload(self, source: SearchSource, collection: Collection, dimension: int, cancelled: IsCancelled) -> None:
        """Loads the model, whose vectors have this dimension, and at the same time reads into memory those vectors of
        the collection that searches will compare. Raises Cancelled and ModelLoadFailed."""
        model = beside(source.embedder)
        columns = columns_of(source.snapshot, COLLECTIONS.index(collection))
        VectorSearch(source.snapshot, columns, np.zeros(dimension, np.float32), cancelled).load()
        model.result().embed_query("preload")

    def understand(self, request: SearchRequest, embedder: Callable[[], Embedder] | None = None) -> Understood:
        """Does what needs no index: understands the query and, if the request needs it, embeds it. `search` finds the
        vector in the embedder's cache, and reports why the model cannot be loaded. Raises InvalidQuery if the query is
        blank."""
        if not request.query.strip():
            raise InvalidQuery
        start = time.perf_counter()
        query = understand(request.query)
        understood = time.perf_counter()
        if embedder is not None and alpha_of(request) > 0:
            with suppress(ModelLoadFailed):
                embedder().embed_query(query.meaning)
        embedded = time.perf_counter()
        return Understood(query, {"tokenise": (understood - start) * 1000, "embed": (embedded - understood) * 1000})

    def search(
        self,
        source: SearchSource,
        request: SearchRequest,
        cancelled: IsCancelled,
        understood: Understood | None = None,
    ) -> SearchAnswer:
        """Answers one request, which may have been `understood` before. If the model cannot be loaded, searches by
        words alone and says so in the notice.

        Raises InvalidQuery if the query is blank, InvalidPattern, Cancelled, and ModelLoadFailed only if alpha is 1.
        """
        snapshot = source.snapshot
        understood = understood or self.understand(request)
        clock = _Clock(dict(understood.stages_ms))
        start = time.perf_counter() - sum(clock.stages.values()) / 1000
        with clock.stage("tokenise"):
            query, said = _as_meant(snapshot, understood.query)
            columns = columns_of(snapshot, COLLECTIONS.index(request.collection))
            allowed = allowed_chunks(snapshot, columns, request)
        found = self._find(source, columns, query, request, allowed, clock, cancelled)
        with clock.stage("rank"):
            combiner = self._combiner.suited_to(long=query.is_long)
            seen = self._examine(snapshot, columns, query, found, allowed, combiner.needs(found.alpha))
            scores = combiner.score(seen.features, found.alpha)
            spans = rank_spans(snapshot, columns, seen.groups, scores, seen.shown) if len(scores) else None
            judged = self._confidence.calibration(found.mode, found.model) if request.collection == "code" else None
            confidence = judged.probability(seen.ranked(scores)) if judged is not None and len(scores) else None
        with clock.stage("fetch"):
            page = spans.page(request.offset, request.top_k) if spans is not None else []
            excerpts = request.explain or request.excerpts
            hits = to_hits(
                snapshot,
                page,
                query.terms if excerpts else None,
                excerpts or request.named,
                (lambda span: combiner.contributions(seen.features[span.position], found.alpha))
                if request.explain
                else None,
            )
        return SearchAnswer(
            hits=within_budget(hits, request.token_budget, lambda hit: ends_of(snapshot, hit)),
            total=len(spans) if spans is not None else 0,
            mode=found.mode,
            took_ms=(time.perf_counter() - start) * 1000,
            notice=" ".join(filter(None, (said, found.notice))),
            stages_ms={name: round(ms, 3) for name, ms in clock.stages.items()},
            confidence=confidence,
            weak=judged is not None and confidence is not None and confidence < judged.weak_below,
        )

    def _find(
        self,
        source: SearchSource,
        columns: IndexColumns,
        query: Query,
        request: SearchRequest,
        allowed: Flags,
        clock: _Clock,
        cancelled: IsCancelled,
    ) -> _Found:
        snapshot = source.snapshot
        alpha = alpha_of(request)
        nearest, notice, model = None, "", ""
        closest = np.zeros(0, np.int32)
        if alpha > 0:
            with clock.stage("embed"):
                nearest, notice = _nearest(source, columns, query, alpha, cancelled)
            if nearest is not None:
                with clock.stage("vector"):
                    nearest.begin(source.store, request.collection, allowed, by_words=alpha < 1)
            alpha = alpha if nearest is not None else 0.0
        with clock.stage("lexical"):
            wanted = alpha < 1
            few = len(snapshot.chunk_ids) <= self._scored_beforehand
            score = match_query if few else score_on_demand
            match = score(snapshot, columns, query.terms if wanted else (), query.title_terms if wanted else ())
            symbols = look_up(snapshot, columns, query) if wanted else DefinitionScores.nothing(snapshot)
            if allowed is not columns.in_collection:
                keep_allowed(snapshot, allowed, match, symbols)
            # Now and not later, because vectors are being compared meanwhile.
            proposed = propose_by_words(snapshot, match, symbols)
        if cancelled():
            raise Cancelled
        if nearest is not None:
            with clock.stage("vector"):
                closest = nearest.closest()
            notice = " ".join(filter(None, (nearest.notice, _coverage_notice(snapshot, columns, allowed, alpha))))
            model = "" if notice else source.embedder().model_id
        mode: Mode = "fts" if alpha == 0 else "vector" if alpha == 1 else "hybrid"
        return _Found(match, symbols, proposed, nearest, closest, alpha, mode, notice, model)

    def examine(self, source: SearchSource, request: SearchRequest, cancelled: IsCancelled) -> RankingInput:
        """Runs a search up to the point where features are weighed, with all features. Combiners are trained on the
        result. Raises the same errors as `search`, except InvalidQuery."""
        snapshot = source.snapshot
        query, _ = _as_meant(snapshot, understand(request.query))
        columns = columns_of(snapshot, COLLECTIONS.index(request.collection))
        allowed = allowed_chunks(snapshot, columns, request)
        found = self._find(source, columns, query, request, allowed, _Clock(), cancelled)
        return self._examine(snapshot, columns, query, found, allowed, None)

    def _examine(
        self,
        snapshot: SearchedSnapshot,
        columns: IndexColumns,
        query: Query,
        found: _Found,
        allowed: Flags,
        wanted: frozenset[str] | None,
    ) -> RankingInput:
        files = propose(snapshot, columns, found.proposed, found.closest, found.cosines)
        groups = ChunkGroups(columns, files)
        if found.alpha < 1:
            add_plain(found.symbols, snapshot, columns, query, files)
        passages = ChunkScores.of(groups, found.match, found.symbols, allowed)
        if found.nearest is not None and not found.nearest.knows_all:
            found.nearest.score(passages.worth_comparing())
        closeness = Closeness.of(groups, found.nearest.similarities if found.nearest is not None else None)
        signals = Signals(snapshot, columns, query, found.match, found.symbols, passages, closeness)
        return RankingInput(
            groups,
            compute_features(signals, wanted),
            shown(signals, found.alpha),
            found.alpha,
            signals,
            found.cosines,
        )


def _as_meant(snapshot: SearchedSnapshot, query: Query) -> tuple[Query, str]:
    """Returns the query in English and with its typing errors corrected, and a notice that says so."""
    query, translated = in_english(snapshot, query)
    query, correction = corrected(snapshot, query)
    return query, " ".join(filter(None, (translated, correction)))


def _nearest(
    source: SearchSource, columns: IndexColumns, query: Query, alpha: float, cancelled: IsCancelled
) -> tuple[VectorSearch | None, str]:
    """Returns the vector search of the query. If the model cannot be loaded and alpha is below 1, returns None and a
    notice."""
    try:
        vector = source.embedder().embed_query(query.meaning)
    except ModelLoadFailed as error:
        if alpha == 1:
            raise
        return None, f"Searched by word only: {error.message}"
    return VectorSearch(source.snapshot, columns, vector, cancelled), ""


def _coverage_notice(snapshot: SearchedSnapshot, columns: IndexColumns, allowed: Flags, alpha: float) -> str:
    if allowed is columns.in_collection:
        total, embedded = columns.chunk_count, len(snapshot.embedded_rows(columns.collection))
    else:
        total = int(np.count_nonzero(allowed))
        embedded = int(np.count_nonzero(allowed & (snapshot.chunk_vector > 0)))
    if embedded >= total:
        return ""
    others = "found by word only" if alpha < 1 else "not searched yet"
    if total == 1:
        return f"Partial: the only chunk has no vector so far and is {others}."
    return f"Partial: {embedded:,} of {count(total, 'chunk')} have a vector so far; the others are {others}."
