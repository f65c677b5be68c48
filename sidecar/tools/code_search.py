"""The search tools: search_code, search_docs and search_by_path.

This module defines names, limits and shapes. Ranking, matching and the rule for stale answers are the engine's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StrictFloat

from sidecar import shown
from sidecar.errors import DocsIndexNotFound, IndexNotFound, InvalidPattern, InvalidQuery
from sidecar.model import Collection, Hit, HitDefinition, Mode, SearchAnswer, SearchRequest
from sidecar.settings.values import DEFAULTS
from sidecar.shown import count
from sidecar.tools.context import Context
from sidecar.tools.dialect import CamelResult
from sidecar.tools.lines import ASIDE, PLACE, STRONG, Line, marked
from sidecar.tools.spec import Params, RefusedAs, ToolSpec

FAMILY = "code-search"
MAX_GLOB = 200
MAX_QUERY = 20_000
"""The most characters of a query: room for a pasted issue with its traceback."""
_NO_STRONG_MATCH = "No strong match: these results are the closest, but probably not what was asked for."


def whole(value: Any) -> Any:
    """Turns a float with an integer value into an int, since JSON does not tell 5.0 from 5. Returns every other value
    as it is."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Whole = Annotated[int, BeforeValidator(whole)]
Query = Annotated[str, RefusedAs(InvalidQuery)]
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
    compact: bool = Field(False, description="Short field names: r[{l: path:lines, t, s}], n, ms.", examples=[True])
    mode: Mode = Field(
        "hybrid", description="hybrid, vector (by meaning) or fts (by exact words).", examples=["hybrid"]
    )
    alpha: StrictFloat = Field(
        DEFAULTS["hybridSearch.defaultAlpha"],
        ge=0,
        le=1,
        description="Hybrid weight: 1 is meaning only, 0 is words only.",
        examples=[0.7],
    )
    offset: Whole = Field(0, ge=0, le=1000, description="Skip this many results (next page).", examples=[10])
    paths: list[Glob] = Field([], max_length=20, description="Only paths that match a glob.", examples=[["src/**"]])
    languages: list[Word] = Field([], max_length=20, description="Only these languages.", examples=[["python"]])
    kinds: list[Word] = Field(
        [], max_length=20, description="Only these kinds: function, class, method, ...", examples=[["function"]]
    )
    exact: list[Exact] = Field(
        [],
        max_length=20,
        description="Only results with these texts, as written.",
        examples=[["x = 1"]],
    )
    max_tokens: Whole = Field(
        0, ge=0, le=1_000_000, description="Stop before this many tokens of content; 0: no limit.", examples=[4000]
    )
    explain: bool = Field(
        False,
        description="Add why each was found, in percent, and by which lines.",
        examples=[True],
    )


class SearchDocsParams(SearchCodeParams):
    """Parameters of `search_docs`."""

    mode: Mode = Field(
        "vector", description="vector (by meaning), hybrid or fts (by exact words).", examples=["vector"]
    )


class ExcerptLine(CamelResult):
    """A line that shows why the result was found. `pieces` alternates: the second, fourth, ... pieces are words of the
    query."""

    line: int
    pieces: list[str]


class EnclosingDefinition(CamelResult):
    """The definition that a result is about. Lines are 1-based, `end_line` is inclusive; `container` joins the
    enclosing names by `.`."""

    name: str
    kind: str
    start_line: int
    end_line: int
    container: str | None = None

    def as_text(self) -> str:
        """`kind container.name`."""
        name = f"{self.container}.{self.name}" if self.container else self.name
        return shown.line(f"{self.kind} {name}")


