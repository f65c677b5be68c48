"""Runs the LSP door until it ends: over stdio for one client, over TCP for as many as come."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from collections.abc import Callable
from typing import Any

from sidecar import shown
from sidecar.errors import InvalidParams
from sidecar.surfaces.lsp.channel import Channel, SocketStream, Stream, take_stdio
from sidecar.surfaces.lsp.frames import Message, Refused
from sidecar.surfaces.lsp.life import ClientLog, end_on_signals, exit_soon, outlived
from sidecar.surfaces.lsp.server import ServiceSource, SharedService, SidecarServer, make_server
from sidecar.tools.assemble import make_sessions

FLUSH_WAIT_S = 2.0
EXIT_WAIT_S = 5.0


def run_stdio(source: ServiceSource, *, question_timeout_s: float | None = None) -> int:
    """Serves the one client at stdin and stdout; returns the exit status.

    0 after `shutdown` and `exit`; 1 when the client left without `shutdown` or died; 128 + n after signal n. fd 1
    becomes stderr before anything else, so that nothing printed can reach the protocol.
    """
    stream = take_stdio()

    async def serve() -> int:
        ending: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        end_on_signals(lambda status: _resolve(ending, status))
        server = make_server(source, question_timeout_s=question_timeout_s)
        status = await _session(stream, server, ending, watch_client=True)
        exit_soon(status, EXIT_WAIT_S)
        return status

    return asyncio.run(serve())


def run_tcp(source: ServiceSource, host: str, port: int, *, question_timeout_s: float | None = None) -> int:
    """Serves every client that connects, each in a session of its own, on one service; ends by a signal.

    The first client's settings hold. Says on stderr where it listens (port 0 takes a free one). There is no
    authentication: whoever reaches the port may use it. Raises `InvalidParams` where it cannot listen.
    """
    shared, sessions = SharedService(source), make_sessions()

    def make() -> SidecarServer:
        return make_server(shared, question_timeout_s=question_timeout_s, closes_service=False, sessions=sessions)

    return asyncio.run(_serve_tcp(shared, _listening(host, port), make))


async def serve_connection(connection: socket.socket, server: SidecarServer) -> None:
    """One client on a connected socket, in the running loop, until it leaves or the task is cancelled.

    Whether the client still lives is for the caller to see: this ends with the connection.
    """
    ending: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    await _session(SocketStream(connection), server, ending, watch_client=False)


def _listening(host: str, port: int) -> socket.socket:
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen()
    except (OSError, OverflowError) as error:
        raise InvalidParams(f"Cannot listen on {host}:{port}: {error}") from error
    listener.setblocking(False)
    return listener


async def _serve_tcp(shared: SharedService, listener: socket.socket, make: Callable[[], SidecarServer]) -> int:
    loop = asyncio.get_running_loop()
    ending: asyncio.Future[int] = loop.create_future()
    end_on_signals(lambda status: _resolve(ending, status))
    host, port = listener.getsockname()[:2]
    sys.stderr.write(shown.line(f"sidecar: LSP on {host}:{port}") + "\n")  # how a caller learns the port
    sys.stderr.flush()
    sessions: set[asyncio.Task[int]] = set()
    accepting = loop.create_task(_accept(listener, make, sessions))
    status = await ending
    accepting.cancel()
    for session in sessions:
        session.cancel()
    await asyncio.gather(accepting, *sessions, return_exceptions=True)
    listener.close()
    await shared.close()
    exit_soon(status, EXIT_WAIT_S)
    return status


async def _accept(listener: socket.socket, make: Callable[[], SidecarServer], sessions: set[asyncio.Task[int]]) -> None:
    loop = asyncio.get_running_loop()
    while True:
        connection, _ = await loop.sock_accept(listener)
        ending: asyncio.Future[int] = loop.create_future()
        session = loop.create_task(_session(SocketStream(connection), make(), ending, watch_client=False))
        sessions.add(session)
        session.add_done_callback(sessions.discard)


async def _session(stream: Stream, server: SidecarServer, ending: asyncio.Future[int], *, watch_client: bool) -> int:
    """One client from the first byte to the last; `ending` is resolved by whatever ends it first."""
    loop = asyncio.get_running_loop()

    def over() -> None:
        _resolve(ending, 0 if server.protocol.shut_down else 1)

    def received(event: Message | Refused) -> None:
        _from_thread(loop, server.protocol.receive, event)

    channel = Channel(stream, received, lambda: _from_thread(loop, over))
    server.attach(channel.send, over)
    with ClientLog(server.protocol.notify, server.hears):
        channel.start()
        watching = loop.create_task(_watch_client(server, over)) if watch_client else None
        try:
            status = await ending
        except asyncio.CancelledError:
            status = 0
        if watching is not None:
            watching.cancel()
        await server.wind_down()
        await asyncio.sleep(0)  # answers of what was cancelled are sent by callbacks
    await loop.run_in_executor(None, channel.close, FLUSH_WAIT_S)
    return status


async def _watch_client(server: SidecarServer, over: Callable[[], None]) -> None:
    """Ends the session when the process that `initialize` names is gone, though its pipe may be held by others."""
    await server.known_client.wait()
    if server.client_pid is not None:
        await outlived(server.client_pid)
        over()


def _resolve(ending: asyncio.Future[int], status: int) -> None:
    if not ending.done():
        ending.set_result(status)


def _from_thread(loop: asyncio.AbstractEventLoop, call: Callable[..., Any], *arguments: Any) -> None:
    with contextlib.suppress(RuntimeError):  # the loop has ended
        loop.call_soon_threadsafe(call, *arguments)
