"""Plain values and protocols that every module may use.

They have no behaviour beyond small derivations, and this module imports nothing else of sidecar but the settings'
defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from os import stat_result
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sidecar.settings.values import DEFAULTS

Vectors: TypeAlias = NDArray[np.float32]
"""Shape [n, dimension], rows L2-normalised."""
Ids: TypeAlias = NDArray[np.int64]

Collection: TypeAlias = Literal["code", "docs"]
Mode: TypeAlias = Literal["hybrid", "vector", "fts"]
Strategy: TypeAlias = Literal["realtime", "lazy", "git"]


# ---------------------------------------------------------------- files


class Rule(StrEnum):
    """Why a path is or is not indexed. `Decision.detail` names the file, line or pattern behind it."""

    INDEXED = "indexed"
    DENIED = "deny-list"
    CONFIG_EXCLUDE = "config-exclude"
    CONFIG_INCLUDE = "not-in-config-include"
    NOT_IN_PATTERNS = "not-in-patterns"
    GITIGNORE = "gitignore"
    SIDECARIGNORE = "sidecarignore"
    SECRET_NAME = "secret-by-name"
    SECRET_CONTENT = "secret-by-content"
    BINARY = "binary"
    ENCODING = "unknown-encoding"
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


CHARS_PER_TOKEN = 4
"""By this estimate the length of a text becomes tokens of a language model."""

COULD_NOT_BE = frozenset({Rule.NOT_READ, Rule.UNREADABLE, Rule.TOO_MANY_RULES})
"""Rules for what is left out because something went wrong, not because somebody excluded it."""


NO_FILES = frozenset({Rule.FOLDER, Rule.LINK, Rule.SYMLINK, Rule.NOT_A_FILE})
"""Rules for what is no file of the workspace, whatever the settings say."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether a path belongs in the index: the rule that decides, and the line, pattern or reason behind it."""

    rule: Rule
    detail: str = ""

    @property
    def indexed(self) -> bool:
        """Whether the path belongs in the index."""
        return self.rule is Rule.INDEXED


@dataclass(frozen=True, slots=True)
class Judged:
    """What a file's text says about it.

    `text` is what may be stored: the file's text with `masked` secret values hidden and nothing else changed, so lines
    and columns match the file. Empty when the file is left out.
    """

    decision: Decision
    text: str
    masked: int = 0


@dataclass(frozen=True, slots=True)
class Stat:
    """What cheaply shows that a file has not changed: size in bytes, mtime and ctime in ns, inode."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int

    @classmethod
    def of(cls, found: stat_result) -> Stat:
        """The stat as signed 64-bit numbers, which is what SQLite stores.

        Times beyond that range (after the year 2262) are clamped to its end; inodes wrap around.
        """
        inode = (found.st_ino + _BEYOND) % (2 * _BEYOND) - _BEYOND
        return cls(found.st_size, _bounded(found.st_mtime_ns), _bounded(found.st_ctime_ns), inode)


_BEYOND = 2**63


def _bounded(number: int) -> int:
    return max(-_BEYOND, min(number, _BEYOND - 1))


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file that the walk offers to the index. `path` is relative to the root, `/`-separated, NFC."""

    path: str
    stat: Stat
    collection: Collection


@dataclass(frozen=True, slots=True)
class SkippedPath:
    """A file that the walk leaves out, or a whole folder: its `path` ends in `/`."""

    path: str
    decision: Decision


@dataclass(frozen=True, slots=True)
class WalkResult:
    """Files and skipped paths, each sorted by path. A folder that was not entered is one skipped path that ends in `/`.

    `unread` are the skipped paths that could not be examined, without the `/`: whether they and what is in them belong
    in the index is unknown. Their rule is NOT_READ, or UNREADABLE when another attempt soon is pointless.
    `first_beyond` is the path that the limit on the number of files leaves out first; None if it leaves out none, or if
    not the whole workspace was walked.
    """

    files: tuple[FoundFile, ...]
    skipped: tuple[SkippedPath, ...]
    unread: frozenset[str] = frozenset()
    first_beyond: str | None = None