class SearchHit(CamelResult):
    """One result. Lines are 1-based, `end_line` is inclusive, and `score` is 0-1.

    `shares` has the reasons for which it was found, in percent that sum to 100; `why` says them in words, and then what
    counts against it. The fields from `parts` on are set only when the call asks for `explain`. `definition` is the one
    around the excerpt's most telling line; the result's own lines may be the middle of it.
    """

    path: str
    content: str
    score: float
    start_line: int
    end_line: int
    language: str
    kind: str
    names: list[str]
    parts: dict[str, float] | None = None
    why: list[str] | None = None
    shares: dict[str, int] | None = None
    excerpt: list[ExcerptLine] | None = None
    definition: EnclosingDefinition | None = None

    def as_text(self) -> str:
        """`path:start-end score`, the definition, why it was found, and the content with line numbers."""
        about = f" in {self.definition.as_text()}" if self.definition else ""
        head = f"{shown.path(self.path)}:{self.start_line}-{self.end_line} {self.score:.2f}{about}"
        return "\n".join((head, *self._why(), *shown.numbered(self.content, self.start_line)))

    def _why(self) -> tuple[str, ...]:
        """One line that says why it was found; none where that was not asked for."""
        return (f"Why: {'; '.join(shown.line(reason) for reason in self.why)}.",) if self.why else ()

    def lines_with(self, found: Callable[[str], list[tuple[int, int]]]) -> Iterator[Line]:
        """As `as_text`, for a shell, with what `found` finds in a line marked; an empty line ends it."""
        place = f"{shown.path(self.path)}:{self.start_line}-{self.end_line}"
        yield (PLACE, place), "  ", (STRONG, format(self.score, ".3f"))
        if self.definition is not None:
            yield ((ASIDE, f"  in {self.definition.as_text()}"),)
        for line in self._why():
            yield ((ASIDE, f"  {line}"),)
        width = len(str(self.end_line))
        for number, line in enumerate(shown.visible(self.content).split("\n"), self.start_line):
            text = line.rstrip()
            yield (ASIDE, f"{number:>{width}} |"), " " if text else "", *marked(text, found(text))
        yield ""


def search_text(notice: str | None, hits: Sequence[str], total: int, reason: str | None = None) -> str:
    """The text of a search for a language model: the notice, the hits, and how many there are if not all are here.

    `reason`: why there are no hits.

    Each line of a file stands behind its number and a bar, `12| `, and no other line begins like that. Whatever a file
    contains, the reader can tell that it comes from the file, and count the hits by the lines `path:start-end score`.
    """
    head = [shown.sentence(notice)] if notice else []
    if not hits:
        return "\n".join([*head, f"No results. {shown.sentence(reason or '')}".rstrip()])
    tail = [f"{len(hits):,} of {count(total, 'result')}."] if total > len(hits) else []
    return "\n\n".join([*head, *hits, *tail])


def search_notes(notice: str | None, hits: Sequence[object], reason: str | None) -> Iterator[str]:
    """What a shell says beside a search; `reason` is why it found nothing."""
    yield notice or ""
    yield "" if hits else f"Nothing found. {reason or ''}".rstrip()


class SearchResult(CamelResult):
    """`total_results` counts the results returned; `available`, how many there are to page through, is set only if
    larger.

    `notice` is set only when the answer is partial, stale or weak, or something else was searched for than was typed;
    `reason` (why there are no results) only when there are none. `weak` is set, and then true, only when the results
    are probably no answer; `confidence` (0-1) is the probability that there is one, where it is known. It, `stages_ms`
    and `model` (the model that compared the meanings) are set only with `explain`.
    """

    results: list[SearchHit]
    query: str
    total_results: int
    available: int | None = None
    search_time_ms: float
    search_mode: str
    notice: str | None = None
    reason: str | None = None
    weak: bool | None = None
    confidence: float | None = None
    stages_ms: dict[str, float] | None = None
    model: str | None = None

    def row_paths(self) -> list[str]:
        """The path of each row."""
        return [hit.path for hit in self.results]

    def as_text(self) -> str:
        """What a language model reads of it."""
        total = len(self.results) if self.available is None else self.available
        return search_text(self.notice, [hit.as_text() for hit in self.results], total, self.reason)

    def as_lines(self) -> Iterator[Line]:
        """What a shell prints of it on standard output."""
        from sidecar.engine.search.excerpt import hit_words

        found = hit_words(self.query)
        for hit in self.results:
            yield from hit.lines_with(found)
        if self.stages_ms is not None:
            stages = ", ".join(f"{stage} {ms:g} ms" for stage, ms in self.stages_ms.items())
            by = f"; meanings by {self.model}" if self.model is not None else ""
            yield ((ASIDE, f"{self.search_time_ms:g} ms ({stages}){by}"),)

    def as_notes(self) -> Iterator[str]:
        """What a shell says of it on standard error, one sentence each."""
        return search_notes(self.notice, self.results, self.reason)


