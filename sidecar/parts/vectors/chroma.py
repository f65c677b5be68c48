"""The vector store: Chroma in a worker process of its own.

This module starts the worker, talks to it, notices its death, and checks the store's files before they are loaded. It
never imports chromadb; `chroma_worker.py` does. Chroma never has the only copy of a vector: StoreFailed with
`facts["rebuild"]` true means that the store has to be discarded and filled again from the embedding cache.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from sidecar import shown
from sidecar.errors import DiskFull, PermissionDenied, SidecarError, StoreFailed
from sidecar.locks import Rank, make_condition
from sidecar.model import Collection, Ids, Vectors
from sidecar.parts.blocks import FrameError
from sidecar.parts.child import start_child

from .frames import Frame, read_frame, write_frame
from .health import find_damage, find_waste

SCHEMA_VERSION = 1
# Rows in one frame; a search waits for at most one.
_UPSERT_ROWS = 250
# Used until the first search. An upsert costs Chroma about 40 ms besides its rows, so a row costs half as much in a
# frame of this size.
_UPSERT_ROWS_UNSEARCHED = 2000
_DELETE_ROWS = 200
_WORKER = "sidecar.parts.vectors.chroma_worker"


class ChromaStore:
    """`ports.VectorStore` in one folder, which only this object uses while it lives. Thread-safe.

    The worker starts at the first call that concerns vectors (which takes about a second). Calls are served one at a
    time, searches first. They raise StoreFailed, or DiskFull and PermissionDenied if that is the cause. Timeouts are in
    seconds. Chroma's files lie in a numbered subfolder, and a discarded store continues under the next number: no
    folder is used twice, because a worker that is still dying may write into the old one.
    """

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
        self._fair_slots = _Turns()
        self._worker: _Worker | None = None
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

    def is_installed(self) -> bool:
        """Whether Chroma is there for the Python that runs sidecar: it is an extra of the package. Imports nothing."""
        return all(find_spec(name) is not None for name in ("chromadb", "chromadb_rust_bindings"))

    def is_fresh(self) -> bool:
        """Whether it is new or was discarded, and has never been opened since. Starts nothing."""
        return not os.path.lexists(self.directory)

    def discard(self) -> None:
        """Ends the worker and deletes all files. Raises nothing: what cannot be deleted is left behind, unused."""
        with self._fair_slots.take(urgent=True):
            if self._worker is not None:
                self._worker.end(timeout=5.0)
                self._worker = None
            for number in _numbers(self._folder):
                _remove(self._folder / str(number))
            if self._folder.exists() and not self._folder.is_dir():
                _remove(self._folder)
            self._number += 1

    def add(self, collection: Collection, ids: Ids, vectors: Vectors) -> None:
        """Stores `vectors` of shape [len(ids), dimension]; a known id is overwritten. Raises StoreFailed on another
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
        """The ids and cosine similarities (float32, -1 to 1) of at most `limit` vectors close to `vector`, best first.

        `vector` has shape [dimension], else StoreFailed is raised. The search is approximate, by an HNSW graph (Malkov
        and Yashunin, 2016), and can miss a neighbour. Empty if `limit` is below 1.
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
        """How many vectors the collection holds."""
        header, _ = self._call("count", collection, urgent=True)
        return int(header["count"])

    def ids(self, collection: Collection) -> Ids:
        """Every stored id, ascending."""
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
            with self._fair_slots.take(urgent=True, timeout=5.0) as had:
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
        """Makes one call when its turn comes."""
        with self._fair_slots.take(urgent):
            worker = self._ready_worker()
            return worker.ask({"call": name, "collection": collection, **rest}, arrays or [], self._call_timeout)

    def _ready_worker(self) -> _Worker:
        """The running worker, or a new one whose store has passed its checks. The caller must have the turn."""
        if self._closed.is_set():
            raise StoreFailed("It has been closed.")
        if self._worker is None or not (self._worker.opened and self._worker.alive):
            self._worker = self._start()
            self._check(self._worker)
        return self._worker

    def _start(self) -> _Worker:
        """Starts a worker if the store's files look whole. Raises StoreFailed or PermissionDenied."""
        try:
            self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            damage = find_damage(self.directory, self._dimension)
            if damage:
                raise _damaged(damage)
            return _Worker(self._python, self.directory)
        except PermissionError as error:
            why = f"The vector store in {self._folder} cannot be opened: {error.strerror}."
            raise PermissionDenied(why) from error
        except (IsADirectoryError, NotADirectoryError, FileExistsError) as error:
            raise _damaged(f"{error.filename} is no longer what it was") from error
        except OSError as error:
            raise StoreFailed(f"Its worker did not start: {shown.reason(error)}.") from error

    def _check(self, worker: _Worker) -> None:
        """Lets the worker open the store. Raises StoreFailed if that fails or if too much of the store is deleted
        vectors.
        """
        try:
            header, _ = worker.ask({"made_for": self._made_for}, [], self._open_timeout)
            waste = find_waste(self.directory, self._dimension, sum(header["counts"].values()))
            if waste:
                raise _to_be_refilled(f"'s files hold {waste}")
        except SidecarError:
            worker.end(timeout=5.0)
            raise
        worker.opened = True


