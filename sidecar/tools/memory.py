"""The tools for what an agent remembers about the workspace: save, get, list, delete and two searches.

This module defines names, limits and result shapes; the engine stores and finds memories. Results are `{"success":
true, "data": ...}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from sidecar import shown
from sidecar.errors import InvalidParams, MemoryNotFound
from sidecar.model.answers import Memory, MemoryPage
from sidecar.tools.asking import question, why_cancelled
from sidecar.tools.code_search import MAX_QUERY, Query, Whole
from sidecar.tools.context import Context
from sidecar.tools.dialect import MEMORY, SnakeResult
from sidecar.tools.lines import ASIDE, FOUND, STRONG, Line
from sidecar.tools.spec import Answer, Params, Question, ToolSpec

FAMILY = "memory"
MAX_TEXT = 1_000_000
MAX_KEY = 200
MAX_SUMMARY = 500
MAX_OFFSET = 1_000_000
_SUMMARY_FROM_TEXT = 120
TAKEN_FOR_NOTHING = frozenset({"session", "sortLinks", "output_format"})


def upper(value: Any) -> Any:
    """Converts a text to upper case; returns any other value unchanged."""
    return value.upper() if isinstance(value, str) else value


Key = Annotated[str, Field(min_length=1, max_length=MAX_KEY)]
Tag = Annotated[str, Field(min_length=1, max_length=50)]
Keyword = Annotated[str, Field(max_length=200)]
Keywords = Annotated[
    list[Keyword],
    Field(max_length=50, json_schema_extra={"minItems": 1, "contains": {"type": "string", "pattern": r"\S"}}),
]
KeywordsAsText = Annotated[str, Field(max_length=2000, json_schema_extra={"minLength": 1, "pattern": r"[^\s,]"})]
"""Commas separate the keywords; in a text without a comma, spaces do, and double quotes keep a phrase together."""
_MARKED = re.compile("</?mark>")
_WORD_OR_PHRASE = re.compile(r'"([^"]*)"|([^\s"]+)')


# ---------------------------------------------------------------- parameters


class SaveParams(Params):
    """Parameters of `memory_save`."""

    key: Key = Field(description="Its name; a prefix groups memories.", examples=["build/how-to"])
    text: str = Field(
        max_length=MAX_TEXT,
        description="What to remember.",
        examples=["Run `make all`; needs clang 17."],
        json_schema_extra={"minLength": 1},
    )
    summary: str = Field(
        "", max_length=MAX_SUMMARY, description="One line; default: the text's first.", examples=["How to build"]
    )
    tags: list[Tag] = Field([], max_length=20, description="Words to group by.", examples=[["build"]])


class KeyParams(Params):
    """Parameters of `memory_get` and `memory_delete`."""

    key: Key = Field(description="The memory's key.", examples=["build/how-to"])


class ListParams(Params):
    """Parameters of `memory_list`."""

    namespace: str = Field("", max_length=MAX_KEY, description="Only keys with this prefix.", examples=["build/"])
    tags: list[Tag] = Field([], max_length=20, description="Only memories with all of these.", examples=[["build"]])
    limit: Whole = Field(20, ge=1, le=100, description="How many memories.", examples=[20])
    offset: Whole = Field(0, ge=0, le=MAX_OFFSET, description="Skip this many (next page).", examples=[20])


class SearchedAsElsewhere(Params):
    """Accepts and drops the parameters that clients of the original program send and that have no meaning here.

    Memories belong to the workspace and have no sessions or links, and answers are always JSON. Raises `InvalidParams`
    for another `output_format`.
    """

    @model_validator(mode="before")
    @classmethod
    def leave_out(cls, given: Any) -> Any:
        """Drops the foreign parameters before the others are validated."""
        if not isinstance(given, dict):
            return given
        if given.get("output_format", "json") != "json":
            raise InvalidParams('output_format: only "json" is supported.')
        return {name: value for name, value in given.items() if name not in TAKEN_FOR_NOTHING}


class SearchParams(SearchedAsElsewhere):
    """Parameters of `memory_search`."""

    query: Query = Field(
        max_length=MAX_QUERY,
        description="What to look for, in words.",
        examples=["how is the project built"],
        json_schema_extra={"minLength": 1},
    )
    limit: Whole = Field(10, ge=1, le=100, description="How many results.", examples=[10])
    offset: Whole = Field(0, ge=0, le=MAX_OFFSET, description="Skip this many results (next page).", examples=[10])
    namespace: str = Field("", max_length=MAX_KEY, description="Only keys with this prefix.", examples=["build/"])


class FulltextParams(SearchedAsElsewhere):
    """Parameters of `memory_fulltext_search`."""

    keywords: Keywords | KeywordsAsText = Field(
        description='Words or phrases: a list, or one text, split at commas, else at spaces outside "quotes".',
        examples=[["clang", "make all"]],
    )
    operator: Annotated[Literal["AND", "OR"], BeforeValidator(upper)] = Field(
        "OR", description="All keywords (AND) or any (OR).", examples=["AND"]
    )
    limit: Whole = Field(10, ge=1, le=100, description="How many results.", examples=[10])
    offset: Whole = Field(0, ge=0, le=MAX_OFFSET, description="Skip this many results (next page).", examples=[10])
    namespace: str = Field("", max_length=MAX_KEY, description="Only keys with this prefix.", examples=["build/"])


# ---------------------------------------------------------------- results


class MemoryHead(SnakeResult):
    """A memory without its text. Times are ISO 8601 UTC."""

    key: str
    summary: str
    tags: list[str]
    created_at: str
    updated_at: str

    def as_lines(self) -> Iterator[Line]:
        """Yields the key and the tags, then the summary."""
        tags = f"  {', '.join(self.tags)}" if self.tags else ""
        yield (STRONG, self.key), (ASIDE, tags)
        yield f"  {self.summary}"


class MemoryRecord(MemoryHead):
    """A whole memory."""

    text: str

    def as_lines(self) -> Iterator[Line]:
        """Yields the lines of the list, then the text, each line behind a bar, so that none of them can pass for a line
        of sidecar's."""
        yield from super().as_lines()
        yield from (((ASIDE, "  | "), line) for line in self.text.split("\n"))


