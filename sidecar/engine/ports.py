"""What the engine needs from the parts: protocols, and a bundle of constructors that `wiring.py` fills."""

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


class Walker(Protocol):
    """Decides which files of a workspace are indexed; see `parts.walk.DiskWalker`."""

    def walk(self, cancelled: IsCancelled) -> WalkResult:
        """Walks the whole workspace. Raises Cancelled, and WorkspaceNotFound if the root is not a folder."""

    def leave_out_from(self, path: str | None, is_kept: Callable[[str], bool]) -> None:
        """Applies the limit on the number of files as an earlier whole walk did, whose `first_beyond` this is; None if
        it left out none. The limit leaves out no path that `is_kept`."""

    def subtree(self, path: str) -> WalkResult:
        """Walks one folder or file of it; empty if it does not exist."""

    def decide(self, path: str) -> Decision:
        """The decision on one relative path. For a path that does not exist, only its name counts."""

    def found(self, path: str) -> FoundFile | SkippedPath:
        """The file if a walk would offer it, else why not. Raises FileNotFound if it does not exist."""

    def is_there(self, path: str) -> bool:
        """Whether something has this path, left out or not. Links are not followed: behind one, nothing does."""


class MakeWalker(Protocol):
    """Makes a walker over a workspace."""

    def __call__(self, root: str, settings: Settings, limit: PatternLimit | None = None) -> Walker:
        """A walker with these settings. With `limit`, it offers only the files that the patterns name."""


class EmbeddingCache(Protocol):
    """The embedding cache, as one model sees it: vectors by text hash, on disk, shared by all indexes of a data folder.

    It outlives generations and indexes. Every method may raise DiskFull, IndexCorrupt, IndexLocked or PermissionDenied.
    """

    @property
    def store_uuid(self) -> str:
        """Identifies the cache file. Vector ids are valid only for the file that they came from."""

    @property
    def damaged(self) -> bool:
        """Whether its file has proved damaged or has disappeared. The next one to open it then starts a new file."""

    def find(self, hashes: Sequence[bytes]) -> dict[bytes, int]:
        """The vector ids of those hashes that have a vector. Counts as a use of these vectors."""

    def add(self, hashes: Sequence[bytes], vectors: Vectors) -> list[int]:
        """Stores vectors, shape [n, dimension], and returns their ids in order. A known hash keeps its vector."""

    def get(self, ids: Ids) -> tuple[Vectors, NDArray[np.bool_]]:
        """The vectors in the order of `ids`, shape [n, dimension], and which were found; the others are zeros."""

    def count(self) -> int:
        """How many vectors of this model there are."""

    def release(self, texts: Callable[[], Iterable[bytes]]) -> int:
        """Drops the vectors of all texts but those whose hashes `texts` yields, of whatever model. Returns how many.

        `texts` is called while nobody can add or find vectors with the intention to name them.
        """

    def releases(self) -> int:
        """How often `release` was called for this file. Who names vectors looks at it afterwards, because what it found
        may have been released before it was named."""

    def lost(self, ids: Ids) -> Ids:
        """Those of these vector ids that no vector has any more, ascending."""

    def trim(self, max_bytes: int, referenced: Callable[[], Ids]) -> int:
        """Drops the least recently used vectors until the file is below `max_bytes`; returns how many it dropped.

        Vectors that `referenced()` names or that were used in the last two days stay, even if the file then stays
        larger.
        """

    def close(self) -> None:
        """Ends this use of the cache. The file closes with its last user."""


class SharedVectors(Protocol):
    """Vectors that a team keeps for one another; see `parts.shared_vectors`. No method raises: what cannot be had is
    made here."""

    @property
    def note(self) -> str:
        """One line that says why it is not asked at the moment; else empty."""

    @property
    def writes(self) -> bool:
        """Whether this machine may write there."""

    def find(self, model_id: str, dimension: int, texts: Sequence[str]) -> tuple[list[int], Vectors]:
        """The positions of the texts whose vectors the team has, and these vectors, shape [n, dimension]."""

    def offer(self, model_id: str, texts: Sequence[str], vectors: Vectors) -> None:
        """Gives the vectors that were made of these texts, if this machine may write."""


