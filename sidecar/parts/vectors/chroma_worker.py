"""The process that runs Chroma: `python -I -m sidecar.parts.vectors.chroma_worker DIRECTORY`. `chroma.py` starts it.

chromadb is imported only in worker processes (here and in `server_worker.py`), for three reasons. Chroma holds the
interpreter lock while it writes. Its crashes must not end sidecar. And it reads `.env` from the working directory and
settings from the environment, so it has to start in a folder of sidecar's own with a cleaned environment.

The worker answers frames on stdin with frames on stdout, one at a time. It ends when stdin ends, so it outlives its
parent only by the call in progress. The engine decides what to do about a damaged store.
"""

from __future__ import annotations

import os
import signal
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sidecar.errors import DiskFull, SidecarError
from sidecar.lock_file import LockFile
from sidecar.parts.blocks import FrameError
from sidecar.parts.vectors.frames import read_frame, write_frame
from sidecar.small_files import open_to_read, replace_file
from sidecar.stdio import take_stdio

if TYPE_CHECKING:
    from chromadb.api.models.Collection import Collection as ChromaCollection

Arrays: TypeAlias = list[NDArray[Any]]
Reply: TypeAlias = tuple[dict[str, Any], Arrays]

COLLECTIONS = ("code", "docs")
PAGE = 30_000
"""The maximum number of rows of one listing. SQLite refuses more than 32,766 variables."""
_LOCK_WAIT_S = 60.0

# The meanings of error messages of Chroma and SQLite; the first match counts.
_MEANINGS = (
    ("full", ("database or disk is full", "no space left")),
    ("denied", ("readonly database", "permission denied", "read-only file system")),
    ("damaged", ("hnsw", "apply logs", "malformed", "not a database", "no such table", "backfill", "compact")),
)


class MismatchError(Exception):
    """The store was made for another model, dimension or schema."""


class ChromaDirectory:
    """Chroma's collections in one directory. `made_for` (model id, dimension, schema and the directory's identity) is
    stored with each collection.

    Raises MismatchError if the collections were made for something else.
    """

    def __init__(self, directory: str, made_for: dict[str, Any]) -> None:
        import chromadb
        from chromadb.config import Settings

        fixed: dict[str, Any] = {  # neither the environment nor a .env file may choose a server or turn telemetry on
            "_env_file": None,
            "chroma_api_impl": "chromadb.api.rust.RustBindingsAPI",
            "anonymized_telemetry": False,
        }
        settings = Settings(**fixed)
        self._client: Any = chromadb.PersistentClient(directory, settings=settings)
        present = {collection.name for collection in self._client.list_collections()}
        self._collections = {name: self._open(name, name in present, made_for) for name in COLLECTIONS}

    def _open(self, name: str, present: bool, made_for: dict[str, Any]) -> ChromaCollection:
        """Opens or creates a collection, an HNSW index by cosine distance. Raises MismatchError."""
        if present:
            collection: ChromaCollection = self._client.get_collection(name, embedding_function=None)
            found = dict(collection.metadata or {})
            if found != made_for:
                raise MismatchError(f"made for {found}, not for {made_for}")
            return collection
        created: ChromaCollection = self._client.create_collection(
            name,
            metadata=made_for,
            configuration={"hnsw": {"space": "cosine", "ef_search": 200, "sync_threshold": 10_000}},
            embedding_function=None,
        )
        return created

    def probe(self, dimension: int) -> dict[str, int]:
        """Counts and queries each collection, so that Chroma loads its HNSW files and replays the changes that they
        lack.

        Returns the number of rows by collection.
        """
        counts: dict[str, int] = {}
        for name, collection in self._collections.items():
            counts[name] = collection.count()
            if counts[name]:
                vector = np.full((1, dimension), dimension**-0.5, dtype=np.float32)
                collection.query(query_embeddings=vector, n_results=1, include=["distances"])
        return counts

    def add(self, request: dict[str, Any], arrays: Arrays) -> Reply:
        """Stores the vectors [rows, dimension] under the ids [rows]; a known id is overwritten."""
        ids, vectors = arrays
        self._of(request).upsert(_names(ids), embeddings=np.array(vectors))
        return {}, []

    def remove(self, request: dict[str, Any], arrays: Arrays) -> Reply:
        """Removes the ids; unknown ids are no error."""
        self._of(request).delete(ids=_names(arrays[0]))
        return {}, []

    def query(self, request: dict[str, Any], arrays: Arrays) -> Reply:
        """Replies with the ids (int64) and cosine distances (float32) of the `limit` closest vectors, closest first."""
        found = self._of(request).query(
            query_embeddings=np.array(arrays[0]).reshape(1, -1), n_results=int(request["limit"]), include=["distances"]
        )
        distances = (found["distances"] or [[]])[0]
        return {}, [np.array(found["ids"][0], dtype=np.int64), np.array(distances, dtype=np.float32)]

    def count(self, request: dict[str, Any], _: Arrays) -> Reply:
        """Replies with the number of rows."""
        return {"count": self._of(request).count()}, []

    def ids(self, request: dict[str, Any], _: Arrays) -> Reply:
        """Replies with at most PAGE ids from `offset` on; an empty page ends the listing."""
        found = self._of(request).get(limit=PAGE, offset=int(request["offset"]), include=[])
        return {}, [np.array(found["ids"], dtype=np.int64)]

    def close(self) -> None:
        """Closes Chroma."""
        self._client.close()

    def _of(self, request: dict[str, Any]) -> ChromaCollection:
        """Returns the collection that the request names."""
        return self._collections[request["collection"]]


