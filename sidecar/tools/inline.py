"""The one-shot search tools: they search texts that come with the call. They store nothing and touch no workspace."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StrictFloat, WithJsonSchema

from sidecar.tools.code_search import MAX_QUERY, Whole
from sidecar.tools.context import Context
from sidecar.tools.dialect import INLINE, SnakeResult
from sidecar.tools.spec import Params, ToolSpec

FAMILY = "inline"
PREFIX = "codomyrmex."
"""The specification's prefix of tool names; used in aliases only, as some hosts refuse a dot in a listed name."""
MAX_TEXTS = 100_000
SNIPPET = 200


class SearchTextsParams(Params):
    """Parameters of `search_documents`."""

    query: str = Field(max_length=MAX_QUERY, description="Words to look for.", examples=["rate limiting API"])
    documents: list[str] = Field(
        max_length=MAX_TEXTS, description="The texts to search.", examples=[["Rate limiting protects APIs", "API docs"]]
    )
    top_k: Whole = Field(5, ge=1, le=MAX_TEXTS, description="At most this many results.", examples=[3])


class QueryTextsParams(SearchTextsParams):
    """Parameters of `search_index_query`."""

    top_k: Whole = Field(10, ge=1, le=MAX_TEXTS, description="At most this many results.", examples=[5])


class FuzzyParams(Params):
    """Parameters of `search_fuzzy`."""

    query: str = Field(max_length=MAX_QUERY, description="What to match.", examples=["pythn"])
    candidates: list[str] = Field(
        max_length=MAX_TEXTS, description="What to match it with.", examples=[["python", "java", "rust"]]
    )
    threshold: StrictFloat = Field(0.6, ge=0, le=1, description="Least similarity.", examples=[0.7])


class TextResult(SnakeResult):
    """One text that was found. `doc_id` is its position in `documents`, from 0; `score` is TF-IDF, which has no upper
    bound."""

    doc_id: str
    score: float
    snippet: str
    highlights: list[str]


class TextsResult(SnakeResult):
    """What `search_documents` returns, best first. `reason`: why there are no results."""

    status: Literal["ok"]
    query: str
    results: list[TextResult]
    reason: str | None = None

    def row_paths(self) -> list[str]:
        """Returns an empty text for each row, since no row has a path."""
        return [""] * len(self.results)


class TextIndexResult(SnakeResult):
    """What `search_index_query` returns, best first. `index_size` is the number of texts. `reason`: why there are no
    results."""

    status: Literal["ok"]
    query: str
    index_size: int
    results: list[TextResult]
    reason: str | None = None

    def row_paths(self) -> list[str]:
        """Returns an empty text for each row, since no row has a path."""
        return [""] * len(self.results)


class FuzzyResult(SnakeResult):
    """`score` is a similarity, 0-1."""

    candidate: str
    score: float


class FuzzyMatches(SnakeResult):
    """`best_match` is null if no candidate reaches the threshold; `reason` then says why."""

    status: Literal["ok"]
    query: str
    best_match: Annotated[str | None, WithJsonSchema({"type": ["string", "null"]})]
    matches: list[FuzzyResult]
    reason: str | None = None

    def row_paths(self) -> list[str]:
        """Returns an empty text for each row, since no row has a path."""
        return [""] * len(self.matches)


def search_documents(context: Context, params: SearchTextsParams) -> TextsResult:
    """Ranks the given texts by the query."""
    results = _search(context, params)
    return TextsResult(status="ok", query=params.query, results=results, reason=_why_none(params, results))


def search_index_query(context: Context, params: QueryTextsParams) -> TextIndexResult:
    """Like `search_documents`; also returns how many texts there were."""
    results = _search(context, params)
    return TextIndexResult(
        status="ok",
        query=params.query,
        index_size=len(params.documents),
        results=results,
        reason=_why_none(params, results),
    )


def search_fuzzy(context: Context, params: FuzzyParams) -> FuzzyMatches:
    """Returns the candidates whose similarity to the query reaches the threshold, best first."""
    from sidecar.engine.extras.oneshot import match_fuzzy, why_no_fuzzy
    from sidecar.engine.wiring import similarity

    asked = params.query, params.candidates, params.threshold, similarity, context.cancelled
    found = match_fuzzy(*asked)
    return FuzzyMatches(
        status="ok",
        query=params.query,
        best_match=found[0].candidate if found else None,
        matches=[FuzzyResult(candidate=match.candidate, score=round(match.score, 6)) for match in found],
        reason=None if found else why_no_fuzzy(*asked),
    )


def _search(context: Context, params: SearchTextsParams) -> list[TextResult]:
    from sidecar.engine.extras.oneshot import search_texts

    return [
        TextResult(
            doc_id=str(hit.place),
            score=round(hit.score, 6),
            snippet=params.documents[hit.place][:SNIPPET],
            highlights=list(hit.highlights),
        )
        for hit in search_texts(params.query, params.documents, params.top_k, context.cancelled)
    ]


def _why_none(params: SearchTextsParams, results: list[TextResult]) -> str | None:
    from sidecar.engine.extras.oneshot import why_no_texts

    return None if results else why_no_texts(params.query, params.documents)


SEARCH_DOCUMENTS = ToolSpec(
    name="search_documents",
    aliases=(f"{PREFIX}search_documents",),
    family=FAMILY,
    summary="Search texts that come with the call",
    params=SearchTextsParams,
    result=TextsResult,
    run=search_documents,
    read_only=True,
    idempotent=True,
    dialect=INLINE,
)

SEARCH_INDEX_QUERY = ToolSpec(
    name="search_index_query",
    aliases=(f"{PREFIX}search_index_query",),
    family=FAMILY,
    summary="Index texts that come with the call and search them",
    params=QueryTextsParams,
    result=TextIndexResult,
    run=search_index_query,
    read_only=True,
    idempotent=True,
    dialect=INLINE,
)

SEARCH_FUZZY = ToolSpec(
    name="search_fuzzy",
    aliases=(f"{PREFIX}search_fuzzy",),
    family=FAMILY,
    summary="Find texts spelled like a query",
    params=FuzzyParams,
    result=FuzzyMatches,
    run=search_fuzzy,
    read_only=True,
    idempotent=True,
    dialect=INLINE,
)

TOOLS = (SEARCH_DOCUMENTS, SEARCH_INDEX_QUERY, SEARCH_FUZZY)
