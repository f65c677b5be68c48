"""Runs the LSP door for one client, on stdin and stdout or on a socket. `tcp.py` serves many clients."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable
from typing import Any

from sidecar.stdio import take_stdio
from sidecar.surfaces.lsp.channel import Channel, PipeStream, SocketStream, Stream
from sidecar.surfaces.lsp.frames import MAX_MESSAGE_BYTES, Message, Refused
from sidecar.surfaces.lsp.life import ClientLog, end_on_signals, exit_soon, outlived
from sidecar.surfaces.lsp.server import ServiceSource, SidecarServer, make_server

FLUSH_WAIT_S = 2.0
"""How long the last messages may take to reach the client."""
EXIT_WAIT_S = 5.0
"""How long the engine's threads may delay the end of the process."""


def run_stdio(source: ServiceSource, *, question_timeout_s: float | None = None) -> int:
    """Serves one client at stdin and stdout, and returns the exit status.

    The status is 0 after `shutdown` and `exit`, 1 if the client left without `shutdown` or died, and 128 + n after
    signal n. First of all, file descriptor 1 becomes stderr, so that nothing that is printed can corrupt the protocol.
    """
    stream = PipeStream(*take_stdio())

    async def serve() -> int:
        ending: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        end_on_signals(lambda status: resolve(ending, status))
        server = make_server(source, question_timeout_s=question_timeout_s)
        status = await session(stream, server, ending, watch_client=True)
        exit_soon(status, EXIT_WAIT_S)
        return status

    return asyncio.run(serve())


async def serve_connection(connection: socket.socket, server: SidecarServer) -> None:
    """Serves one client on a connected socket, in the running loop, until it leaves or the task is cancelled.

    The session ends with the connection. The caller must watch whether the client's process is alive.
    """
    ending: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    await session(SocketStream(connection), server, ending, watch_client=False)


async def session(
    stream: Stream,
    server: SidecarServer,
    ending: asyncio.Future[int],
    *,
    watch_client: bool,
    longest_before_initialize: int = MAX_MESSAGE_BYTES,
) -> int:
    """Serves one client from its first byte to its last, and returns the exit status.

    Whatever ends the session first resolves `ending`.
    """
    loop = asyncio.get_running_loop()

    def over() -> None:
        resolve(ending, 0 if server.protocol.shut_down else 1)

    def received(event: Message | Refused) -> None:
        _from_thread(loop, server.protocol.receive, event)

    def longest() -> int:
        return MAX_MESSAGE_BYTES if server.protocol.initialized else longest_before_initialize

    channel = Channel(stream, received, lambda: _from_thread(loop, over), longest)
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
        await asyncio.sleep(0)  # lets callbacks send the answers to cancelled requests
    await loop.run_in_executor(None, channel.close, FLUSH_WAIT_S)
    return status


async def _watch_client(server: SidecarServer, over: Callable[[], None]) -> None:
    """Ends the session when the process that `initialize` names has ended.

    The end of the stream does not suffice, because other processes may hold the client's pipe open.
    """
    await server.known_client.wait()
    if server.client_pid is not None:
        await outlived(server.client_pid)
        over()


def resolve(ending: asyncio.Future[int], status: int) -> None:
    """Sets the result, unless the future is already done."""
    if not ending.done():
        ending.set_result(status)


def _from_thread(loop: asyncio.AbstractEventLoop, call: Callable[..., Any], *arguments: Any) -> None:
    """Calls `call` on the event loop, from any thread."""
    with contextlib.suppress(RuntimeError):  # the loop has ended
        loop.call_soon_threadsafe(call, *arguments)
