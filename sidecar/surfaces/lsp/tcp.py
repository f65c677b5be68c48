"""The LSP door on a loopback port, for every client that connects and shows the token in its `initialize`."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import socket
import sys
from collections.abc import Callable
from typing import Any

from sidecar import shown
from sidecar.surfaces.loopback import token
from sidecar.surfaces.loopback.admission import Admission
from sidecar.surfaces.loopback.listening import accept, listening
from sidecar.surfaces.loopback.peers import peer_of
from sidecar.surfaces.lsp import faults
from sidecar.surfaces.lsp.channel import SocketStream
from sidecar.surfaces.lsp.life import end_on_signals, exit_soon
from sidecar.surfaces.lsp.run import EXIT_WAIT_S, resolve, session
from sidecar.surfaces.lsp.server import ServiceSource, SharedService, SidecarServer, make_server
from sidecar.tools.assemble import make_sessions

LONGEST_BEFORE_INITIALIZE = 1 << 20
"""The maximum size, in bytes, of a message from a client that has not shown the token yet."""

Make = Callable[[Callable[[object], None]], SidecarServer]
"""Makes a session's server; its argument is the function that checks the client's token."""


def run_tcp(
    source: ServiceSource, host: str, port: int, token_file: str = "", *, question_timeout_s: float | None = None
) -> int:
    """Serves every client that connects, each in its own session, until a signal ends the process.

    All sessions share one service, which gets the settings of the first client. Reports on stderr where it listens
    (port 0 chooses a free port) and which file holds the token; if no file is named, a token is made for this process.
    Returns the exit status. Raises `InvalidParams` if it cannot listen, and the errors of the token file.
    """
    shared, sessions = SharedService(source), make_sessions()

    def make(check: Callable[[object], None]) -> SidecarServer:
        return make_server(
            shared, question_timeout_s=question_timeout_s, closes_service=False, sessions=sessions, check_token=check
        )

    listener = listening("--tcp", host, port)
    with contextlib.closing(listener), contextlib.closing(token.of(token_file, listener.getsockname()[1])) as held:
        return asyncio.run(_serve(shared, listener, held, make))


async def _serve(shared: SharedService, listener: socket.socket, held: token.TokenFile, make: Make) -> int:
    """Accepts clients until a signal comes, then ends their sessions and closes the service."""
    loop = asyncio.get_running_loop()
    ending: asyncio.Future[int] = loop.create_future()
    end_on_signals(lambda status: resolve(ending, status))
    door = _Door(held, make)
    accepting = loop.create_task(accept(listener, door.take))
    _announce(listener, held)
    status = await ending
    accepting.cancel()
    for one in door.sessions:
        one.cancel()
    await asyncio.gather(accepting, *door.sessions, return_exceptions=True)
    await shared.close()
    exit_soon(status, EXIT_WAIT_S)
    return status


class _Door:
    """The sessions on one port."""

    def __init__(self, held: token.TokenFile, make: Make) -> None:
        self.sessions: set[asyncio.Task[int]] = set()
        self._held = held
        self._make = make
        self._admission = Admission()

    async def take(self, connection: socket.socket) -> None:
        """Starts a session for a new connection."""
        key = object()

        def check(given: object) -> None:
            if not isinstance(given, str) or not hmac.compare_digest(_bytes(given), _bytes(self._held.token)):
                raise faults.unauthorized()
            if not self._admission.admit(key):
                raise faults.too_many()

        ending: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._admission.arrive(key, peer_of(connection), lambda: resolve(ending, 1))
        one = asyncio.create_task(self._session(connection, self._make(check), ending))
        self.sessions.add(one)

        def over(_: Any) -> None:
            self.sessions.discard(one)
            self._admission.leave(key)

        one.add_done_callback(over)

    async def _session(self, connection: socket.socket, server: SidecarServer, ending: asyncio.Future[int]) -> int:
        return await session(
            SocketStream(connection),
            server,
            ending,
            watch_client=False,
            longest_before_initialize=LONGEST_BEFORE_INITIALIZE,
        )


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _announce(listener: socket.socket, held: token.TokenFile) -> None:
    """Reports where the server listens. The token itself is shown only in a terminal, never in a log."""
    host, port = listener.getsockname()[:2]
    token_itself = f" ({held.token})" if sys.stderr.isatty() else ""
    said = f"sidecar: LSP on {host}:{port}; the token is in {held.path}{token_itself}"
    sys.stderr.write(shown.line(said) + "\n")
    sys.stderr.flush()
