"""What the engine needs from the parts: protocols, and `Parts`, the constructors that `wiring.py` provides."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sidecar.model.answers import Memory
from sidecar.model.files import (
    Checkout,
    Chunk,
    Decision,
    FileContent,
    FoundFile,
    IndexedBlob,
    Judged,
    ParsedFile,
    SkippedPath,
    WalkResult,
)
from sidecar.model.terms import Collection, Embedder, Ids, IsCancelled, Vectors
from sidecar.parts.lexical.analyse import FileTerms
from sidecar.parts.pattern_limit import PatternLimit
from sidecar.settings.load import Settings

if TYPE_CHECKING:
    from sidecar.engine.ingest.prepare import Job, Judgement, Look, Outcome, Recall, Recalled
    from sidecar.engine.search.searcher import Searcher
    from sidecar.parts.watched_folders import JudgedFolder


class Walker(Protocol):
    """Decides which files of a workspace are indexed; see `parts.walk.DiskWalker`."""

    def walk(self, cancelled: IsCancelled) -> WalkResult:
        """Walks the whole workspace. Raises Cancelled, and WorkspaceNotFound if the root is not a folder."""

    def near_the_root(self, enough: int, cancelled: IsCancelled) -> Sequence[FoundFile]:
        """Returns the first `enough` files from the root downwards, or a few more; all files if there are fewer. The
        limit on the number of files is not applied. Raises Cancelled, and WorkspaceNotFound if the root is not a
        folder."""

    def leave_out_from(self, path: str | None, is_kept: Callable[[str], bool]) -> None:
        """Applies the limit on the number of files as an earlier walk of the whole workspace did. `path` is the
        `first_beyond` of that walk; None if the limit left out nothing. No path that `is_kept` is left out."""

    def keep(self, is_indexed: Callable[[str], bool]) -> None:
        """Says which files are in the index: they stay if a wrong glob of the settings leaves them in doubt."""

    def subtree(self, path: str) -> WalkResult:
        """Walks one folder or file of the workspace. The result is empty if the path does not exist."""

    def decide(self, path: str) -> Decision:
        """Returns the decision on one relative path. For a path that does not exist, only its name counts."""

    def found(self, path: str) -> FoundFile | SkippedPath:
        """Returns the file if a walk would offer it, else why it would not. Raises FileNotFound if it does not
        exist."""

    def judged(self, folder: str) -> JudgedFolder:
        """Judges a folder, by its relative path, together with all folders above it."""

    def is_there(self, path: str) -> bool:
        """Whether anything exists at this path, whether or not it is left out. Links are not followed: a path behind
        one does not exist."""


class MakeWalker(Protocol):
    """Makes a walker over a workspace."""

    def __call__(self, root: str, settings: Settings, limit: PatternLimit | None = None) -> Walker:
        """Returns a walker with these settings. With `limit`, it offers only the files that the patterns name."""


class EmbeddingCache(Protocol):
    """The embedding cache, as one model sees it: vectors by text hash, on disk, shared by all indexes of a data folder.

    It outlives generations and indexes. Every method may raise DiskFull, IndexCorrupt, IndexLocked or PermissionDenied.
    """

    @property
    def store_uuid(self) -> str:
        """Identifies the cache file. Vector ids are valid only for the file that they came from."""

    @property
    def damaged(self) -> bool:
        """Whether the cache file has proved damaged or has disappeared. Opening the cache again then starts a new
        file."""

    def find(self, hashes: Sequence[bytes]) -> dict[bytes, int]:
        """Returns the vector ids of those hashes that have a vector. This counts as a use of these vectors."""

    def add(self, hashes: Sequence[bytes], vectors: Vectors) -> list[int]:
        """Stores vectors, shape [n, dimension], and returns their ids in order. A known hash keeps its vector."""

    def get(self, ids: Ids) -> tuple[Vectors, NDArray[np.bool_]]:
        """Returns the vectors in the order of `ids`, shape [n, dimension], and which of them were found, shape [n]. The
        rows of the others are zeros."""

    def count(self) -> int:
        """Returns how many vectors of this model the cache holds."""

    def release(self, texts: Callable[[], Iterable[bytes]]) -> int:
        """Drops the vectors, of every model, of all texts except those whose hashes `texts` yields. Returns how many.

        While `texts` is called, no other thread or process can add vectors, or look up ids in order to store them in an
        index.
        """

    def releases(self) -> int:
        """Returns how often `release` was called for this file. A writer that has stored vector ids in an index
        compares this with the value before: a vector that it found may have been released in between."""

    def lost(self, ids: Ids) -> Ids:
        """Returns those of these vector ids that no longer have a vector, ascending."""

    def trim(self, max_bytes: int, referenced: Callable[[], Ids]) -> int:
        """Drops the least recently used vectors until the file is below `max_bytes`; returns how many it dropped.

        Vectors that `referenced()` names or that were used in the last two days stay, even if the file then stays
        larger.
        """

    def close(self) -> None:
        """Ends this use of the cache. The file is closed with its last use."""


class SharedVectors(Protocol):
    """Vectors that the members of a team keep for one another; see `parts.shared_vectors`. No method raises: vectors
    that cannot be fetched are computed on this machine."""

    @property
    def note(self) -> str:
        """One line on why the shared vectors are not asked for at the moment; empty if they are."""

    @property
    def writes(self) -> bool:
        """Whether this machine may write there."""

    def find(self, model_id: str, dimension: int, texts: Sequence[str]) -> tuple[list[int], Vectors]:
        """Returns the positions of the texts whose vectors the team has, and these vectors, shape [n, dimension]."""

    def offer(self, model_id: str, texts: Sequence[str], vectors: Vectors) -> None:
        """Shares the vectors of these texts, shape [n, dimension], if this machine may write."""


class VectorStore(Protocol):
    """Nearest-neighbour search over the vectors of one generation's chunks, by slot. Thread-safe.

    The embedding cache also holds the vectors, so a store can be discarded and filled again at any time. Constructing a
    store is cheap; the first call that concerns vectors opens it, and may start a process or read a file. These calls
    raise StoreFailed, DiskFull or PermissionDenied. If the StoreFailed has `facts["rebuild"]`, the caller has to
    `discard` the store and fill it again; if it has `facts["away"]`, the store is on a server that does not answer now,
    and is to be opened again later.
    """

    @property
    def elsewhere(self) -> bool:
        """Whether the store is on a server that others use too. It then gets only the vectors that searches need, and
        the similarities that it returns are not relied on."""

    def is_fresh(self) -> bool:
        """Whether the store has to be filled: it is new or was discarded, and has not been opened since. Opens
        nothing."""

    def discard(self) -> None:
        """Deletes the content of the store, damaged or not. It can be filled again at once. Raises nothing."""

    def ids(self, collection: Collection) -> Ids:
        """Returns all stored ids, ascending."""

    def add(self, collection: Collection, ids: Ids, vectors: Vectors, texts: Sequence[bytes] = ()) -> None:
        """Stores vectors, shape [n, dimension], under these ids; existing ids are overwritten. `texts` has the hash of
        the text of each, which a store on a server needs: equal texts have equal vectors."""

    def remove(self, collection: Collection, ids: Ids) -> None:
        """Removes these ids; unknown ids are ignored."""

    def query(self, collection: Collection, vector: NDArray[np.float32], limit: int) -> tuple[Ids, NDArray[np.float32]]:
        """Returns ids and cosine similarities (-1..1) of the `limit` nearest vectors, best first. May miss some of
        them."""

    def count(self, collection: Collection) -> int:
        """Returns how many vectors a collection holds."""

    def close(self) -> None:
        """Ends the store's processes and frees its memory. Later calls that concern vectors raise StoreFailed."""


