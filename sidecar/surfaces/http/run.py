"""Serves an application on a loopback port until a signal ends it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from sidecar.surfaces.http.guard import CONNECTION, Guard
from sidecar.surfaces.loopback.admission import Admission
from sidecar.surfaces.loopback.listening import accept
from sidecar.surfaces.loopback.peers import peer_of

ENDING_SECONDS = 3
"""Requests in flight get this long to end; then they are cancelled."""
KEEP_ALIVE_SECONDS = 30
"""A connection without requests is closed after this time."""


def hosts_of(listener: socket.socket) -> frozenset[str]:
    """Returns the values of Host that mean this server."""
    address, port = listener.getsockname()[:2]
    names = {"127.0.0.1", "localhost", "[::1]", f"[{address}]" if ":" in address else address}
    return frozenset({f"{name}:{port}" for name in names} | (names if port == 80 else set()))


def url_of(listener: socket.socket) -> str:
    """Returns the URL of this server."""
    address, port = listener.getsockname()[:2]
    return f"http://[{address}]:{port}" if ":" in address else f"http://{address}:{port}"


def run(app: Guard, listener: socket.socket, ready: Callable[[], None]) -> int:
    """Serves until SIGTERM or SIGINT and returns 0, because that is how such a server is meant to end.

    `ready` is called once signals are handled; the listener has accepted connections before.
    """
    _log_as_ours()
    asyncio.run(_serve(app, listener, ready))
    return 0


def _log_as_ours() -> None:
    """Sends the libraries' log records to the handlers of sidecar's own log instead of the terminal."""
    for name in ("uvicorn", "mcp"):
        for handler in logging.getLogger("sidecar").handlers:
            logging.getLogger(name).addHandler(handler)


async def serve_until(app: Guard, listener: socket.socket, over: Awaitable[object]) -> None:
    """Serves in the running loop until `over` is done or the task is cancelled; closes the listener."""
    server = _Server(app, listener)
    waiting = asyncio.ensure_future(over)
    serving = asyncio.create_task(server.serve(sockets=[]))
    try:
        await asyncio.wait({waiting, serving}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
        server.should_exit = True
        await asyncio.wait({serving})


async def _serve(app: Guard, listener: socket.socket, ready: Callable[[], None]) -> None:
    server = _Server(app, listener)
    _on_signals(server)
    ready()
    await server.serve(sockets=[])


class _Server(uvicorn.Server):
    """Accepts connections itself, because uvicorn would count connections with and without the token together.

    It leaves signals to `_on_signals`: uvicorn raises them again when it ends, which would kill the process.
    """

    def __init__(self, app: Guard, listener: socket.socket) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                loop="asyncio",
                http="h11",
                ws="none",
                lifespan="on",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=ENDING_SECONDS,
            )
        )
        self._admission = app.admission
        self._listener = listener
        self._accepting: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._accepting = asyncio.create_task(accept(self._listener, self._take))

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._accepting is not None:
            self._accepting.cancel()
            await asyncio.wait({self._accepting})
        self._listener.close()
        await super().shutdown(sockets)

    async def _take(self, connection: socket.socket) -> None:
        def connected() -> _Connection:
            return _Connection(self.config, self.server_state, self.lifespan.state, self._admission)

        with contextlib.suppress(OSError):  # the client has closed it already
            await asyncio.get_running_loop().connect_accepted_socket(connected, connection)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Connection(H11Protocol):
    """One connection, which puts itself into the scope of each of its requests for `Guard`."""

    def __init__(
        self, config: uvicorn.Config, state: ServerState, app_state: dict[str, Any], admission: Admission
    ) -> None:
        super().__init__(config, state, {**app_state, CONNECTION: self})
        self._admission = admission

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._admission.arrive(self, peer_of(transport.get_extra_info("socket")), transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self._admission.leave(self)
        super().connection_lost(exc)


def _on_signals(server: uvicorn.Server) -> None:
    """The first signal ends the server; a second one makes it end without waiting for requests in flight."""

    def tell() -> None:
        server.force_exit = server.should_exit
        server.should_exit = True

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        try:
            loop.add_signal_handler(number, tell)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(tell))
