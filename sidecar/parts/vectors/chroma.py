"""The vector store: Chroma in a worker process of its own.

This module starts the worker, talks to it, notices when it dies, and checks the store's files before they are loaded.
It never imports chromadb; `chroma_worker.py` does. Chroma never has the only copy of a vector: a StoreFailed with
`facts["rebuild"]` means that the store has to be discarded and filled again from the embedding cache.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidecar import shown
from sidecar.errors import DiskFull, PermissionDenied, SidecarError, StoreFailed
from sidecar.model.terms import Collection, Ids, Vectors

from .frames import Frame
from .health import find_damage, find_waste
from .worker import StoreWorker, Turns, damaged, to_be_refilled

SCHEMA_VERSION = 1
# The number of rows in one frame; a search waits for at most one frame.
_UPSERT_ROWS = 250
# Used until the first search. An upsert takes Chroma about 40 ms in addition to its rows, so a row takes half as long
# in a frame of this size.
_UPSERT_ROWS_UNSEARCHED = 2000
_DELETE_ROWS = 200
_WORKER = "sidecar.parts.vectors.chroma_worker"


class ChromaStore:
    """A `ports.VectorStore` in one folder, which only this object uses while it exists. Thread-safe.

    The worker starts at the first call that concerns vectors (which takes about a second). Calls are served one at a
    time, searches first. They raise StoreFailed, or DiskFull and PermissionDenied if that is the cause. Timeouts are in
    seconds. Chroma's files are in a numbered subfolder, and a discarded store continues under the next number. No
    subfolder is used twice, because a worker that has not ended yet may still write into the old one.
    """

    elsewhere = False

    def __init__(
        self,
        folder: Path,
        dimension: int,
        model_id: str,
        python: str = sys.executable,
        call_timeout: float = 60.0,
        open_timeout: float = 180.0,
    ) -> None:
        self._folder = folder
        self._number = max(_numbers(folder), default=1)
        self._dimension = dimension
        self._made_for = {"model": model_id, "dimension": dimension, "schema": SCHEMA_VERSION}
        self._python = python
        self._call_timeout = call_timeout
        self._open_timeout = open_timeout
        self._turns = Turns()
        self._worker: StoreWorker | None = None
        self._searched = False
        self._closed = threading.Event()

    @property
    def worker_pid(self) -> int | None:
        """The worker's process id, for diagnosis; None while no worker runs."""
        worker = self._worker
        return worker.pid if worker is not None and worker.alive else None

    @property
    def directory(self) -> Path:
        """The folder with Chroma's files. It exists once the store has been opened."""
        return self._folder / str(self._number)

    def is_fresh(self) -> bool:
        """Whether the store is new or was discarded, and has not been opened since. Starts no process."""
        return not os.path.lexists(self.directory)

    def discard(self) -> None:
        """Ends the worker and deletes all files. Raises nothing: a file that cannot be deleted stays and is not used
        again."""
        with self._turns.take(urgent=True):
            if self._worker is not None:
                self._worker.end(timeout=5.0)
                self._worker = None
            for number in _numbers(self._folder):
                _remove(self._folder / str(number))
            if self._folder.exists() and not self._folder.is_dir():
                _remove(self._folder)
            self._number += 1

    def add(self, collection: Collection, ids: Ids, vectors: Vectors, _: Sequence[bytes] = ()) -> None:
        """Stores `vectors` of shape [len(ids), dimension]; a known id is overwritten. Raises StoreFailed for another
        shape.
        """
        if vectors.shape != (len(ids), self._dimension):
            raise StoreFailed(
                f"Got vectors of shape {vectors.shape} for {len(ids)} ids; this index has dimension {self._dimension}."
            )
        start = 0
        while start < len(ids):
            part = slice(start, start + (_UPSERT_ROWS if self._searched else _UPSERT_ROWS_UNSEARCHED))
            start = part.stop
            self._call("add", collection, [_int64(ids[part]), vectors[part].astype(np.float32, copy=False)])

    def remove(self, collection: Collection, ids: Ids) -> None:
        """Removes these ids; unknown ids are no error."""
        for start in range(0, len(ids), _DELETE_ROWS):
            self._call("remove", collection, [_int64(ids[start : start + _DELETE_ROWS])])

    def query(self, collection: Collection, vector: NDArray[np.float32], limit: int) -> tuple[Ids, NDArray[np.float32]]:
        """Returns the ids and cosine similarities (float32, -1 to 1) of at most `limit` vectors close to `vector`, best
        first.

        `vector` has shape [dimension], else StoreFailed is raised. The search uses an HNSW graph (Malkov and Yashunin,
        2016), is approximate and can miss a neighbour. The result is empty if `limit` is below 1.
        """
        if vector.shape != (self._dimension,):
            raise StoreFailed(
                f"Got a query vector of shape {vector.shape}; this index has dimension {self._dimension}."
            )
        if limit < 1:
            return np.empty(0, np.int64), np.empty(0, np.float32)
        self._searched = True
        arrays = [vector.astype(np.float32, copy=False)]
        _, (found, distances) = self._call("query", collection, arrays, urgent=True, limit=limit)
        return found, np.clip(1.0 - distances, -1.0, 1.0).astype(np.float32, copy=False)

    def count(self, collection: Collection) -> int:
        """Returns how many vectors the collection holds."""
        header, _ = self._call("count", collection, urgent=True)
        return int(header["count"])

    def ids(self, collection: Collection) -> Ids:
        """Returns every stored id, ascending."""
        pages: list[Ids] = [np.empty(0, np.int64)]
        offset = 0
        while True:
            _, (page,) = self._call("ids", collection, offset=offset)
            if not len(page):
                return np.unique(np.concatenate(pages))
            pages.append(page)
            offset += len(page)

    def close(self) -> None:
        """Ends the worker within seconds, by force if necessary. Later calls raise StoreFailed."""
        self._closed.set()
        worker = self._worker
        if worker is not None:
            with self._turns.take(urgent=True, timeout=5.0) as had:
                if not had:
                    worker.kill()  # the call in progress gets StoreFailed
                else:
                    worker.end(timeout=5.0)

    def _call(
        self,
        name: str,
        collection: Collection,
        arrays: list[NDArray[Any]] | None = None,
        urgent: bool = False,
        **rest: int,
    ) -> Frame:
        """Sends one call to the worker when its turn comes, and returns the reply."""
        with self._turns.take(urgent):
            worker = self._ready_worker()
            return worker.ask({"call": name, "collection": collection, **rest}, arrays or [], self._call_timeout)

    def _ready_worker(self) -> StoreWorker:
        """Returns the running worker, or a new one whose store has passed its checks. The caller must have the turn."""
        if self._closed.is_set():
            raise StoreFailed("It has been closed.")
        if self._worker is None or not (self._worker.opened and self._worker.alive):
            self._worker = self._start()
            self._check(self._worker)
        return self._worker

    def _start(self) -> StoreWorker:
        """Starts a worker if the store's files look intact. Raises StoreFailed or PermissionDenied."""
        try:
            self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            damage = find_damage(self.directory, self._dimension)
            if damage:
                raise damaged(damage)
            return StoreWorker(_WORKER, self.directory, self._python, _translated)
        except PermissionError as error:
            why = f"The vector store in {self._folder} cannot be opened: {error.strerror}."
            raise PermissionDenied(why) from error
        except (IsADirectoryError, NotADirectoryError, FileExistsError) as error:
            raise damaged(f"{error.filename} is no longer what it was") from error
        except OSError as error:
            raise StoreFailed(f"Its worker did not start: {shown.reason(error)}.") from error

    def _check(self, worker: StoreWorker) -> None:
        """Has the worker open the store. Raises StoreFailed if that fails or if too many vectors of the store are
        deleted ones.
        """
        try:
            header, _ = worker.ask({"made_for": self._made_for}, [], self._open_timeout)
            waste = find_waste(self.directory, self._dimension, sum(header["counts"].values()))
            if waste:
                raise to_be_refilled(f"'s files hold {waste}")
        except SidecarError:
            worker.end(timeout=5.0)
            raise
        worker.opened = True


def _numbers(folder: Path) -> list[int]:
    """Returns the numbers of the subfolders of Chroma's files."""
    return [int(path.name) for path in folder.glob("*") if path.name.isdecimal()]


def _remove(path: Path) -> None:
    """Deletes a file or a folder as far as possible."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()


def _int64(ids: Ids) -> Ids:
    """Returns the ids as int64."""
    return ids.astype(np.int64, copy=False)


def _translated(header: dict[str, Any]) -> SidecarError:
    """Returns the error that a worker's reply describes."""
    said, meaning = header["error"], header["meaning"]
    if meaning == "full":
        return DiskFull(f"The vector store says: {shown.reason(said)}.")
    if meaning == "denied":
        return PermissionDenied(f"The vector store says: {shown.reason(said)}.")
    if meaning == "damaged":
        return damaged(said)
    if meaning == "mismatch":
        return to_be_refilled(f" was {said}")
    return StoreFailed(f"It says: {shown.reason(said)}.")