class CompactHit(CamelResult):
    """`l`: path:start-end, `t`: text, `s`: score, rounded to two decimals."""

    l: str  # noqa: E741
    t: str
    s: float

    def as_text(self) -> str:
        """`path:start-end score`, and the text with line numbers."""
        path, lines = self.place()
        numbered = shown.numbered(self.t, int(lines.partition("-")[0]))
        return "\n".join((f"{shown.path(path)}:{lines} {self.s}", *numbered))

    def as_lines(self) -> Iterator[Line]:
        """`path:start-end  score  first line of the text that is not blank`."""
        path, lines = self.place()
        first = next((line.strip() for line in self.t.split("\n") if line.strip()), "")
        yield (PLACE, f"{shown.path(path)}:{lines}"), f"  {self.s:.2f}  {shown.line(first)[:100]}"

    def place(self) -> tuple[str, str]:
        """The path, and the lines as `start-end`."""
        path, _, lines = self.l.rpartition(":")
        return path, lines


class CompactResult(CamelResult):
    """`r`: results, `n`: their number, `ms`: time taken in milliseconds. `notice`, `reason` and `weak` as in
    `SearchResult`."""

    r: list[CompactHit]
    n: int
    ms: float
    notice: str | None = None
    reason: str | None = None
    weak: bool | None = None

    def row_paths(self) -> list[str]:
        """The path of each row."""
        return [hit.place()[0] for hit in self.r]

    def as_text(self) -> str:
        """What a language model reads of it."""
        return search_text(self.notice, [hit.as_text() for hit in self.r], len(self.r), self.reason)

    def as_lines(self) -> Iterator[Line]:
        """What a shell prints of it on standard output."""
        for hit in self.r:
            yield from hit.as_lines()

    def as_notes(self) -> Iterator[str]:
        """What a shell says of it on standard error, one sentence each."""
        return search_notes(self.notice, self.r, self.reason)


class SearchByPathParams(Params):
    """Parameters of `search_by_path`."""

    pattern: Annotated[str, RefusedAs(InvalidPattern)] = Field(
        max_length=MAX_GLOB,
        description="Glob over indexed paths; ** crosses folders.",
        examples=["**/*.ts"],
        json_schema_extra={"minLength": 1},
    )
    limit: Whole = Field(20, ge=1, le=100, description="At most this many paths.", examples=[20])
    fuzzy: bool = Field(False, description="Letters in order; best first.", examples=[True])


class PathMatches(CamelResult):
    """Matching paths in alphabetical order; with `fuzzy` those that fit best first, each with its score in `scores`.
    `total_matches` is their number before the limit; `notice` is set only when the answer is partial or stale, `reason`
    only when nothing matches: why."""

    matches: list[str]
    pattern: str
    total_matches: int
    notice: str | None = None
    reason: str | None = None
    scores: list[float] | None = None

    def row_paths(self) -> list[str]:
        """The path of each row."""
        return self.matches

    def as_lines(self) -> Iterator[Line]:
        """What a shell prints of it on standard output."""
        yield from self.matches

    def as_notes(self) -> Iterator[str]:
        """What a shell says of it on standard error, one sentence each."""
        yield self.notice or ""
        rest = self.total_matches - len(self.matches)
        yield f"{rest} more; raise --limit" if rest else ""
        yield "" if self.matches else f"Nothing found. {self.reason or ''}".rstrip()


def search_code(context: Context, params: SearchCodeParams) -> SearchResult | CompactResult:
    """Searches the code collection. Raises `InvalidQuery` for a blank query."""
    return _search(context, params, "code")


def search_docs(context: Context, params: SearchDocsParams) -> SearchResult | CompactResult:
    """As `search_code`, over the docs collection. Raises `DocsIndexNotFound` when there is no index."""
    try:
        return _search(context, params, "docs")
    except IndexNotFound as error:
        raise DocsIndexNotFound(error.detail, **error.facts) from error