def main(directory: str) -> int:
    """Answers requests until stdin ends. Returns 0, or 1 if the store could not be opened or the pipe broke."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then closes the worker's stdin
    reading, writing = take_stdio()
    requests, replies = os.fdopen(reading, "rb"), os.fdopen(writing, "wb")
    opening = read_frame(requests)
    if opening is None:
        return 0
    lock = LockFile(Path(directory) / "worker.lock", replaces_folders=True)
    try:
        if not _wait_for(lock):
            write_frame(replies, {"error": "an earlier worker is still using this directory", "meaning": "failed"})
            return 1
        return _serve(directory, opening[0], requests, replies)
    except SidecarError as error:
        meaning = "full" if isinstance(error, DiskFull) else "denied"
        write_frame(replies, {"error": error.message, "meaning": meaning})
        return 1
    except (OSError, FrameError):
        return 1  # the parent is gone, or sent something that is not a frame


def _serve(directory: str, opening: dict[str, Any], requests: BinaryIO, replies: BinaryIO) -> int:
    """Opens the store and answers requests until there are no more. Returns the exit status."""
    try:
        store = ChromaDirectory(directory, {**opening["made_for"], "directory": _identity(Path(directory))})
        counts = store.probe(int(opening["made_for"]["dimension"]))
    except MismatchError as error:
        write_frame(replies, {"error": str(error), "meaning": "mismatch"})
        return 1
    except BaseException as error:  # a panic in Chroma's Rust code is not an Exception
        meaning = _meaning(error)
        write_frame(replies, {"error": _said(error), "meaning": "damaged" if meaning == "failed" else meaning})
        return 1
    write_frame(replies, {"counts": counts})
    calls: dict[str, Callable[[dict[str, Any], Arrays], Reply]] = {
        name: getattr(store, name) for name in ("add", "remove", "query", "count", "ids")
    }
    while (frame := read_frame(requests)) is not None:
        request, arrays = frame
        try:
            header, results = calls[request["call"]](request, arrays)
        except BaseException as error:
            header, results = {"error": _said(error), "meaning": _meaning(error)}, []
        write_frame(replies, header, results)
    store.close()
    return 0


def _identity(directory: Path) -> str:
    """Returns the directory's random identity, which is stored in a file in it and moves with it. By it, Chroma's files
    of another index in this directory are recognised. Raises OSError."""
    file = directory / "identity"
    if not file.exists():
        replace_file(file, uuid.uuid4().hex.encode(), 0o600)
    with open_to_read(file) as stored:
        return stored.read(64).decode("ascii", "replace")


def _wait_for(lock: LockFile) -> bool:
    """Takes the lock of the directory, so that the worker of the next parent waits while this one finishes its last
    call.

    Two Chromas in one directory lose vectors for good. Returns False if another worker keeps the lock for a minute.
    """
    deadline = time.monotonic() + _LOCK_WAIT_S
    while not lock.take():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def _names(ids: NDArray[Any]) -> list[str]:
    """Returns the ids as strings, as Chroma needs them."""
    return [str(number) for number in ids.tolist()]


def _said(error: BaseException) -> str:
    """Returns the type and the message of an error, cut to 2000 characters."""
    return f"{type(error).__name__}: {error}"[:2000]


def _meaning(error: BaseException) -> str:
    """Returns the kind of failure: one of `_MEANINGS`, else `failed`."""
    text = str(error).lower()
    return next((meaning for meaning, marks in _MEANINGS if any(mark in text for mark in marks)), "failed")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
