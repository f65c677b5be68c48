"""The tools of named document indexes: search one, add a document, create an index.

The engine parses queries and ranks documents. Pattern indexing also has a tool named `search_index`; `search_index.py`
decides between the two.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from pydantic import Field, JsonValue, model_validator

from sidecar import shown
from sidecar.errors import BlankContent, InvalidParams
from sidecar.tools.code_search import MAX_QUERY, Whole
from sidecar.tools.context import Context
from sidecar.tools.dialect import DOCUMENTS, SnakeResult
from sidecar.tools.lines import ASIDE, STRONG, Line
from sidecar.tools.spec import PLAIN_NAME, Params, ToolSpec

FAMILY = "documents"
MAX_NAME = 200
MAX_CONTENT = 50_000_000
MAX_DEPTH = 100
MEMORY = "memory"


class SearchDocumentIndexParams(Params):
    """Parameters of `search_index` by query."""

    query: str = Field(
        max_length=MAX_QUERY,
        description='Words; +must, -not and "exact phrase".',
        examples=['+python "machine learning"'],
    )
    k: Whole = Field(10, ge=1, le=10_000, description="At most this many results.", examples=[5])
    index_name: str = Field(
        "default", min_length=1, max_length=MAX_NAME, description="Which index.", examples=["documentation"]
    )


class DocumentResult(SnakeResult):
    """One document. `score` is TF-IDF, which has no upper bound."""

    doc_id: str
    score: float
    highlights: list[str]
    metadata: dict[str, JsonValue]


class QueryParsed(SnakeResult):
    """The parts of the query as typed, without their operators."""

    terms: list[str]
    must: list[str]
    must_not: list[str]
    phrases: list[str]


class DocumentSearchResult(SnakeResult):
    """The documents that were found. `total_matches` is their number before the limit `k`. `reason`: why there are no
    results."""

    results: list[DocumentResult]
    total_matches: int
    query_parsed: QueryParsed
    reason: str | None = None

    def row_paths(self) -> list[str]:
        """Returns an empty text for each row, since no row has a path."""
        return [""] * len(self.results)

    def as_lines(self) -> Iterator[Line]:
        """Yields the lines that a shell prints on standard output."""
        for hit in self.results:
            yield (STRONG, hit.doc_id), (ASIDE, f"  {hit.score:.3f}")
            yield from (f"  {' '.join(text.split())}" for text in hit.highlights)

    def as_notes(self) -> Iterator[str]:
        """Yields the notes that a shell prints on standard error, one sentence each."""
        yield "" if self.results else f"Nothing found. {self.reason or ''}".rstrip()
        more = self.total_matches - len(self.results)
        yield f"{shown.count(more, 'document')} more; raise -k" if more else ""


class AddDocumentParams(Params):
    """Parameters of `search_add_document`."""

    doc_id: str = Field(
        min_length=1, max_length=1000, description="Names the document; the same id replaces it.", examples=["doc-001"]
    )
    content: str = Field(
        max_length=MAX_CONTENT,
        description="The text to index.",
        examples=["Python rate limiting with token buckets"],
        json_schema_extra={"minLength": 1},
    )
    metadata: dict[str, JsonValue] = Field(
        {}, description="Any JSON object; returned with each result.", examples=[{"author": "Smith"}]
    )
    index_name: str = Field(
        "default", min_length=1, max_length=MAX_NAME, description="Which index.", examples=["documentation"]
    )

    @model_validator(mode="before")
    @classmethod
    def refuse(cls, given: Any) -> Any:
        """Raises `BlankContent` for content that is missing, blank or not a text (the specification has one message for
        all three) and `InvalidParams` for metadata that is not plain JSON."""
        content = given.get("content")
        if not isinstance(content, str) or not content.strip():
            raise BlankContent
        if not is_plain_json(given.get("metadata")):
            raise InvalidParams(f"metadata: must be an object of JSON values, nested at most {MAX_DEPTH} deep.")
        return given


class AddedDocument(SnakeResult):
    """The outcome of adding a document. `token_count` counts repeated tokens too."""

    status: Literal["indexed", "re-indexed"]
    doc_id: str
    token_count: int

    def as_lines(self) -> Iterator[Line]:
        """Yields one line that says what was done."""
        yield f"{self.status} {shown.named(self.doc_id)}: {shown.count(self.token_count, 'word')}"


class TokenizerConfig(Params):
    """How an index splits texts into tokens."""

    lowercase: bool = Field(True, description="Upper and lower case are the same.", examples=[True])
    min_length: Whole = Field(2, ge=1, le=100, description="Shorter words are left out.", examples=[3])


class CreateDocumentIndexParams(Params):
    """Parameters of `search_create_index`. Any backend name is accepted here: the engine raises the error for an
    unknown one."""

    index_name: str = Field(
        min_length=1,
        max_length=MAX_NAME,
        pattern=PLAIN_NAME,
        description="Letters, digits, - and _.",
        examples=["project_docs"],
    )
    backend: str = Field(
        MEMORY, description="memory, or sqlite (kept on disk).", examples=["memory"], max_length=MAX_NAME
    )
    tokenizer_config: TokenizerConfig = Field(
        TokenizerConfig.model_validate({}),
        description="How texts are split into words.",
        examples=[{"lowercase": True, "min_length": 3}],
    )


class CreatedDocumentIndex(SnakeResult):
    """What `search_create_index` returns."""

    status: Literal["created"]
    index_name: str
    backend: str

    def as_lines(self) -> Iterator[Line]:
        """Yields one line that says what was done."""
        yield f"created {shown.named(self.index_name)} ({self.backend})"


def run_search_documents_index(context: Context, params: Any) -> DocumentSearchResult:
    """Searches a document index. `params` needs `query`, `k` and `index_name`. An empty query finds nothing."""
    must_outlive_the_call(context, params.index_name)
    answer = context.workspace.documents.search(params.index_name, params.query, params.k, context.cancelled)
    results = [
        DocumentResult(
            doc_id=hit.doc_id, score=round(hit.score, 6), highlights=list(hit.highlights), metadata=hit.metadata
        )
        for hit in answer.hits
    ]
    return DocumentSearchResult(
        results=results,
        total_matches=answer.total,
        query_parsed=QueryParsed(**answer.parsed),
        reason=answer.reason or None,
    )


def add_document(context: Context, params: AddDocumentParams) -> AddedDocument:
    """Adds a document, or replaces the one with the same id."""
    must_outlive_the_call(context, params.index_name)
    replaced, tokens = context.workspace.documents.add(
        params.index_name, params.doc_id, params.content, params.metadata
    )
    return AddedDocument(status="re-indexed" if replaced else "indexed", doc_id=params.doc_id, token_count=tokens)


def create_document_index(context: Context, params: CreateDocumentIndexParams) -> CreatedDocumentIndex:
    """Creates a named document index."""
    tokenizer = params.tokenizer_config
    context.workspace.documents.create(params.index_name, params.backend, tokenizer.lowercase, tokenizer.min_length)
    must_outlive_the_call(context, params.index_name)
    return CreatedDocumentIndex(status="created", index_name=params.index_name, backend=params.backend)


def must_outlive_the_call(context: Context, index_name: str) -> None:
    """Raises `InvalidParams` if this is an index in memory and the process ends with this call."""
    if not context.goes_on and context.workspace.documents.is_in_memory(index_name):
        raise InvalidParams(_ends_at_once(index_name))


def _ends_at_once(index_name: str) -> str:
    return (
        f"index_name: {shown.quoted(index_name)} is an index in memory, which ends with this command, so nothing in it"
        " would be kept. Run the command while the daemon runs (`sidecar daemon start`, without --standalone), or"
        ' create an index with the backend "sqlite" and name that one.'
    )


def is_plain_json(value: object) -> bool:
    """Whether a value nests at most `MAX_DEPTH` deep and is strict JSON: some parsers accept NaN or half of a surrogate
    pair, which no client could read back."""
    layer = [value]
    for _ in range(MAX_DEPTH + 1):
        if not (layer := [inner for outer in layer for inner in _inside(outer)]):
            break
    else:
        return False
    try:
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError):
        return False
    return True


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


SEARCH_DOCUMENT_INDEX = ToolSpec(
    name="search_index",
    family=FAMILY,
    summary="Search a named document index",
    params=SearchDocumentIndexParams,
    result=DocumentSearchResult,
    run=run_search_documents_index,
    read_only=True,
    idempotent=True,
    dialect=DOCUMENTS,
    described_in="search_index_documents",
)

SEARCH_ADD_DOCUMENT = ToolSpec(
    name="search_add_document",
    family=FAMILY,
    summary="Add or replace a document in an index",
    params=AddDocumentParams,
    result=AddedDocument,
    run=add_document,
    read_only=False,
    alongside=True,
    idempotent=True,
    dialect=DOCUMENTS,
)

SEARCH_CREATE_INDEX = ToolSpec(
    name="search_create_index",
    family=FAMILY,
    summary="Create a named document index",
    params=CreateDocumentIndexParams,
    result=CreatedDocumentIndex,
    run=create_document_index,
    read_only=False,
    alongside=True,
    idempotent=False,
    dialect=DOCUMENTS,
)

TOOLS = (SEARCH_DOCUMENT_INDEX, SEARCH_ADD_DOCUMENT, SEARCH_CREATE_INDEX)