class MemoryResult(SnakeResult):
    """One memory."""

    success: Literal[True] = True
    data: MemoryRecord

    def as_lines(self) -> Iterator[Line]:
        """Yields the lines that a shell prints."""
        return self.data.as_lines()


class SavedResult(SnakeResult):
    """What was saved, without its text."""

    success: Literal[True] = True
    status: Literal["created", "updated"]
    data: MemoryHead

    def as_lines(self) -> Iterator[Line]:
        """Yields what was done, then the memory's lines in a list."""
        yield self.status
        yield from self.data.as_lines()


class Pagination(SnakeResult):
    """One page of a list. `total` counts the entries of all pages."""

    total: int
    limit: int
    offset: int


class ListData(SnakeResult):
    """One page of memories. `notice` says why none matches."""

    memories: list[MemoryHead]
    pagination: Pagination
    notice: str | None = None


class ListResult(SnakeResult):
    """Memories, last changed first."""

    success: Literal[True] = True
    data: ListData

    def row_paths(self) -> list[str]:
        """Returns an empty text for each row, since no row has a path."""
        return [""] * len(self.data.memories)

    def as_lines(self) -> Iterator[Line]:
        """Yields the lines that a shell prints."""
        for memory in self.data.memories:
            yield from memory.as_lines()

    def as_notes(self) -> Iterator[str]:
        """Yields the notes that a shell prints on standard error."""
        total = self.data.pagination.total
        if not self.data.memories:
            yield self.data.notice or shown.only(total, "memory", "memories")
        elif total > len(self.data.memories):
            yield f"{len(self.data.memories):,} of {shown.count(total, 'memory', 'memories')}."

    def remark(self) -> str:
        """Returns the notice; empty if there is none."""
        return self.data.notice or ""


class FoundMemory(SnakeResult):
    """A memory that was found. `relevance` is 0-1, higher for a better match; `score` is the same number."""

    key: str
    summary: str
    excerpt: str
    relevance: float
    score: float
    tags: list[str]
    updated_at: str

    def as_lines(self) -> Iterator[Line]:
        """Yields the key and the relevance, then the excerpt."""
        yield (STRONG, self.key), (ASIDE, f"  {self.relevance:.2f}")
        for line in (self.excerpt or self.summary).split("\n"):
            pieces = _MARKED.split(line)
            yield (ASIDE, "  | "), *((FOUND, piece) if place % 2 else piece for place, piece in enumerate(pieces))


class SearchData(SnakeResult):
    """One page of hits. `notice` says which part of the search failed, or why there are no hits."""

    results: list[FoundMemory]
    pagination: Pagination
    notice: str | None = None


