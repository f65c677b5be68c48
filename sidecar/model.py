"""Values that every room may use. No behaviour beyond small derivations, no imports from the house."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from os import stat_result
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Vectors: TypeAlias = NDArray[np.float32]
"""Shape [n, dimension], rows L2-normalised."""
Ids: TypeAlias = NDArray[np.int64]

Collection: TypeAlias = Literal["code", "docs"]
Mode: TypeAlias = Literal["hybrid", "vector", "fts"]
Strategy: TypeAlias = Literal["realtime", "lazy", "git"]


# ---------------------------------------------------------------- files


class Rule(StrEnum):
    """Why a path is or is not indexed; `Decision.detail` names the file, line or pattern behind it."""

    INDEXED = "indexed"
    DENIED = "deny-list"
    CONFIG_EXCLUDE = "config-exclude"
    CONFIG_INCLUDE = "not-in-config-include"
    GITIGNORE = "gitignore"
    SIDECARIGNORE = "sidecarignore"
    SECRET_NAME = "secret-by-name"
    SECRET_CONTENT = "secret-by-content"
    BINARY = "binary"
    MINIFIED = "minified"
    GENERATED = "generated"
    VENDORED = "vendored"
    TOO_LARGE = "too-large"
    TOO_MANY = "too-many-files"
    SYMLINK = "symlink-out-of-workspace"
    LINK = "symlink"
    FOLDER = "folder"
    NOT_A_FILE = "not-a-regular-file"
    MISSING = "no-such-file"
    UNREADABLE = "unreadable"
    NOT_READ = "not-read-now"
    TOO_MANY_RULES = "too-many-rules"
    DOCS_OFF = "documentation-not-indexed"


COULD_NOT_BE = frozenset({Rule.NOT_READ, Rule.UNREADABLE, Rule.TOO_MANY_RULES})
"""What was left out because something went wrong, and not because somebody wanted it so."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a path belongs in the index, by which rule, and what in particular said so."""

    rule: Rule
    detail: str = ""

    @property
    def indexed(self) -> bool:
        return self.rule is Rule.INDEXED


@dataclass(frozen=True, slots=True)
class Judged:
    """What a file's text says about it. `text` is what may be kept: `masked` values in it are hidden, and nothing else
    is changed, so that lines and columns are those of the file."""

    decision: Decision
    text: str
    masked: int = 0


@dataclass(frozen=True, slots=True)
class Stat:
    """What tells cheaply that a file has not changed: size in bytes, mtime and ctime in ns, inode."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int

    @classmethod
    def of(cls, found: stat_result) -> Stat:
        """In the 64 signed bits that a database has: a time beyond them (the year 2262) becomes the last in them."""
        inode = (found.st_ino + _BEYOND) % (2 * _BEYOND) - _BEYOND
        return cls(found.st_size, _bounded(found.st_mtime_ns), _bounded(found.st_ctime_ns), inode)


_BEYOND = 2**63


def _bounded(number: int) -> int:
    return max(-_BEYOND, min(number, _BEYOND - 1))


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that the walk offers. `path` is relative to the root, `/`-separated, NFC."""

    path: str
    stat: Stat
    collection: Collection


@dataclass(frozen=True, slots=True)
class SkippedPath:
    """A file (or a whole folder, `path` ends in `/`) that the walk leaves out."""

    path: str
    decision: Decision


@dataclass(frozen=True, slots=True)
class FileContent:
    """One consistent read: text decoded whatever its encoding, newline `\\n`; the stat before equals the stat after."""

    text: str
    stat: Stat
    sha256: bytes
    encoding: str


# ---------------------------------------------------------------- parsing