class _Turns:
    """A lock that urgent takers get before the others. After eight of them in a row one of the others gets it."""

    _URGENT_IN_A_ROW = 8

    def __init__(self) -> None:
        self._condition = make_condition(Rank.VECTOR_STORE)
        self._taken = False
        self._waiting = {True: 0, False: 0}
        self._row = 0

    @contextlib.contextmanager
    def take(self, urgent: bool, timeout: float | None = None) -> Iterator[bool]:
        """Takes the lock and yields whether that succeeded, which it always does without a timeout."""
        with self._condition:
            self._waiting[urgent] += 1
            try:
                had = self._condition.wait_for(lambda: not self._taken and self._is_next(urgent), timeout)
            finally:
                self._waiting[urgent] -= 1
            if had:
                self._taken = True
                self._row = self._row + 1 if urgent and self._waiting[False] else 0
        try:
            yield had
        finally:
            with self._condition:
                self._taken = self._taken and not had
                self._condition.notify_all()

    def _is_next(self, urgent: bool) -> bool:
        """Whether a taker of this urgency may go next."""
        return not self._waiting[not urgent] or urgent is (self._row < self._URGENT_IN_A_ROW)


class _Worker:
    """One worker process and its pipes. Only one thread at a time may call `ask`."""

    def __init__(self, python: str, directory: Path) -> None:
        self.opened = False
        self._log = directory / "worker.log"
        with self._log.open("wb") as log:
            self._process = start_child(_WORKER, str(directory.resolve()), directory=directory, log=log, python=python)
        self._requests = cast(BinaryIO, self._process.stdin)
        self._replies = cast(BinaryIO, self._process.stdout)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process is running."""
        return self._process.poll() is None

    def ask(self, header: dict[str, Any], arrays: list[NDArray[Any]], timeout: float) -> Frame:
        """Sends one request and returns the reply. Raises the error that the reply states.

        A worker that dies, breaks the pipe or takes longer than `timeout` seconds is ended, and StoreFailed is raised.
        """
        late = threading.Event()
        watchdog = threading.Timer(timeout, self._kill_late, (late,))
        watchdog.daemon = True
        watchdog.start()
        try:
            write_frame(self._requests, header, arrays)
            frame = read_frame(self._replies)
        except (OSError, FrameError, ValueError):
            frame = None
        finally:
            watchdog.cancel()
        if frame is None:
            raise self._gone(timeout if late.is_set() else 0)
        if "error" in frame[0]:
            raise _translated(frame[0])
        return frame

    def end(self, timeout: float) -> None:
        """Lets the worker finish and exit, and kills it after `timeout` seconds."""
        with contextlib.suppress(OSError, ValueError):
            self._requests.close()
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        with contextlib.suppress(OSError, ValueError):
            self._replies.close()

    def kill(self) -> None:
        """Kills the worker at once."""
        self._process.kill()

    def _kill_late(self, late: threading.Event) -> None:
        """Kills a worker that has taken too long."""
        late.set()
        self._process.kill()

    def _gone(self, late_after: float) -> StoreFailed:
        """Ends a worker that did not reply, and returns the error to raise."""
        self._process.kill()
        self.end(timeout=5.0)
        if late_after:
            return StoreFailed(f"It took longer than {late_after:g} s and was stopped; the next call starts it again.")
        why = f"its process ended with status {self._process.returncode}{self._last_words()}"
        if not self.opened:
            return _damaged(f"{why}, while opening the store")
        return StoreFailed(f"In the middle of a call {why}; the next call starts it again.")

    def _last_words(self) -> str:
        """The last line that the worker logged, in brackets; empty if it logged none."""
        with contextlib.suppress(OSError):
            lines = self._log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            return f" ({lines[-1][:300]})" if lines else ""
        return ""


def _numbers(folder: Path) -> list[int]:
    """The numbers of the subfolders that hold, or once held, Chroma's files."""
    return [int(path.name) for path in folder.glob("*") if path.name.isdecimal()]


def _remove(path: Path) -> None:
    """Deletes a file or a folder as far as possible."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink()


def _int64(ids: Ids) -> Ids:
    """The ids as int64."""
    return ids.astype(np.int64, copy=False)


def _damaged(why: str) -> StoreFailed:
    """The error about a damaged store, which has to be filled again."""
    return _to_be_refilled(f" was damaged: {why}")


def _to_be_refilled(why: str) -> StoreFailed:
    """The error about a store that has to be filled again."""
    return StoreFailed(f"The vector store{why}. It is filled again from the kept vectors.", rebuild=True)


def _translated(header: dict[str, Any]) -> SidecarError:
    """The error that a worker's reply states."""
    said, meaning = header["error"], header["meaning"]
    if meaning == "full":
        return DiskFull(f"The vector store says: {shown.reason(said)}.")
    if meaning == "denied":
        return PermissionDenied(f"The vector store says: {shown.reason(said)}.")
    if meaning == "damaged":
        return _damaged(said)
    if meaning == "mismatch":
        return _to_be_refilled(f" was {said}")
    return StoreFailed(f"It says: {shown.reason(said)}.")