@dataclass(frozen=True, slots=True)
class IndexedBlob:
    """A file as it is on disk, by its `stat`, and git's id (20 bytes) of the content that was indexed."""

    stat: Stat
    blob: bytes


@dataclass(frozen=True, slots=True)
class FileContent:
    r"""One consistent read of a file: its stat is the same before and after.

    `text` is decoded from any encoding and has `\n` newlines; `sha256` is the digest of the raw bytes.
    `text` is empty if the file is not text or its encoding cannot be told; `reason` says why. `blob` is the id that git
    has for these bytes, 20 bytes; empty for unsaved text.
    """

    text: str
    stat: Stat
    sha256: bytes
    encoding: str
    reason: str = ""
    blob: bytes = b""


@dataclass(frozen=True, slots=True)
class Checkout:
    """What git says of a working tree; equal values mean that git has not touched its files in between.

    `head` changes when HEAD moves (commit, checkout, merge). `index_time`, in seconds since the epoch, also changes
    when git writes files without moving it (stash, reset, restore), and when files are staged; 0 if git has no index.
    """

    head: str
    index_time: float


# ---------------------------------------------------------------- parsing


KINDS = (
    *("class", "type", "function", "method", "constructor", "macro", "module", "namespace", "constant", "variable"),
    *("field", "section", "code", "cell", "text"),
)
"""Every kind that a chunk can have; those up to section are kinds of definitions too."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A named thing that a file defines. Lines are 1-based, end inclusive.

    `kind`: class, type, function, method, constructor, macro, module, namespace, constant, variable, field, section (a
    Markdown heading). `container` joins the enclosing names by `.`; `signature` is the text up to the body.
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
    """A comment or docstring; adjacent line comments are joined into one. `line` is the first line, 1-based."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """A span of one file that is embedded and returned. Lines are 1-based, end inclusive.

    `kind`: the definition kind when the chunk holds one definition or a part of one, else code, section, cell, text.
    `names`: the definitions that start in it. `enclosing`: the names around it, outermost first.
    """

    start_line: int
    end_line: int
    text: str
    kind: str
    names: tuple[str, ...] = ()
    enclosing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """One file cut into chunks.

    `parser`: tree-sitter, markdown, prose, notebook or lines; `lines: ` and a reason when parsing failed and the file
    is cut by lines instead.
    """

    language: str
    parser: str
    chunks: tuple[Chunk, ...]
    definitions: tuple[Definition, ...] = ()
    comments: tuple[Comment, ...] = ()


# ---------------------------------------------------------------- parts, as the engine sees them


class Embedder(Protocol):
    """Turns texts into vectors. Thread-safe."""

    @property
    def model_id(self) -> str:
        """The model's name and the hash of its files. Vectors of different ids cannot be compared."""

    @property
    def dimension(self) -> int:
        """The number of components of a vector."""

    @property
    def device(self) -> str:
        """`cpu` or `cuda`: the device that bulk work actually runs on."""

    @property
    def device_note(self) -> str:
        """One line that says why the device is not the requested one; empty when it is."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """One row per text: shape [n, dimension], rows L2-normalised."""

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of a query: shape [dimension], L2-normalised."""

    def close(self) -> None:
        """Releases the model's resources."""


# ---------------------------------------------------------------- progress and cancellation


class Progress(Protocol):
    """Receives the progress of long work. Each surface has its own."""

    def __call__(self, done: int, total: int, message: str) -> None:
        """Reports that `done` of `total` steps are done; `message` says what is being done. Called from any thread."""


def no_progress(done: int, total: int, message: str) -> None:
    """Ignores the report."""


IsCancelled: TypeAlias = Callable[[], bool]


def never_cancelled() -> bool:
    """An `IsCancelled` that always answers False."""
    return False


