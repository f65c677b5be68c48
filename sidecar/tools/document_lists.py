"""The tools that list document indexes and their documents, and that delete a document or an index."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field, JsonValue

from sidecar import shown
from sidecar.errors import DocumentIndexNotFound, DocumentNotFound
from sidecar.model.answers import NO_DOCUMENTS
from sidecar.tools.asking import question, why_cancelled
from sidecar.tools.code_search import Whole
from sidecar.tools.context import Context
from sidecar.tools.dialect import DOCUMENTS, SnakeResult
from sidecar.tools.documents import FAMILY, MAX_NAME, MEMORY, must_outlive_the_call
from sidecar.tools.lines import ASIDE, STRONG, Line
from sidecar.tools.spec import Answer, Params, Question, ToolSpec

DEFAULT = "default"


class ListIndexesParams(Params):
    """The parameters of `search_list_indexes`, which takes none."""


class ListedIndex(SnakeResult):
    """One document index. `documents` is their number; `lowercase` and `min_length` are as in `tokenizer_config`."""

    index_name: str
    backend: str
    documents: int
    lowercase: bool
    min_length: int


class ListedIndexes(SnakeResult):
    """The document indexes, by name. `notice`: which ones are not listed."""

    indexes: list[ListedIndex]
    notice: str | None = None

    def row_paths(self) -> list[str]:
        """Returns an empty text for each row, since no row has a path."""
        return [""] * len(self.indexes)

    def as_lines(self) -> Iterator[Line]:
        """Yields a line for each index: its name, its backend and the number of its documents."""
        for one in self.indexes:
            rest = f"  {one.backend}  {shown.count(one.documents, 'document')}"
            yield (STRONG, one.index_name), (ASIDE, rest)

    def as_notes(self) -> Iterator[str]:
        """Yields the notes that a shell prints on standard error."""
        yield self.notice or ""


class ListDocumentsParams(Params):
    """Parameters of `search_list_documents`."""

    index_name: str = Field(
        DEFAULT, min_length=1, max_length=MAX_NAME, description="Which index.", examples=["documentation"]
    )
    limit: Whole = Field(20, ge=1, le=1000, description="How many documents.", examples=[20])
    offset: Whole = Field(0, ge=0, le=1_000_000_000, description="Skip this many (next page).", examples=[20])


class ListedDocument(SnakeResult):
    """A document without its text; `characters` is the text's length."""

    doc_id: str
    characters: int
    metadata: dict[str, JsonValue]


class ListedDocuments(SnakeResult):
    """One page of an index's documents, in the order in which they were added. `total` counts those of all pages;
    `reason` says why there are none."""

    documents: list[ListedDocument]
    total: int
    reason: str | None = None

    def row_paths(self) -> list[str]:
        """Returns an empty text for each row, since no row has a path."""
        return [""] * len(self.documents)

    def as_lines(self) -> Iterator[Line]:
        """Yields a line for each document: its id and the length of its text."""
        for one in self.documents:
            yield (STRONG, one.doc_id), (ASIDE, f"  {shown.count(one.characters, 'character')}")

    def as_notes(self) -> Iterator[str]:
        """Yields the notes that a shell prints on standard error."""
        yield self.reason or ""
        rest = self.total - len(self.documents)
        yield f"{len(self.documents):,} of {shown.count(self.total, 'document')}." if self.documents and rest else ""


class DeleteDocumentParams(Params):
    """Parameters of `search_delete_document`."""

    doc_id: str = Field(min_length=1, max_length=1000, description="The document's id.", examples=["doc-001"])
    index_name: str = Field(
        DEFAULT, min_length=1, max_length=MAX_NAME, description="Which index.", examples=["documentation"]
    )


class DeletedDocument(SnakeResult):
    """What `search_delete_document` returns. `message`: why it was cancelled."""

    status: Literal["deleted", "cancelled"]
    doc_id: str
    index_name: str
    message: str | None = None

    def as_lines(self) -> Iterator[Line]:
        """Yields one line that says what was done."""
        yield self.message or f"deleted {shown.named(self.doc_id)} from {shown.named(self.index_name)}"


class DeleteDocumentIndexParams(Params):
    """Parameters of `search_delete_index`."""

    index_name: str = Field(min_length=1, max_length=MAX_NAME, description="Which index.", examples=["documentation"])


class DeletedDocumentIndex(SnakeResult):
    """What `search_delete_index` returns. `documents`: how many were deleted. `message`: why it was cancelled."""

    status: Literal["deleted", "cancelled"]
    index_name: str
    documents: int
    message: str | None = None

    def as_lines(self) -> Iterator[Line]:
        """Yields one line that says what was done."""
        yield self.message or f"deleted {shown.named(self.index_name)}: {shown.count(self.documents, 'document')}"


def list_indexes(context: Context, params: ListIndexesParams) -> ListedIndexes:
    """Lists the indexes. Indexes in memory are left out if they end with this call."""
    facts = context.workspace.documents.indexes()
    shown_facts = [one for one in facts if context.goes_on or one.backend != MEMORY]
    return ListedIndexes(
        indexes=[
            ListedIndex(
                index_name=one.name,
                backend=one.backend,
                documents=one.documents,
                lowercase=one.lowercase,
                min_length=one.min_length,
            )
            for one in shown_facts
        ],
        notice=None if context.goes_on else "Indexes in memory are not listed: they end with this command.",
    )


