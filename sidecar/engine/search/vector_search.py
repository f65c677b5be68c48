"""Computes the cosines of chunks to a query's vector: those of all chunks if their vectors fit into memory, else those
of the chunks that the vector store proposes."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sidecar.engine.concurrency.background import beside
from sidecar.engine.search.rank.chunk_scores import Similarities
from sidecar.engine.search.rank.index_columns import IndexColumns, RowTable
from sidecar.engine.search.rank.strongest import reached_by
from sidecar.engine.search.source import Comparison, Flags, NearestChunks, Rows, SearchedSnapshot
from sidecar.errors import Cancelled, StoreFailed
from sidecar.model.terms import Collection, Ids, IsCancelled
from sidecar.parts.lexical.bm25 import Floats
from sidecar.processes import usable_processors

Places = NDArray[np.intp]

DEPTH = 200
"""The number of chunks that count as close: enough for fifty results from as many files."""
_ASKED = 1000
"""The number of chunks that the store is asked for. With a larger number, it explores more of its graph."""
MOST = 2000
"""The maximum number of chunks that the store is asked for when a filter will discard many of its results."""
BESIDE = 100_000
"""From this many chunks on, vectors are compared on a thread of their own while words are searched."""
EXACT = 4000
"""Up to this many chunks are compared exactly even if the vectors do not fit into memory, because that is faster than
asking the store."""
_COMPARED_AGAIN = 2 * DEPTH
"""The number of chunks whose rough cosines are computed again exactly. The error of a rough cosine is 0.0008 on
average, and the 400th cosine is usually lower than the 200th by more than that."""
_SURELY = np.float32(0.007)
"""Of two rough cosines that differ by more than this, the higher one is higher exactly: eight times their error."""
_ROUNDED = np.float32(0.0002)
"""Cosines are rounded to four decimals; cosines that differ by more than this differ when rounded."""
_STALE = 1000
"""The store is asked only if at most this many chunks, or half of the wanted ones, are out of date in it. The outdated
ones are compared exactly in addition to its answer."""


@dataclass(frozen=True, slots=True)
class _Question:
    """A search that has begun. `rows` are those of the allowed chunks that have a vector, ascending. `stale` are the
    rows that are out of date in the store, and `answer` is None if the store is not asked. `trusted`: whether the
    similarities in its answer need not be computed again."""

    rows: Rows
    stale: Rows
    answer: Future[tuple[Ids, Floats]] | None
    trusted: bool = True


@dataclass(frozen=True, slots=True)
class _Rough:
    """Cosines of `rows`, which ascend: after a second look where `looked_again`, from a first look elsewhere. Of a
    million, few are ever asked for, and those get a second look: `closer` returns the cosines after it, exact to at
    least two decimals."""

    rows: Rows
    cosines: Floats
    looked_again: Flags
    closer: Callable[[Places], Floats]

    def at(self, places: Places) -> Floats:
        """Returns the cosines at these places after a second look."""
        # Only once for each: `closer` adds to what `cosines` had, which may be the same array.
        new = places[~self.looked_again[places]]
        if len(new):
            self.cosines[new] = self.closer(new)
            self.looked_again[new] = True
        return self.cosines[places]

    def of(self, rows: Rows) -> Floats:
        """Returns the cosines of these rows after a second look, NaN where unknown."""
        places = np.minimum(self.rows.searchsorted(rows), len(self.rows) - 1)
        there = self.rows[places] == rows
        found = np.full(len(rows), np.nan, np.float32)
        found[there] = self.at(places[there])
        return found

    def likely(self, limit: int, margin: float | Floats) -> Places:
        """Returns the places, ascending, of all that may be among the `limit` highest after rounding, if the first look
        errs by at most `margin`; all of these get a second look."""
        highest = self.at(highest_places(self.cosines, limit))
        if len(highest) < limit:
            return np.arange(len(self.rows))
        # Of these, so many are at least as high, so the highest of all are too.
        least = np.partition(highest, len(highest) - limit)[len(highest) - limit]
        return np.flatnonzero(self.cosines >= least - _ROUNDED - np.asarray(margin, np.float32))


class _SlotTable(RowTable):
    """Chunk rows by their slot in the vector store."""


class VectorSearch:
    """Compares one query vector, of shape [dimension], with the chunks of one snapshot."""

    def __init__(
        self,
        snapshot: SearchedSnapshot,
        columns: IndexColumns,
        vector: NDArray[np.float32],
        cancelled: IsCancelled,
    ) -> None:
        self._snapshot = snapshot
        self._columns = columns
        self._vector = vector
        self._cancelled = cancelled
        self._cosines: Floats = np.full(len(snapshot.chunk_ids), np.nan, np.float32)
        self._rough: _Rough | None = None
        self._floor = 0.0
        self._question: _Question | None = None
        self._screened: Future[Rows] | None = None
        self._by_words = False
        self._threads = 2
        self._away = ""
        self.knows_all = False
        """Whether the cosines of all allowed chunks that have a vector are known after `closest`, or computed when they
        are asked for, exact to at least two decimals. Those of the closest are exact."""

    def begin(
        self,
        store: Callable[[], NearestChunks | None],
        collection: Collection,
        allowed: Flags,
        *,
        by_words: bool = False,
    ) -> None:
        """Starts the search among the `allowed` chunks (flags, shape [chunks]). If their vectors do not fit into
        memory, it asks the store, which works in a process of its own while the caller does something else. `by_words`:
        words are searched too, and they alone answer if the store is on a server that does not answer.

        The store's graph misses many of the chunks that are closest to a question in words (docs/decisions/0010), so
        the store is asked only if necessary. Otherwise `store` is not called.
        """
        rows = self._embedded(allowed)
        wanted = len(rows)
        self._by_words = by_words
        asked = None if wanted <= EXACT or self._in_memory() else self._reached(store)
        stale = np.zeros(0, np.int32) if asked is None else self._stale()
        answer = None
        if asked is not None and len(stale) <= max(_STALE, wanted // 2):
            share = wanted / max(1, self._columns.chunk_count)
            limit = min(MOST, int(_ASKED / share) + len(stale))
            answer = beside(partial(asked.query, collection, self._vector, limit))
        self._question = _Question(rows, stale, answer, asked is None or not asked.elsewhere)
        if asked is None and by_words and wanted >= BESIDE:
            self._threads = min(2, max(1, usable_processors() - 1))
            self._screened = beside(partial(self._screen, rows))

    def _embedded(self, allowed: Flags) -> Rows:
        """Returns the rows of the allowed chunks that have a vector, ascending."""
        if allowed is self._columns.in_collection:
            return self._snapshot.embedded_rows(self._columns.collection)
        return np.flatnonzero(allowed & (self._snapshot.chunk_vector > 0)).astype(np.int32)

    def closest(self) -> Rows:
        """Returns at most `DEPTH` of the closest allowed chunk rows, best first, ties by row; empty if no allowed chunk
        has a vector. To be called once, after `begin`. Compares all vectors if the store was not asked or its answer is
        not usable. Compares none if the store is on a server that does not answer and words are searched too. Raises
        Cancelled."""
        asked = self._question
        if asked is None or len(asked.rows) == 0:
            return np.zeros(0, np.int32)
        if self._take_answer(asked) or (self._away and self._by_words):
            likely = asked.rows[~np.isnan(self._cosines[asked.rows])]
        else:
            likely = self._screen(asked.rows) if self._screened is None else self._screened.result()
        order = self._highest(likely, DEPTH)
        self._floor = float(self._known(order[-1:])[0]) if len(order) >= DEPTH else 0.0
        return order

    def _known(self, rows: Rows) -> Floats:
        cosines = self._cosines[rows]
        if self._rough is not None:
            unknown = np.isnan(cosines)
            cosines[unknown] = self._rough.of(rows[unknown])
        return _steady(cosines)

    def _highest(self, rows: Rows, limit: int) -> Rows:
        """Returns the `limit` rows with the highest cosines, best first, ties by row. `rows` must ascend, and have
        cosines."""
        return rows[np.argsort(-self._known(rows), kind="stable")][:limit]

    def score(self, rows: Rows) -> None:
        """Computes the exact cosines of these rows. The cosine of a row without a vector stays NaN. Raises
        Cancelled."""
        rows = rows[np.isnan(self._cosines[rows])]
        if not len(rows):
            return
        compared = self._snapshot.cosines(rows, self._vector, self._check)
        rows = rows[compared.found]
        self._cosines[rows] = compared.products[compared.found]

    def _screen(self, rows: Rows) -> Rows:
        """Computes the cosines of these rows, which must ascend: all exactly if that takes no longer; else it has a
        first look at all and a second one at those that may be close. If that is not exact, it computes the
        `_COMPARED_AGAIN` closest exactly, which include all that count as close. Returns the rows that may count as
        close, ascending."""
        compared = self._compare_all(rows)
        self.knows_all = True
        cosines, rough, closer, margin = compared.products, compared.rough, compared.closer, compared.margin
        if not compared.found.all():
            found = np.flatnonzero(compared.found)
            rows, cosines, rough = rows[found], cosines[found], None if rough is None else rough[found]
            margin = margin[found] if isinstance(margin, np.ndarray) else margin

            def closer(places: Places) -> Floats:
                return compared.closer(found[places])

        if rough is None or not len(rows):
            self._cosines[rows] = cosines
            return rows[highest_places(cosines, DEPTH)]
        exact = np.flatnonzero(~rough)
        self._cosines[rows[exact]] = cosines[exact]
        self._rough = _Rough(rows, cosines, ~rough, closer)
        likely = rows[self._rough.likely(DEPTH, margin)]
        if compared.closer_is_exact:
            return likely
        closest = self._highest(likely, _COMPARED_AGAIN)
        known = self._known(closest)
        closest = closest[known >= known[min(DEPTH, len(known)) - 1] - _SURELY]
        self.score(closest)
        return np.sort(closest)

    def _compare_all(self, rows: Rows) -> Comparison:
        return self._snapshot.cosines(rows, self._vector, self._check, rough=True, threads=self._threads)

    def load(self) -> None:
        """Reads the collection's vectors into memory if they fit, so that the next search need not read them. Raises
        Cancelled."""
        if self._in_memory():
            rows = self._snapshot.embedded_rows(self._columns.collection)
            self._snapshot.read_vectors(rows, len(self._vector), self._check)

    @property
    def notice(self) -> str:
        """One line if the store is on a server that does not answer; to be read after `closest`."""
        if not self._away:
            return ""
        instead = "Searched by word only" if self._by_words else "All vectors were compared here, which takes longer"
        return f"{instead}: {self._away}"

    @property
    def similarities(self) -> Similarities:
        """The cosines of all chunk rows found so far."""
        return Similarities(self._known, self._floor)

    def _in_memory(self) -> bool:
        return self._snapshot.keeps_all(len(self._vector))

    def _check(self) -> None:
        if self._cancelled():
            raise Cancelled

    def _reached(self, store: Callable[[], NearestChunks | None]) -> NearestChunks | None:
        try:
            return store()
        except StoreFailed as error:
            self._away = error.detail
            return None

    def _stale(self) -> Rows:
        """Returns the chunk rows whose slot in the store has an older vector or none."""
        pending = self._snapshot.pending_slots()
        rows = self._slots().rows(pending) if len(pending) else np.zeros(0, np.int32)
        return rows[rows >= 0]

    def _take_answer(self, asked: _Question) -> bool:
        """Takes over the store's answer. Returns False if the store was not asked, failed, or returned too few usable
        chunks."""
        if asked.answer is None:
            return False
        try:
            slots, cosines = asked.answer.result()
        except StoreFailed as error:
            self._away = error.detail if error.facts.get("away") else ""
            return False
        rows = self._slots().rows(slots)
        keep = rows >= 0
        embedded = np.zeros(len(self._cosines), bool)
        embedded[asked.rows] = True
        keep[keep] &= embedded[rows[keep]] & ~np.isin(rows[keep], asked.stale)
        if keep.sum() < min(DEPTH, len(asked.rows)) // 4:
            return False
        if asked.trusted:
            self._cosines[rows[keep]] = cosines[keep]
        else:
            self.score(rows[keep])
        self.score(asked.stale[embedded[asked.stale]])
        return True

    def _slots(self) -> _SlotTable:
        return self._snapshot.memo.get(_SlotTable, lambda: _SlotTable(self._snapshot.chunk_slot))


def highest_places(cosines: Floats, limit: int) -> Places:
    """Returns the places, ascending, of the `limit` highest cosines, of others that are equal to these when rounded,
    and maybe of some lower ones."""
    if len(cosines) <= limit:
        return np.arange(len(cosines))
    return np.flatnonzero(cosines >= reached_by(cosines, limit) - _ROUNDED)


def _steady(cosines: Floats) -> Floats:
    """Rounds to four decimals, because further ones depend on the library and the order of its sums."""
    return np.asarray(np.round(cosines, 4), np.float32)