# ---------------------------------------------------------------- what the engine answers


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One search.

    A hit matches any of the globs in `paths` (over relative paths), any of `languages` and any of `kinds`, and contains
    every text of `exact` as it is written; empty means no restriction. `alpha` is the weight of meaning against words,
    0-1. `token_budget` limits the total size of the hits, about four characters to a token: the hit that fills it is
    cut, but never to less than a line of the first one; 0 means no limit. `named`: each hit gets its definition;
    `telling`: and its most telling lines, as an explained one does.
    """

    query: str
    collection: Collection = "code"
    mode: Mode = "hybrid"
    alpha: float = DEFAULTS["hybridSearch.defaultAlpha"]
    top_k: int = 10
    offset: int = 0
    paths: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    exact: tuple[str, ...] = ()
    token_budget: int = 0
    explain: bool = False
    named: bool = False
    telling: bool = False


@dataclass(frozen=True, slots=True)
class MarkedLine:
    """A line, shortened for display, that shows why its chunk was found.

    `line` is 1-based. `pieces` alternate between plain text and words of the query as the line spells them, starting
    with plain text.
    """

    line: int
    pieces: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HitDefinition:
    """The definition that a hit is about. Lines are 1-based, end inclusive; `container` joins the enclosing names by
    `.`."""

    name: str
    kind: str
    container: str
    start_line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk, or several adjoining chunks of one file, with its final score (0-1).

    `parts` maps each contribution's name to its value and is filled only on request; `shares` groups those that raise
    the score into reasons, in percent that sum to 100; `why` says the reasons in words, and what lowers the score;
    `excerpt` has at most two lines. `definition` is the one around the excerpt's most telling line, or, if that line is
    outside of all (a comment, an import), the next one below it in the hit. `left_out` has the first and the last of
    those lines of the passage that a token budget left no room for; the hit ends before them. `hidden`: a value in
    `content` is shown as asterisks, because it looks like a secret. `workspace` names the hit's workspace where several
    were searched.
    """

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
    shares: dict[str, int] = field(default_factory=dict)
    excerpt: tuple[MarkedLine, ...] = ()
    definition: HitDefinition | None = None
    left_out: tuple[int, int] | None = None
    hidden: bool = False
    workspace: str = ""


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """One page of hits.

    `total` counts the hits on all pages. `notice` is one line, only when the answer is partial or stale, or other words
    were searched than those typed. `model` is the id of the model that compared the meanings; empty when only words
    were compared. `reason` is one sentence on why there are no hits; empty when there are any. `confidence` (0-1) is
    the probability that the question has an answer here, None where that was not learnt; `weak` says that it is low.
    """

    hits: tuple[Hit, ...]
    total: int
    mode: Mode
    took_ms: float
    notice: str = ""
    stages_ms: dict[str, float] = field(default_factory=dict)
    model: str = ""
    reason: str = ""
    confidence: float | None = None
    weak: bool = False


