"""Listens on a loopback address and serves an application there until the process is told to end."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator

import uvicorn

from sidecar.errors import InvalidParams
from sidecar.surfaces.http.guard import App

ENDING_SECONDS = 3
"""Answers under way are given this long, then they are cancelled."""
MAX_CONNECTIONS = 256
KEEP_ALIVE_SECONDS = 30


def listening(host: str, port: int) -> socket.socket:
    """A socket that accepts connections from now on. `port` 0 takes a free one.

    Raises `InvalidParams` for an address that is not this machine's own, and where it cannot listen.
    """
    try:
        family, kind, _, _, address = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)[0]
        if not ipaddress.ip_address(address[0]).is_loopback:
            raise InvalidParams(f"--host {host} can be reached from other machines; only a loopback address is taken.")
        with contextlib.ExitStack() as unless_it_listens:
            listener = unless_it_listens.enter_context(socket.socket(family, kind))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen()
            listener.setblocking(False)
            unless_it_listens.pop_all()
    except (OSError, ValueError) as error:
        raise InvalidParams(f"Cannot listen on {host}:{port}: {error}.") from error
    return listener


def hosts_of(listener: socket.socket) -> frozenset[str]:
    """What a Host header may say to mean this server."""
    address, port = listener.getsockname()[:2]
    names = {"127.0.0.1", "localhost", "[::1]", f"[{address}]" if ":" in address else address}
    return frozenset({f"{name}:{port}" for name in names} | (names if port == 80 else set()))


def url_of(listener: socket.socket) -> str:
    address, port = listener.getsockname()[:2]
    return f"http://[{address}]:{port}" if ":" in address else f"http://{address}:{port}"


def run(app: App, listener: socket.socket, ready: Callable[[], None]) -> int:
    """Serves until SIGTERM or SIGINT, and returns 0: that is how such a server is meant to end.

    `ready` is called once signals are taken; the listener has been accepting connections before.
    """
    _log_as_ours()
    asyncio.run(_serve(app, listener, ready))
    return 0


def _log_as_ours() -> None:
    """What the libraries have to say goes where our own log goes, and not to the terminal."""
    for name in ("uvicorn", "mcp"):
        for handler in logging.getLogger("sidecar").handlers:
            logging.getLogger(name).addHandler(handler)


async def serve_until(app: App, listener: socket.socket, over: Awaitable[object]) -> None:
    """Serves in the running loop until `over` is done or the task is cancelled; closes the listener."""
    server = _make_server(app)
    waiting = asyncio.ensure_future(over)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        await asyncio.wait({waiting, serving}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
        server.should_exit = True
        await asyncio.wait({serving})


async def _serve(app: App, listener: socket.socket, ready: Callable[[], None]) -> None:
    server = _make_server(app)
    _on_signals(server)
    ready()
    await server.serve(sockets=[listener])


def _make_server(app: App) -> _Server:
    return _Server(
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
            limit_concurrency=MAX_CONNECTIONS,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=ENDING_SECONDS,
        )
    )


class _Server(uvicorn.Server):
    """Leaves signals to `_on_signals`: uvicorn raises them again at its end, which would kill the process then."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _on_signals(server: uvicorn.Server) -> None:
    """The first signal ends the serving; a second one does not wait for answers under way."""

    def tell() -> None:
        server.force_exit = server.should_exit
        server.should_exit = True

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        try:
            loop.add_signal_handler(number, tell)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(tell))
