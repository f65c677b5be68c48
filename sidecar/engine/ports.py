"""What the engine needs of the parts: protocols, and a bundle of constructors that `wiring.py` fills."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from sidecar.model import (
    Chunk,
    Collection,
    Decision,
    Embedder,
    FileContent,
    FoundFile,
    Ids,
    IsCancelled,
    Judged,
    Memory,
    ParsedFile,
    SkippedPath,
    Vectors,
    VectorStore,
)
from sidecar.parts.lexical.analyse import FileTerms
from sidecar.settings.load import Settings

if TYPE_CHECKING:
    from sidecar.engine.ingest.prepare import Job, Judgement, Look, Outcome
    from sidecar.engine.search.searcher import Searcher


class WalkResult(Protocol):
    @property
    def files(self) -> tuple[FoundFile, ...]: ...

    @property
    def skipped(self) -> tuple[SkippedPath, ...]: ...

    @property
    def unread(self) -> frozenset[str]:
        """Paths that could not be looked at: nobody knows whether they, and what is in them, belong in the index."""


class Walker(Protocol):
    def walk(self, cancelled: IsCancelled) -> WalkResult: ...

    def subtree(self, path: str) -> WalkResult: ...

    def decide(self, path: str) -> Decision: ...

    def found(self, path: str) -> FoundFile | SkippedPath: ...


class Kept(Protocol):
    """Vectors by (model, text hash), on disk, of all indexes of a home; survives generations and indexes."""

    @property
    def store_uuid(self) -> str: ...

    @property
    def damaged(self) -> bool:
        """Whether damage was found in its file: who opens it next begins a new one."""

    def find(self, hashes: Sequence[bytes]) -> dict[bytes, int]: ...

    def add(self, hashes: Sequence[bytes], vectors: Vectors) -> list[int]: ...

    def get(self, ids: Ids) -> tuple[Vectors, NDArray[np.bool_]]: ...

    def count(self) -> int: ...

    def release(self, ids: Ids) -> int:
        """Drops these, but for those that somebody has asked for lately; returns how many went."""

    def trim(self, max_bytes: int, referenced: Callable[[], Ids]) -> int:
        """Keeps the file below this size as far as it can, by dropping what was used longest ago."""

    def close(self) -> None: ...


class Watching(Protocol):
    def start(self) -> None: ...

    def stop(self) -> None: ...

    @property
    def active(self) -> bool: ...

    @property
    def note(self) -> str:
        """One line that says why it sees nothing or looks around now and then instead; else empty."""

    def look(self) -> None:
        """Where it only looks around now and then: reports now what it would report then."""


class Lexical(Protocol):
    """The lexical index, which lives in the manifest's database and in its transactions."""

    def create_tables(self, connection: sqlite3.Connection) -> None: ...

    def analyse(self, path: str, parsed: ParsedFile, collection: Collection) -> FileTerms: ...

    def write_segment(
        self, connection: sqlite3.Connection, entries: Sequence[tuple[int, Sequence[int], FileTerms]]
    ) -> None: ...

    def forget_files(self, connection: sqlite3.Connection, file_ids: Sequence[int]) -> None: ...

    def merge_segments(self, connection: sqlite3.Connection, *, force: bool = False, at_end: bool = False) -> None:
        """Inside a transaction."""


class MemoryWordHit(Protocol):
    @property
    def id(self) -> int: ...

    @property
    def score(self) -> float: ...


class MemoryStore(Protocol):
    """Memories on disk, their words and their vectors; see `parts/memories.py`."""

    def save(self, key: str, summary: str, text: str, tags: Sequence[str]) -> tuple[Memory, bool]: ...

    def delete(self, key: str) -> bool: ...

    def get(self, key: str) -> Memory | None: ...

    def page(self, namespace: str, tags: Sequence[str], limit: int, offset: int) -> tuple[list[Memory], int]: ...

    def ids(self, namespace: str) -> list[int]: ...

    def by_id(self, ids: Sequence[int]) -> dict[int, Memory]: ...

    def find_words(
        self, phrases: Sequence[str], operator: Literal["AND", "OR"], namespace: str, limit: int, offset: int = 0
    ) -> tuple[Sequence[MemoryWordHit], int]: ...

    def excerpts(self, phrases: Sequence[str], ids: Sequence[int]) -> dict[int, str]: ...

    def vectors(self, model: str, ids: Sequence[int]) -> dict[int, bytes]: ...

    def keep_vectors(self, model: str, made: Sequence[tuple[int, float, bytes]]) -> None: ...

    def changed_at(self, ids: Sequence[int]) -> dict[int, float]: ...

    def close(self) -> None: ...


class DocumentStore(Protocol):
    """One index of documents: what was put in, and which documents hold a token how often (`tfidf.Postings`).

    Numbers grow in the order in which the documents came; a document that is put again keeps its number.
    """

    @property
    def lowercase(self) -> bool: ...

    @property
    def min_length(self) -> int: ...

    def reading(self) -> AbstractContextManager[None]:
        """Within it nothing changes."""

    def put(self, doc_id: str, content: str, metadata: str, counts: Mapping[str, int]) -> bool:
        """`metadata` is JSON. True when a document of this id was there."""

    def size(self) -> int: ...

    def of(self, token: str) -> Mapping[int, int]: ...

    def numbers(self) -> Sequence[int]: ...

    def content(self, number: int) -> str: ...

    def doc_id(self, number: int) -> str: ...

    def metadata(self, number: int) -> str: ...


class DocumentStores(Protocol):
    """The indexes that persist; see `parts/documents.py`."""

    def create(self, name: str, lowercase: bool, min_length: int) -> bool:
        """False when the name is taken."""

    def find(self, name: str) -> DocumentStore | None: ...

    def close(self) -> None: ...


class Preparers(Protocol):
    """Who reads, judges, parses and analyses files: the one place where text from outside meets a parser."""

    def prepare(self, root: str, settings: Settings, jobs: Sequence[Job]) -> Sequence[Outcome]: ...

    def prepare_all(
        self, root: str, settings: Settings, pieces: Iterable[Sequence[Job]]
    ) -> Iterator[tuple[Sequence[Job], Sequence[Outcome]]]:
        """Each piece and its outcomes, in order; looks a little ahead in `pieces`."""

    def judge(self, root: str, settings: Settings, look: Look) -> Judgement: ...

    def warm(self) -> None:
        """Makes ready for the next file; nobody waits for it."""

    def rest(self) -> None:
        """Gives back what it holds while nothing is prepared."""


@dataclass(frozen=True)
class Parts:
    """Constructors of everything the engine is made of."""

    load_settings: Callable[[Path], Settings]
    default_config_text: Callable[[], str]
    make_walker: Callable[[str, Settings], Walker]
    make_content_check: Callable[[str], Callable[[str, FileContent], Judged]]
    is_documentation: Callable[[str, Settings], bool]
    read_file: Callable[[str, str, int], FileContent]
    language_of: Callable[[str, str], str]
    parse_file: Callable[[str, str, str], ParsedFile]
    body_text: Callable[[Chunk], str]
    path_text: Callable[[str], str]
    lexical: Lexical
    open_kept: Callable[[Path, str, int], Kept]
    make_embedder: Callable[[Settings], Embedder]
    make_store: Callable[[Path, int, str], VectorStore]
    make_searcher: Callable[[], Searcher]
    make_watcher: Callable[..., Watching]
    open_memories: Callable[[Path], MemoryStore]
    open_documents: Callable[[Path], DocumentStores]
    versions: Mapping[str, int]
    preparers: Preparers
