"""The search tools: search_code, search_docs and search_by_path.

This module defines names, limits and result shapes. The engine ranks, matches and decides what is stale.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StrictFloat

from sidecar.errors import DocsIndexNotFound, IndexNotFound, InvalidPattern, InvalidQuery, QueryTooLong
from sidecar.model.answers import SearchAnswer, SearchRequest
from sidecar.model.files import CHARS_PER_TOKEN
from sidecar.model.terms import Collection, Mode
from sidecar.model.workspace import Workspace
from sidecar.settings.values import DEFAULTS
from sidecar.tools.context import Context
from sidecar.tools.dialect import CamelResult
from sidecar.tools.lines import PLAIN, Line
from sidecar.tools.search_results import (
    CompactHit,
    CompactResult,
    FurtherAnswer,
    FurtherCompact,
    SearchHit,
    SearchResult,
    notice_of,
)
from sidecar.tools.several import RequestFor, search_several
from sidecar.tools.spec import Params, RefusedAs, ToolSpec

FAMILY = "code-search"
MAX_GLOB = 200
MAX_QUERY = 20_000
"""The maximum number of characters of a query: enough for a pasted issue with its traceback."""
MOST_QUERIES = 8
"""The maximum number of questions of one call."""


def whole(value: Any) -> Any:
    """Turns a float with an integer value into an int, since JSON does not distinguish 5.0 from 5. Returns any other
    value unchanged."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Whole = Annotated[int, BeforeValidator(whole)]
Query = Annotated[str, RefusedAs(InvalidQuery, too_long=QueryTooLong)]
Glob = Annotated[str, Field(min_length=1, max_length=MAX_GLOB), RefusedAs(InvalidPattern)]
Exact = Annotated[str, Field(min_length=1, max_length=200)]
Word = Annotated[str, Field(min_length=1, max_length=50)]


class SearchCodeParams(Params):
    """Parameters of `search_code`."""

    query: Query = Field(
        max_length=MAX_QUERY,
        description="What to look for, in words or as an identifier.",
        examples=["retry with backoff"],
        json_schema_extra={"minLength": 1},
    )
    top_k: Whole = Field(10, ge=1, le=50, description="How many results.", examples=[10])
    queries: list[Annotated[Query, Field(max_length=MAX_QUERY)]] = Field(
        [],
        max_length=MOST_QUERIES - 1,
        description="Up to 7 further questions.",
        examples=[["where is the timeout set"]],
    )
    compact: bool = Field(
        False,
        description="A first look: one line of each result, short field names.",
        examples=[True],
    )
    mode: Mode = Field("hybrid", description="hybrid, vector (meaning) or fts (words).", examples=["hybrid"])
    alpha: StrictFloat = Field(
        DEFAULTS["hybridSearch.defaultAlpha"],
        ge=0,
        le=1,
        description="Of hybrid: 1 is meaning only, 0 words only.",
        examples=[0.7],
    )
    offset: Whole = Field(0, ge=0, le=1000, description="Skip this many results.", examples=[10])
    paths: list[Glob] = Field([], max_length=20, description="Only paths that match a glob.", examples=[["src/**"]])
    languages: list[Word] = Field([], max_length=20, description="Only these languages.", examples=[["python"]])
    kinds: list[Word] = Field(
        [], max_length=20, description="Only these: function, class, method, ...", examples=[["function"]]
    )
    exact: list[Exact] = Field(
        [],
        max_length=20,
        description="Only results with these texts.",
        examples=[["x = 1"]],
    )
    max_tokens: Whole = Field(
        0, ge=0, le=1_000_000, description="Cut the content at this many tokens; 0: never.", examples=[4000]
    )
    explain: bool = Field(
        False,
        description="Add why each was found.",
        examples=[True],
    )


class SearchDocsParams(SearchCodeParams):
    """Parameters of `search_docs`."""

    mode: Mode = Field("vector", description="hybrid, vector (meaning) or fts (words).", examples=["vector"])


class SearchByPathParams(Params):
    """Parameters of `search_by_path`."""

    pattern: Annotated[str, RefusedAs(InvalidPattern)] = Field(
        max_length=MAX_GLOB,
        description="Glob over indexed paths.",
        examples=["**/*.ts"],
        json_schema_extra={"minLength": 1},
    )
    limit: Whole = Field(20, ge=1, le=100, description="At most this many paths.", examples=[20])
    fuzzy: bool = Field(False, description="Letters in order; best first.", examples=[True])