class MemorySearchResult(SnakeResult):
    """Memories found, best first."""

    success: Literal[True] = True
    data: SearchData

    def row_paths(self) -> list[str]:
        """Returns an empty text for each row, since no row has a path."""
        return [""] * len(self.data.results)

    def as_lines(self) -> Iterator[Line]:
        """Yields the lines that a shell prints."""
        for memory in self.data.results:
            yield from memory.as_lines()

    def as_notes(self) -> Iterator[str]:
        """Yields the notes that a shell prints on standard error."""
        yield self.data.notice or ""

    def remark(self) -> str:
        """Returns the notice; empty if there is none."""
        return self.data.notice or ""


class DeletedKey(SnakeResult):
    """The key that was passed to `memory_delete`."""

    key: str


class DeletedResult(SnakeResult):
    """What `memory_delete` returns. `message`: why it was cancelled."""

    success: Literal[True] = True
    status: Literal["deleted", "cancelled"]
    data: DeletedKey
    message: str | None = None

    def as_lines(self) -> Iterator[Line]:
        """Yields one line that says what was done."""
        yield self.message or f"deleted {shown.named(self.data.key)}"


# ---------------------------------------------------------------- what they do


def memory_save(context: Context, params: SaveParams) -> SavedResult:
    """Creates a memory, or replaces the one with the same key.

    Without a summary, the text's first line that is not blank is used, cut to 120 characters. Raises `InvalidParams`
    for a blank key or text and for control characters in the key.
    """
    key = params.key.strip()
    for name, value in (("key", key), ("text", params.text.strip())):
        if not value:
            raise InvalidParams(f"{name}: must not be blank.")
    if not key.isprintable():
        raise InvalidParams("key: must not contain control characters.")
    summary = " ".join(params.summary.split()) or _first_line(params.text)
    tags = tuple(dict.fromkeys(tag.strip() for tag in params.tags if tag.strip()))
    saved, is_new = context.workspace.memories.save(key, summary, params.text, tags)
    return SavedResult(status="created" if is_new else "updated", data=_head(saved))


def memory_get(context: Context, params: KeyParams) -> MemoryResult:
    """Returns one memory. Raises `MemoryNotFound` if no memory has the key."""
    memory = _existing(context, params)
    return MemoryResult(data=MemoryRecord(**_head(memory).model_dump(), text=memory.text))


def memory_list(context: Context, params: ListParams) -> ListResult:
    """Returns one page of the memories whose key begins with `namespace` and that have all the tags."""
    memories, total = context.workspace.memories.page(params.namespace, params.tags, params.limit, params.offset)
    pagination = Pagination(total=total, limit=params.limit, offset=params.offset)
    notice = None if total else _why_none(context, params.namespace, "No memory has all these tags.")
    heads = [_head(memory) for memory in memories]
    return ListResult(data=ListData(memories=heads, pagination=pagination, notice=notice))


def memory_delete(context: Context, params: KeyParams) -> DeletedResult:
    """Deletes one memory. Raises `MemoryNotFound` if no memory has the key."""
    key = _existing(context, params).key
    context.workspace.memories.delete(key)
    return DeletedResult(status="deleted", data=DeletedKey(key=key))


def ask_to_delete(context: Context, params: KeyParams) -> Question:
    """Returns the question of `memory_delete`. Raises `MemoryNotFound` if no memory has the key."""
    memory = _existing(context, params)
    key = shown.named(memory.key)
    return question(
        context,
        "memory_delete",
        deed=f"delete the memory {key} of",
        title=f"Delete the memory {key} of",
        detail=f"It says: {shown.named(memory.summary)}. This cannot be undone.",
        accept="Delete memory",
        destructive=True,
        about=memory.key,
    )


def delete_declined(context: Context, params: KeyParams, answer: Answer) -> DeletedResult:
    """Returns the result of `memory_delete` if it was not allowed."""
    return DeletedResult(
        status="cancelled",
        data=DeletedKey(key=params.key.strip()),
        message=why_cancelled(answer, "The memory has not changed."),
    )


def memory_search(context: Context, params: SearchParams) -> MemorySearchResult:
    """Finds memories by meaning and by word."""
    page = context.workspace.memories.search(
        params.query, params.limit, params.offset, params.namespace, context.cancelled
    )
    return _found(context, params, page, "No memory comes near the query.")


def memory_fulltext_search(context: Context, params: FulltextParams) -> MemorySearchResult:
    """Finds memories with all (AND) or any (OR) of the keywords."""
    keywords = [keyword.strip() for keyword in _separated(params.keywords) if keyword.strip()]
    page = context.workspace.memories.find_keywords(
        keywords, params.operator, params.limit, params.offset, params.namespace
    )
    none = "No memory holds any of these keywords."
    if params.operator == "AND" and len(keywords) > 1:
        none = "No memory holds all of these keywords; with the operator OR, one that holds any of them is found."
    return _found(context, params, page, none)