@dataclass(frozen=True, slots=True)
class Definition:
    """A named thing that a file defines. Lines are 1-based, end inclusive.

    `kind`: class, type, function, method, constructor, macro, module, namespace, constant, variable, field,
    section (a Markdown heading). `container` joins the enclosing names by `.`; `signature` is the text up to the body.
    """

    name: str
    kind: str
    start_line: int
    end_line: int
    depth: int = 0
    exported: bool = True
    signature: str = ""
    container: str = ""


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment or docstring; adjacent line comments are one. `line` is where it starts, 1-based."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """A span of one file that is embedded and returned. Lines are 1-based, end inclusive.

    `kind`: the definition kind when the chunk holds one definition or a part of one, else code, section, cell, text.
    `names`: what it defines (starts in it). `enclosing`: names around it, outermost first.
    """

    start_line: int
    end_line: int
    text: str
    kind: str
    names: tuple[str, ...] = ()
    enclosing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """What chunking makes of one file. `parser`: tree-sitter, markdown, notebook or lines."""

    language: str
    parser: str
    chunks: tuple[Chunk, ...]
    definitions: tuple[Definition, ...] = ()
    comments: tuple[Comment, ...] = ()


# ---------------------------------------------------------------- parts, as the engine sees them


class Embedder(Protocol):
    """Turns text into vectors. Thread-safe."""

    @property
    def model_id(self) -> str:
        """Names the model and the hash of its files: vectors of another id never compare."""

    @property
    def dimension(self) -> int: ...

    @property
    def device(self) -> str:
        """`cpu` or `cuda`: what bulk work really runs on."""

    @property
    def device_note(self) -> str:
        """One line that says why the device is not what was asked for; empty when it is."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors: ...

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Shape [dimension], L2-normalised."""

    def close(self) -> None: ...


class VectorStore(Protocol):
    """Nearest-neighbour search over what SQLite keeps; may be thrown away and refilled at any time."""

    def upsert(self, collection: Collection, ids: Ids, vectors: Vectors) -> None: ...

    def delete(self, collection: Collection, ids: Ids) -> None: ...

    def query(self, collection: Collection, vector: NDArray[np.float32], limit: int) -> tuple[Ids, NDArray[np.float32]]:
        """Ids and cosine similarities (-1..1), best first."""

    def count(self, collection: Collection) -> int: ...

    def close(self) -> None: ...


# ---------------------------------------------------------------- progress and cancellation


class Progress(Protocol):
    """Where long work reports to; each surface has its own."""

    def __call__(self, done: int, total: int, message: str) -> None: ...


def no_progress(done: int, total: int, message: str) -> None:
    """Reports to nobody."""


IsCancelled: TypeAlias = Callable[[], bool]


def never_cancelled() -> bool:
    return False


# ---------------------------------------------------------------- what the engine answers


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One search. `paths` are globs over relative paths (any matches); `token_budget` 0 means none."""

    query: str
    collection: Collection = "code"
    mode: Mode = "hybrid"
    alpha: float = 0.5
    top_k: int = 10
    offset: int = 0
    paths: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    token_budget: int = 0
    explain: bool = False


@dataclass(frozen=True, slots=True)
class ExcerptLine:
    """A line that shows why its chunk was found, cut to be read at a glance. `line` is 1-based. Every second piece,
    from the second on, is a word of the query as it is spelled there."""

    line: int
    pieces: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk with its final score (0-1). `parts` maps each contribution's name to its value (only when asked);
    `why` says the largest ones in words, `shares` sums them by family, `excerpt` is at most two lines."""

    path: str
    start_line: int
    end_line: int
    content: str
    score: float
    language: str
    kind: str
    names: tuple[str, ...] = ()
    enclosing: tuple[str, ...] = ()
    parts: dict[str, float] = field(default_factory=dict)
    why: tuple[str, ...] = ()
    shares: dict[str, float] = field(default_factory=dict)
    excerpt: tuple[ExcerptLine, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """`total` counts what could be paged to; `notice` is one line, only when the answer is partial or stale. `model`
    compared the meanings; empty when only words counted."""

    hits: tuple[Hit, ...]
    total: int
    mode: Mode
    took_ms: float
    notice: str = ""
    stages_ms: dict[str, float] = field(default_factory=dict)
    model: str = ""


@dataclass(frozen=True, slots=True)
class PathsAnswer:
    """Indexed paths that match, alphabetical; `total` is before the limit; `notice` as in `SearchAnswer`."""

    paths: tuple[str, ...]
    total: int
    notice: str = ""


@dataclass(frozen=True, slots=True)
class CollectionCounts:
    files: int = 0
    chunks: int = 0


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What a create or a rebuild did. `embedded` counts chunks that went through the model, not the kept ones;
    `refined` those of the second stage; `masked` the values that are hidden in what is kept. `notice`: what was damaged
    and made anew."""

    code: CollectionCounts
    docs: CollectionCounts
    duration_ms: int
    errors: int
    unchanged: int = 0
    embedded: int = 0
    removed: int = 0
    withheld: int = 0
    refined: int = 0
    masked: int = 0
    notice: str = ""