@dataclass(frozen=True, slots=True)
class PathsAnswer:
    """Indexed paths that match, in alphabetical order, or those that fit some letters, best first with their scores.
    `total` is before the limit; `notice` and `reason` as in `SearchAnswer`."""

    paths: tuple[str, ...]
    total: int
    notice: str = ""
    reason: str = ""
    scores: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class CollectionCounts:
    """How many files and chunks a collection has."""

    files: int = 0
    chunks: int = 0


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What creating, rebuilding or refreshing an index did.

    `embedded` counts the texts of chunks that the model embedded: a text of several chunks counts once, and one found
    in the embedding cache does not count. `upgraded` counts those that the model upgrade embedded. `withheld` counts
    files left out because of a secret, `masked` secret values hidden in the stored text. `notice` says what was damaged
    and has been rebuilt, and what a limit of the settings leaves out.
    """

    code: CollectionCounts
    docs: CollectionCounts
    duration_ms: int
    errors: int
    unchanged: int = 0
    embedded: int = 0
    removed: int = 0
    withheld: int = 0
    upgraded: int = 0
    masked: int = 0
    notice: str = ""


@dataclass(frozen=True, slots=True)
class SnapshotReport:
    """The team snapshot that was made: its file, the commit, its size in bytes, and how many files and chunks it holds.

    `left_out` counts the indexed files that it does not hold, which each checkout reads itself.
    """

    path: str
    commit: str
    size: int
    files: int
    chunks: int
    left_out: int


@dataclass(frozen=True, slots=True)
class Origin:
    """The team snapshot that an index started from: its commit, when it was made (ISO 8601, by its maker's clock), its
    source, how many files it held and how many of them were taken over."""

    commit: str
    made: str
    source: str
    files: int
    taken: int


@dataclass(frozen=True, slots=True)
class FileReport:
    """What reindexing one file did; `chunks` is the file's number of chunks."""

    status: Literal["reindexed", "removed"]
    path: str
    chunks: int


@dataclass(frozen=True, slots=True)
class UpgradeProgress:
    """The progress of a model upgrade: the model that will answer, and how many of the chunks have its vector.

    `note` says why the upgrade is not running; empty when nothing hinders it.
    """

    model: str
    done: int = 0
    total: int = 0
    seconds_left: float | None = None
    note: str = ""


Lack: TypeAlias = Literal["not-read-yet", "maxFiles", "maxFileSize", "secrets", "unreadable"]
"""Why a file that belongs in an index is not in it; two are named by the setting that limits the index."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a workspace an index holds.

    `indexed` counts its files; `missing` counts, by reason, the files that belong in it and are not there. `whole`:
    whether all files of the workspace were listed once, so that the counts are of all of them; `complete`: whether it
    has held all of them once; `cancelled`: whether a person has ended its building before that, and nobody has asked
    for it since.
    """

    indexed: int = 0
    missing: tuple[tuple[Lack, int], ...] = ()
    whole: bool = True
    complete: bool = True
    cancelled: bool = False

    @property
    def total(self) -> int:
        """How many files belong in the index."""
        return self.indexed + sum(count for _, count in self.missing)

    def lacks(self, reason: Lack) -> int:
        """How many files are missing for this reason."""
        return dict(self.missing).get(reason, 0)


@dataclass(frozen=True, slots=True)
class StatusAnswer:
    """The state of one index at this moment. Sizes are in bytes, coverage is 0-1, times are ISO 8601 UTC.

    `ready`: the index holds what it can hold, and searches work. `indexing`: this process or another one builds it.
    `incomplete`: some of it has not been read, and nobody is at it. `failed`: it cannot be read, or searches fail.
    `notice` is what a search would say of its answer now, `holds` which part of the workspace the index holds, and
    `behind` whether the files have changed since, as far as is known. `busy`: a job that somebody asked for runs in
    this process, which refuses another one until it has ended.

    `skipped` maps each rule to the number of paths it left out; `withheld` are the paths left out because of a secret;
    `masked` are (path, number of values hidden in its stored text); `errors` are (path, message); `cut_by_lines` are
    (path, why it could not be parsed). `unapplied`: which changed setting waits for a rebuild; `warning` says it too.
    `words_only`: searches find words alone, because no model can be loaded. `origin`: the team snapshot that the index
    started from; None if it was made from nothing.
    `model_upgrade` is None while no model upgrade is due. `patterns`: those that the index is limited to; empty for the
    whole workspace.
    """

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
    default_alpha: float = DEFAULTS["hybridSearch.defaultAlpha"]
    languages: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, int] = field(default_factory=dict)
    withheld: tuple[SkippedPath, ...] = ()
    masked: tuple[tuple[str, int], ...] = ()
    errors: tuple[tuple[str, str], ...] = ()
    cut_by_lines: tuple[tuple[str, str], ...] = ()
    busy: bool = False
    progress_done: int = 0
    progress_total: int = 0
    seconds_left: float | None = None
    warning: str = ""
    generation: int = 0
    problems: tuple[str, ...] = ()
    unapplied: str = ""
    model_upgrade: UpgradeProgress | None = None
    patterns: tuple[str, ...] = ()
    holds: Coverage = Coverage()
    notice: str = ""
    behind: bool = False
    words_only: bool = False
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class ConfigAnswer:
    """The settings in force.

    `config` has the keys of the specification, `origins` says where each value comes from, `problems` name the key and
    the allowed values.
    """

    exists: bool
    config_path: str
    index_path: str
    config: dict[str, object]
    origins: dict[str, str]
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a path is or is not in the index at this moment. `stale`: what the index holds is not what it should hold."""

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
    encoding: str = ""


@dataclass(frozen=True, slots=True)
class PatternReport:
    """What indexing by patterns did.

    A file is counted once per pattern that it matches; `failures` are (path, reason). `unmatched` are the globs that no
    file of the workspace matches, as they were given.
    """

    indexed: int
    skipped: int
    failed: int
    chunks: int
    failures: tuple[tuple[str, str], ...] = ()
    unmatched: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SymbolHit:
    """A definition found by its name. `match` says how it was found; `line` is the source line on which it starts, and
    `hidden` that a value in it is shown as asterisks, because it looks like a secret."""

    path: str
    name: str
    kind: str
    start_line: int
    end_line: int
    container: str
    exported: bool
    match: Literal["exact", "prefix", "typo", "words"]
    line: str
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class SymbolsAnswer:
    """Definitions that match, best first; `total` is before the limit, `notice` and `reason` as in `SearchAnswer`."""

    symbols: tuple[SymbolHit, ...]
    total: int
    notice: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Memory:
    """A note that an agent stores about the workspace under a `key`. Times are ISO 8601 UTC."""

    key: str
    summary: str
    text: str
    tags: tuple[str, ...]
    created: str
    updated: str


@dataclass(frozen=True, slots=True)
class MemoryHit:
    """A memory that a search found. `relevance` is in 0-1; higher is better."""

    memory: Memory
    excerpt: str
    relevance: float


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """One page of the memories found, best first; `total` counts all pages."""

    hits: tuple[MemoryHit, ...]
    total: int
    notice: str = ""


NO_DOCUMENTS = "The index has no documents yet; `search_add_document` adds one."


@dataclass(frozen=True, slots=True)
class DocumentHit:
    """A document that matches. `score` has no upper bound; `highlights` are at most three excerpts."""

    doc_id: str
    score: float
    highlights: tuple[str, ...]
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class DocumentsAnswer:
    """Documents that match, best first; equal scores keep the order in which the documents were added.

    `total` is before the limit. `parsed` holds the query's terms, must, must_not and phrases, all empty when the query
    asks for nothing. `reason` says why a query that asks for something has no hits; else it is empty.
    """

    hits: tuple[DocumentHit, ...]
    total: int
    parsed: dict[str, list[str]]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class DocumentIndexFacts:
    """What a list of document indexes says of one. `documents` is their number; the rest is as it was created."""

    name: str
    backend: str
    documents: int
    lowercase: bool
    min_length: int


@dataclass(frozen=True, slots=True)
class DocumentHead:
    """A document without its text; `characters` is the text's length."""

    doc_id: str
    characters: int
    metadata: dict[str, Any]


