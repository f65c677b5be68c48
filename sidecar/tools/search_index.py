"""The tool name `search_index`, which two families use: it searches a named document index, or indexes files by
patterns.

If one family is enabled, the tool has that family's own schema. If both are, it has one flat schema of optional
parameters, and the given parameters decide: some hosts refuse a schema with `oneOf` at the top.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator, Field

from sidecar.errors import InvalidParams
from sidecar.tools.code_search import whole
from sidecar.tools.context import Context
from sidecar.tools.dialect import EITHER, SEMANTIC
from sidecar.tools.documents import (
    MAX_NAME,
    SEARCH_DOCUMENT_INDEX,
    DocumentSearchResult,
    SearchDocumentIndexParams,
    run_search_documents_index,
)
from sidecar.tools.semantic import (
    FAMILY,
    MAX_PATTERNS,
    Pattern,
    PatternIndexResult,
    PatternsParams,
    ask_to_index_patterns,
    index_patterns,
    index_patterns_declined,
)
from sidecar.tools.spec import Answer, Params, Question, ToolSpec

_OF_QUERY = {"query", "k", "index_name"}
_OF_PATTERNS = {"patterns", "force"}
_EITHER = "Send either query (searches documents that were added) or patterns (indexes files)"


class SearchIndexParams(Params):
    """Parameters of `search_index` while both families are enabled."""

    query: str | None = Field(
        None,
        max_length=10_000,
        description='Search added documents: words; +must, -not, "exact phrase".',
        examples=['+python "machine learning"'],
    )
    k: Annotated[int, Field(ge=1, le=10_000), BeforeValidator(whole)] | None = Field(
        None, description="With query: at most this many results (10).", examples=[5]
    )
    index_name: str | None = Field(
        None, min_length=1, max_length=MAX_NAME, description="With query: which index (default).", examples=["docs"]
    )
    patterns: list[Pattern] | None = Field(
        None,
        max_length=MAX_PATTERNS,
        description="Index files: glob patterns or paths, relative to the workspace.",
        examples=[["**/*.rs"]],
    )
    force: bool | None = Field(None, description="With patterns: index again what has not changed.", examples=[True])


def search_index(context: Context, params: SearchIndexParams) -> PatternIndexResult | DocumentSearchResult:
    """Runs the tool that the parameters fit. Raises `InvalidParams` for parameters of both tools or of neither."""
    given = params.model_dump(exclude_none=True)
    if ("query" in given) == ("patterns" in given):
        raise InvalidParams(f"{_EITHER}, {'not both' if 'query' in given else 'one of them is required'}.")
    foreign = sorted(given.keys() - (_OF_QUERY if "query" in given else _OF_PATTERNS))
    if foreign:
        raise InvalidParams(
            f"{foreign[0]}: belongs to {'patterns' if 'query' in given else 'query'}. {_EITHER}, not both."
        )
    if "query" in given:
        return run_search_documents_index(context, SearchDocumentIndexParams.model_validate(given))
    return index_patterns(context, PatternsParams.model_validate(given))


def ask_to_search_index(context: Context, params: SearchIndexParams) -> Question | None:
    """Returns the question before files are indexed; None before a search. Raises the errors of
    `ask_to_index_patterns`."""
    return ask_to_index_patterns(context, _patterns_of(params)) if _indexes(params) else None


def search_index_declined(context: Context, params: SearchIndexParams, answer: Answer) -> PatternIndexResult:
    """Returns the result if indexing the files was not allowed."""
    return index_patterns_declined(context, _patterns_of(params), answer)


def _indexes(params: SearchIndexParams) -> bool:
    """Whether these are the parameters of indexing. All other combinations, invalid ones too, are left to
    `search_index`."""
    given = params.model_dump(exclude_none=True).keys()
    return "patterns" in given and given <= _OF_PATTERNS


def _patterns_of(params: SearchIndexParams) -> PatternsParams:
    return PatternsParams(patterns=params.patterns or [], force=bool(params.force))


def which(arguments: Mapping[str, object]) -> ToolSpec | None:
    """Returns the tool of the family that these arguments fit; None if they have neither or both of `query` and
    `patterns`."""
    searches, indexes = (arguments.get(name) is not None for name in ("query", "patterns"))
    if searches == indexes:
        return None
    return SEARCH_DOCUMENT_INDEX if searches else SEARCH_INDEX_PATTERNS


SEARCH_INDEX_PATTERNS = ToolSpec(
    name="search_index",
    family=FAMILY,
    summary="Index files by glob patterns",
    params=PatternsParams,
    result=PatternIndexResult,
    run=index_patterns,
    question=ask_to_index_patterns,
    declined=index_patterns_declined,
    read_only=False,
    idempotent=True,
    dialect=SEMANTIC,
    described_in="search_index_patterns",
)

SEARCH_INDEX = ToolSpec(
    name="search_index",
    family=FAMILY,
    summary="Search added documents, or index files by glob patterns",
    params=SearchIndexParams,
    result=PatternIndexResult,
    other_results=(DocumentSearchResult,),
    run=search_index,
    question=ask_to_search_index,
    declined=search_index_declined,
    read_only=False,
    idempotent=True,
    dialect=EITHER,
    meaning=which,
)