class PathMatches(CamelResult):
    """Matching paths in alphabetical order; with `fuzzy`, those that fit best first, each with its score in `scores`.
    `total_matches` is their number before the limit; `notice` is set only if the answer is partial or stale; `reason`
    says why nothing matches, and is set only then."""

    matches: list[str]
    pattern: str
    total_matches: int
    notice: str | None = None
    reason: str | None = None
    scores: list[float] | None = None

    def row_paths(self) -> list[str]:
        """Returns the path of each row."""
        return self.matches

    def as_lines(self) -> Iterator[Line]:
        """Yields the lines that a shell prints on standard output."""
        yield from (((PLAIN, path, path, 0),) for path in self.matches)

    def as_notes(self) -> Iterator[str]:
        """Yields the notes that a shell prints on standard error, one sentence each."""
        yield self.notice or ""
        rest = self.total_matches - len(self.matches)
        yield f"{rest} more; raise --limit" if rest else ""
        yield "" if self.matches else f"Nothing found. {self.reason or ''}".rstrip()


def search_code(context: Context, params: SearchCodeParams) -> SearchResult | CompactResult:
    """Searches the code collection. Raises `InvalidQuery` for a blank query."""
    return _search(context, params, "code")


def search_docs(context: Context, params: SearchDocsParams) -> SearchResult | CompactResult:
    """Like `search_code`, for the docs collection. Raises `DocsIndexNotFound` if there is no index."""
    try:
        return _search(context, params, "docs")
    except IndexNotFound as error:
        raise DocsIndexNotFound(error.detail, **error.facts) from error


def search_by_path(context: Context, params: SearchByPathParams) -> PathMatches:
    """Finds indexed paths that match a glob or, with `fuzzy`, that contain the given letters in this order. Raises
    `InvalidPattern` for an empty pattern."""
    if not params.pattern:
        raise InvalidPattern("Write a glob such as **/*.ts, or with `fuzzy` some letters of the path.")
    find = context.workspace.find_paths_by_letters if params.fuzzy else context.workspace.find_paths
    answer = find(params.pattern, params.limit)
    return PathMatches(
        matches=list(answer.paths),
        pattern=params.pattern,
        total_matches=answer.total,
        notice=answer.notice or None,
        reason=answer.reason or None,
        scores=[round(score, 2) for score in answer.scores] if params.fuzzy else None,
    )


def _search(context: Context, params: SearchCodeParams, collection: Collection) -> SearchResult | CompactResult:
    questions = [params.query, *params.queries]
    if not all(question.strip() for question in questions):
        raise InvalidQuery("Say in a few words what to look for.")
    answers = _answers(context, params, collection, questions)
    return (
        _compact(answers, questions, params.max_tokens) if params.compact else _full(answers, questions, params.explain)
    )


