"""Two searches of code beyond the specification's nine tools: code similar to a place, and definitions by name."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from sidecar import shown
from sidecar.errors import InvalidParams
from sidecar.model.answers import SymbolHit
from sidecar.tools.code_search import FAMILY, Whole, Word
from sidecar.tools.context import Context
from sidecar.tools.dialect import CamelResult
from sidecar.tools.lines import ASIDE, STRONG, Line, file_place, marked
from sidecar.tools.search_results import (
    SearchHit,
    definition_text,
    hidden_notice,
    notice_of,
    search_notes,
    search_text,
)
from sidecar.tools.spec import Params, ToolSpec


class SimilarParams(Params):
    """Parameters of `find_similar`."""

    path: str = Field(
        min_length=1, max_length=4096, description="Path relative to the workspace root.", examples=["src/app.py"]
    )
    line: Whole = Field(ge=1, le=10_000_000, description="A line of the code to compare, 1-based.", examples=[42])
    end_line: Whole = Field(
        0, ge=0, le=10_000_000, description="Last line to compare; 0: the whole passage around line.", examples=[48]
    )
    limit: Whole = Field(10, ge=1, le=50, description="How many results.", examples=[10])


class SimilarResult(CamelResult):
    """Chunks similar to a place. Scores are (1 + cosine) / 2, so 0.5 means unrelated. `total_results` counts the chunks
    that score at least 0.5, before the limit. `reason`: why there are none."""

    results: list[SearchHit]
    total_results: int
    search_time_ms: float
    notice: str | None = None
    reason: str | None = None

    def row_paths(self) -> list[str]:
        """Returns the path of each row."""
        return [hit.path for hit in self.results]

    def as_text(self) -> str:
        """Returns the text for a language model."""
        return search_text(self.notice, self.results, len(self.results), self.reason)

    def as_lines(self) -> Iterator[Line]:
        """Yields the lines that a shell prints on standard output."""
        for hit in self.results:
            yield from hit.lines_with(lambda _: [])

    def as_notes(self) -> Iterator[str]:
        """Yields the notes that a shell prints on standard error, one sentence each."""
        return search_notes(self.notice, self.results, self.reason)


class SymbolsParams(Params):
    """Parameters of `search_symbols`."""

    name: str = Field(
        max_length=200,
        description="A name, its beginning, or words of it; Class.method narrows.",
        examples=["parse_config"],
        json_schema_extra={"minLength": 1},
    )
    kinds: list[Word] = Field([], max_length=20, description="Only these: function, class, ...", examples=[["class"]])
    limit: Whole = Field(20, ge=1, le=100, description="How many definitions.", examples=[20])


class Symbol(CamelResult):
    """A definition. Lines are 1-based and `end_line` is inclusive; `line` is the source text of the line where the
    definition starts."""

    path: str
    name: str
    kind: str
    start_line: int
    end_line: int
    line: str
    match: Literal["exact", "prefix", "typo", "words"]
    container: str | None = None

    def file(self) -> str:
        """Returns the path of the file."""
        return self.path

    def as_text(self) -> str:
        """Returns `path:start-end`, the definition, how the name matched if not exactly, and the definition's first
        line."""
        name = definition_text(self.kind, self.name, self.container)
        found = "" if self.match == "exact" else f" ({self.match})"
        head = f"{shown.path(self.path)}:{self.start_line}-{self.end_line} {name}{found}"
        return "\n".join((head, *shown.numbered(shown.line(self.line), self.start_line)))

    def as_lines(self) -> Iterator[Line]:
        """Yields `path:start-end  kind container.name`, and the definition's first line with the name marked."""
        name = f"{self.container}.{self.name}" if self.container else self.name
        yield (
            file_place(self.path, self.start_line, self.end_line),
            (ASIDE, f"  {self.kind} "),
            (STRONG, shown.line(name)),
        )
        code = shown.line(self.line.strip())
        yield (ASIDE, f"{self.start_line} |"), " ", *marked(code, [one.span() for one in _word(self.name, code)])


def _word(name: str, code: str) -> Iterator[re.Match[str]]:
    return re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", code)


class SymbolsResult(CamelResult):
    """Definitions, best first. `total_symbols` is their number before the limit. `reason`: why there are none."""

    symbols: list[Symbol]
    total_symbols: int
    search_time_ms: float
    notice: str | None = None
    reason: str | None = None

    def row_paths(self) -> list[str]:
        """Returns the path of each row."""
        return [symbol.path for symbol in self.symbols]

    def as_text(self) -> str:
        """Returns the text for a language model."""
        return search_text(self.notice, self.symbols, self.total_symbols, self.reason)

    def as_lines(self) -> Iterator[Line]:
        """Yields the lines that a shell prints on standard output."""
        for symbol in self.symbols:
            yield from symbol.as_lines()

    def as_notes(self) -> Iterator[str]:
        """Yields the notes that a shell prints on standard error, one sentence each."""
        yield from search_notes(self.notice, self.symbols, self.reason)
        rest = self.total_symbols - len(self.symbols)
        yield f"{shown.count(rest, 'definition')} more; raise --limit" if rest else ""


def find_similar(context: Context, params: SimilarParams) -> SimilarResult:
    """Finds code like the code at a place. Raises `InvalidParams` if `end_line` is given and lies before `line`."""
    if 0 < params.end_line < params.line:
        raise InvalidParams(f"end_line: {params.end_line} is before line {params.line}.")
    answer = context.workspace.find_similar(params.path, params.line, params.end_line, params.limit, context.cancelled)
    return SimilarResult(
        results=[SearchHit.of(hit) for hit in answer.hits],
        total_results=answer.total,
        search_time_ms=round(answer.took_ms, 2),
        notice=notice_of(answer),
        reason=answer.reason or None,
    )


def search_symbols(context: Context, params: SymbolsParams) -> SymbolsResult:
    """Finds definitions by name. Kinds are compared in lower case."""
    start = time.perf_counter()
    answer = context.workspace.find_symbols(params.name, [kind.lower() for kind in params.kinds], params.limit)
    hidden = hidden_notice(symbol.path for symbol in answer.symbols if symbol.hidden)
    return SymbolsResult(
        symbols=[_symbol(hit) for hit in answer.symbols],
        total_symbols=answer.total,
        search_time_ms=round((time.perf_counter() - start) * 1000, 2),
        notice=" ".join(filter(None, (answer.notice, hidden))) or None,
        reason=answer.reason or None,
    )


def _symbol(hit: SymbolHit) -> Symbol:
    return Symbol(
        path=hit.path,
        name=hit.name,
        kind=hit.kind,
        start_line=hit.start_line,
        end_line=hit.end_line,
        line=hit.line,
        match=hit.match,
        container=hit.container or None,
    )


FIND_SIMILAR = ToolSpec(
    name="find_similar",
    family=FAMILY,
    summary="Find code like the code at a place",
    params=SimilarParams,
    result=SimilarResult,
    run=find_similar,
    parameter_aliases={"file_path": "path"},
    read_only=True,
    idempotent=True,
    rest=("/similar",),
)

SEARCH_SYMBOLS = ToolSpec(
    name="search_symbols",
    family=FAMILY,
    summary="Find definitions by name",
    params=SymbolsParams,
    result=SymbolsResult,
    run=search_symbols,
    parameter_aliases={"query": "name"},
    read_only=True,
    idempotent=True,
    rest=("/symbols",),
)
