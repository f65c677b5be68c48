"""Keeps the vector store up to date with the manifest, on its own thread, slot by slot as slots become pending.

The store is open only while searches need it, that is, while the vectors do not all fit into memory, or while it is
filled at rest (docs/decisions/0012). It makes no vectors. Whatever happens to the store, it is refilled from the
embedding cache without the model. A store on a server that does not answer is tried again, at growing intervals.
"""

from __future__ import annotations

import random
import struct
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from sidecar import shown
from sidecar.engine.ingest.chunk_vector import combine
from sidecar.engine.ports import EmbeddingCache, VectorStore
from sidecar.errors import SidecarError, StoreFailed
from sidecar.locks import Rank, make_lock
from sidecar.logs import workspace_log
from sidecar.model.terms import Collection, Ids, IsCancelled
from sidecar.parts.manifest import COLLECTIONS
from sidecar.parts.slots import PendingSlot, Slots

_BATCH = 2000
_TRIES = 3
_LOOK_S = 0.1
# The store serves one call at a time, and writing even a few rows takes as long as several searches. So a few rows wait
# for more, and for the end of the search that usually follows a change.
_CALM_SECONDS = 0.4
_LONGEST_WAIT = 3.0
# Seconds until a server that did not answer is tried again; the time doubles at each failure.
_AGAIN_S, _LONGEST_AGAIN_S = 1.0, 60.0


class AskedStore:
    """A vector store as searches use it. Reports a server that does not answer."""

    def __init__(self, store: VectorStore, announce: Callable[[StoreFailed], None]) -> None:
        self._store = store
        self._announce = announce

    @property
    def elsewhere(self) -> bool:
        """See `VectorStore.elsewhere`."""
        return self._store.elsewhere

    def query(self, collection: Collection, vector: NDArray[np.float32], limit: int) -> tuple[Ids, NDArray[np.float32]]:
        """See `VectorStore.query`."""
        try:
            return self._store.query(collection, vector, limit)
        except StoreFailed as error:
            if self._store.elsewhere and not error.facts.get("busy"):
                self._announce(error)
            raise


def in_random_order(slots: Ids) -> Iterator[Ids]:
    """Divides slots into batches as the store is to get them, the same ones at each call.

    A graph (HNSW: Malkov and Yashunin, 2016) connects a row with rows that are already in it. Where rows come in the
    order of the files, the first ones of a folder find none that are like them, and later searches get lost there.
    """
    order = slots.tolist()
    random.Random(0).shuffle(order)
    for start in range(0, len(order), _BATCH):
        yield np.array(order[start : start + _BATCH], np.int64)


