"""The tools that index by glob patterns and search by meaning alone, on the workspace's own index.

`search_index.py` registers `search_index` by patterns, because the named document indexes use that name too.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from pydantic import Field, StrictFloat

from sidecar import shown
from sidecar.errors import IndexNotFound, InvalidParams, InvalidPattern, InvalidQuery
from sidecar.model.answers import Hit, MarkedLine, SearchAnswer
from sidecar.shown import count
from sidecar.tools.asking import question, why_cancelled
from sidecar.tools.code_index import patterns_in_words, refuse_while_indexing, unchanged
from sidecar.tools.code_search import MAX_QUERY, Query, Whole
from sidecar.tools.context import Context
from sidecar.tools.dialect import SEMANTIC, SnakeResult
from sidecar.tools.lines import ASIDE, BAD, FOUND, STRONG, Line, file_place
from sidecar.tools.search_results import notice_of
from sidecar.tools.spec import Answer, Params, Question, RefusedAs, ToolSpec

FAMILY = "semantic"
NO_PATTERNS = (
    "No patterns or files provided for indexing. Please specify one or more glob patterns (like '**/*.rs') or file"
    " paths."
)
NOTHING_INDEXED = "Nothing is indexed yet. Run `search_index` with patterns first."
MAX_LISTED = 50
MAX_NAMED = 5
MAX_PATTERNS = 10_000

Pattern = Annotated[str, Field(min_length=1, max_length=4096), RefusedAs(InvalidPattern)]

CHUNK_TYPES = {
    "function": "Function",
    "method": "Function",
    "constructor": "Function",
    "macro": "Function",
    "class": "Class",
    "type": "Class",
    "module": "Module",
    "namespace": "Module",
    "code": "Module",
    "constant": "Module",
    "variable": "Module",
    "field": "Module",
}
_MARK = re.compile("</?mark>")
_IMPORT = re.compile(r"\s*(import|from|use|using|require|include|#include|#import|export\s.*\sfrom|package|@import)\b")


class PatternsParams(Params):
    """Parameters of `search_index` by patterns."""

    patterns: list[Pattern] = Field(
        max_length=MAX_PATTERNS,
        description="Glob patterns or files to index, relative to the workspace.",
        examples=[["**/*.rs"]],
        json_schema_extra={"minItems": 1},
    )
    force: bool = Field(False, description="Index again what has not changed.", examples=[True])


class QueryParams(Params):
    """Parameters of `search_query`."""

    query: Query = Field(
        max_length=MAX_QUERY,
        description="What to look for, in words.",
        examples=["error handling"],
        json_schema_extra={"minLength": 1},
    )
    limit: Whole = Field(10, ge=1, le=100, description="How many results.", examples=[5])
    threshold: StrictFloat = Field(
        0.5, ge=0, le=1, description="Least similarity; 0.5 means unrelated.", examples=[0.6]
    )


class FailedFile(SnakeResult):
    """A file that could not be indexed, and why."""

    path: str
    error: str


class PatternIndexResult(SnakeResult):
    """The outcome of indexing by patterns. A file counts once for each pattern that it matches. `total_chunks` counts
    the chunks made by this call. If `status` is cancelled, `message` says why."""

    message: str
    indexed_files: int
    skipped_files: int
    total_chunks: int
    execution_time_ms: int
    failed_files: int
    errors: list[FailedFile]
    status: Literal["indexed", "cancelled"] = "indexed"
    workspace: str
    notice: str | None = None

    def as_notes(self) -> Iterator[str]:
        """Yields the notes that a shell prints on standard error, one sentence each."""
        yield self.notice or ""

    def as_lines(self) -> Iterator[Line]:
        """Yields the lines that a shell prints on standard output."""
        yield ((STRONG, self.message),)
        if self.status == "cancelled":
            return
        yield (
            f"{self.skipped_files:,} skipped, {self.failed_files:,} failed, {count(self.total_chunks, 'chunk')},"
            f" {self.execution_time_ms} ms"
        )
        yield f"workspace {shown.path(self.workspace)}"
        for failure in self.errors:
            yield ((BAD, f"{failure.path}: {failure.error}"),)


class SemanticHit(SnakeResult):
    """One chunk that was found. Lines are 1-based and `line_end` is inclusive. `similarity_score` is (1 + cosine) /
    2."""

    file_path: str
    chunk_text: str
    line_start: int
    line_end: int
    similarity_score: float
    language: str
    chunk_type: str
    excerpt: str

    def as_lines(self) -> Iterator[Line]:
        """Yields `path:start-end  similarity  type language`, the excerpt, and an empty line."""
        head = file_place(self.file_path, self.line_start, self.line_end)
        about = f"{self.chunk_type} {self.language}"
        yield head, "  ", (STRONG, format(self.similarity_score, ".3f")), "  ", (ASIDE, about)
        for line in shown.visible(self.excerpt).split("\n"):
            pieces = _MARK.split(line)
            yield "    | ", *((FOUND, piece) if i % 2 else piece for i, piece in enumerate(pieces))
        yield ""


class SemanticResult(SnakeResult):
    """The answer to `search_query`. `total_results` is the number of results returned; `notice` is set only if the
    answer is partial or stale, `reason` (why there are no results) only if there are none."""

    results: list[SemanticHit]
    query: str
    total_results: int
    execution_time_ms: int
    notice: str | None = None
    reason: str | None = None

    def row_paths(self) -> list[str]:
        """Returns the path of each row."""
        return [hit.file_path for hit in self.results]

    def as_lines(self) -> Iterator[Line]:
        """Yields the lines that a shell prints on standard output."""
        for hit in self.results:
            yield from hit.as_lines()
        yield f"{count(self.total_results, 'result')} in {self.execution_time_ms} ms"

    def as_notes(self) -> Iterator[str]:
        """Yields the notes that a shell prints on standard error, one sentence each."""
        yield self.notice or ""
        yield self.reason or ""


def index_patterns(context: Context, params: PatternsParams) -> PatternIndexResult:
    """Indexes the files that match the patterns. Lists at most 50 failures. Raises `InvalidParams` for an empty
    list."""
    if not params.patterns:
        raise InvalidParams(NO_PATTERNS)
    start = time.perf_counter()
    report = context.workspace.index_matching(params.patterns, params.force, context.progress, context.cancelled)
    errors = [FailedFile(path=path, error=why) for path, why in report.failures[:MAX_LISTED]]
    failed = f"; {count(report.failed, 'file')} could not be indexed" if report.failed else ""
    return PatternIndexResult(
        workspace=context.workspace_shown,
        message=f"Successfully indexed {report.indexed} files{failed}",
        indexed_files=report.indexed,
        skipped_files=report.skipped,
        total_chunks=report.chunks,
        execution_time_ms=_ms_since(start),
        failed_files=report.failed,
        errors=errors,
        notice=_without_files(report.unmatched),
    )


def _without_files(patterns: Sequence[str]) -> str | None:
    """Returns one sentence that names the patterns without a matching file, at most five; None if every pattern has
    one."""
    if not patterns:
        return None
    named = [shown.quoted(pattern) for pattern in patterns[:MAX_NAMED]]
    if len(patterns) > MAX_NAMED:
        named.append(f"{len(patterns) - MAX_NAMED} more")
    return "No file matches " + " or ".join(filter(None, (", ".join(named[:-1]), named[-1]))) + "."


def ask_to_index_patterns(context: Context, params: PatternsParams) -> Question | None:
    """Returns the question of `search_index` by patterns; None if everything that the patterns name may already be
    indexed.

    If the tool cannot run, raises `InvalidParams`, `InvalidPattern`, `PathTraversal` or `IndexingInProgress` instead.
    """
    if not params.patterns:
        raise InvalidParams(NO_PATTERNS)
    new = context.workspace.patterns_to_add(params.patterns)
    if not new:
        return None
    status = context.workspace.status()
    refuse_while_indexing(status)
    is_first = status.status == "not_found"
    return question(
        context,
        "search_index",
        deed="create a search index for a part of" if is_first else "index more files of",
        detail=f"What {patterns_in_words(new)} names is read and embedded on this machine. The index stays limited to "
        f"{'that' if is_first else 'its patterns'} until somebody creates the whole one.",
        title="Create a search index for a part of" if is_first else "Index more files of",
        accept="Create index" if is_first else "Index",
        decline="Not now",
        about="\0".join(new),
    )


def index_patterns_declined(context: Context, params: PatternsParams, answer: Answer) -> PatternIndexResult:
    """Returns the result of `search_index` by patterns if it was not allowed."""
    return PatternIndexResult(
        status="cancelled",
        workspace=context.workspace_shown,
        message=why_cancelled(answer, unchanged(context.workspace.status())),
        indexed_files=0,
        skipped_files=0,
        total_chunks=0,
        execution_time_ms=0,
        failed_files=0,
        errors=[],
    )


def search_query(context: Context, params: QueryParams) -> SemanticResult:
    """Searches by meaning alone. Without an index the result is empty and its notice says so. Raises `InvalidQuery` for
    a blank query."""
    if not params.query.strip():
        raise InvalidQuery("Search query cannot be empty.")
    start = time.perf_counter()
    try:
        answer = context.workspace.find_closest(params.query, params.limit, params.threshold, context.cancelled)
    except IndexNotFound:
        answer = SearchAnswer((), 0, "vector", 0.0, NOTHING_INDEXED)
    return SemanticResult(
        results=[_hit(hit) for hit in answer.hits],
        query=params.query,
        total_results=len(answer.hits),
        execution_time_ms=_ms_since(start),
        notice=notice_of(answer),
        reason=answer.reason or None,
    )


def chunk_type(kind: str, text: str) -> str:
    """Returns the specification's chunk type: Function, Class, Module, Import or PlainText. A chunk of kind `code` with
    only import lines is an Import."""
    if kind == "code" and all(_IMPORT.match(line) for line in text.split("\n") if line.strip()):
        return "Import"
    return CHUNK_TYPES.get(kind, "PlainText")


def _marked(line: MarkedLine) -> str:
    """Returns the line with the words of the query between `<mark>` and `</mark>`."""
    return "".join(f"<mark>{piece}</mark>" if i % 2 else piece for i, piece in enumerate(line.pieces))


def _hit(hit: Hit) -> SemanticHit:
    return SemanticHit(
        file_path=hit.path,
        chunk_text=hit.content,
        line_start=hit.start_line,
        line_end=hit.end_line,
        similarity_score=round(hit.score, 4),
        language=hit.language,
        chunk_type=chunk_type(hit.kind, hit.content),
        excerpt="\n".join(map(_marked, hit.excerpt)),
    )


def _ms_since(start: float) -> int:
    return round((time.perf_counter() - start) * 1000)


SEARCH_QUERY = ToolSpec(
    name="search_query",
    family=FAMILY,
    summary="Search indexed files by meaning alone",
    params=QueryParams,
    result=SemanticResult,
    run=search_query,
    read_only=True,
    idempotent=True,
    dialect=SEMANTIC,
    rest=("/semantic/search",),
)
