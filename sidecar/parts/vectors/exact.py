"""Vector search by comparing with every vector in memory. The engine does not use it: tests compare Chroma with it.

Stores nothing on disk. A search costs dimension x rows multiplications (about 15 ms for 100,000 rows of 384 numbers).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sidecar.errors import StoreFailed
from sidecar.locks import Rank, make_rlock
from sidecar.model import Collection, Ids, Vectors


class ExactStore:
    """`model.VectorStore` in memory. Thread-safe.

    `provide` returns the first content of a collection: ids and vectors of shape [len(ids), dimension]. It is called
    once for each collection, when that is first used.
    """

    def __init__(self, dimension: int, provide: Callable[[Collection], tuple[Ids, Vectors]] | None = None) -> None:
        self._dimension = dimension
        self._provide = provide
        self._rows: dict[Collection, _Rows] = {}
        self._lock = make_rlock(Rank.VECTOR_STORE)

    def upsert(self, collection: Collection, ids: Ids, vectors: Vectors) -> None:
        """Stores `vectors` of shape [len(ids), dimension]; a known id is overwritten. Raises StoreFailed on another
        shape.
        """
        if vectors.shape != (len(ids), self._dimension):
            raise StoreFailed(
                f"Got vectors of shape {vectors.shape} for {len(ids)} ids; this index has dimension {self._dimension}."
            )
        with self._lock:
            self._of(collection).put(ids, vectors)

    def delete(self, collection: Collection, ids: Ids) -> None:
        """Deletes these ids; unknown ids are no error."""
        with self._lock:
            self._of(collection).drop(ids)

    def query(self, collection: Collection, vector: NDArray[np.float32], limit: int) -> tuple[Ids, NDArray[np.float32]]:
        """The ids and similarities (float32, -1 to 1) of the `limit` closest vectors, best first, ties in order of id.

        The similarity is the dot product, which is the cosine for normalised vectors. Raises StoreFailed if `vector`
        does not have shape [dimension].
        """
        if vector.shape != (self._dimension,):
            raise StoreFailed(
                f"Got a query vector of shape {vector.shape}; this index has dimension {self._dimension}."
            )
        with self._lock:
            ids, vectors = self._of(collection).content()
            similarities = vectors @ vector.astype(np.float32, copy=False)
            best = _best(ids, similarities, limit)
            return ids[best], np.clip(similarities[best], -1.0, 1.0)

    def count(self, collection: Collection) -> int:
        """How many vectors the collection holds."""
        with self._lock:
            return len(self._of(collection).content()[0])

    def ids(self, collection: Collection) -> Ids:
        """Every id in ascending order."""
        with self._lock:
            return np.sort(self._of(collection).content()[0])

    def close(self) -> None:
        """Forgets all vectors."""
        with self._lock:
            self._rows.clear()

    def _of(self, collection: Collection) -> _Rows:
        """The rows of the collection, with their first content."""
        rows = self._rows.get(collection)
        if rows is None:
            rows = _Rows(self._dimension)
            if self._provide is not None:
                rows.put(*self._provide(collection))
            self._rows[collection] = rows
        return rows


class _Rows:
    """Ids and vectors in arrays that grow by half, and the position of each id."""

    def __init__(self, dimension: int) -> None:
        self._ids = np.empty(0, np.int64)
        self._vectors = np.empty((0, dimension), np.float32)
        self._place: dict[int, int] = {}

    def content(self) -> tuple[Ids, Vectors]:
        """The ids and the vectors, without the unused ends of the arrays."""
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


def _best(ids: Ids, similarities: NDArray[np.float32], limit: int) -> NDArray[np.int64]:
    """The positions of the `limit` greatest similarities, best first, ties in order of id.

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
