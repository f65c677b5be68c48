"""A vector store in memory, which compares with every vector and ends with its process.

`wiring.py` does not offer it to users: up to a limit, searches compare exactly anyway (docs/decisions/0010), and above
it, Chroma saves memory. Tests use it, and it shows what a store needs.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sidecar.errors import StoreFailed
from sidecar.locks import Rank, make_lock
from sidecar.model.terms import Collection, Ids, Vectors


class InMemoryStore:
    """A `ports.VectorStore` in memory. Thread-safe.

    A search takes dimension x rows multiplications (about 15 ms for 100,000 rows of 384 numbers).
    """

    elsewhere = False

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self._rows: dict[Collection, _Rows] = {}
        self._closed = False
        self._lock = make_lock(Rank.VECTOR_STORE)

    def is_fresh(self) -> bool:
        """Whether nothing has been added since the store was created or discarded."""
        with self._lock:
            return not self._rows

    def discard(self) -> None:
        """Forgets all vectors."""
        with self._lock:
            self._rows = {}

    def ids(self, collection: Collection) -> Ids:
        """Returns every id, ascending."""
        with self._lock:
            return np.sort(self._of(collection).content()[0])

    def add(self, collection: Collection, ids: Ids, vectors: Vectors, _: Sequence[bytes] = ()) -> None:
        """Stores `vectors` of shape [len(ids), dimension]; a known id is overwritten. Raises StoreFailed for another
        shape.
        """
        if vectors.shape != (len(ids), self._dimension):
            raise StoreFailed(
                f"Got vectors of shape {vectors.shape} for {len(ids)} ids; this index has dimension {self._dimension}."
            )
        with self._lock:
            rows = self._rows[collection] = self._of(collection)
            rows.put(ids, _unit(vectors))

    def remove(self, collection: Collection, ids: Ids) -> None:
        """Removes these ids; unknown ids are no error."""
        with self._lock:
            self._of(collection).drop(ids)

    def query(self, collection: Collection, vector: NDArray[np.float32], limit: int) -> tuple[Ids, NDArray[np.float32]]:
        """Returns the ids and cosine similarities (float32, -1 to 1) of the `limit` closest vectors, best first, ties
        in order of id. Raises StoreFailed if `vector` does not have shape [dimension].
        """
        if vector.shape != (self._dimension,):
            raise StoreFailed(
                f"Got a query vector of shape {vector.shape}; this index has dimension {self._dimension}."
            )
        with self._lock:
            ids, vectors = self._of(collection).content()
            similarities = vectors @ _unit(vector[None])[0]
            best = _best(ids, similarities, limit)
            return ids[best], np.clip(similarities[best], -1.0, 1.0)

    def count(self, collection: Collection) -> int:
        """Returns how many vectors the collection holds."""
        with self._lock:
            return len(self._of(collection).content()[0])

    def close(self) -> None:
        """Forgets all vectors. Later calls raise StoreFailed."""
        with self._lock:
            self._rows = {}
            self._closed = True

    def _of(self, collection: Collection) -> _Rows:
        """Returns the rows of the collection. Raises StoreFailed after `close`."""
        if self._closed:
            raise StoreFailed("It has been closed.")
        return self._rows.get(collection) or _Rows(self._dimension)


class _Rows:
    """The rows of one collection: ids and vectors in arrays that grow by half, and the position of each id."""

    def __init__(self, dimension: int) -> None:
        self._ids = np.empty(0, np.int64)
        self._vectors = np.empty((0, dimension), np.float32)
        self._place: dict[int, int] = {}

    def content(self) -> tuple[Ids, Vectors]:
        """Returns the ids and the vectors, without the unused ends of the arrays."""
        used = len(self._place)
        return self._ids[:used], self._vectors[:used]

    def put(self, ids: Ids, vectors: Vectors) -> None:
        """Adds or overwrites rows."""
        keys = ids.tolist()
        for key in keys:
            self._place.setdefault(key, len(self._place))
        self._grow(len(self._place))
        places = np.fromiter((self._place[key] for key in keys), np.int64, len(keys))
        self._ids[places] = ids
        self._vectors[places] = vectors

    def drop(self, ids: Ids) -> None:
        """Removes rows; the last row moves into the gap."""
        for key in ids.tolist():
            place = self._place.pop(key, None)
            last = len(self._place)
            if place is not None and place != last:
                self._ids[place], self._vectors[place] = self._ids[last], self._vectors[last]
                self._place[int(self._ids[place])] = place

    def _grow(self, needed: int) -> None:
        """Makes space for at least `needed` rows."""
        if needed > len(self._ids):
            room = max(needed, len(self._ids) * 3 // 2) - len(self._ids)
            self._ids = np.concatenate([self._ids, np.empty(room, np.int64)])
            self._vectors = np.concatenate([self._vectors, np.empty((room, self._vectors.shape[1]), np.float32)])


def _unit(vectors: Vectors) -> Vectors:
    """Returns the vectors, shape [n, dimension], with length 1; a zero vector stays zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), np.float32)


def _best(ids: Ids, similarities: NDArray[np.float32], limit: int) -> NDArray[np.int64]:
    """Returns the positions of the `limit` greatest similarities, best first, ties in order of id.

    Considers all rows that tie with the last one.
    """
    if limit < 1:
        return np.empty(0, np.int64)
    candidates = np.arange(len(ids))
    if limit < len(ids):
        threshold = np.partition(similarities, len(ids) - limit)[len(ids) - limit]
        candidates = np.flatnonzero(similarities >= threshold)
    order = np.lexsort((ids[candidates], -similarities[candidates]))
    return candidates[order[:limit]]
