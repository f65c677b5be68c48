"""The engine's requests and answers: plain values without behaviour beyond small derivations."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from sidecar.model.files import Decision, SkippedPath
from sidecar.model.terms import Collection, Mode, Strategy
from sidecar.settings.values import DEFAULTS


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One search.

    A hit matches any of the globs in `paths` (over relative paths), any of `languages` and any of `kinds`, and contains
    every text of `exact` as it is written; empty means no restriction. `alpha` is the weight of meaning against words,
    0-1. `token_budget` limits the total size of the hits, at about four characters per token: the hit that exceeds it
    is cut, but at least one line of the first hit stays; 0 means no limit. `named`: each hit gets its definition;
    `excerpts`: each hit also gets its excerpt, as an explained one does.
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
    excerpts: bool = False


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
    `excerpt` has at most two lines. `definition` is the one around the excerpt's best line, or, if that line is
    outside of all definitions (a comment, an import), the next one below it in the hit. `left_out` has the first and
    the last line of those that a token budget has cut off; the hit ends before them. `hidden`: a value in `content` is
    shown as asterisks, because it looks like a secret. `workspace` names the hit's workspace if several were searched.
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

    `total` counts the hits on all pages. `notice` is one line, set only if the answer is partial or stale, or other
    words were searched than those typed. `model` is the id of the model that compared the meanings; empty if only words
    were compared. `reason` is one sentence on why there are no hits; empty if there are any. `confidence` (0-1) is the
    probability that the question has an answer here; None if no calibration covers the mode and the model. `weak` says
    that it is low.
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
    `total` is before the limit; `notice` and `reason` are as in `SearchAnswer`."""

    paths: tuple[str, ...]
    total: int
    notice: str = ""
    reason: str = ""
    scores: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class CollectionCounts:
    """The numbers of files and chunks of a collection."""

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
class SnapshotRequest:
    """A team snapshot to make in the folder `out`: with the texts of the chunks if `texts`, signed if `key` is the file
    of a private key. `base` is an address or a folder of snapshots: what the nearest whole one of them holds is left
    out. If it ends with `.zst`, it names that file there; empty: the snapshot is whole."""

    out: Path
    texts: bool = False
    key: Path | None = None
    base: str = ""


@dataclass(frozen=True, slots=True)
class SnapshotReport:
    """The team snapshot that was made: its file, its commit, its size in bytes, and how many files and chunks it
    contains.

    `left_out` counts the indexed files that it does not hold, which each checkout reads itself. `base` is the SHA-256
    of the whole snapshot that it adds to, empty if it is whole; `notice` then says why, if a base was asked for.
    """

    path: str
    commit: str
    size: int
    files: int
    chunks: int
    left_out: int
    base: str = ""
    notice: str = ""


@dataclass(frozen=True, slots=True)
class SnapshotOffer:
    """The team snapshot that a new index would start from: its commit, the branch that this one belongs to (empty if
    that is not known), how many commits HEAD is ahead of it, when it was made (ISO 8601, by its maker's clock), its
    size in bytes, how many files it holds, its source."""

    commit: str
    branch: str
    ahead: int
    made: str
    size: int
    files: int
    source: str


@dataclass(frozen=True, slots=True)
class Origin:
    """The team snapshot that an index started from: its commit, the time when it was made (ISO 8601, by its maker's
    clock), its source, how many files it contained and how many of them were taken over."""

    commit: str
    made: str
    source: str
    files: int
    taken: int


@dataclass(frozen=True, slots=True)
class FileReport:
    """The outcome of reindexing one file; `chunks` is the file's number of chunks."""

    status: Literal["reindexed", "removed"]
    path: str
    chunks: int


@dataclass(frozen=True, slots=True)
class UpgradeProgress:
    """The progress of a model upgrade: the model that will answer, and how many of the chunks have its vector.

    `note` says why the upgrade is not running; empty if nothing prevents it.
    """

    model: str
    done: int = 0
    total: int = 0
    seconds_left: float | None = None
    note: str = ""


