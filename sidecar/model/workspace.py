"""What a workspace can do, as surfaces and tools see it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

from sidecar.model.answers import (
    BuildReport,
    ConfigAnswer,
    DocumentHead,
    DocumentIndexFacts,
    DocumentsAnswer,
    Explanation,
    FileReport,
    Memory,
    MemoryPage,
    PathsAnswer,
    PatternReport,
    SearchAnswer,
    SearchRequest,
    SnapshotOffer,
    SnapshotReport,
    StatusAnswer,
    SymbolsAnswer,
)
from sidecar.model.terms import IsCancelled, Progress


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

    def find_snapshot(self) -> SnapshotOffer | None:
        """The team snapshot that a new index would start from; None if the settings name no source.

        Asks the source and nobody else, reads its list alone, and gives a slow server up after seconds. Raises
        SnapshotUnusable with the reason why there is none, DiskFull, PermissionDenied.
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