def search_by_path(context: Context, params: SearchByPathParams) -> PathMatches:
    """Finds indexed paths that match a glob, or that have some letters in their order. Raises `InvalidPattern` for an
    empty one."""
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
    if not params.query.strip():
        raise InvalidQuery("Say in a few words what to look for.")
    mode = _mode(context, params)
    request = SearchRequest(
        query=params.query,
        collection=collection,
        mode=mode,
        alpha=_alpha(context, params, mode),
        top_k=params.top_k,
        offset=params.offset,
        paths=tuple(params.paths),
        languages=tuple(language.lower() for language in params.languages),
        kinds=tuple(kind.lower() for kind in params.kinds),
        exact=tuple(params.exact),
        token_budget=params.max_tokens,
        explain=params.explain,
    )
    answer = context.workspace.search(request, context.cancelled)
    return _compact(answer) if params.compact else _full(answer, params)


def _mode(context: Context, params: SearchCodeParams) -> Mode:
    """The mode that the call names. If it names neither mode nor alpha and the setting `hybridSearch.enabled` is false,
    `vector` in place of `hybrid`."""
    said = params.model_fields_set & {"mode", "alpha"}
    if params.mode != "hybrid" or said or _hybrid_settings(context).get("enabled") is not False:
        return params.mode
    return "vector"


def _alpha(context: Context, params: SearchCodeParams, mode: Mode) -> float:
    """The alpha that the call names; else `hybridSearch.defaultAlpha` in hybrid mode, else the parameter's default."""
    if "alpha" in params.model_fields_set or mode != "hybrid":
        return params.alpha
    alpha = _hybrid_settings(context).get("defaultAlpha")
    return float(alpha) if isinstance(alpha, int | float) else params.alpha


def _hybrid_settings(context: Context) -> Mapping[str, object]:
    found = context.workspace.config().config.get("hybridSearch")
    return found if isinstance(found, dict) else {}


def _full(answer: SearchAnswer, params: SearchCodeParams) -> SearchResult:
    return SearchResult(
        results=[_hit(hit, params.explain) for hit in answer.hits],
        query=params.query,
        total_results=len(answer.hits),
        available=answer.total if answer.total > len(answer.hits) else None,
        search_time_ms=round(answer.took_ms, 2),
        search_mode=answer.mode,
        notice=_notice(answer),
        reason=answer.reason or None,
        weak=answer.weak or None,
        confidence=round(answer.confidence, 3) if params.explain and answer.confidence is not None else None,
        stages_ms={stage: round(ms, 3) for stage, ms in answer.stages_ms.items()} if params.explain else None,
        model=(answer.model or None) if params.explain else None,
    )


def _hit(hit: Hit, explain: bool) -> SearchHit:
    return SearchHit(
        path=hit.path,
        content=hit.content,
        score=round(hit.score, 4),
        start_line=hit.start_line,
        end_line=hit.end_line,
        language=hit.language,
        kind=hit.kind,
        names=list(hit.names),
        parts={name: round(value, 4) for name, value in hit.parts.items()} if explain else None,
        why=list(hit.why) if explain else None,
        shares=hit.shares if explain else None,
        excerpt=[ExcerptLine(line=e.line, pieces=list(e.pieces)) for e in hit.excerpt] if explain else None,
        definition=_definition(hit.definition) if explain and hit.definition is not None else None,
    )


def _definition(found: HitDefinition) -> EnclosingDefinition:
    return EnclosingDefinition(
        name=found.name,
        kind=found.kind,
        start_line=found.start_line,
        end_line=found.end_line,
        container=found.container or None,
    )


def _compact(answer: SearchAnswer) -> CompactResult:
    rows = [
        CompactHit(l=f"{hit.path}:{hit.start_line}-{hit.end_line}", t=hit.content, s=round(hit.score, 2))
        for hit in answer.hits
    ]
    return CompactResult(
        r=rows,
        n=len(rows),
        ms=round(answer.took_ms),
        notice=_notice(answer),
        reason=answer.reason or None,
        weak=answer.weak or None,
    )


def _notice(answer: SearchAnswer) -> str | None:
    """One line on what the reader of the results has to know; None if there is nothing."""
    weak = _NO_STRONG_MATCH if answer.weak and answer.hits else ""
    return " ".join(filter(None, (answer.notice, weak))) or None


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
