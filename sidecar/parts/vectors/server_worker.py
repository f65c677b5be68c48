"""The process that talks to a Chroma server: `python -I -m sidecar.parts.vectors.server_worker FOLDER`.

`server_link.py` starts it. It uses Chroma's own client, which takes half a second to import and has no timeout, so a
caller that has waited long enough ends the process. The address, the headers and the collections arrive on stdin,
because other programs can read a process's arguments.

A row's name is 16 bytes, passed as two int64; the server stores it as 32 hexadecimal digits.
"""

from __future__ import annotations

import base64
import os
import signal
import sys
from collections.abc import Callable
from typing import Any, BinaryIO, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sidecar.parts.blocks import FrameError
from sidecar.parts.certificates import refused_certificate
from sidecar.parts.vectors.frames import read_frame, write_frame
from sidecar.stdio import take_stdio

Arrays: TypeAlias = list[NDArray[Any]]
Reply: TypeAlias = tuple[dict[str, Any], Arrays]

MADE_BY = "sidecar"
_NAME_BYTES = 16
_VALUE = "value"
_PLACES = 3
"""The dimension of collections whose rows are only fetched by name. Their vectors are computed from the names."""
# The meanings of Chroma's errors; the first match counts. An error without a match means that the server is away.
_MEANINGS = (
    ("mismatch", ("with dimension of",)),
    (
        "damaged",
        ("hnsw", "apply logs", "malformed", "not a database", "no such table", "backfill", "compact", "finding id"),
    ),
)
_MAX_SAID = 300
_NO_ENTRY = (401, 403)
_BAD_GATEWAY = 502
"""The status that a proxy answers when the server behind it has broken off the connection."""


class ForeignError(Exception):
    """A collection on the server has sidecar's name for it, but was not made by sidecar."""


class ServerCollections:
    """The collections that `opening` names; missing ones are created.

    `opening` has the address (`url`, `tenant`, `database`, `headers`), `cloud` (whether it is Chroma Cloud), the
    `dimension`, the full name of each of the `collections` by its short name, and the ids of `condemned` ones, which
    are deleted first.
    """

    def __init__(self, opening: dict[str, Any]) -> None:
        import chromadb
        from chromadb.config import Settings

        # Neither the environment nor a .env file may choose a server or turn telemetry on.
        fixed: dict[str, Any] = {"_env_file": None, "anonymized_telemetry": False}
        self._client: Any = chromadb.HttpClient(
            host=opening["url"],
            headers=dict(opening["headers"]),
            settings=Settings(**fixed),
            tenant=opening["tenant"],
            database=opening["database"],
        )
        # Chroma Cloud has another kind of index and chooses its parameters.
        self._kind: dict[str, Any] = (
            {"spann": {"space": "cosine"}}
            if opening["cloud"]
            else {"hnsw": {"space": "cosine", "ef_search": 200, "sync_threshold": 10_000}}
        )
        self._dimension = int(opening["dimension"])
        self._made_for = {"made_by": MADE_BY, "schema": 1, "dimension": self._dimension}
        condemned = set(opening["condemned"])
        self._held = {short: self._open(name, condemned) for short, name in opening["collections"].items()}

    @property
    def identities(self) -> dict[str, str]:
        """The id of each collection by its short name. It differs from that of earlier and later collections of the
        same name."""
        return {short: str(held.id) for short, held in self._held.items()}

    def _open(self, name: str, condemned: set[str]) -> Any:
        from chromadb.errors import NotFoundError

        try:
            found = self._client.get_collection(name, embedding_function=None)
            if dict(found.metadata or {}).get("made_by") != MADE_BY:
                raise ForeignError(f"has a collection {name} that sidecar did not make")
            if str(found.id) not in condemned and dict(found.metadata) == self._made_for:
                return found
            self._client.delete_collection(name)
        except NotFoundError:
            pass
        return self._client.get_or_create_collection(
            name, metadata=self._made_for, configuration=self._kind, embedding_function=None
        )

    def probe(self) -> None:
        """Has the server count and search, so that damage is noticed now."""
        for held in self._held.values():
            if held.count():
                vector = np.full((1, self._dimension), self._dimension**-0.5, dtype=np.float32)
                held.query(query_embeddings=vector, n_results=1, include=["distances"])

    def lacking(self, request: dict[str, Any], arrays: Arrays) -> Reply:
        """Replies with the positions of the names that the server does not have."""
        return {}, [self._lacking(request, arrays[0])]

    def add(self, request: dict[str, Any], arrays: Arrays) -> Reply:
        """Stores those vectors [rows, dimension] whose names [rows, 2] the server does not have; equal names have equal
        content. Replies with their number."""
        names, vectors = arrays
        new = self._lacking(request, names)
        if len(new):
            self._of(request).add(_digits(names[new]), embeddings=np.array(vectors[new]))
        return {"added": len(new)}, []

    def query(self, request: dict[str, Any], arrays: Arrays) -> Reply:
        """Replies with the names and cosine distances of the `limit` closest vectors, closest first."""
        found = self._of(request).query(
            query_embeddings=np.array(arrays[0]).reshape(1, -1), n_results=int(request["limit"]), include=["distances"]
        )
        pairs = [(row, far) for row, far in zip(found["ids"][0], found["distances"][0], strict=True) if _is_name(row)]
        return {}, [_names([row for row, _ in pairs]), np.array([far for _, far in pairs], np.float32)]

    def fetch(self, request: dict[str, Any], arrays: Arrays) -> Reply:
        """Replies with those names of `arrays[0]` that have a value of `words` words, and these values, int64 [rows,
        words]."""
        words = int(request["words"])
        got = self._of(request).get(ids=_digits(arrays[0]), include=["metadatas"])
        found = zip(got["ids"], got["metadatas"] or [], strict=False)
        values = {row: value for row, kept in found if (value := _value(kept, words)) is not None and _is_name(row)}
        return {}, [_names(list(values)), np.array(list(values.values()), np.int64).reshape(-1, words)]

    def keep(self, request: dict[str, Any], arrays: Arrays) -> Reply:
        """Stores values, int64 [rows, words], under names [rows, 2]."""
        names, values = arrays
        kept = [{_VALUE: base64.b64encode(row.tobytes()).decode()} for row in values]
        places = (names.view(np.uint8).reshape(len(names), -1)[:, :_PLACES].astype(np.float32) + 1) / 256
        self._of(request).upsert(_digits(names), embeddings=places, metadatas=kept)
        return {}, []

    def _lacking(self, request: dict[str, Any], names: NDArray[Any]) -> NDArray[np.int64]:
        digits = _digits(names)
        there = set(self._of(request).get(ids=digits, include=[])["ids"])
        return np.array([place for place, row in enumerate(digits) if row not in there], np.int64)

    def _of(self, request: dict[str, Any]) -> Any:
        return self._held[request["collection"]]