MakeStore: TypeAlias = Callable[[Settings, Path, int, str, str], VectorStore]
"""Makes the store of a generation: settings, a folder of its own (it may not exist), dimension, model id, and the
workspace's root."""


Uint8s = NDArray[np.uint8]
Floats = NDArray[np.float32]
Compare: TypeAlias = Callable[[Floats], Floats]
"""Returns the inner products of a vector, shape [dimension], with the rows that it was made for, shape [rows]. It may
round each number of the vector to 1/127 of the largest."""
MakeCompare: TypeAlias = Callable[[Uint8s, Floats, int], Compare]
"""Prepares packed rows of four-bit integers, with their scales and dimension, for comparisons. See
`parts.vectors.four_bits`."""


class Changes(Protocol):
    """What a watcher has noticed; see `parts.watch.WatchedChanges`."""

    @property
    def paths(self) -> AbstractSet[str]:
        """Files that appeared, changed or disappeared."""

    @property
    def rescan(self) -> AbstractSet[str]:
        """Folders to examine with everything below them; "" is the whole workspace."""

    @property
    def head_moved(self) -> bool:
        """Whether git's HEAD points to another commit or branch."""

    @property
    def asked(self) -> AbstractSet[str]:
        """The names of the questions of other processes (`parts.asking`). If there are any, the other fields are
        empty."""