class VectorStore(Protocol):
    """Nearest-neighbour search over the vectors of one generation's chunks, by slot. Thread-safe.

    The embedding cache also holds the vectors, so a store can be discarded and filled again at any time. Making one is
    cheap; the first call that concerns vectors opens it, and may then start a process or read a file. These calls raise
    StoreFailed, DiskFull or PermissionDenied. StoreFailed with `facts["rebuild"]` true means: `discard` it, and fill it
    again; with `facts["away"]` true: it is on a server that cannot be asked now, and is to be opened again later.
    """

    @property
    def elsewhere(self) -> bool:
        """Whether it is on a server, which others use too: then it gets only what searches need, and what it says of
        similarities is not relied on."""

    def is_fresh(self) -> bool:
        """Whether it is new or was discarded, and has never been opened since: it has to be filled. Opens nothing."""

    def discard(self) -> None:
        """Deletes everything that it holds, damaged or not. It can be filled again at once. Raises nothing."""

    def ids(self, collection: Collection) -> Ids:
        """All stored ids, ascending."""

    def add(self, collection: Collection, ids: Ids, vectors: Vectors, texts: Sequence[bytes] = ()) -> None:
        """Stores vectors, shape [n, dimension], under these ids; existing ids are overwritten. `texts` identifies what
        each was made of, which a store on a server needs: equal texts have equal vectors."""

    def remove(self, collection: Collection, ids: Ids) -> None:
        """Removes these ids; unknown ids are ignored."""

    def query(self, collection: Collection, vector: NDArray[np.float32], limit: int) -> tuple[Ids, NDArray[np.float32]]:
        """Ids and cosine similarities (-1..1) of the `limit` nearest vectors, best first. May miss some of them."""

    def count(self, collection: Collection) -> int:
        """How many vectors a collection holds."""

    def close(self) -> None:
        """Ends its processes and frees its memory. Later calls that concern vectors raise StoreFailed."""


MakeStore: TypeAlias = Callable[[Settings, Path, int, str, str], VectorStore]
"""Makes the store of a generation: settings, a folder of its own (it may not exist), dimension, model id, and the
workspace's root."""


Int8s = NDArray[np.int8]
Compare: TypeAlias = Callable[[Int8s], NDArray[np.int32]]
"""The exact products of a few vectors of digits (at most 63 from 0), shape [n, dimension], with some rows: shape [n,
rows]."""
MakeCompare: TypeAlias = Callable[[Int8s], Compare]
"""Prepares rows of integers (at most 127 from 0), shape [rows, dimension], to be compared with. See
`parts.vectors.integer_products`."""


class Changes(Protocol):
    """What a watcher has noticed; see `parts.watch.WatchedChanges`."""

    @property
    def paths(self) -> AbstractSet[str]:
        """Files that appeared, changed or disappeared."""

    @property
    def rescan(self) -> AbstractSet[str]:
        """Folders to look over with everything below them; "" is the whole workspace."""

    @property
    def head_moved(self) -> bool:
        """Whether git's HEAD points to another commit or branch."""

    @property
    def asked(self) -> AbstractSet[str]:
        """The names of questions of other processes (`parts.asking`); they come alone."""


class Watching(Protocol):
    """A watcher of one workspace; see `parts.watch.Watcher`."""

    def start(self) -> None:
        """Starts watching: `next` returns every change from now on. Raises nothing; see `active` and `note`."""

    def next(self) -> Changes | None:
        """Waits for the next changes; None once it has been stopped. Raises nothing. Only one thread calls it, when it
        has noted the changes of the last call."""

    def stop(self) -> None:
        """Has `next` return None, at once if it is waiting."""

    @property
    def active(self) -> bool:
        """Whether it is running."""

    @property
    def note(self) -> str:
        """One line on why it sees nothing or only polls; else empty."""

    def look(self) -> Changes | None:
        """The changes until now that `next` has not returned and will not, once those that it has returned are noted.

        None if they cannot be known within a bounded time.
        """