def _answers(
    context: Context, params: SearchCodeParams, collection: Collection, questions: Sequence[str]
) -> list[SearchAnswer]:
    """Returns the answer to each question. Each question gets an equal share of the tokens that `max_tokens` still
    allows."""
    answers: list[SearchAnswer] = []
    left = params.max_tokens
    for number, question in enumerate(questions):
        budget = 0 if params.compact else _part(left, len(questions) - number)
        answers.append(_answer(context, partial(_request, params, collection, question, budget)))
        left = left and max(1, left - sum(len(hit.content) for hit in answers[-1].hits) // CHARS_PER_TOKEN)
    return answers


def _answer(context: Context, request_for: RequestFor) -> SearchAnswer:
    if context.several:
        return search_several(context, request_for)
    return context.workspace.search(request_for(context.workspace), context.cancelled)


def _request(
    params: SearchCodeParams, collection: Collection, question: str, budget: int, workspace: Workspace
) -> SearchRequest:
    mode, alpha = _mode_and_alpha(workspace, params)
    return SearchRequest(
        query=question,
        collection=collection,
        mode=mode,
        alpha=alpha,
        top_k=params.top_k,
        offset=params.offset,
        paths=tuple(params.paths),
        languages=tuple(language.lower() for language in params.languages),
        kinds=tuple(kind.lower() for kind in params.kinds),
        exact=tuple(params.exact),
        token_budget=budget,
        explain=params.explain,
        named=True,
        excerpts=params.compact,
    )


def _part(tokens: int, questions: int) -> int:
    """Returns an equal share of the tokens, at least one; 0, which means no limit, stays 0."""
    return tokens and max(1, tokens // questions)


def _mode_and_alpha(workspace: Workspace, params: SearchCodeParams) -> tuple[Mode, float]:
    """Returns the mode and the alpha that the call names. If it names neither and the setting `hybridSearch.enabled` is
    false, `vector` replaces `hybrid`. If it names no alpha, `hybridSearch.defaultAlpha` counts in hybrid mode, and the
    parameter's default in the others."""
    named = params.model_fields_set & {"mode", "alpha"}
    if params.mode != "hybrid" or "alpha" in named:
        return params.mode, params.alpha
    unnamed = workspace.hybrid_defaults()
    return ("hybrid", unnamed.alpha) if named or unnamed.enabled else ("vector", params.alpha)


def _full(answers: Sequence[SearchAnswer], questions: Sequence[str], explain: bool) -> SearchResult:
    first, *further = answers
    hits = [[SearchHit.of(hit, explain) for hit in answer.hits] for answer in answers]
    same = _shown_before(answers)
    rows = [
        [hit.model_copy(update={"same_as": by}) if (by := same.get((i, j))) else hit for j, hit in row]
        for i, row in enumerate(map(enumerate, hits))
    ]
    return SearchResult(
        results=rows[0],
        query=questions[0],
        total_results=len(first.hits),
        available=_available(first),
        search_time_ms=round(sum(answer.took_ms for answer in answers), 2),
        search_mode=first.mode,
        notice=notice_of(first),
        reason=first.reason or None,
        weak=first.weak or None,
        confidence=round(first.confidence, 3) if explain and first.confidence is not None else None,
        stages_ms={stage: round(ms, 3) for stage, ms in first.stages_ms.items()} if explain else None,
        model=(first.model or None) if explain else None,
        further=[
            FurtherAnswer(
                query=question,
                results=results,
                total_results=len(results),
                available=_available(answer),
                notice=notice_of(answer),
                reason=answer.reason or None,
                weak=answer.weak or None,
            )
            for question, answer, results in zip(questions[1:], further, rows[1:], strict=True)
        ]
        or None,
    )


def _available(answer: SearchAnswer) -> int | None:
    return answer.total if answer.total > len(answer.hits) else None


def _compact(answers: Sequence[SearchAnswer], questions: Sequence[str], max_tokens: int) -> CompactResult:
    same = _shown_before(answers)
    rows: list[list[CompactHit]] = []
    left = max_tokens
    for i, answer in enumerate(answers):
        hits = [
            CompactHit.of(hit).model_copy(update={"same_as": by} if (by := same.get((i, j))) else {})
            for j, hit in enumerate(answer.hits)
        ]
        rows.append(_leading(hits, _part(left, len(answers) - i)))
        left = left and max(1, left - _tokens(rows[-1]))
    first, *further = answers
    return CompactResult(
        r=rows[0],
        n=len(rows[0]),
        ms=round(sum(answer.took_ms for answer in answers)),
        q=questions[0] if further else None,
        notice=notice_of(first),
        reason=first.reason or None,
        weak=first.weak or None,
        f=[
            FurtherCompact(
                q=question,
                r=results,
                n=len(results),
                notice=notice_of(answer),
                reason=answer.reason or None,
                weak=answer.weak or None,
            )
            for question, answer, results in zip(questions[1:], further, rows[1:], strict=True)
        ]
        or None,
    )


def _leading(hits: list[CompactHit], tokens: int) -> list[CompactHit]:
    """Returns the first hits, at least one, whose texts are at most this many tokens long; 0 means no limit."""
    fitting = [n for n in range(1, len(hits) + 1) if not tokens or _tokens(hits[:n]) <= tokens]
    return hits[: max(fitting, default=1)]


def _tokens(hits: Sequence[CompactHit]) -> int:
    return sum(len(hit.as_text()) for hit in hits) // CHARS_PER_TOKEN


def _shown_before(answers: Sequence[SearchAnswer]) -> dict[tuple[int, int], int]:
    """Returns, for each hit that an earlier question's answer has already shown in full, the number (from 1) of that
    question. The keys are the positions of the answer and of the hit in it."""
    shown_by: dict[tuple[str, str], list[tuple[int, int, int]]] = {}
    same: dict[tuple[int, int], int] = {}
    for i, answer in enumerate(answers):
        for j, hit in enumerate(answer.hits):
            places = shown_by.get((hit.workspace, hit.path), ())
            holding = [by for start, end, by in places if start <= hit.start_line and hit.end_line <= end]
            if holding:
                same[i, j] = holding[0]
        for hit in answer.hits:
            shown_by.setdefault((hit.workspace, hit.path), []).append((hit.start_line, hit.end_line, i + 1))
    return same


SEARCH_CODE = ToolSpec(
    name="search_code",
    family=FAMILY,
    summary="Search code by meaning and by word",
    params=SearchCodeParams,
    result=SearchResult,
    other_results=(CompactResult,),
    run=search_code,
    read_only=True,
    idempotent=True,
    rest=("/search", "/code/search"),
)

SEARCH_DOCS = ToolSpec(
    name="search_docs",
    family=FAMILY,
    summary="Search documentation by meaning and by word",
    params=SearchDocsParams,
    result=SearchResult,
    other_results=(CompactResult,),
    run=search_docs,
    read_only=True,
    idempotent=True,
    rest=("/docs",),
)

SEARCH_BY_PATH = ToolSpec(
    name="search_by_path",
    family=FAMILY,
    summary="Find indexed files by glob pattern",
    params=SearchByPathParams,
    result=PathMatches,
    run=search_by_path,
    read_only=True,
    idempotent=True,
    rest=("/paths",),
)