Lack: TypeAlias = Literal["not-read-yet", "maxFiles", "maxFileSize", "secrets", "unreadable"]
"""Why a file that belongs in an index is not in it; two are called after the setting that limits the index."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of a workspace an index contains.

    `indexed` counts its files; `missing` counts, by reason, the files that belong in it and are not there. `whole`: all
    files of the workspace have been listed once, so the counts cover all of them. `complete`: the index has contained
    all of them once. `cancelled`: a person has cancelled the build before that, and nobody has requested it again.
    `unread_folders` counts the folders that could not be read; `missing` does not count their files, whose number is
    unknown.
    """

    indexed: int = 0
    missing: tuple[tuple[Lack, int], ...] = ()
    whole: bool = True
    complete: bool = True
    cancelled: bool = False
    unread_folders: int = 0

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

    `ready`: the index is as complete as it can be, and searches work. `indexing`: this process or another one builds
    it. `incomplete`: some files have not been read, and no process is reading them, or only words are found. `failed`:
    the index cannot be read, or searches fail. `notice` is what a search would say about its answer now, `holds` which
    part of the workspace the index contains, and `behind` whether files are known to have changed since. `busy`: a
    requested job runs in this process, which refuses another one until it has ended. `elsewhere`: another process runs
    the job. `gone`: the folder is not there now.

    `skipped` maps each rule to the number of paths it left out; `withheld` are the paths left out because of a secret;
    `masked` are (path, number of values hidden in its stored text); `errors` are (path, message); `cut_by_lines` are
    (path, why it could not be parsed). `unapplied`: which changed setting waits for a rebuild; `warning` says it too.
    `words_only`: searches find words alone, because no model can be loaded. `origin`: the team snapshot that the index
    started from; None if it started from none. `model_upgrade` is None while no model upgrade is due. `patterns`: the
    globs that the index is limited to; empty for the whole workspace.
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
    elsewhere: bool = False
    gone: bool = False
    progress_done: int = 0
    progress_total: int = 0
    progress_says: str = ""
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
class HybridDefaults:
    """`enabled`: whether hybrid is the default mode. `alpha`: the default weight of meaning in it, 0-1."""

    enabled: bool
    alpha: float


@dataclass(frozen=True, slots=True)
class ConfigAnswer:
    """The settings in force.

    `config` has the keys of the specification, `origins` says where each value comes from, `problems` name the key and
    the allowed values. `model_problem`: why the model that they name cannot be used; empty if it can.
    """

    exists: bool
    config_path: str
    index_path: str
    config: dict[str, object]
    origins: dict[str, str]
    problems: tuple[str, ...]
    model_problem: str = ""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a path is or is not in the index at this moment. `stale`: the index's content for it is not what it should
    be."""

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
    """The outcome of indexing by patterns.

    A file is counted once per pattern that it matches; `failures` are (path, reason). `unmatched` are the given globs
    that match no file of the workspace.
    """

    indexed: int
    skipped: int
    failed: int
    chunks: int
    failures: tuple[tuple[str, str], ...] = ()
    unmatched: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SymbolHit:
    """A definition found by its name. `match` says how it was found; `line` is the source line on which it starts.
    `hidden`: a value in that line is shown as asterisks, because it looks like a secret."""

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
    """Definitions that match, best first; `total` is before the limit, `notice` and `reason` are as in
    `SearchAnswer`."""

    symbols: tuple[SymbolHit, ...]
    total: int
    notice: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class CentralFile:
    """A file that much of the code depends on: the definition that it is most about (empty if it has none), and in how
    many files its name occurs."""

    path: str
    name: str
    named_by: int


@dataclass(frozen=True, slots=True)
class OverviewAnswer:
    """A first look at a workspace. Paths are likeliest first, central files most central first.

    `files` counts all indexed files, `code_files` those with code that are no tests and no examples. `languages` has
    the lines of the four with most code, `test_folders` the number of files with tests of the three that have most.
    `notice` and `reason` as in `SearchAnswer`.
    """

    files: int = 0
    code_files: int = 0
    languages: tuple[tuple[str, int], ...] = ()
    build: tuple[str, ...] = ()
    starts: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    test_folders: tuple[tuple[str, int], ...] = ()
    test_support: tuple[str, ...] = ()
    central: tuple[CentralFile, ...] = ()
    notice: str = ""
    reason: str = ""

    def paths(self) -> tuple[str, ...]:
        """The path of every file that it names."""
        return (*self.build, *self.starts, *self.settings, *self.test_support, *(file.path for file in self.central))


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
    """Documents that match, best first; documents with equal scores keep the order in which they were added.

    `total` is before the limit. `parsed` holds the query's terms, must, must_not and phrases, all empty if the query
    asks for nothing. `reason` says why a query that asks for something has no hits; otherwise it is empty.
    """

    hits: tuple[DocumentHit, ...]
    total: int
    parsed: dict[str, list[str]]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class DocumentIndexFacts:
    """One document index in a list. `documents` is the number of its documents; the other values are those it was
    created with."""

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