class MergeInSteps(Protocol):
    """Merges segments of the lexical index, each step in a transaction of the caller's; the next index of postings that
    readers see is as good as the one before. If a transaction is rolled back, another one has to go on."""

    def has_work(self, connection: sqlite3.Connection) -> bool:
        """Whether `step` would do anything. Only reads."""

    def step(self, connection: sqlite3.Connection) -> bool:
        """Does a part of what there is to do; False if there was nothing."""


class Lexical(Protocol):
    """The lexical index. Its tables are in the manifest's database, and it writes in the caller's transaction."""

    def create_tables(self, connection: sqlite3.Connection) -> None:
        """Creates its tables in an empty manifest."""

    def analyse(self, path: str, parsed: ParsedFile) -> FileTerms:
        """The terms and definitions of a file, as `write_segment` takes them. Needs no database."""

    def write_segment(
        self, connection: sqlite3.Connection, entries: Sequence[tuple[int, Sequence[int], FileTerms]]
    ) -> None:
        """Writes a segment with these files: (file id, chunk ids, terms) each."""

    def forget_files(self, connection: sqlite3.Connection, file_ids: Sequence[int]) -> None:
        """Removes these files; their terms disappear with the next merge."""

    def merge_segments(self, connection: sqlite3.Connection, *, force: bool = False, at_end: bool = False) -> None:
        """Merges the segments that are due, or all of them with `force`.

        `at_end`: no more segments follow in this run, so that small ones are merged as well.
        """

    def merge_at_rest(self) -> MergeInSteps:
        """A merge of all sizes in small steps, for when nothing else happens."""


class MemoryWordHit(Protocol):
    """A memory that a search by word has found."""

    @property
    def id(self) -> int:
        """The memory's id."""

    @property
    def score(self) -> float:
        """Its score: above 0, higher is better."""


class MemoryStore(Protocol):
    """Memories on disk, with their words and vectors; see `parts/memories.py`."""

    def save(self, key: str, summary: str, text: str, tags: Sequence[str]) -> tuple[Memory, bool]:
        """Stores a memory and returns it, replacing the one with the same key; True if there was no such one."""

    def delete(self, key: str) -> bool:
        """Deletes a memory; False if no memory has this key."""

    def get(self, key: str) -> Memory | None:
        """The memory with this key, or None."""

    def page(self, namespace: str, tags: Sequence[str], limit: int, offset: int) -> tuple[list[Memory], int]:
        """Memories whose key begins with `namespace` and that have all of `tags`, and the total number of these.

        They are sorted by the time of change, newest first.
        """

    def ids(self, namespace: str) -> list[int]:
        """The ids of memories whose key begins with `namespace`, ascending."""

    def by_id(self, ids: Sequence[int]) -> dict[int, Memory]:
        """The memories with these ids; ids without a memory are left out."""

    def find_words(
        self, phrases: Sequence[str], operator: Literal["AND", "OR"], namespace: str, limit: int, offset: int = 0
    ) -> tuple[Sequence[MemoryWordHit], int]:
        """Memories that contain all (AND) or any (OR) of the phrases, best first, and their total number."""

    def excerpts(self, phrases: Sequence[str], ids: Sequence[int]) -> dict[int, str]:
        """A part of the text with the phrases marked, for those of these memories that contain any of them."""

    def vectors(self, model: str, ids: Sequence[int]) -> dict[int, bytes]:
        """The packed vectors of these memories for this model. A memory changed since has none."""

    def keep_vectors(self, model: str, made: Sequence[tuple[int, float, bytes]]) -> None:
        """Stores (memory id, time of change, packed vectors), except for memories that have changed since that time."""

    def changed_at(self, ids: Sequence[int]) -> dict[int, float]:
        """When these memories were last changed, in seconds since the epoch."""

    def close(self) -> None:
        """Closes the file."""


