"""The protocol of a workspace: what surfaces and tools can do with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol

from sidecar.model.answers import (
    BuildReport,
    ConfigAnswer,
    DocumentHead,
    DocumentIndexFacts,
    DocumentsAnswer,
    Explanation,
    FileReport,
    HybridDefaults,
    Memory,
    MemoryPage,
    OverviewAnswer,
    PathsAnswer,
    PatternReport,
    SearchAnswer,
    SearchRequest,
    SnapshotOffer,
    SnapshotReport,
    SnapshotRequest,
    StatusAnswer,
    SymbolsAnswer,
)
from sidecar.model.terms import IsCancelled, Progress


class Documents(Protocol):
    """Named indexes over documents that callers supply. An index named `default`, in memory, always exists."""

    def indexes(self) -> tuple[DocumentIndexFacts, ...]:
        """Returns all indexes, by name."""

    def page(self, name: str, limit: int, offset: int) -> tuple[tuple[DocumentHead, ...], int]:
        """Returns one page of an index's documents, in the order in which they were added, and the number on all pages.

        Raises DocumentIndexNotFound.
        """

    def has(self, name: str, doc_id: str) -> bool:
        """Whether the index has a document with this id. Raises DocumentIndexNotFound."""

    def delete(self, name: str, doc_id: str) -> bool:
        """Deletes a document; returns False if no document has this id. Raises DocumentIndexNotFound."""

    def drop(self, name: str) -> None:
        """Deletes an index with its documents; `default` in memory is emptied. Raises DocumentIndexNotFound."""

    def is_in_memory(self, name: str) -> bool:
        """Whether an index of this name exists that ends with the process."""

    def create(self, name: str, backend: str, lowercase: bool, min_length: int) -> None:
        """Creates an empty index. Raises DocumentIndexExists, UnknownBackend (known: memory, sqlite)."""

    def add(self, name: str, doc_id: str, content: str, metadata: Mapping[str, Any]) -> tuple[bool, int]:
        """Adds a document, or replaces the one with the same id. Returns whether one was replaced, and the number of
        tokens.

        Raises DocumentIndexNotFound.
        """

    def search(self, name: str, query: str, limit: int, cancelled: IsCancelled) -> DocumentsAnswer:
        """Returns the documents that match the query. Raises DocumentIndexNotFound, Cancelled."""


class Memories(Protocol):
    """The memories of one workspace, available before an index exists. A namespace is a literal prefix of the key."""

    def save(self, key: str, summary: str, text: str, tags: Sequence[str]) -> tuple[Memory, bool]:
        """Stores a memory, replacing the one with the same key. Returns it, and True if the key is new."""

    def get(self, key: str) -> Memory | None:
        """Returns the memory with this key; None if no memory has it."""

    def page(self, namespace: str, tags: Sequence[str], limit: int, offset: int) -> tuple[tuple[Memory, ...], int]:
        """Returns one page of the memories in the namespace that have all `tags`, most recently changed first, and the
        number on all pages."""

    def delete(self, key: str) -> bool:
        """Deletes the memory with this key; returns False if no memory has it."""

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

    def create(self, progress: Progress, cancelled: IsCancelled, from_snapshot: bool = True) -> BuildReport:
        """Creates the index of the whole workspace, without the model upgrade. An index that is limited to patterns is
        extended. Without `from_snapshot`, every file is read here, whatever source of snapshots the settings name.

        Raises IndexExists, IndexingInProgress, IndexLocked, Cancelled.
        """

    def cancel(self, by: str) -> bool:
        """Cancels the job that builds the index, whoever has begun it, for a person at the client of this name, and
        waits for its end. It then stays cancelled; see `stay_cancelled`.

        Returns False if this process runs no such job.
        """

    def stay_cancelled(self) -> None:
        """Called when a person has cancelled the running job: no search then resumes the work that is left.

        Waits for the end of the job. Does nothing to an index that has been complete once. A later request for the
        index completes it.
        """

    def rebuild(self, progress: Progress, cancelled: IsCancelled, whole: bool = False) -> BuildReport:
        """Builds a new generation and swaps it in. It keeps the patterns that the index is limited to, if any, unless
        `whole` is set.

        Raises IndexNotFound, IndexingInProgress, IndexLocked, Cancelled.
        """

    def refresh(
        self, progress: Progress, cancelled: IsCancelled, whole: bool = False, snapshot: str | None = None
    ) -> BuildReport:
        """Creates the index or brings an existing one up to date, then finishes the model upgrade.

        `whole` is as in `rebuild`; `sidecar index` sets it. `snapshot` is the address or the folder of team snapshots
        to begin with, "" the one of the settings: the content of the nearest fitting snapshot replaces the index, which
        stays as it was if none fits. If it is None, only a new index starts from a snapshot, and only if the settings
        name a source. Raises IndexingInProgress, IndexLocked, ModelLoadFailed, Cancelled; SnapshotUnusable if
        `snapshot` was given.
        """

    def find_snapshot(self) -> SnapshotOffer | None:
        """The team snapshot that a new index would start from; None if the settings name no source.

        Asks the source and nobody else, reads its list alone, and gives a slow server up after seconds. Raises
        SnapshotUnusable with the reason why there is none, DiskFull, PermissionDenied.
        """

    def make_snapshot(self, request: SnapshotRequest, progress: Progress, cancelled: IsCancelled) -> SnapshotReport:
        """Makes a team snapshot of the index. One without a fitting base, or with a change too large for one, is whole.

        Raises IndexNotFound if no complete index exists, SnapshotUnusable outside of a git repository, ConfigInvalid,
        Cancelled.
        """

    def reindex_file(self, path: str) -> FileReport:
        """Reindexes one file even if it seems unchanged, or removes it from the index if it no longer exists.

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
        """Returns indexed paths that match a glob. Raises IndexNotFound, InvalidPattern."""

    def find_paths_by_letters(self, letters: str, limit: int) -> PathsAnswer:
        """Returns indexed paths that contain the letters in this order, best first. Raises IndexNotFound."""

    def find_symbols(self, name: str, kinds: Sequence[str], limit: int) -> SymbolsAnswer:
        """Returns definitions by exact name, by the beginning of the name, or by the words in it.

        Raises IndexNotFound, InvalidQuery.
        """

    def overview(self, central: int) -> OverviewAnswer:
        """A first look at the workspace from its index, with at most `central` central files. Raises IndexNotFound."""

    def find_similar(self, path: str, line: int, end_line: int, limit: int, cancelled: IsCancelled) -> SearchAnswer:
        """Returns chunks similar to the one at this line or, if `end_line` is at least `line`, to these lines.

        They are in the same collection; the place itself is left out. Scores are similarities, 0-1. Raises
        IndexNotFound, FileNotFound, InvalidParams, ModelLoadFailed, Cancelled.
        """

    def find_closest(self, query: str, limit: int, threshold: float, cancelled: IsCancelled) -> SearchAnswer:
        """Returns chunks of code and documentation by meaning alone, with a similarity (0-1) of at least `threshold`.

        Raises IndexNotFound, InvalidQuery, ModelLoadFailed, Cancelled.
        """

    def index_matching(
        self, patterns: Sequence[str], force: bool, progress: Progress, cancelled: IsCancelled
    ) -> PatternReport:
        """Indexes the files that match globs, paths or folders at once; creates the index if it does not exist.

        An index that it creates is limited to its patterns, and those of later calls are added, until `create` is
        called. `force` includes unchanged files.
        """

    def patterns_to_add(self, patterns: Sequence[str]) -> tuple[str, ...]:
        """Returns the patterns that `index_matching` would add to the index's limit: all of them if no index exists,
        none if the index covers the whole workspace.

        Raises InvalidPattern, PathTraversal, InvalidParams.
        """

    @property
    def documents(self) -> Documents:
        """The document indexes of this workspace."""

    @property
    def memories(self) -> Memories:
        """The memories of this workspace."""

    def status(self, up_to_date: bool = False) -> StatusAnswer:
        """Returns the state of the index. If the index cannot be opened, the answer says why.

        With `up_to_date` it waits for changes as a search does: a process that ends with this answer would otherwise
        always say that it is still looking for them.
        """

    def config(self) -> ConfigAnswer:
        """Returns the settings in force, and where each of them comes from."""

    def hybrid_defaults(self) -> HybridDefaults:
        """Returns the settings that count for a search that names neither mode nor alpha."""

    def explain(self, path: str) -> Explanation:
        """Returns why a path is or is not in the index. Raises PathTraversal, InvalidParams."""

    def open_file(self, path: str) -> None:
        """Records that an editor shows this file, which is then read before others, until `close_file` is called as
        often.

        Raises PathTraversal, InvalidParams.
        """

    def close_file(self, path: str) -> None:
        """Records that an editor no longer shows this file."""

    def set_buffer(self, path: str, text: str) -> None:
        """Makes searches see an editor's unsaved text for this path until `drop_buffer`.

        Raises IndexLocked if the index is open for reading only; the text is then searched once it may be written.
        """

    def drop_buffer(self, path: str) -> None:
        """Makes searches see the file on disk again."""

    def on_change(self, listener: Callable[[StatusAnswer], None]) -> Callable[[], None]:
        """Calls `listener` on an engine thread at every change of status; the returned function ends that."""

    def close(self) -> None:
        """Ends all work and closes the index."""