class Watching(Protocol):
    """A watcher of one workspace; see `parts.watch.Watcher`."""

    def start(self) -> None:
        """Starts watching: `next` returns every change from now on. Raises nothing; see `active` and `note`."""

    def next(self) -> Changes | None:
        """Waits for the next changes and returns them; None once the watcher has been stopped. Raises nothing. Only one
        thread may call it, after it has noted the changes of its last call."""

    def stop(self) -> None:
        """Makes `next` return None, at once if it is waiting."""

    @property
    def active(self) -> bool:
        """Whether the watcher is running."""

    @property
    def note(self) -> str:
        """One line on why the watcher sees nothing or only polls; else empty."""

    def mark(self) -> int | None:
        """Marks this moment and returns the number of the mark; None if that is not possible."""

    def look(self, mark: int | None = None) -> Changes | None:
        """Waits until the changes that `next` has returned are noted, then returns all later ones until now, or until
        this mark at least, which takes less time; `next` does not return these again.

        Returns None if they cannot be determined within a bounded time.
        """


class MergeInSteps(Protocol):
    """Merges segments of the lexical index, each step in a transaction of the caller. Searches find the same after each
    step. If a transaction is rolled back, the work has to continue with a new one of these.

    `at_rest`: whether few segments are to be left, or only those are merged that are due after a commit. `alive`: the
    number of chunks, if known.
    """

    def has_work(self, connection: sqlite3.Connection, *, at_rest: bool, alive: int | None = None) -> bool:
        """Whether `step` would do anything. Only reads."""

    def step(self, connection: sqlite3.Connection, *, at_rest: bool, alive: int | None = None) -> bool:
        """Does a part of the remaining work. Returns False if there was none."""


class Lexical(Protocol):
    """The lexical index. Its tables are in the manifest's database, and it writes in the caller's transaction."""

    def create_tables(self, connection: sqlite3.Connection) -> None:
        """Creates its tables in an empty manifest."""

    def update_tables(self, connection: sqlite3.Connection) -> None:
        """Adds to its tables what a manifest of an earlier version lacks. Takes no time."""

    def analyse(self, path: str, parsed: ParsedFile) -> FileTerms:
        """Returns the terms and definitions of a file for `write_segment`. Needs no database."""

    def write_segment(
        self,
        connection: sqlite3.Connection,
        entries: Sequence[tuple[int, Sequence[int], FileTerms]],
        pause: Callable[[], object] = ...,
    ) -> None:
        """Writes a segment with these files. Each entry is (file id, chunk ids, terms). `pause` is called between parts
        of the work."""

    def forget_files(self, connection: sqlite3.Connection, file_ids: Sequence[int]) -> None:
        """Removes these files; their terms disappear with the next merge."""

    def newest_segment(self, connection: sqlite3.Connection) -> int:
        """Returns the number of the newest segment, for `merge_segments` at the end of a run; 0 if there is none."""

    def merge_segments(
        self,
        connection: sqlite3.Connection,
        *,
        alive: int | None = None,
        force: bool = False,
        since: int | None = None,
        pause: Callable[[], object] = ...,
    ) -> None:
        """Merges the segments that are due, or all of them with `force`. `alive`: the number of chunks, if known.

        `since`: no more segments follow in this run, and this was the newest one before it, so small ones and those of
        the run are merged as well. `pause` is called between parts of the work.
        """

    def merge_in_steps(self) -> MergeInSteps:
        """Returns a merge in small steps, for the time after a few changes and when the workspace is at rest."""