class Documents(Protocol):
    """Named indexes over documents that callers supply. An index named `default`, in memory, always exists."""

    def indexes(self) -> tuple[DocumentIndexFacts, ...]:
        """All indexes, by name."""

    def page(self, name: str, limit: int, offset: int) -> tuple[tuple[DocumentHead, ...], int]:
        """One page of an index's documents, in the order in which they were added, and the number on all pages.

        Raises DocumentIndexNotFound.
        """

    def has(self, name: str, doc_id: str) -> bool:
        """Whether the index has a document with this id. Raises DocumentIndexNotFound."""

    def delete(self, name: str, doc_id: str) -> bool:
        """Deletes a document; False when no document has this id. Raises DocumentIndexNotFound."""

    def drop(self, name: str) -> None:
        """Deletes an index with its documents; `default` in memory is emptied. Raises DocumentIndexNotFound."""

    def is_in_memory(self, name: str) -> bool:
        """Whether there is an index of this name that ends with the process."""

    def create(self, name: str, backend: str, lowercase: bool, min_length: int) -> None:
        """Makes an empty index. Raises DocumentIndexExists, UnknownBackend (known: memory, sqlite)."""

    def add(self, name: str, doc_id: str, content: str, metadata: Mapping[str, Any]) -> tuple[bool, int]:
        """Adds a document; returns whether it replaced one with the same id, and its number of tokens.

        Raises DocumentIndexNotFound.
        """

    def search(self, name: str, query: str, limit: int, cancelled: IsCancelled) -> DocumentsAnswer:
        """Documents that match the query. Raises DocumentIndexNotFound, Cancelled."""