def list_documents(context: Context, params: ListDocumentsParams) -> ListedDocuments:
    """Lists one page of an index's documents. Raises `DocumentIndexNotFound`."""
    must_outlive_the_call(context, params.index_name)
    heads, total = context.workspace.documents.page(params.index_name, params.limit, params.offset)
    reason = None
    if not heads:
        reason = shown.only(total, "document") if total else NO_DOCUMENTS
    listed = [ListedDocument(doc_id=one.doc_id, characters=one.characters, metadata=one.metadata) for one in heads]
    return ListedDocuments(documents=listed, total=total, reason=reason)


def ask_to_delete_document(context: Context, params: DeleteDocumentParams) -> Question:
    """Returns the question of `search_delete_document`. Raises `DocumentIndexNotFound` and `DocumentNotFound`."""
    must_outlive_the_call(context, params.index_name)
    _must_exist(context, params)
    what = f"the document {shown.named(params.doc_id)} of the index {shown.named(params.index_name)}"
    return question(
        context,
        "search_delete_document",
        deed=f"delete {what}, in",
        title=f"Delete {what}, in",
        detail="Its text and metadata are lost. This cannot be undone.",
        accept="Delete document",
        destructive=True,
        about="\0".join((params.index_name, params.doc_id)),
    )


def delete_document(context: Context, params: DeleteDocumentParams) -> DeletedDocument:
    """Deletes a document. Raises `DocumentIndexNotFound` and `DocumentNotFound`."""
    _must_exist(context, params)
    context.workspace.documents.delete(params.index_name, params.doc_id)
    return DeletedDocument(status="deleted", doc_id=params.doc_id, index_name=params.index_name)


def delete_document_declined(context: Context, params: DeleteDocumentParams, answer: Answer) -> DeletedDocument:
    """Returns the result of `search_delete_document` if it was not allowed."""
    message = why_cancelled(answer, "The document has not changed.")
    return DeletedDocument(status="cancelled", doc_id=params.doc_id, index_name=params.index_name, message=message)


def ask_to_delete_index(context: Context, params: DeleteDocumentIndexParams) -> Question:
    """Returns the question of `search_delete_index`. Raises `DocumentIndexNotFound`."""
    must_outlive_the_call(context, params.index_name)
    number = _size(context, params.index_name)
    what = f"the document index {shown.named(params.index_name)}"
    lost = f"{shown.count(number, 'document')} with texts and metadata {'is' if number == 1 else 'are'} lost."
    return question(
        context,
        "search_delete_index",
        deed=f"delete {what}, in",
        title=f"Delete {what}, in",
        detail=f"{lost} This cannot be undone.",
        accept="Delete index",
        destructive=True,
        about=params.index_name,
    )


def delete_index(context: Context, params: DeleteDocumentIndexParams) -> DeletedDocumentIndex:
    """Deletes an index with its documents. Raises `DocumentIndexNotFound`."""
    number = _size(context, params.index_name)
    context.workspace.documents.drop(params.index_name)
    return DeletedDocumentIndex(status="deleted", index_name=params.index_name, documents=number)


def delete_index_declined(context: Context, params: DeleteDocumentIndexParams, answer: Answer) -> DeletedDocumentIndex:
    """Returns the result of `search_delete_index` if it was not allowed."""
    message = why_cancelled(answer, "The index has not changed.")
    return DeletedDocumentIndex(status="cancelled", index_name=params.index_name, documents=0, message=message)


def _must_exist(context: Context, params: DeleteDocumentParams) -> None:
    if not context.workspace.documents.has(params.index_name, params.doc_id):
        raise DocumentNotFound(f"{shown.quoted(params.doc_id)} is not in the index {shown.quoted(params.index_name)}.")


def _size(context: Context, index_name: str) -> int:
    for one in context.workspace.documents.indexes():
        if one.name == index_name:
            return one.documents
    raise DocumentIndexNotFound(index_name)


SEARCH_LIST_INDEXES = ToolSpec(
    name="search_list_indexes",
    family=FAMILY,
    summary="List the named document indexes",
    params=ListIndexesParams,
    result=ListedIndexes,
    run=list_indexes,
    read_only=True,
    idempotent=True,
    dialect=DOCUMENTS,
)

SEARCH_LIST_DOCUMENTS = ToolSpec(
    name="search_list_documents",
    family=FAMILY,
    summary="List the documents of an index",
    params=ListDocumentsParams,
    result=ListedDocuments,
    run=list_documents,
    read_only=True,
    idempotent=True,
    dialect=DOCUMENTS,
)

SEARCH_DELETE_DOCUMENT = ToolSpec(
    name="search_delete_document",
    family=FAMILY,
    summary="Delete a document from an index",
    params=DeleteDocumentParams,
    result=DeletedDocument,
    run=delete_document,
    question=ask_to_delete_document,
    declined=delete_document_declined,
    read_only=False,
    alongside=True,
    destructive=True,
    idempotent=False,
    dialect=DOCUMENTS,
)

SEARCH_DELETE_INDEX = ToolSpec(
    name="search_delete_index",
    family=FAMILY,
    summary="Delete a named document index with its documents",
    params=DeleteDocumentIndexParams,
    result=DeletedDocumentIndex,
    run=delete_index,
    question=ask_to_delete_index,
    declined=delete_index_declined,
    read_only=False,
    alongside=True,
    destructive=True,
    idempotent=False,
    dialect=DOCUMENTS,
)

TOOLS = (SEARCH_LIST_INDEXES, SEARCH_LIST_DOCUMENTS, SEARCH_DELETE_DOCUMENT, SEARCH_DELETE_INDEX)
