"""Serves an application on a loopback port until a signal ends it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, TypeAlias

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from sidecar import shown
from sidecar.errors import ConfigInvalid
from sidecar.surfaces.http.group import Group
from sidecar.surfaces.http.guard import CONNECTION, Guard
from sidecar.surfaces.loopback.admission import Admission
from sidecar.surfaces.loopback.listening import accept
from sidecar.surfaces.loopback.peers import peer_of

Application: TypeAlias = Guard | Group
"""The applications that can be served on a port: both know which connections have shown a token."""

ENDING_SECONDS = 3
"""Requests in flight have this long to end; then they are cancelled."""
MAX_HEAD_BYTES = 320 * 1024
"""Limit of a request's head. It fits a query of 20,000 characters in the address, where a character may take twelve
bytes."""
HANDSHAKE_SECONDS = 10.0
"""Time in which a client must complete the TLS handshake."""
KEEP_ALIVE_SECONDS = 30
"""A connection without requests is closed after this time."""


def hosts_of(listener: socket.socket) -> frozenset[str]:
    """Returns the values of Host that name this server."""
    address, port = listener.getsockname()[:2]
    names = {"127.0.0.1", "localhost", "[::1]", f"[{address}]" if ":" in address else address}
    return frozenset({f"{name}:{port}" for name in names} | (names if port == 80 else set()))


def url_of(listener: socket.socket, scheme: str = "http") -> str:
    """Returns the URL of this server."""
    address, port = listener.getsockname()[:2]
    return f"{scheme}://[{address}]:{port}" if ":" in address else f"{scheme}://{address}:{port}"


def run(app: Application, listener: socket.socket, ready: Callable[[], None], tls: ssl.SSLContext | None = None) -> int:
    """Serves until SIGTERM or SIGINT, then returns 0, since that is the normal end of such a server.

    `ready` is called once signals are handled; the listener has accepted connections before.
    """
    _log_as_ours()
    asyncio.run(_serve(app, listener, ready, tls))
    return 0


def tls_of(certificate: str, key: str) -> ssl.SSLContext:
    """Returns a context for TLS 1.2 or newer, with the certificates in a PEM file and their key. Raises
    `ConfigInvalid`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        # The empty password keeps OpenSSL from asking for a passphrase at the server's terminal.
        context.load_cert_chain(certificate, key, password="")
    except (OSError, ValueError) as error:
        raise ConfigInvalid(
            f"{shown.place(certificate)} and {shown.place(key)} are no certificate with its key: {shown.reason(error)}."
            " Both are PEM files; the key has no passphrase."
        ) from error
    return context


def _log_as_ours() -> None:
    """Sends the libraries' log records to the handlers of sidecar's own log instead of the terminal."""
    for name in ("uvicorn", "mcp"):
        for handler in logging.getLogger("sidecar").handlers:
            logging.getLogger(name).addHandler(handler)


async def serve_until(app: Application, listener: socket.socket, over: Awaitable[object]) -> None:
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


async def _serve(
    app: Application, listener: socket.socket, ready: Callable[[], None], tls: ssl.SSLContext | None
) -> None:
    server = _Server(app, listener, tls)
    _on_signals(server)
    ready()
    await server.serve(sockets=[])


class _Server(uvicorn.Server):
    """Accepts connections itself, because uvicorn's own limit would count connections with and without the token
    together.

    It leaves signals to `_on_signals`: uvicorn raises them again when it ends, which would kill the process.
    """

    def __init__(self, app: Application, listener: socket.socket, tls: ssl.SSLContext | None = None) -> None:
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
                h11_max_incomplete_event_size=MAX_HEAD_BYTES,
            )
        )
        self._admission = app.admission
        self._listener = listener
        self._tls = tls
        self._accepting: asyncio.Task[None] | None = None
        self._shaking: set[asyncio.Task[None]] = set()

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
        made = _Connection(self.config, self.server_state, self.lifespan.state, self._admission)
        if self._tls is None:
            with contextlib.suppress(OSError):  # the client has closed it already
                await asyncio.get_running_loop().connect_accepted_socket(lambda: made, connection)
            return
        # A handshake may take long, and must not delay the next connection.
        shaking = asyncio.create_task(self._shake_hands(made, connection, self._tls))
        self._shaking.add(shaking)
        shaking.add_done_callback(self._shaking.discard)

    async def _shake_hands(self, made: _Connection, connection: socket.socket, tls: ssl.SSLContext) -> None:
        """Completes the TLS handshake. The connection counts as one that has not shown the token."""
        task = asyncio.current_task()

        def turn_away() -> None:
            if task is not None:
                task.cancel()

        self._admission.arrive(made, peer_of(connection), turn_away)
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: made, connection, ssl=tls, ssl_handshake_timeout=HANDSHAKE_SECONDS
            )
        except (OSError, asyncio.CancelledError):  # no TLS, too slow, or turned away for newer ones
            self._admission.leave(made)
            connection.close()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Connection(H11Protocol):
    """One connection. It puts itself into the scope of each of its requests, where `Guard` and `Group` find it.

    From the first byte after an answer, its client has a limited time until the next request begins: uvicorn stops
    waiting for a request as soon as a byte of it, or of a body that nobody wanted, has come.
    """

    def __init__(
        self, config: uvicorn.Config, state: ServerState, app_state: dict[str, Any], admission: Admission
    ) -> None:
        super().__init__(config, state, {**app_state, CONNECTION: self})
        self._admission = admission
        self._until_request: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._admission.arrive(self, peer_of(transport.get_extra_info("socket")), transport.abort)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        is_asked = self.cycle is not None and not self.cycle.response_complete
        if is_asked or self.transport.is_closing():
            self._stop_timing()
        elif self._until_request is None:
            self._until_request = self.loop.call_later(self._admission.seconds, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timing()
        self._admission.leave(self)
        super().connection_lost(exc)

    def _stop_timing(self) -> None:
        if self._until_request is not None:
            self._until_request.cancel()
            self._until_request = None


def _on_signals(server: uvicorn.Server) -> None:
    """Handles SIGTERM and SIGINT: the first ends the server; a second ends it without waiting for requests in
    flight."""

    def tell() -> None:
        server.force_exit = server.should_exit
        server.should_exit = True

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        try:
            loop.add_signal_handler(number, tell)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(tell))
