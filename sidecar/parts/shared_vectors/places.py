"""The places that store sealed vectors: a server that accepts GET and PUT, with one file for each vector, or a Chroma
collection."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from sidecar import shown
from sidecar.errors import StoreFailed
from sidecar.locks import Rank, make_lock
from sidecar.parts.network import Server, Slowest, Way
from sidecar.parts.vectors.frames import Frame
from sidecar.parts.vectors.server_link import ChromaServer, ServerLink

T = TypeVar("T")

_COLLECTION = "vectors"
_NAME = "sidecar-shared-vectors"
_PLACES = 3
_ROWS = 300
"""The maximum number of names in one call, which is the limit of Chroma Cloud."""
_AT_ONCE = 8
_PACE = Slowest(grace_s=10.0, bytes_per_s=100, silent_s=10.0)
"""The slowest acceptable server for one value, which has some hundred bytes."""
_WORD = 8


class VectorPlace(Protocol):
    """A place that stores sealed vectors by name. Thread-safe. Every method may raise StoreFailed."""

    def fetch(self, names: Sequence[bytes], size: int) -> dict[bytes, bytes]:
        """Returns the values under these names that are `size` bytes long, by name."""

    def keep(self, values: Mapping[bytes, bytes]) -> None:
        """Stores each value under its name, replacing an earlier one. The values must have equal lengths."""

    def close(self) -> None:
        """Ends connections and processes."""


class NoPlace:
    """A server that must not be asked. `why` completes a sentence that begins with its address."""

    def __init__(self, url: str, why: str) -> None:
        self._error = f"{shown.reason(url)} {why}."

    def fetch(self, names: Sequence[bytes], size: int) -> dict[bytes, bytes]:
        """See `VectorPlace.fetch`."""
        raise StoreFailed(self._error)

    def keep(self, values: Mapping[bytes, bytes]) -> None:
        """See `VectorPlace.keep`."""
        raise StoreFailed(self._error)

    def close(self) -> None:
        """See `VectorPlace.close`."""


class VectorFiles:
    """A server that accepts GET, and PUT from those who may write. Each value is the file `ab/abcd...` below `url`."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self._url = url
        self._way = Way("sharedVectors", StoreFailed, pace=_PACE, headers=dict(headers))
        self._lock = make_lock(Rank.VECTOR_STORE)
        self._open = ExitStack()
        self._server: Server | None = None

    def fetch(self, names: Sequence[bytes], size: int) -> dict[bytes, bytes]:
        """See `VectorPlace.fetch`."""
        server = self._reached()

        def get(name: bytes) -> tuple[bytes, bytes]:
            found = server.find(self._place(name), size)
            return name, found.content if found is not None else b""

        return {name: value for name, value in _each(get, names) if len(value) == size}

    def keep(self, values: Mapping[bytes, bytes]) -> None:
        """See `VectorPlace.keep`."""
        server = self._reached()

        def put(name: bytes) -> None:
            server.put(self._place(name), values[name])

        _each(put, list(values))

    def close(self) -> None:
        """See `VectorPlace.close`."""
        with self._lock:
            self._server = None
            self._open.close()

    def _reached(self) -> Server:
        with self._lock:
            if self._server is None:
                self._server = self._open.enter_context(Server(self._url, self._way))
            return self._server

    def _place(self, name: bytes) -> str:
        digits = name.hex()
        return f"{self._url}/{digits[:2]}/{digits}"


class ChromaPlace:
    """A collection of a Chroma server, whose rows are fetched by name."""

    def __init__(self, server: ChromaServer) -> None:
        self._link = ServerLink(server, {_COLLECTION: _NAME}, _PLACES)

    def fetch(self, names: Sequence[bytes], size: int) -> dict[bytes, bytes]:
        """See `VectorPlace.fetch`."""
        found: dict[bytes, bytes] = {}
        for start in range(0, len(names), _ROWS):
            asked = _rows(names[start : start + _ROWS], 2 * _WORD)
            _, (there, values) = self._ask("fetch", [asked], words=-(-size // _WORD))
            found |= {n.tobytes(): v.tobytes()[:size] for n, v in zip(there, values, strict=True)}
        return found

    def keep(self, values: Mapping[bytes, bytes]) -> None:
        """See `VectorPlace.keep`."""
        names = list(values)
        for start in range(0, len(names), _ROWS):
            some = names[start : start + _ROWS]
            length = _WORD * -(-len(values[some[0]]) // _WORD)
            kept = _rows([values[name].ljust(length, b"\0") for name in some], length)
            self._ask("keep", [_rows(some, 2 * _WORD), kept])

    def close(self) -> None:
        """See `VectorPlace.close`."""
        self._link.close()

    def _ask(self, call: str, arrays: Sequence[NDArray[np.int64]], **rest: int) -> Frame:
        """Asks once more if the collection was gone or unreadable: opening makes it anew."""
        try:
            return self._ask_once(call, arrays, rest)
        except StoreFailed as error:
            if not error.facts.get("rebuild"):
                raise
        return self._ask_once(call, arrays, rest)

    def _ask_once(self, call: str, arrays: Sequence[NDArray[np.int64]], rest: Mapping[str, int]) -> Frame:
        if not self._link.is_open:
            self._link.open()
        return self._link.ask(call, _COLLECTION, arrays, **rest)


def _each(work: Callable[[bytes], T], names: Sequence[bytes]) -> list[T]:
    """Calls `work` for each name, up to `_AT_ONCE` at a time, and returns the results in order. The first failure ends
    this."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        try:
            return list(pool.map(work, names))
        except StoreFailed:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _rows(blobs: Sequence[bytes], length: int) -> NDArray[np.int64]:
    """Returns the blobs, which are `length` bytes long each, as int64, shape [n, length / 8]."""
    return np.frombuffer(b"".join(blobs), np.int64).reshape(len(blobs), length // _WORD)
