"""Brings the vector store in line with the manifest, on a thread of its own, slot by slot as slots become pending.

It makes no vectors. Whatever happens to the store, it is refilled from the embedding cache without the model.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from sidecar import shown
from sidecar.engine.ingest.chunk_vector import combine
from sidecar.engine.ports import Kept
from sidecar.errors import SidecarError, StoreFailed
from sidecar.locks import Rank, make_lock
from sidecar.logs import workspace_log
from sidecar.model import VectorStore
from sidecar.parts.manifest import COLLECTIONS
from sidecar.parts.slots import PendingSlot, Slots

_BATCH = 2000
_TRIES = 3
# The store serves one call at a time, and writing even a few rows takes as long as several searches. So a few rows wait
# for more, and for the end of the search that usually follows a change.
_CALM_SECONDS = 0.4
_LONGEST_WAIT = 3.0


class StoreSync:
    """Owns the vector store of one generation and the thread that fills it. Thread-safe.

    With `check_first`, the store's contents are compared with the manifest when it is opened, as after an unclean end.
    """

    def __init__(
        self,
        root: str,
        directory: Path,
        slots: Slots,
        kept: Kept,
        path_weight: float,
        make_store: Callable[[Path], VectorStore],
        check_first: bool,
    ) -> None:
        self._log = workspace_log(__name__, root)
        self._directory = directory
        self._slots = slots
        self._kept = kept
        self._path_weight = path_weight
        self._make_store = make_store
        self._check_first = check_first
        self._store: VectorStore | None = None
        self._usable = False
        self._note = ""
        self._wake = threading.Event()
        self._idle = threading.Event()
        self._hurry = threading.Event()
        self._stop = threading.Event()
        self._flags = make_lock(Rank.STORE_SYNC)
        self._number = max((int(p.name) for p in directory.glob("*") if p.name.isdigit()), default=1)
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Starts the thread; further calls do nothing."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="sidecar-store", daemon=True)
            self._thread.start()

    def wake(self) -> None:
        """Announces new pending slots."""
        with self._flags:
            self._idle.clear()
            self._wake.set()

    def drain(self, timeout: float | None = None) -> bool:
        """Waits until no slot is pending, or the store has been given up. Returns False if that takes longer than
        `timeout` seconds."""
        if not (self._idle.is_set() or self._hurry.is_set()):
            self._hurry.set()
            self._wake.set()
        return self._idle.wait(timeout)

    def is_behind(self) -> bool:
        """Whether the store has pending slots to take in, or has to be created or checked first. Cheap, and starts
        nothing."""
        if self._thread is not None and not self._idle.is_set():
            return True
        return self._check_first or not (self._directory / str(self._number)).exists() or self._slots.any_pending()

    def store(self) -> VectorStore | None:
        """The store once it agrees with the manifest in all but pending slots; None until then and after a failure."""
        return self._store if self._usable else None

    @property
    def note(self) -> str:
        """One line that says why the store is not used; empty if it is in order."""
        return self._note

    def close(self) -> None:
        """Stops the thread, waits for it, and closes the store."""
        self._stop.set()
        self._wake.set()
        self._usable = False
        if self._thread is not None:
            self._thread.join()
        self._close_store()

    # ------------------------------------------------------------ the thread

    def _run(self) -> None:
        tries = 0
        self._wake.set()
        while self._wait():
            try:
                self._open()
                self._feed()
                tries = 0
            except StoreFailed as error:
                tries += 1
                self._fail(error, tries)
            except SidecarError as error:
                tries = _TRIES
                self._fail(StoreFailed(error.message), tries)
            except OSError as error:
                tries += 1
                self._fail(StoreFailed(f"Its folder cannot be used: {shown.reason(error)}.", rebuild=True), tries)
            except Exception as error:
                # If the thread ended here, callers of `drain` would wait for ever.
                tries = _TRIES
                self._log.exception("filling the vector store")
                self._fail(StoreFailed(f"It cannot be filled ({type(error).__name__}: {shown.reason(error)})."), tries)
        self._idle.set()

    def _wait(self) -> bool:
        # `close` sets `_stop`, then `_wake`; `_gather` may already have cleared that `_wake`.
        if not self._stop.is_set():
            self._wake.wait()
        self._wake.clear()
        return not self._stop.is_set()

    def _open(self) -> None:
        if self._store is not None:
            return
        directory = self._directory / str(self._number)
        fresh = not directory.exists()
        directory.mkdir(parents=True, exist_ok=True)
        store = self._make_store(directory)
        try:
            store.count(COLLECTIONS[0])
            if fresh:
                self._slots.refill_pending()
            elif self._check_first:
                self._reconcile(store)
        except BaseException:
            store.close()
            raise
        self._store, self._check_first = store, False
        self._usable = not fresh
        self._note = ""

    def _reconcile(self, store: VectorStore) -> None:
        """Makes pending whatever the store lacks or has too much of. Raises StoreFailed if it differs but cannot list
        its ids."""
        listing: Callable[..., object] | None = getattr(store, "ids", None)
        for number, name in enumerate(COLLECTIONS):
            expected = set(self._slots.slots_in_store(number))
            if listing is None:
                if store.count(name) != len(expected):
                    raise StoreFailed("The vector store lacks vectors or has too many.", rebuild=True)
                continue
            held = {int(i) for i in np.asarray(listing(name))}
            self._slots.mark_pending(held ^ expected, number)

    def _feed(self) -> None:
        assert self._store is not None
        while not self._stop.is_set():
            self._gather()
            rows = self._slots.take_pending(_BATCH)
            if not rows:
                break
            for number, name in enumerate(COLLECTIONS):
                self._write(self._store, name, [r for r in rows if r[1] == number])
            self._slots.settle_pending(rows)
        self._usable = True
        with self._flags:
            if not self._wake.is_set():
                self._hurry.clear()
                self._idle.set()

    def _gather(self) -> None:
        """Waits for more pending slots before they are written. Returns once a batch is full, none has come for
        `_CALM_SECONDS`, `_LONGEST_WAIT` is over, or a caller is waiting for the store."""
        deadline = time.monotonic() + _LONGEST_WAIT
        while 0 < self._slots.count_pending(_BATCH) < _BATCH and time.monotonic() < deadline:
            if self._hurry.is_set() or self._stop.is_set() or not self._wake.wait(_CALM_SECONDS):
                return
            self._wake.clear()

    def _write(self, store: VectorStore, collection: str, rows: list[PendingSlot]) -> None:
        name = COLLECTIONS[0] if collection == "code" else COLLECTIONS[1]
        gone = np.array([r[0] for r in rows if r[2] == 0], np.int64)
        there = np.array([(r[0], r[2], r[3]) for r in rows if r[2]], np.int64).reshape(-1, 3)
        if len(gone):
            store.delete(name, gone)
        if len(there):
            body, found = self._kept.get(there[:, 1])
            path, _ = self._kept.get(there[:, 2])
            vectors = combine(body, path, self._path_weight)
            store.upsert(name, there[found, 0], vectors[found])

    def _fail(self, error: StoreFailed, tries: int) -> None:
        self._usable = False
        # If a refill is due, the problem is not a missing answer, so the error's standard sentence is left out.
        refill = bool(error.facts.get("rebuild"))
        self._note = error.detail if refill else error.message
        self._log.warning("%s", self._note)
        self._close_store()
        if refill:
            self._discard()
        if tries < _TRIES and not self._stop.is_set():
            self._wake.set()
        else:
            self._idle.set()

    def _close_store(self) -> None:
        store, self._store = self._store, None
        if store is not None:
            store.close()

    def _discard(self) -> None:
        """Deletes the store's directory. Its replacement gets a new number: no directory is used twice."""
        shutil.rmtree(self._directory / str(self._number), ignore_errors=True)
        self._number += 1