class MemoryWordHit(Protocol):
    """A memory that a search by words has found."""

    @property
    def id(self) -> int:
        """The memory's id."""

    @property
    def score(self) -> float:
        """The score, above 0; higher is better."""

    @property
    def share(self) -> float:
        """The part of the phrases that it contains: above 0, at most 1."""


class MemoryStore(Protocol):
    """Memories on disk, with their words and vectors; see `parts/memories.py`."""

    def save(self, key: str, summary: str, text: str, tags: Sequence[str]) -> tuple[Memory, bool]:
        """Stores a memory, replacing the one with the same key. Returns it, and whether it is new."""

    def delete(self, key: str) -> bool:
        """Deletes a memory. Returns False if no memory has this key."""

    def get(self, key: str) -> Memory | None:
        """Returns the memory with this key, or None."""

    def page(self, namespace: str, tags: Sequence[str], limit: int, offset: int) -> tuple[list[Memory], int]:
        """Returns memories whose key begins with `namespace` and that have all of `tags`, and the total number of
        these.

        They are sorted by the time of change, newest first.
        """

    def ids(self, namespace: str) -> list[int]:
        """Returns the ids of memories whose key begins with `namespace`, ascending."""

    def by_id(self, ids: Sequence[int]) -> dict[int, Memory]:
        """Returns the memories with these ids; ids without a memory are left out."""

    def find_words(
        self, phrases: Sequence[str], operator: Literal["AND", "OR"], namespace: str, limit: int, offset: int = 0
    ) -> tuple[Sequence[MemoryWordHit], int]:
        """Returns memories that contain all (AND) or any (OR) of the phrases, best first, and their total number."""

    def excerpts(self, phrases: Sequence[str], ids: Sequence[int]) -> dict[int, str]:
        """Returns, for each of these memories that contains any of the phrases, a part of its text with them marked, by
        id."""

    def vectors(self, model: str, ids: Sequence[int]) -> dict[int, bytes]:
        """Returns the packed vectors of these memories for this model, by id. A memory that has changed since has
        none."""

    def keep_vectors(self, model: str, made: Sequence[tuple[int, float, bytes]]) -> None:
        """Stores (memory id, time of change, packed vectors), except for memories that have changed since that time."""

    def changed_at(self, ids: Sequence[int]) -> dict[int, float]:
        """Returns when these memories were last changed, in seconds since the epoch."""

    def close(self) -> None:
        """Closes the file."""


class DocumentStore(Protocol):
    """One index of documents: their texts, and how often each contains a token (see `parts.lexical.tfidf.TokenCounts`).

    Documents are numbered in the order in which they were first put; a document that is put again keeps its number.
    """

    @property
    def lowercase(self) -> bool:
        """Whether upper and lower case count as the same."""

    @property
    def min_length(self) -> int:
        """The minimum number of characters of an indexed token."""

    def reading(self) -> AbstractContextManager[None]:
        """Within the block, all reads see the same state."""

    def put(self, doc_id: str, content: str, metadata: str, counts: Mapping[str, int]) -> bool:
        """Stores a document, replacing the one with the same id. Returns whether there was one. `metadata` is JSON."""

    def remove(self, doc_id: str) -> bool:
        """Deletes the document with this id. Returns False if there is none."""

    def number_of(self, doc_id: str) -> int | None:
        """Returns the number of the document with this id; None if there is none."""

    def size(self) -> int:
        """Returns the number of documents."""

    def of(self, token: str) -> Mapping[int, int]:
        """Returns how often each document that contains `token` contains it, by document number."""

    def numbers(self) -> Sequence[int]:
        """Returns the numbers of all documents, ascending."""

    def content(self, number: int) -> str:
        """Returns the text of a document."""

    def doc_id(self, number: int) -> str:
        """Returns the caller's id of a document."""

    def metadata(self, number: int) -> str:
        """Returns the metadata of a document, as JSON."""


