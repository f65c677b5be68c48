"""Cosines of chunks to a query: from the vector store where it knows them, else exactly from the kept vectors."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sidecar.engine.beside import beside
from sidecar.engine.rank.columns import Columns, Flags, Rows, RowTable, SearchedSnapshot
from sidecar.engine.rank.passages import Similarities
from sidecar.engine.vector_cache import MOST_BYTES
from sidecar.errors import Cancelled, StoreFailed
from sidecar.model import Collection, Ids, IsCancelled, VectorStore
from sidecar.parts.lexical.bm25 import Floats

DEPTH = 200
"""Chunks asked of the store: enough for fifty results from as many files."""
MOST = 2000
"""What the store is asked for at most when a filter throws away much of its answer."""
EXACT = 4000
"""Up to so many chunks are scored exactly: quicker than asking another process, and no filter can starve it."""
_STALE = 1000
"""Up to so many chunks, or half of them, are scored exactly beside what the store answers."""
_BLOCK = 2048


@dataclass(frozen=True, slots=True)
class _Question:
    """`stale` are the rows that the store does not know as they are; `answer` is None where it is not asked."""

    embedded: Flags
    wanted: int
    stale: Rows
    answer: Future[tuple[Ids, Floats]] | None


class Nearest:
    """One query vector against one snapshot."""

    def __init__(
        self,
        snapshot: SearchedSnapshot,
        columns: Columns,
        vector: NDArray[np.float32],
        cancelled: IsCancelled,
    ) -> None:
        self._snapshot = snapshot
        self._columns = columns
        self._vector = vector
        self._cancelled = cancelled
        self._cosines: Floats = np.full(len(snapshot.chunk_ids), np.nan, np.float32)
        self._floor = 0.0
        self._question: _Question | None = None

    def begin(self, store: VectorStore | None, collection: Collection, allowed: Flags) -> None:
        """Asks the store, where that is quicker than comparing; `closest` takes its answer.

        The store works in a process of its own: what is done in between costs no time.
        """
        embedded = allowed & (self._snapshot.chunk_vector > 0)
        wanted, stale = int(embedded.sum()), self._stale()
        answer = None
        if store is not None and wanted > EXACT and len(stale) <= max(_STALE, wanted // 2):
            share = wanted / max(1, self._columns.chunk_count)
            limit = min(MOST, int(DEPTH / share) + len(stale))
            answer = beside(lambda: store.query(collection, self._vector, limit))
        self._question = _Question(embedded, wanted, stale, answer)

    def closest(self) -> Rows:
        """The closest allowed chunks, best first, ties by row. Once, after `begin`."""
        asked = self._question
        if asked is None or asked.wanted == 0:
            return np.zeros(0, np.int32)
        if not self._take_answer(asked):
            self.score(np.flatnonzero(asked.embedded).astype(np.int32))
        rows = np.flatnonzero(asked.embedded & ~np.isnan(self._cosines))
        order = rows[np.argsort(-self._cosines[rows], kind="stable")][:DEPTH]
        self._floor = float(self._cosines[order[-1]]) if len(order) >= DEPTH else 0.0
        return order.astype(np.int32)

    def score(self, rows: Rows) -> None:
        """Exact cosines of these rows, block by block; rows without a vector stay unknown."""
        rows = rows[np.isnan(self._cosines[rows])]
        for start in range(0, len(rows), _BLOCK):
            if self._cancelled():
                raise Cancelled
            block = rows[start : start + _BLOCK]
            vectors, found = self._snapshot.vectors(block)
            if found.any():
                self._cosines[block[found]] = _steady(vectors[found] @ self._vector)

    def load(self) -> None:
        """Reads every vector of the collection, as far as the cache has room: the exact search that follows finds them
        there."""
        rows = np.flatnonzero(self._columns.in_collection & (self._snapshot.chunk_vector > 0)).astype(np.int32)
        for start in range(0, min(len(rows), MOST_BYTES // (4 * len(self._vector))), _BLOCK):
            if self._cancelled():
                raise Cancelled
            self._snapshot.vectors(rows[start : start + _BLOCK])

    @property
    def similarities(self) -> Similarities:
        return Similarities(self._cosines, self._floor)

    def _stale(self) -> Rows:
        """Chunk rows whose place in the store still holds something older, or nothing."""
        rows = self._slots().rows(self._snapshot.pending_slots) if len(self._snapshot.pending_slots) else None
        return np.zeros(0, np.int32) if rows is None else rows[rows >= 0]

    def _take_answer(self, asked: _Question) -> bool:
        """False where the store was not asked, or did not answer well."""
        if asked.answer is None:
            return False
        try:
            slots, cosines = asked.answer.result()
        except StoreFailed:
            return False
        rows = self._slots().rows(slots)
        keep = rows >= 0
        keep[keep] &= asked.embedded[rows[keep]] & ~np.isin(rows[keep], asked.stale)
        if keep.sum() < min(DEPTH, asked.wanted) // 4:
            return False
        self._cosines[rows[keep]] = _steady(cosines[keep])
        self.score(asked.stale[asked.embedded[asked.stale]])
        return True

    def _slots(self) -> RowTable:
        cache = self._snapshot.cache
        table = cache.get("nearest.slots")
        if table is None:
            table = cache.setdefault("nearest.slots", RowTable(self._snapshot.chunk_slot))
        assert isinstance(table, RowTable)
        return table


def _steady(cosines: Floats) -> Floats:
    """Without the last bits, which depend on who summed and in which order."""
    return np.asarray(np.round(cosines, 4), np.float32)