@dataclass(frozen=True, slots=True)
class FileReport:
    status: Literal["reindexed", "removed"]
    path: str
    chunks: int


@dataclass(frozen=True, slots=True)
class Refinement:
    """How far the second stage is: the model that is to answer, and how many chunks have its vector. `note`: why it
    does not go on."""

    model: str
    done: int = 0
    total: int = 0
    seconds_left: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class StatusAnswer:
    """The truth about one index at this moment. Sizes in bytes, coverage 0-1, times ISO 8601 UTC. `masked`: files in
    whose kept text values are hidden, and how many."""

    status: Literal["ready", "indexing", "not_found", "incomplete", "failed"]
    workspace: str
    index_path: str
    config_path: str
    files: int = 0
    chunks: int = 0
    code: CollectionCounts = CollectionCounts()
    docs: CollectionCounts = CollectionCounts()
    lexical_chunks: int = 0
    embedded_chunks: int = 0
    coverage: float = 0.0
    last_updated: str = ""
    storage_bytes: int = 0
    watcher_active: bool = False
    strategy: Strategy = "realtime"
    pending_files: int = 0
    model: str = ""
    device: str = ""
    device_note: str = ""
    hybrid_enabled: bool = True
    default_alpha: float = 0.5
    languages: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)
    withheld: tuple[SkippedPath, ...] = ()
    masked: tuple[tuple[str, int], ...] = ()
    errors: tuple[tuple[str, str], ...] = ()
    cut_by_lines: tuple[tuple[str, str], ...] = ()
    progress_done: int = 0
    progress_total: int = 0
    seconds_left: float | None = None
    warning: str = ""
    generation: int = 0
    problems: tuple[str, ...] = ()
    refining: Refinement | None = None