class StoreSync:
    """Owns the vector store of one generation and the thread that fills it. Thread-safe.

    `fits_in_memory` says whether searches compare this many vectors without the store. With `check_first`, the store's
    contents are compared with the manifest when it is opened, as after an unclean end.
    """

    def __init__(
        self,
        root: str,
        slots: Slots,
        kept: EmbeddingCache,
        path_weight: float,
        make_store: Callable[[], VectorStore],
        fits_in_memory: Callable[[int], bool],
        check_first: bool,
    ) -> None:
        self._log = workspace_log(__name__, root)
        self._slots = slots
        self._kept = kept
        self._path_weight = path_weight
        self._make_store = make_store
        self._fits_in_memory = fits_in_memory
        self._check_first = check_first
        self._store: VectorStore | None = None
        self._opened = False
        self._usable = False
        self._note = ""
        self._away = False
        self._again_at = 0.0
        self._may_start = False
        self._wanted = False
        self._wake = threading.Event()
        self._idle = threading.Event()
        self._hurry = threading.Event()
        self._stop = threading.Event()
        self._flags = make_lock(Rank.STORE_SYNC)
        self._thread: threading.Thread | None = None

    def keep_up(self) -> None:
        """From now on, opens the store as soon as searches need it, and keeps it up to date with the manifest."""
        with self._flags:
            # `wake` is called by threads of low priority, and a thread that they start would have that too, as would
            # the store's process.
            self._begin()
        self._may_start = True
        self._start_if_needed()

    def start(self) -> None:
        """Opens the store even if no search needs it, and keeps it up to date with the manifest."""
        with self._flags:
            if self._stop.is_set() or self._wanted:
                return
            self._wanted = True
            self._idle.clear()
            self._wake.set()
            self._begin()

    def wake(self) -> None:
        """Announces new pending slots."""
        if self._may_start:
            self._start_if_needed()
        with self._flags:
            if self._wanted:
                if not self._waits():
                    self._idle.clear()
                self._wake.set()

    def drain(self, timeout: float | None = None) -> bool:
        """Waits until no slot is pending, or the store has been given up. Returns False if that takes longer than
        `timeout` seconds, and True at once if the store is not kept open."""
        if not self._wanted:
            return True
        if not (self._idle.is_set() or self._hurry.is_set()):
            self._hurry.set()
            self._wake.set()
        return self._idle.wait(timeout)

    def is_behind(self) -> bool:
        """Whether searches need the store, and it has pending slots to write, or must be filled or checked first.
        Cheap; starts nothing."""
        if self._wanted and not self._idle.is_set():
            return True
        return self._is_needed() and self._is_incomplete()

    def fill(self, cancelled: IsCancelled) -> None:
        """Fills the store even if no search needs it, waits for that, and closes the store again. Ends early if
        cancelled. A store on a server is not filled if no search needs it."""
        if self._wanted or not self._is_incomplete() or self._made().elsewhere:
            return
        self.start()
        while not self.drain(_LOOK_S) and not cancelled():
            pass
        if not self._is_needed():
            self._let_go()

    def store(self) -> VectorStore | None:
        """Returns the store once it agrees with the manifest in all but pending slots; None until then and after a
        failure."""
        return self._store if self._usable else None

    def asked(self) -> AskedStore | None:
        """Returns the store for a search; None while it cannot be used. Raises StoreFailed while it is on a server that
        does not answer."""
        store = self.store()
        if store is None and self._away:
            raise StoreFailed(self._note, away=True)
        return AskedStore(store, self._announce_failure) if store is not None else None

    def is_unverified(self) -> bool:
        """Whether the store's contents must be compared with the manifest before they can be trusted."""
        return self._check_first and not self._is_fresh()

    @property
    def note(self) -> str:
        """One line that says why the store is not used; empty if it works."""
        return self._note

    def close(self) -> None:
        """Stops the thread, waits for it, and closes the store."""
        self._stop.set()
        self._wake.set()
        self._usable = False
        thread = self._thread
        if thread is not None:
            thread.join()
        self._close_store()

    # ------------------------------------------------------------ when it is open

    def _is_needed(self) -> bool:
        return not self._fits_in_memory(self._slots.count_chunks())

    def _is_incomplete(self) -> bool:
        return self._check_first or self._is_fresh() or self._slots.any_pending()

    def _is_fresh(self) -> bool:
        return self._made().is_fresh()

    def _made(self) -> VectorStore:
        return self._store or self._make_store()

    def _start_if_needed(self) -> None:
        if not self._wanted and self._is_needed():
            self.start()

    def _begin(self) -> None:
        """Starts the thread if there is none."""
        if self._thread is None and not self._stop.is_set():
            self._thread = threading.Thread(target=self._run, name="sidecar-store", daemon=True)
            self._thread.start()

    def _let_go(self) -> None:
        """Makes the thread close the store. Pending slots stay pending."""
        with self._flags:
            self._wanted = self._usable = False
            self._hurry.clear()
            self._idle.set()
            self._wake.set()

    # ------------------------------------------------------------ the thread

    def _run(self) -> None:
        tries = 0
        while self._wait():
            if self._wanted and not self._waits():
                tries = self._try(tries)
            if not self._wanted:
                self._close_store()
        self._idle.set()

    def _try(self, failed: int) -> int:
        """Opens and feeds the store after `failed` failed tries in a row. Returns the new number of failed tries in a
        row."""
        try:
            self._open()
            self._feed()
        except StoreFailed as error:
            reached = self._away and not error.facts.get("away")
            failed = 1 if reached else failed + 1
            self._fail(error, failed)
        except SidecarError as error:
            failed = _TRIES
            self._fail(StoreFailed(error.message), failed)
        except Exception as error:
            # If the thread ended here, callers of `drain` would wait forever.
            failed = _TRIES
            self._log.exception("filling the vector store")
            self._fail(StoreFailed(f"It cannot be filled ({type(error).__name__}: {shown.reason(error)})."), failed)
        else:
            failed = 0
        return failed

    def _wait(self) -> bool:
        # `close` sets `_stop`, then `_wake`; `_gather` may already have cleared that `_wake`.
        if not self._stop.is_set():
            again = self._again_at if self._wanted else 0.0
            self._wake.wait(max(0.0, again - time.monotonic()) if again else None)
        self._wake.clear()
        return not self._stop.is_set()

    def _waits(self) -> bool:
        """Whether the server did not answer and it is too early to try again."""
        return time.monotonic() < self._again_at

    def _announce_failure(self, error: StoreFailed) -> None:
        """Wakes the thread to repair the store, because a search has found that it fails."""
        with self._flags:
            if not self._usable:
                return
            self._usable = self._opened = False
            self._note = error.detail
            self._away = bool(error.facts.get("away"))
            self._idle.clear()
            self._wake.set()

    def _open(self) -> None:
        if self._opened:
            return
        store = self._store = self._store or self._make_store()
        fresh = store.is_fresh()
        store.count(COLLECTIONS[0])
        if fresh:
            self._slots.refill_pending()
        elif self._check_first:
            self._reconcile(store)
        self._opened, self._check_first = True, False
        self._usable = not fresh
        self._note, self._away, self._again_at = "", False, 0.0

    def _reconcile(self, store: VectorStore) -> None:
        """Marks as pending each slot that the store lacks, and each that it has but should not."""
        for number, collection in enumerate(COLLECTIONS):
            expected = set(self._slots.slots_in_store(number))
            held = set(store.ids(collection).tolist())
            self._slots.mark_pending(held ^ expected, number)

    def _feed(self) -> None:
        assert self._store is not None
        while self._wanted and not self._stop.is_set():
            self._gather()
            slots = self._slots.pending()
            if not len(slots):
                self._settle()
                return
            for batch in in_random_order(slots):
                if not self._wanted or self._stop.is_set():
                    return
                rows = self._slots.take_pending(batch)
                for number, collection in enumerate(COLLECTIONS):
                    self._write(self._store, collection, [row for row in rows if row.collection == number])
                self._slots.settle_pending(rows)

    def _settle(self) -> None:
        """Records that nothing was pending, unless more has been announced since."""
        with self._flags:
            self._usable = self._wanted and not self._stop.is_set()
            if not self._wake.is_set():
                self._hurry.clear()
                self._idle.set()

    def _gather(self) -> None:
        """Waits for more pending slots before they are written. Returns once a batch is full, none has come for
        `_CALM_SECONDS`, `_LONGEST_WAIT` is over, or a caller waits for the store."""
        deadline = time.monotonic() + _LONGEST_WAIT
        while 0 < self._slots.count_pending(_BATCH) < _BATCH and time.monotonic() < deadline:
            if self._hurry.is_set() or self._stop.is_set() or not self._wake.wait(_CALM_SECONDS):
                return
            self._wake.clear()

    def _write(self, store: VectorStore, collection: Collection, rows: list[PendingSlot]) -> None:
        gone = np.array([row.slot for row in rows if row.vector == 0], np.int64)
        kept = [row for row in rows if row.vector]
        there = np.array([(row.slot, row.vector, row.path_vector) for row in kept], np.int64).reshape(-1, 3)
        if len(gone):
            store.remove(collection, gone)
        if len(there):
            body, found = self._kept.get(there[:, 1])
            path, _ = self._kept.get(there[:, 2])
            vectors = combine(body, path, self._path_weight)
            weight = struct.pack("<d", self._path_weight)
            texts = [row.text + weight for row, has in zip(kept, found, strict=True) if has]
            store.add(collection, there[found, 0], vectors[found], texts)

    def _fail(self, error: StoreFailed, tries: int) -> None:
        self._usable = self._opened = False
        # If a refill is due, the problem is not a missing answer, so the error's standard sentence is left out.
        refill, away = bool(error.facts.get("rebuild")), bool(error.facts.get("away"))
        note = error.detail if refill or away else error.message
        if note != self._note:
            self._log.warning("%s", note)
        self._note, self._away = note, away
        elsewhere = self._made().elsewhere
        if refill and self._store is not None:
            self._store.discard()
        else:
            self._close_store()
        if tries < _TRIES and not away and not self._stop.is_set():
            self._wake.set()
            return
        if elsewhere:
            self._again_at = time.monotonic() + min(_LONGEST_AGAIN_S, _AGAIN_S * 2.0 ** min(tries - 1, 10))
        self._idle.set()

    def _close_store(self) -> None:
        store, self._store, self._opened = self._store, None, False
        if store is not None:
            store.close()