class DocumentStore(Protocol):
    """One index of documents: their text, and how often each contains a token (see `tfidf.Postings`).

    Documents are numbered in the order in which they were first put; a document that is put again keeps its number.
    """

    @property
    def lowercase(self) -> bool:
        """Whether upper and lower case are the same."""

    @property
    def min_length(self) -> int:
        """The fewest characters that a token needs to be indexed."""

    def reading(self) -> AbstractContextManager[None]:
        """Within the block, all reads see the same state."""

    def put(self, doc_id: str, content: str, metadata: str, counts: Mapping[str, int]) -> bool:
        """Stores a document, replacing the one with the same id; True if there was one. `metadata` is JSON."""

    def remove(self, doc_id: str) -> bool:
        """Deletes the document with this id; False if there is none."""

    def number_of(self, doc_id: str) -> int | None:
        """The number of the document with this id; None if there is none."""

    def size(self) -> int:
        """The number of documents."""

    def of(self, token: str) -> Mapping[int, int]:
        """How often each document that contains `token` contains it, by document number."""

    def numbers(self) -> Sequence[int]:
        """The numbers of all documents, ascending."""

    def content(self, number: int) -> str:
        """The text of a document."""

    def doc_id(self, number: int) -> str:
        """The caller's id of a document."""

    def metadata(self, number: int) -> str:
        """The metadata of a document, as JSON."""


class DocumentStores(Protocol):
    """The document indexes of one workspace, on disk; see `parts/documents.py`."""

    def create(self, name: str, lowercase: bool, min_length: int) -> bool:
        """Creates an empty index; False if the name is taken."""

    def find(self, name: str) -> DocumentStore | None:
        """The index with this name, or None."""

    def names(self) -> Sequence[str]:
        """The names of all indexes, sorted."""

    def drop(self, name: str) -> bool:
        """Deletes an index with its documents; False if there is none of this name."""

    def close(self) -> None:
        """Closes the file."""


class Preparers(Protocol):
    """Reads, judges, parses and analyses files, in worker processes: no other place parses text from a workspace."""

    def prepare(self, root: str, settings: Settings, jobs: Sequence[Job]) -> Sequence[Outcome]:
        """The outcomes of these files, in order. A few small files do not wait for runs over whole workspaces."""

    def prepare_all(
        self, root: str, settings: Settings, pieces: Iterable[Sequence[Job]]
    ) -> Iterator[tuple[Sequence[Job], Sequence[Outcome]]]:
        """Yields each piece with its outcomes, in order. Takes some pieces in advance."""

    def judge(self, root: str, settings: Settings, look: Look) -> Judgement:
        """Reads one file and judges whether its content belongs in the index."""

    def recall_all(
        self, root: str, settings: Settings, pieces: Iterable[Sequence[Recall]]
    ) -> Iterator[tuple[Sequence[Recall], Sequence[Recalled | None]]]:
        """Yields each piece with what was found for it, in order; None for a file that is not the expected one."""

    def warm(self) -> None:
        """Prepares for the next file in the background."""

    def rest(self) -> None:
        """Frees what it holds while nothing is being prepared, such as processes."""


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
    """Which files of a root have the content with this blob id, as git's index says."""
    open_memories: Callable[[Path], MemoryStore]
    open_documents: Callable[[Path], DocumentStores]
    versions: Mapping[str, int]
    preparers: Preparers
    vector_memory_bytes: int
    """The most memory for the vectors of one open index, if the settings allow as much. While all of them fit, searches
    do not ask the vector store."""
    make_compare: MakeCompare