@dataclass(frozen=True, slots=True)
class ConfigAnswer:
    """`config` has the specification's keys with the values in force; `problems` name key and allowed values."""

    exists: bool
    config_path: str
    index_path: str
    config: dict[str, object]
    origins: dict[str, str]
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a path is or is not in the index, now."""

    path: str
    decision: Decision
    exists: bool
    in_index: bool
    stale: bool
    chunks: int = 0
    embedded: int = 0
    language: str = ""
    parser: str = ""
    indexed_at: str = ""
    last_error: str = ""


@dataclass(frozen=True, slots=True)
class PatternReport:
    """What indexing by patterns did. Files are counted once per pattern that they match; `failures` are (path, why)."""

    indexed: int
    skipped: int
    failed: int
    chunks: int
    failures: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class SymbolHit:
    """A definition found by its name. `match` says how; `line` is the source line on which it starts."""

    path: str
    name: str
    kind: str
    start_line: int
    end_line: int
    container: str
    exported: bool
    match: Literal["exact", "prefix", "words"]
    line: str


@dataclass(frozen=True, slots=True)
class SymbolsAnswer:
    """Best first; `total` is before the limit."""

    symbols: tuple[SymbolHit, ...]
    total: int
    notice: str = ""


@dataclass(frozen=True, slots=True)
class Memory:
    """What an agent keeps about the workspace. `key` names it; times are ISO 8601 UTC."""

    key: str
    summary: str
    text: str
    tags: tuple[str, ...]
    created: str
    updated: str


@dataclass(frozen=True, slots=True)
class MemoryHit:
    """A memory that was found. `relevance` lies in 0-1 and rises with the match."""

    memory: Memory
    excerpt: str
    relevance: float


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """One page of what was found, best first; `total` counts all pages."""

    hits: tuple[MemoryHit, ...]
    total: int
    notice: str = ""


@dataclass(frozen=True, slots=True)
class DocumentHit:
    """A document that matches. `score` is unbounded; `highlights` are at most three excerpts."""

    doc_id: str
    score: float
    highlights: tuple[str, ...]
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class DocumentsAnswer:
    """Best first, equal scores in the order in which the documents came; `total` is before the limit.

    `parsed`: terms, must, must_not, phrases; None when the query asks for nothing.
    """

    hits: tuple[DocumentHit, ...]
    total: int
    parsed: dict[str, list[str]] | None


class Documents(Protocol):
    """Named indexes over documents that callers supply; one called `default`, in memory, is always there."""

    def create(self, name: str, backend: str, lowercase: bool, min_length: int) -> None:
        """Raises DocumentIndexExists, UnknownBackend (known: memory, sqlite)."""

    def add(self, name: str, doc_id: str, content: str, metadata: Mapping[str, Any]) -> tuple[bool, int]:
        """Whether it took the place of a document, and how many tokens it has. Raises DocumentIndexNotFound."""

    def search(self, name: str, query: str, limit: int, cancelled: IsCancelled) -> DocumentsAnswer:
        """Raises DocumentIndexNotFound, Cancelled."""


class Memories(Protocol):
    """The memories of one workspace; there before any index is. A namespace is a prefix of the key, to the letter."""

    def save(self, key: str, summary: str, text: str, tags: Sequence[str]) -> tuple[Memory, bool]:
        """Keeps a memory, in place of the one with the same key; True when it is a new one."""

    def get(self, key: str) -> Memory | None: ...

    def page(self, namespace: str, tags: Sequence[str], limit: int, offset: int) -> tuple[tuple[Memory, ...], int]:
        """Last changed first, and how many there are."""

    def delete(self, key: str) -> bool: ...

    def search(self, query: str, limit: int, offset: int, namespace: str, cancelled: IsCancelled) -> MemoryPage:
        """By meaning and by word together."""

    def find_keywords(
        self, keywords: Sequence[str], operator: Literal["AND", "OR"], limit: int, offset: int, namespace: str
    ) -> MemoryPage:
        """By word alone; `excerpt` marks the keywords."""


class Workspace(Protocol):
    """The engine as the tools see it: one root folder, one index. Every method is synchronous and thread-safe.

    Raises errors of `sidecar.errors` only.
    """

    @property
    def root(self) -> str: ...

    def create(self, progress: Progress, cancelled: IsCancelled) -> BuildReport: ...

    def rebuild(self, progress: Progress, cancelled: IsCancelled) -> BuildReport: ...

    def refresh(self, progress: Progress, cancelled: IsCancelled) -> BuildReport:
        """Create the index, or bring an existing one up to date, both stages (what `sidecar index` does)."""

    def reindex_file(self, path: str) -> FileReport: ...

    def delete(self) -> None: ...

    def search(self, request: SearchRequest, cancelled: IsCancelled) -> SearchAnswer: ...

    def find_paths(self, pattern: str, limit: int) -> PathsAnswer: ...

    def find_symbols(self, name: str, kinds: Sequence[str], limit: int) -> SymbolsAnswer:
        """Definitions by name: exact, by its beginning, by the words it is made of."""

    def find_similar(self, path: str, line: int, end_line: int, limit: int, cancelled: IsCancelled) -> SearchAnswer:
        """Chunks of its collection like the one at this place, or like these lines; the place itself is left out.
        Scores are similarities, 0-1."""

    def find_closest(self, query: str, limit: int, threshold: float, cancelled: IsCancelled) -> SearchAnswer:
        """Chunks of code and documentation by meaning alone, with at least this similarity (0-1)."""

    def index_matching(
        self, patterns: Sequence[str], force: bool, progress: Progress, cancelled: IsCancelled
    ) -> PatternReport:
        """Indexes what matches globs, paths or folders, now; makes the index when there is none."""

    @property
    def documents(self) -> Documents: ...

    @property
    def memories(self) -> Memories: ...

    def status(self) -> StatusAnswer: ...

    def config(self) -> ConfigAnswer: ...

    def explain(self, path: str) -> Explanation: ...

    def set_buffer(self, path: str, text: str) -> None:
        """An editor holds unsaved text for this path: searches see it until `drop_buffer`."""

    def drop_buffer(self, path: str) -> None: ...

    def on_change(self, listener: Callable[[StatusAnswer], None]) -> Callable[[], None]:
        """Calls `listener` on every change of status, from an engine thread; returns what ends it."""

    def close(self) -> None: ...
