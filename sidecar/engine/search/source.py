"""What one search reads: one commit of one generation, and that generation's model and vector store."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sidecar.engine.concurrency.memo import Memo
from sidecar.model import Embedder, Ids, Vectors, VectorStore
from sidecar.parts.lexical.bm25 import Floats

Rows = NDArray[np.int32]
Flags = NDArray[np.bool_]


class StoredText(Protocol):
    @property
    def text(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def enclosing(self) -> tuple[str, ...]: ...


class SearchedSnapshot(Protocol):
    """One commit of an index, and the memo of its revision. `index/snapshot.py` says what each array is."""

    connection: sqlite3.Connection
    file_ids: Ids
    paths: list[str]
    languages: list[str]
    file_collection: NDArray[np.int8]
    chunk_ids: Ids
    chunk_file: Rows
    chunk_start: Rows
    chunk_end: Rows
    chunk_kind: NDArray[np.int16]
    kinds: list[str]
    chunk_slot: Ids
    chunk_vector: Ids
    pending_slots: Ids
    memo: Memo

    def chunk_rows(self, ids: Ids) -> Rows: ...
    def file_rows(self, ids: Ids) -> Rows: ...
    def stored_chunks(self, rows: Sequence[int] | Rows) -> Sequence[StoredText]: ...
    def vectors(self, rows: Rows) -> tuple[Vectors, Flags]: ...
    def keeps_all(self, dimension: int) -> bool: ...
    def cosines(self, rows: Rows, vector: NDArray[np.float32], check: Callable[[], None]) -> tuple[Floats, Flags]: ...


@dataclass(frozen=True, slots=True)
class SearchSource:
    """A snapshot with the model that its vectors were made by and the store that holds them.

    `embedder` loads the model and raises ModelLoadFailed. `store` is None while the vector store must not be asked.
    """

    snapshot: SearchedSnapshot
    embedder: Callable[[], Embedder]
    store: Callable[[], VectorStore | None]