class Memories(Protocol):
    """The memories of one workspace, available before an index exists. A namespace is a literal prefix of the key."""

    def save(self, key: str, summary: str, text: str, tags: Sequence[str]) -> tuple[Memory, bool]:
        """Stores a memory, replacing the one with the same key; the flag is True when the key is new."""

    def get(self, key: str) -> Memory | None:
        """The memory with this key; None when no memory has it."""

    def page(self, namespace: str, tags: Sequence[str], limit: int, offset: int) -> tuple[tuple[Memory, ...], int]:
        """One page of the memories in the namespace that have all `tags`, most recently changed first, and the number
        on all pages.
        """

    def delete(self, key: str) -> bool:
        """Deletes the memory with this key; False when no memory has it."""

    def search(self, query: str, limit: int, offset: int, namespace: str, cancelled: IsCancelled) -> MemoryPage:
        """Searches by meaning and by word together. Raises InvalidQuery, Cancelled."""

    def find_keywords(
        self, keywords: Sequence[str], operator: Literal["AND", "OR"], limit: int, offset: int, namespace: str
    ) -> MemoryPage:
        """Searches by word alone; each `excerpt` marks the keywords. Raises InvalidParams without keywords."""


class Workspace(Protocol):
    """The engine as the tools see it: one root folder and its index. Every method is synchronous and thread-safe.

    Methods raise only errors of `sidecar.errors`.
    """

    @property
    def root(self) -> str:
        """The absolute path of the workspace's folder."""

    def create(self, progress: Progress, cancelled: IsCancelled) -> BuildReport:
        """Creates the index of the whole workspace, without the model upgrade. One that is limited to patterns grows.

        Raises IndexExists, IndexingInProgress, IndexLocked, Cancelled.
        """

    def stay_cancelled(self) -> None:
        """Called when a person has cancelled the job that runs: no search goes on with what it has left undone.

        Waits for the end of the job. Does nothing to an index that has been complete once. Whoever asks for the index
        afterwards has it completed.
        """

    def rebuild(self, progress: Progress, cancelled: IsCancelled, whole: bool = False) -> BuildReport:
        """Builds a new generation and swaps it in. It keeps to the patterns that the index is limited to, if any;
        `whole` ends that limit.

        Raises IndexNotFound, IndexingInProgress, IndexLocked, Cancelled.
        """

    def refresh(
        self, progress: Progress, cancelled: IsCancelled, whole: bool = False, snapshot: str | None = None
    ) -> BuildReport:
        """Creates the index or brings an existing one up to date, then finishes the model upgrade.

        `whole` as in `rebuild`. `sidecar index` does this, with `whole`. A `snapshot` is the address or the folder of
        team snapshots to begin with, "" the one of the settings: what the nearest of them holds takes the place of the
        index, which stays as it was if none fits. None: only a new index does, and only if the settings name a source.
        Raises IndexingInProgress, IndexLocked, ModelLoadFailed, Cancelled; SnapshotUnusable if a snapshot was given.
        """

    def make_snapshot(
        self, out: Path, texts: bool, key: Path | None, progress: Progress, cancelled: IsCancelled
    ) -> SnapshotReport:
        """Makes a team snapshot of the index in the folder `out`, with the texts of the chunks if `texts`, and signed
        if a file with a private key is given.

        Raises IndexNotFound if there is no complete index, SnapshotUnusable outside of a git repository, ConfigInvalid,
        Cancelled.
        """

    def reindex_file(self, path: str) -> FileReport:
        """Reindexes one file even when it seems unchanged, or removes it when it is gone.

        Raises IndexNotFound, IndexLocked, FileNotFound, FileExcluded, PathTraversal.
        """

    def delete(self) -> None:
        """Deletes the index; memories, documents and edited settings stay.

        Raises IndexNotFound, IndexingInProgress, IndexLocked.
        """

    def search(self, request: SearchRequest, cancelled: IsCancelled) -> SearchAnswer:
        """Searches one collection.

        Raises IndexNotFound, DocsIndexNotFound, InvalidPattern, ModelLoadFailed, Cancelled.
        """

    def find_paths(self, pattern: str, limit: int) -> PathsAnswer:
        """Indexed paths that match a glob. Raises IndexNotFound, InvalidPattern."""

    def find_paths_by_letters(self, letters: str, limit: int) -> PathsAnswer:
        """Indexed paths that have the letters in their order, best first. Raises IndexNotFound."""

    def find_symbols(self, name: str, kinds: Sequence[str], limit: int) -> SymbolsAnswer:
        """Definitions by exact name, by the beginning of the name, or by the words that it consists of.

        Raises IndexNotFound, InvalidQuery.
        """

    def find_similar(self, path: str, line: int, end_line: int, limit: int, cancelled: IsCancelled) -> SearchAnswer:
        """Chunks similar to the one at this line or, when `end_line` is at least `line`, to these lines.

        They are in the same collection; the place itself is left out. Scores are similarities, 0-1. Raises
        IndexNotFound, FileNotFound, InvalidParams, ModelLoadFailed, Cancelled.
        """

    def find_closest(self, query: str, limit: int, threshold: float, cancelled: IsCancelled) -> SearchAnswer:
        """Chunks of code and documentation by meaning alone, with a similarity (0-1) of at least `threshold`.

        Raises IndexNotFound, InvalidQuery, ModelLoadFailed, Cancelled.
        """

    def index_matching(
        self, patterns: Sequence[str], force: bool, progress: Progress, cancelled: IsCancelled
    ) -> PatternReport:
        """Indexes what matches globs, paths or folders immediately; creates the index when it does not exist.

        An index that it creates is limited to its patterns, and those of later calls are added, until `create`.
        `force` includes unchanged files.
        """

    def patterns_to_add(self, patterns: Sequence[str]) -> tuple[str, ...]:
        """Those of the patterns that `index_matching` would add to what the index may hold; all of them when there is
        no index, none when the index is of the whole workspace.

        Raises InvalidPattern, PathTraversal, InvalidParams.
        """

    @property
    def documents(self) -> Documents:
        """The document indexes of this workspace."""

    @property
    def memories(self) -> Memories:
        """The memories of this workspace."""

    def status(self) -> StatusAnswer:
        """The state of the index. When the index cannot be opened, the answer says why."""

    def config(self) -> ConfigAnswer:
        """The settings in force, and where each of them comes from."""

    def explain(self, path: str) -> Explanation:
        """Why a path is or is not in the index. Raises PathTraversal, InvalidParams."""

    def open_file(self, path: str) -> None:
        """Notes that an editor shows this file, which is then read before others, until as many calls of `close_file`.

        Raises PathTraversal, InvalidParams.
        """

    def close_file(self, path: str) -> None:
        """Notes that an editor shows this file no longer."""

    def set_buffer(self, path: str, text: str) -> None:
        """Makes searches see an editor's unsaved text for this path until `drop_buffer`.

        Raises IndexLocked where the index is open for reading only.
        """

    def drop_buffer(self, path: str) -> None:
        """Makes searches see the file on disk again."""

    def on_change(self, listener: Callable[[StatusAnswer], None]) -> Callable[[], None]:
        """Calls `listener` on an engine thread at every change of status; the function returned ends this."""

    def close(self) -> None:
        """Ends all work and closes the index."""