def main(_: str) -> int:
    """Answers requests until stdin ends. Returns 0, or 1 if the server could not be used or the pipe broke."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then closes the worker's stdin
    reading, writing = take_stdio()
    requests, replies = os.fdopen(reading, "rb"), os.fdopen(writing, "wb")
    try:
        opening = read_frame(requests)
        return 0 if opening is None else _serve(opening[0], requests, replies)
    except (OSError, FrameError):
        return 1  # the parent is gone, or sent something that is not a frame


def _serve(opening: dict[str, Any], requests: BinaryIO, replies: BinaryIO) -> int:
    held: ServerCollections | None = None
    try:
        held = ServerCollections(opening)
        held.probe()
    except Exception as error:
        known = held.identities if held is not None else {}
        failure = _failure(error)
        if held is not None and _broken_off(error):
            failure["meaning"] = "broken off"
        write_frame(replies, {**failure, "identities": known})
        return 1
    write_frame(replies, {"identities": held.identities})
    calls: dict[str, Callable[[dict[str, Any], Arrays], Reply]] = {
        name: getattr(held, name) for name in ("lacking", "add", "query", "fetch", "keep")
    }
    while (frame := read_frame(requests)) is not None:
        try:
            header, results = calls[frame[0]["call"]](*frame)
        except Exception as error:
            header, results = {**_failure(error), "identities": held.identities}, []
        write_frame(replies, header, results)
    return 0


def _failure(error: Exception) -> dict[str, Any]:
    """Returns the reply about an error: its message and its meaning."""
    from chromadb.errors import ChromaError, NotFoundError

    said = str(error).strip()
    text = said.lower()
    if isinstance(error, ForeignError):
        return {"error": said, "meaning": "away"}
    if isinstance(error, NotFoundError) and "collection" in text:
        return {"error": said, "meaning": "lost"}
    if isinstance(error, ChromaError):
        meaning = next((meaning for meaning, marks in _MEANINGS if any(mark in text for mark in marks)), "away")
        return {"error": f"answers: {said[:_MAX_SAID]}", "meaning": meaning}
    return {"error": _reason(error, said), "meaning": "away"}


def _reason(error: Exception, said: str) -> str:
    """Returns why the server could not be asked. Chroma's client hides the reason behind a request of its own."""
    cause = error.__cause__ or error.__context__
    if refused := refused_certificate(error):
        return f"cannot be asked: {refused}"
    if _status(error) in _NO_ENTRY:
        return f"answers {_status(error)}: it wants other headers than those in the settings"
    if isinstance(error, ValueError) and isinstance(cause, Exception) and "connect" in said:
        return _reason(cause, str(cause).strip())
    if "<html" in said.lower() or "<!doctype" in said.lower():
        return "answers with a web page, not as Chroma does"
    if isinstance(error, ValueError | TypeError | KeyError):
        return "does not answer as Chroma does"
    return f"cannot be asked: {' '.join(said.split())[:_MAX_SAID] or type(error).__name__}"


def _broken_off(error: Exception) -> bool:
    """Whether the server ended the connection instead of answering. A server that is slow or missing does not count."""
    from httpx import ReadError, RemoteProtocolError

    return isinstance(error, ReadError | RemoteProtocolError) or _status(error) == _BAD_GATEWAY


def _status(error: BaseException | None) -> int:
    """Returns the HTTP status that caused an error; 0 if none did."""
    while error is not None:
        answer = getattr(error, "response", None)
        if answer is not None:
            return int(answer.status_code)
        error = error.__cause__ or error.__context__
    return 0


def _digits(names: NDArray[Any]) -> list[str]:
    return [row.tobytes().hex() for row in np.ascontiguousarray(names)]


def _names(digits: list[str]) -> NDArray[np.int64]:
    return np.frombuffer(bytes.fromhex("".join(digits)), np.int64).reshape(-1, 2)


def _is_name(row: str) -> bool:
    try:
        return len(bytes.fromhex(row)) == _NAME_BYTES and len(row) == 2 * _NAME_BYTES
    except ValueError:
        return False


def _value(kept: Any, words: int) -> NDArray[np.int64] | None:
    """Returns the value in a row's metadata, int64 of `words` words; None if there is none of this length."""
    try:
        raw = base64.b64decode(str(dict(kept)[_VALUE]), validate=True)
    except (KeyError, TypeError, ValueError):
        return None
    return np.frombuffer(raw, np.int64) if len(raw) == 8 * words else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