def _separated(keywords: str | list[str]) -> list[str]:
    if not isinstance(keywords, str):
        return keywords
    if "," in keywords:
        return keywords.split(",")
    return [phrase or word for phrase, word in _WORD_OR_PHRASE.findall(keywords)]


def _existing(context: Context, params: KeyParams) -> Memory:
    memory = context.workspace.memories.get(params.key.strip())
    if memory is None:
        raise MemoryNotFound("`memory_list` lists the keys that exist.")
    return memory


def _first_line(text: str) -> str:
    line = next(line.strip() for line in text.split("\n") if line.strip())
    return line if len(line) <= _SUMMARY_FROM_TEXT else line[: _SUMMARY_FROM_TEXT - 3].rstrip() + "..."


def _head(memory: Memory) -> MemoryHead:
    return MemoryHead(
        key=memory.key,
        summary=memory.summary,
        tags=list(memory.tags),
        created_at=memory.created,
        updated_at=memory.updated,
    )


def _found(context: Context, params: SearchParams | FulltextParams, page: MemoryPage, none: str) -> MemorySearchResult:
    """Returns one page as a result. `none` is the reason if nothing was found and there is no simpler reason."""
    results = [
        FoundMemory(
            key=hit.memory.key,
            summary=hit.memory.summary,
            excerpt=hit.excerpt,
            relevance=hit.relevance,
            score=hit.relevance,
            tags=list(hit.memory.tags),
            updated_at=hit.memory.updated,
        )
        for hit in page.hits
    ]
    reason = "" if results else _why_nothing(context, params, page.total, none)
    notice = " ".join(part for part in (page.notice, reason) if part)
    pagination = Pagination(total=page.total, limit=params.limit, offset=params.offset)
    return MemorySearchResult(data=SearchData(results=results, pagination=pagination, notice=notice or None))


def _why_nothing(context: Context, params: SearchParams | FulltextParams, total: int, none: str) -> str:
    if total:
        return f"offset skips all that was found: {total}."
    return _why_none(context, params.namespace, none)


def _why_none(context: Context, namespace: str, none: str) -> str:
    memories = context.workspace.memories
    if memories.page(namespace, (), 1, 0)[1]:
        return none
    if memories.page("", (), 1, 0)[1]:
        return f"No memory has a key that begins with {shown.quoted(namespace)}."
    return "No memories are saved for this workspace yet."


MEMORY_SAVE = ToolSpec(
    name="memory_save",
    family=FAMILY,
    summary="Remember something about this workspace",
    params=SaveParams,
    result=SavedResult,
    run=memory_save,
    read_only=False,
    alongside=True,
    idempotent=True,
    dialect=MEMORY,
)

MEMORY_GET = ToolSpec(
    name="memory_get",
    family=FAMILY,
    summary="Read one memory by its key",
    params=KeyParams,
    result=MemoryResult,
    run=memory_get,
    read_only=True,
    idempotent=True,
    dialect=MEMORY,
)

MEMORY_LIST = ToolSpec(
    name="memory_list",
    family=FAMILY,
    summary="List memories, last changed first",
    params=ListParams,
    result=ListResult,
    run=memory_list,
    read_only=True,
    idempotent=True,
    dialect=MEMORY,
    rest=("/memory",),
)

MEMORY_DELETE = ToolSpec(
    name="memory_delete",
    family=FAMILY,
    summary="Delete one memory",
    params=KeyParams,
    result=DeletedResult,
    run=memory_delete,
    question=ask_to_delete,
    declined=delete_declined,
    read_only=False,
    alongside=True,
    destructive=True,
    idempotent=False,
    dialect=MEMORY,
)

MEMORY_SEARCH = ToolSpec(
    name="memory_search",
    family=FAMILY,
    summary="Find memories by meaning and by word",
    params=SearchParams,
    result=MemorySearchResult,
    run=memory_search,
    read_only=True,
    idempotent=True,
    dialect=MEMORY,
    rest=("/search", "/memory/search"),
)

MEMORY_FULLTEXT_SEARCH = ToolSpec(
    name="memory_fulltext_search",
    family=FAMILY,
    summary="Find memories by keywords",
    params=FulltextParams,
    result=MemorySearchResult,
    run=memory_fulltext_search,
    read_only=True,
    idempotent=True,
    dialect=MEMORY,
    rest=("/fulltext", "/memory/fulltext"),
)

TOOLS = (MEMORY_SAVE, MEMORY_GET, MEMORY_LIST, MEMORY_DELETE, MEMORY_SEARCH, MEMORY_FULLTEXT_SEARCH)
