"""The connection to a Chroma server: starts, asks and ends a process that runs Chroma's client.

Every failure is raised as StoreFailed. With `facts["away"]`, the server cannot be asked at the moment, whatever the
cause. With `facts["rebuild"]`, it has lost its rows or can never return them again.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from numpy.typing import NDArray

from sidecar import shown
from sidecar.errors import SidecarError, StoreFailed
from sidecar.settings.address import ServerAddress

from .frames import Frame
from .worker import StoreWorker, Turns

_WORKER = "sidecar.parts.vectors.server_worker"
_TRUST = ("SSL_CERT_FILE", "SSL_CERT_DIR")
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
"""Environment variables that name proxies. They are not used for a server on this machine."""


@dataclass(frozen=True, slots=True)
class ChromaServer:
    """A server that a user has named, with the headers of each request. `offline` forbids servers on other machines."""

    address: ServerAddress
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    offline: bool = False

    @property
    def forbidden(self) -> str:
        """Why the server must not be asked, as the end of a sentence that begins with its address; empty if it may
        be."""
        if self.offline and not self.address.is_loopback:
            return "is not on this machine, and the setting offline forbids to ask it"
        if self.headers and not self.address.is_private:
            return "is asked by http, so that others could read its headers: use https"
        return ""


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """The limits for a server: the maximum seconds of a search, of another call and of opening; the maximum number of
    rows in one call, and of results of one search."""

    search_s: float = 3.0
    call_s: float = 60.0
    open_s: float = 120.0
    rows: int = 300
    results: int = 2000


USUAL = ServerLimits()
CLOUD_RESULTS = 300
"""The maximum number of results of one search on Chroma Cloud, which also accepts at most 300 rows at once."""


class ServerLink:
    """One process that asks one server. Thread-safe: calls are served one at a time, urgent ones first.

    `collections` has the full name of each collection by its short name; `dimension` is the dimension of their vectors.
    """

    def __init__(
        self, server: ChromaServer, collections: Mapping[str, str], dimension: int, limits: ServerLimits = USUAL
    ) -> None:
        self._server = server
        self._collections = dict(collections)
        self._dimension = dimension
        self._limits = limits
        self._turns = Turns()
        self._worker: StoreWorker | None = None
        self._folder: TemporaryDirectory[str] | None = None
        self._condemned: set[str] = set()
        self._suspected: set[str] = set()
        self._closed = False

    @property
    def is_open(self) -> bool:
        """Whether the connection exists and its process is running."""
        worker = self._worker
        return worker is not None and worker.opened and worker.alive

    @property
    def worker_pid(self) -> int | None:
        """The id of the process, for diagnosis; None while none runs."""
        worker = self._worker
        return worker.pid if worker is not None and worker.alive else None

    def open(self) -> dict[str, str]:
        """Connects to the server. Creates the collections that it lacks, and replaces those that have failed for good.
        Returns the identity of each by its short name. Raises StoreFailed."""
        with self._turns.take(urgent=False):
            if self._closed or self._server.forbidden:
                raise self._away(self._server.forbidden or "was left", again=False)
            self._end()
            address = self._server.address
            opening = {
                "url": address.url,
                "tenant": address.tenant,
                "database": address.database,
                "headers": dict(self._server.headers),
                "cloud": address.is_cloud,
                "dimension": self._dimension,
                "collections": self._collections,
                "condemned": sorted(self._condemned),
            }
            worker = self._start()
            with self._ending_on_error():
                header, _ = self._say(worker, opening, [], self._limits.open_s)
            worker.opened = True
            self._condemned.clear()
            self._suspected.clear()
            return dict(header["identities"])

    def ask(self, call: str, collection: str, arrays: Sequence[NDArray[Any]], **rest: int) -> Frame:
        """Makes one call of `server_worker.ServerCollections` once its turn comes. Raises StoreFailed."""
        with self._turns.take(urgent=False):
            return self._ask(call, collection, arrays, self._limits.call_s, rest)

    def search(self, call: str, collection: str, arrays: Sequence[NDArray[Any]], **rest: int) -> Frame:
        """Like `ask`, but before other calls and for a limited time. A server that is busy for longer counts as
        away."""
        with self._turns.take(urgent=True, timeout=self._limits.search_s) as had:
            if not had:
                raise self._away("is still busy", busy=True)
            return self._ask(call, collection, arrays, self._limits.search_s, rest)

    def close(self) -> None:
        """Ends the process within seconds, by force if necessary. Later calls raise StoreFailed."""
        self._closed = True
        worker = self._worker
        with self._turns.take(urgent=True, timeout=1.0) as had:
            if had:
                self._end()
            elif worker is not None:
                worker.kill()

    def _ask(
        self, call: str, collection: str, arrays: Sequence[NDArray[Any]], timeout: float, rest: Mapping[str, int]
    ) -> Frame:
        worker = self._worker
        if worker is None or not self.is_open:
            raise self._away("has not been reached")
        with self._ending_on_error():
            return self._say(worker, {"call": call, "collection": collection, **rest}, list(arrays), timeout)

    def _say(self, worker: StoreWorker, header: dict[str, Any], arrays: list[NDArray[Any]], timeout: float) -> Frame:
        try:
            return worker.ask(header, arrays, timeout)
        except StoreFailed as error:
            if error.facts.keys() & {"away", "rebuild"}:
                raise
            late = f"did not answer within {timeout:g} s"
            raise self._away(late if "late" in error.facts else f"cannot be asked: {error.detail}") from error

    @contextmanager
    def _ending_on_error(self) -> Iterator[None]:
        """Ends the process if the block fails, so that `open` starts a new one."""
        try:
            yield
        except SidecarError:
            self._end()
            raise

    def _start(self) -> StoreWorker:
        wanted = _TRUST if self._server.address.is_loopback else (*_TRUST, *_PROXIES)
        variables = {name: value for name, value in os.environ.items() if name.upper() in wanted}
        try:
            self._folder = TemporaryDirectory(prefix="sidecar-server-")
            folder = Path(self._folder.name)
            self._worker = StoreWorker(_WORKER, folder, sys.executable, self._translated, self._died, variables)
            return self._worker
        except OSError as error:
            raise self._away(f"cannot be asked: {shown.reason(error)}") from error

    def _end(self) -> None:
        worker, self._worker = self._worker, None
        folder, self._folder = self._folder, None
        if worker is not None:
            worker.end(timeout=2.0)
        if folder is not None:
            with suppress(OSError):
                folder.cleanup()

    def _translated(self, header: dict[str, Any]) -> SidecarError:
        """Returns the error that a reply describes."""
        said, meaning = shown.reason(header["error"]), header["meaning"]
        if meaning == "away":
            return self._away(said)
        if meaning == "broken off" and not self._is_suspected_again(set(header["identities"].values())):
            return self._away("ended the connection while it read what it holds for this index")
        if meaning != "lost":
            self._condemned.update(header["identities"].values())
        what = {
            "damaged": f"can no longer read what it held for this index ({said}); its collection is replaced",
            "mismatch": f"holds vectors of another dimension ({said}); its collection is replaced",
            "broken off": "ends whenever it reads what it held for this index; its collection is replaced",
            "lost": "has lost what it held for this index",
        }[meaning]
        return self.refilled(what)

    def _is_suspected_again(self, identities: set[str]) -> bool:
        """Whether the server has ended the connection twice in a row, each time while it read these collections.

        Incomplete files can crash the whole server. A single time may be chance: the server was stopped just then.
        """
        again, self._suspected = identities == self._suspected, identities
        return again

    def _died(self, why: str) -> StoreFailed:
        return self._away(f"cannot be asked: {why}")

    def refilled(self, what: str) -> StoreFailed:
        """Returns the error about a server that has to be filled again."""
        where = shown.reason(self._server.address.url)
        return StoreFailed(
            f"The Chroma server at {where} {what}. It is filled from the vectors kept here.", rebuild=True
        )

    def _away(self, why: str, *, again: bool = True, busy: bool = False) -> StoreFailed:
        """Returns the error about a server that cannot be asked now."""
        hint = "; it is tried again by itself" if again and not busy else ""
        where = shown.reason(self._server.address.url)
        facts = {"away": True, **({"busy": True} if busy else {})}
        return StoreFailed(f"The Chroma server at {where} {why.strip().rstrip('.')}{hint}.", **facts)