class DocumentStores(Protocol):
    """The document indexes of one workspace, on disk; see `parts/documents.py`."""

    def create(self, name: str, lowercase: bool, min_length: int) -> bool:
        """Creates an empty index. Returns False if the name is taken."""

    def find(self, name: str) -> DocumentStore | None:
        """Returns the index with this name, or None."""

    def names(self) -> Sequence[str]:
        """Returns the names of all indexes, sorted."""

    def drop(self, name: str) -> bool:
        """Deletes an index with its documents. Returns False if no index has this name."""

    def close(self) -> None:
        """Closes the file."""


class Preparers(Protocol):
    """Reads, judges, parses and analyses files in worker processes. Text from a workspace is parsed nowhere else."""

    def prepare(self, root: str, settings: Settings, jobs: Sequence[Job]) -> Sequence[Outcome]:
        """Returns the outcomes of these files, in order. A few small files do not wait for runs over whole
        workspaces."""

    def prepare_all(
        self, root: str, settings: Settings, pieces: Iterable[Sequence[Job]]
    ) -> Iterator[tuple[Sequence[Job], Sequence[Outcome]]]:
        """Yields each piece with its outcomes, in order. Takes some pieces in advance."""

    def judge(self, root: str, settings: Settings, look: Look) -> Judgement:
        """Reads one file and judges whether its content belongs in the index."""

    def recall_all(
        self, root: str, settings: Settings, pieces: Iterable[Sequence[Recall]]
    ) -> Iterator[tuple[Sequence[Recall], Sequence[Recalled | None]]]:
        """Yields each piece with what was recalled for each of its files, in order; None for a file whose content is
        not the expected one."""

    def warm(self) -> None:
        """Gets ready for the next file in the background."""

    def rest(self) -> None:
        """Frees resources, such as processes, while no file is being prepared."""


@dataclass(frozen=True)
class Parts:
    """Constructors and functions of the parts, from which the engine is built."""

    load_settings: Callable[[Path], Settings]
    default_config_text: Callable[[], str]
    make_walker: MakeWalker
    make_content_check: Callable[[str], Callable[[str, FileContent], Judged]]
    is_documentation: Callable[[str, Settings], bool]
    read_file: Callable[[str, str, int], FileContent]
    read_with_blobs: Callable[[str, str, int], tuple[FileContent, tuple[str, str]]]
    language_of: Callable[[str, str], str]
    parse_file: Callable[[str, str, str], ParsedFile]
    body_text: Callable[[Chunk], str]
    path_text: Callable[[str], str]
    lexical: Lexical
    open_embeddings: Callable[[Path, str, int], EmbeddingCache]
    make_embedder: Callable[[Settings], Embedder]
    make_store: MakeStore
    shared_vectors: Callable[[Settings], SharedVectors | None]
    make_searcher: Callable[[], Searcher]
    make_watcher: Callable[[str, Settings], Watching]
    read_checkout: Callable[[str], Checkout]
    unmodified: Callable[[str, Mapping[str, IndexedBlob]], AbstractSet[str]]
    """Returns those of these files below a root whose content has the given blob id, according to git's index."""
    open_memories: Callable[[Path], MemoryStore]
    open_documents: Callable[[Path], DocumentStores]
    versions: Mapping[str, int]
    preparers: Preparers
    vector_memory_bytes: int
    """The maximum memory, in bytes, for the vectors of one open index; the settings may allow less. While all vectors
    fit, searches do not ask the vector store."""
    make_compare: MakeCompare
