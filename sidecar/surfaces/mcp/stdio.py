"""Runs `sidecar mcp` for one client over stdio or a socket, until the client leaves or a signal ends it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import threading
from typing import Any

from mcp.server.lowlevel import Server

from sidecar.stdio import take_stdio
from sidecar.surfaces.mcp.pipe import PipeWire, SocketWire, Wire
from sidecar.surfaces.mcp.server import make_server
from sidecar.tools.service import Service

CLOSING_SECONDS = 10.0
"""After a cancellation, running work has this long to end.

The vector store's process ends with this one in any case.
"""
LEAVING_SECONDS = 5.0
"""How long the last message of a connection may take to be written."""


def run_stdio(service: Service, workspace: str | None) -> int:
    """Serves until stdin ends, the client stops reading, or SIGTERM or SIGINT arrives.

    Closes the service and returns the exit status: 0, or 128 + n after signal n.
    """
    wire_in, wire_out = take_stdio()
    try:
        return asyncio.run(_serve(service, workspace, wire_in, wire_out))
    finally:
        backstop = threading.Timer(CLOSING_SECONDS, os._exit, (1,))
        backstop.daemon = True
        backstop.start()
        service.close()
        backstop.cancel()


async def serve_connection(connection: socket.socket, server: Server[Any]) -> None:
    """Serves one client on a connected socket, in the running loop, until it leaves or the task is cancelled."""
    try:
        await _run(server, SocketWire(connection, LEAVING_SECONDS), asyncio.get_running_loop().create_future())
    finally:
        with contextlib.suppress(OSError):  # the client has closed it already
            connection.shutdown(socket.SHUT_RDWR)


async def _serve(service: Service, workspace: str | None, wire_in: int, wire_out: int) -> int:
    signalled: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    _on_signals(signalled)
    return await _run(make_server(service, workspace), PipeWire(wire_in, wire_out), signalled)


async def _run(server: Server[Any], wire: Wire, signalled: asyncio.Future[int]) -> int:
    """Runs the server until the client leaves or a signal resolves `signalled`; returns the exit status."""
    async with wire as (read_stream, write_stream):
        serving = asyncio.create_task(server.run(read_stream, write_stream, server.create_initialization_options()))
        leaving = asyncio.create_task(wire.lost.wait())
        ends: list[asyncio.Future[Any]] = [serving, leaving, signalled]
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (serving, leaving):
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
    return signalled.result() if signalled.done() else 0


def _on_signals(signalled: asyncio.Future[int]) -> None:
    """Handles SIGTERM and SIGINT: the first signal ends the server and sets the exit status, 128 + its number as in
    shells."""

    def tell(number: int) -> None:
        if not signalled.done():
            signalled.set_result(128 + number)

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        try:
            loop.add_signal_handler(number, tell, number)
        except NotImplementedError:  # Windows
            signal.signal(number, lambda taken, _: loop.call_soon_threadsafe(tell, taken))
