"""The chunk vectors that searches have needed so far, in memory, so that none is read from disk twice.

A chunk's id is never reused for another text, so entries never become wrong. Entries of deleted chunks stay until the
cache is full and misses pile up; then everything is dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sidecar.locks import Rank, make_lock
from sidecar.model import Ids, Vectors

Flags = NDArray[np.bool_]
Load: TypeAlias = Callable[[NDArray[np.int64]], tuple[Vectors, Flags]]

MOST_BYTES = 128 * 1024 * 1024
_BLOCK = 2048
"""Vectors per read. A search can be cancelled between two reads."""
_LARGEST_SPAN = 8_000_000
"""The most entries of the table from chunk id to row, four bytes each. Ids further apart than this empty the cache."""


class VectorCache:
    """Thread-safe. `load` is called without holding the lock, so that two threads may load the same ids."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._lock = make_lock(Rank.VECTOR_CACHE)
        self._forget()

    def has_room(self, count: int, dimension: int) -> bool:
        """Whether `count` vectors fit into the cache at the same time."""
        return 4 * dimension * count <= self._most_bytes

    def compare(self, ids: Ids, vector: NDArray[np.float32], load: Load) -> tuple[NDArray[np.float32], Flags]:
        """Dot products of these chunks' vectors with `vector`, shape [n], and which chunks have one (the others get 0).

        `load(positions)` returns the vectors of `ids[positions]` and flags those that exist; it is called block by
        block, and only flagged rows are cached. What it raises ends the comparison.
        """
        rows, matrix = self._rows(ids)
        found = rows >= 0
        if len(ids) and found.all():
            return _products(matrix, rows, vector), found
        products = np.zeros(len(ids), np.float32)
        if found.any():
            products[found] = _products(matrix, rows[found], vector)
        missing = np.flatnonzero(~found)
        for start in range(0, len(missing), _BLOCK):
            block = missing[start : start + _BLOCK]
            loaded, there = load(block)
            if there.any():
                products[block[there]], found[block[there]] = loaded[there] @ vector, True
                self._put(ids[block[there]], loaded[there])
        return products, found

    def _forget(self) -> None:
        self._used = 0
        self._misses = 0
        self._first = 0
        self._table = np.full(0, -1, np.int32)
        self._matrix: Vectors = np.zeros((0, 0), np.float32)

    def _rows(self, ids: Ids) -> tuple[NDArray[np.int32], Vectors]:
        with self._lock:
            if not len(self._table):
                return np.full(len(ids), -1, np.int32), self._matrix
            at = ids - self._first
            inside = (at >= 0) & (at < len(self._table))
            return np.where(inside, self._table[np.where(inside, at, 0)], np.int32(-1)), self._matrix

    def _put(self, ids: Ids, vectors: Vectors) -> None:
        if not len(ids):
            return
        with self._lock:
            room = self._most_bytes // (4 * vectors.shape[1]) - self._used
            self._misses += max(0, len(ids) - room)
            if self._misses > self._used:
                self._forget()
                room = self._most_bytes // (4 * vectors.shape[1])
            ids, vectors = ids[: max(0, room)], vectors[: max(0, room)]
            if len(ids) and self._reach(int(ids.min()), int(ids.max())):
                self._grow(self._used + len(ids), vectors.shape[1])
                self._matrix[self._used : self._used + len(ids)] = vectors
                self._table[ids - self._first] = np.arange(self._used, self._used + len(ids), dtype=np.int32)
                self._used += len(ids)

    def _reach(self, lowest: int, highest: int) -> bool:
        """Extends the table to the ids from `lowest` to `highest`; False if they are too far apart."""
        last = self._first + len(self._table) - 1 if len(self._table) else highest
        first = min(self._first, lowest) if len(self._table) else lowest
        if max(last, highest) - first >= _LARGEST_SPAN:
            self._forget()
            first, last = lowest, highest
        if last - first >= _LARGEST_SPAN:
            return False
        if len(self._table) and first == self._first and highest <= last:
            return True
        size = max(last, highest) - first + 1
        table = np.full(min(_LARGEST_SPAN, size + size // 2), -1, np.int32)
        if len(self._table):
            table[self._first - first : self._first - first + len(self._table)] = self._table
        self._first, self._table = first, table
        return True

    def _grow(self, needed: int, dimension: int) -> None:
        if needed <= len(self._matrix):
            return
        most = self._most_bytes // (4 * dimension)
        matrix = np.empty((min(most, max(needed, 1024, len(self._matrix) * 2)), dimension), np.float32)
        if self._used:
            matrix[: self._used] = self._matrix[: self._used]
        self._matrix = matrix


def _products(matrix: Vectors, rows: NDArray[np.int32], vector: NDArray[np.float32]) -> NDArray[np.float32]:
    end = int(rows.max()) + 1
    if end > 4 * len(rows):
        return np.asarray(matrix[rows] @ vector, np.float32)
    # Multiplying everything is cheaper than copying the rows first, unless they are few.
    return np.asarray((vector @ matrix[:end].T)[rows], np.float32)
