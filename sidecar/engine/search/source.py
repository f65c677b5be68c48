"""The data that one search reads: one commit of one generation, with that generation's model and vector store."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sidecar.engine.concurrency.memo import Memo
from sidecar.model.terms import Collection, Embedder, Ids, Vectors
from sidecar.parts.lexical.bm25 import Floats

Rows = NDArray[np.int32]
Flags = NDArray[np.bool_]


class StoredText(Protocol):
    """The text of a stored chunk and what is known about it."""

    @property
    def text(self) -> str:
        """The chunk's text, with secrets masked."""

    @property
    def kind(self) -> str:
        """The kind of the chunk, for example `function`."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names that the chunk defines."""

    @property
    def enclosing(self) -> tuple[str, ...]:
        """The names of the definitions around the chunk, outermost first."""


class NearestChunks(Protocol):
    """The part of the vector store that searches use."""

    @property
    def elsewhere(self) -> bool:
        """Whether the store is on a server; its similarities are then computed again."""

    def query(self, collection: Collection, vector: NDArray[np.float32], limit: int) -> tuple[Ids, Floats]:
        """Returns slots and cosines (-1..1) of the `limit` chunks nearest to a vector of shape [dimension], best first.
        Raises StoreFailed, with `facts["away"]` true if it is on a server that does not answer now."""


class Comparison(Protocol):
    """Cosines of chunks to one vector. Each array has the shape [n]."""

    @property
    def products(self) -> Floats:
        """The cosines; 0 for chunks without a vector."""

    @property
    def found(self) -> Flags:
        """Which chunks have a vector."""

    @property
    def rough(self) -> Flags | None:
        """Which cosines come from a first look only; None if none does."""

    @property
    def margin(self) -> float | Floats:
        """At most one in ten thousand of the rough cosines is wrong by more than this, which has the shape [n] or is
        the same for all."""

    @property
    def closer_is_exact(self) -> bool:
        """Whether a second look makes rough cosines exact, and not only to two decimals."""

    def closer(self, places: Ids) -> Floats:
        """Returns the cosines of the chunks at these places, the rough ones after a second look."""


class SearchedSnapshot(Protocol):
    """One commit of an index, with the memo of its revision.

    Files and chunks are rows, in ascending order of their ids. Arrays named `file_*` have the shape [files], arrays
    named `chunk_*` the shape [chunks]. `chunk_file` holds rows of files, `chunk_kind` indexes into `kinds`;
    `index/snapshot.py` loads the arrays.
    """

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
    memo: Memo

    def chunk_rows(self, ids: Ids) -> Rows:
        """Returns the rows of these chunk ids; -1 for chunks that do not exist in this commit."""

    def file_rows(self, ids: Ids) -> Rows:
        """Returns the rows of these file ids; -1 for files that do not exist in this commit."""

    def stored_chunks(self, rows: Sequence[int] | Rows) -> Sequence[StoredText]:
        """Returns the texts of these chunk rows, in the same order. Raises IndexCorrupt if a stored text has been
        altered."""

    def stored_texts(self, rows: Sequence[int] | Rows) -> Sequence[str]:
        """Returns the same texts unchecked, for comparisons only: they must not be shown."""

    def vectors(self, rows: Rows) -> tuple[Vectors, Flags]:
        """Returns the vectors of these chunk rows, shape [n, dimension], and flags that say which of them exist, shape
        [n]; the other rows are zeros."""

    def embedded_rows(self, collection: int) -> Rows:
        """Returns the rows of a collection's chunks that have a vector, ascending. Each call for this revision returns
        the same array, which is read-only, and `cosines` is faster for it."""

    def pending_slots(self) -> Ids:
        """Returns the slots whose vectors are out of date in the vector store, ascending."""

    def keeps_all(self, dimension: int) -> bool:
        """Whether the vectors of all chunks, with this dimension, fit into the memory that is allowed for them."""

    def cosines(
        self,
        rows: Rows,
        vector: NDArray[np.float32],
        check: Callable[[], None],
        *,
        rough: bool = False,
        threads: int = 2,
    ) -> Comparison:
        """Compares these chunk rows with a unit vector. If `rough`, a first look is enough where that takes less time;
        at very many rows, up to this many `threads` look, at most two. `check` is called before each read from disk; an
        exception that it raises ends the comparison."""

    def read_vectors(self, rows: Rows, dimension: int, check: Callable[[], None]) -> None:
        """Reads the vectors of these chunk rows into memory, so that `cosines` need not. For `check` see there."""


@dataclass(frozen=True, slots=True)
class SearchSource:
    """A snapshot, the model that made its vectors, and the store that holds them.

    `embedder` loads the model if necessary and raises ModelLoadFailed. `store` returns None while the vector store
    cannot be used, and raises StoreFailed while the server that has it does not answer; it is called only if the
    vectors do not fit into memory.
    """

    snapshot: SearchedSnapshot
    embedder: Callable[[], Embedder]
    store: Callable[[], NearestChunks | None]
