"""JSON-RPC lines over two file descriptors or a socket: whole lines in, whole lines out, and nothing else.

The SDK's own stdio transport is not used for four reasons: it stays blocked in `read` when the process is asked to end,
it reads a line of any length into memory, it never answers a line that is not JSON, and a client that does not read
blocks it forever.

The SDK's server and `server.py` interpret the messages; `stdio.py` handles the life of the process.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp.types import INVALID_REQUEST, JSONRPCError

from sidecar.surfaces.mcp.messages import as_line, parse, refusal

MAX_LINE_BYTES = 64 * 1024 * 1024
READ_BYTES = 256 * 1024


class Lines:
    """Cuts blocks of bytes into lines without their line ends; None stands for a line longer than `limit` bytes. Blank
    lines are left out."""

    def __init__(self, limit: int = MAX_LINE_BYTES) -> None:
        self._limit = limit
        self._held: list[bytes] = []
        self._size = 0

    def feed(self, block: bytes) -> Iterator[bytes | None]:
        """Yields the lines that end in this block."""
        *ends, rest = block.split(b"\n")
        for end in ends:
            self._size += len(end)
            line = b"".join((*self._held, end)) if self._size <= self._limit else None
            self._held, self._size = [], 0
            if line is None or line.strip():
                yield line
        self._size += len(rest)
        self._held = [*self._held, rest] if self._size <= self._limit else []

    def rest(self) -> Iterator[bytes]:
        """Yields what follows the last line end, at the end of the stream."""
        if (line := b"".join(self._held)).strip():
            yield line


def parse_line(line: bytes | None) -> SessionMessage | JSONRPCError:
    """Returns the message, or the error that JSON-RPC demands as the answer. None stands for a line that is too
    long."""
    if line is None:
        return refusal(INVALID_REQUEST, f"The message is longer than {MAX_LINE_BYTES // 1024**2} MiB.")
    return parse(line)


class Wire:
    """The two streams that the SDK's server runs on. Use it as an asynchronous context manager.

    `lost` is set when the client has closed its reading end.
    """

    def __init__(self) -> None:
        self.lost = asyncio.Event()

    async def __aenter__(
        self,
    ) -> tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]:
        self._loop = asyncio.get_running_loop()
        self._to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        to_client, self._from_server = anyio.create_memory_object_stream[SessionMessage](0)
        self.start()
        self._forwarding = asyncio.create_task(self._forward())
        return from_client, to_client

    async def __aexit__(self, *_: object) -> None:
        await self.leave()
        await _cancelled(self._forwarding)

    def start(self) -> None:
        """Begins to read."""
        raise NotImplementedError

    async def leave(self) -> None:
        """Called when the server has ended; the message that it has sent last may still be on its way."""

    async def send(self, line: bytes) -> bool:
        """Writes a line. Returns False if the client has closed its reading end."""
        raise NotImplementedError

    async def take(self, line: bytes | None) -> None:
        """Passes a line on to the server, and waits until it has accepted it, so that nothing is read faster than the
        server works."""
        parsed = parse_line(line)
        if isinstance(parsed, JSONRPCError):
            await self._send(parsed)
            return
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self._to_server.send(parsed)

    def close_input(self) -> None:
        """Ends the session, because its input is no longer read."""
        self._to_server.close()

    async def _forward(self) -> None:
        async for sent in self._from_server:
            await self._send(sent.message)

    async def _send(self, message: Any) -> None:
        if not await self.send(as_line(message)):
            self.lost.set()


class PipeWire(Wire):
    """Two file descriptors, served by two daemon threads that never keep the process alive."""

    def __init__(self, fd_in: int, fd_out: int) -> None:
        super().__init__()
        self._fd_in = fd_in
        self._fd_out = fd_out
        self._outgoing: queue.SimpleQueue[tuple[bytes, Callable[[bool], None]] | None] = queue.SimpleQueue()

    def start(self) -> None:
        """Starts the threads."""
        for work in (self._read, self._write):
            threading.Thread(target=work, name=f"mcp{work.__name__}", daemon=True).start()

    async def leave(self) -> None:
        """Lets the writing thread end."""
        self._outgoing.put(None)

    async def send(self, line: bytes) -> bool:
        """Has the line written. Returns False if the client has closed its reading end."""
        written: asyncio.Future[bool] = self._loop.create_future()

        def settle(intact: bool) -> None:
            if not written.done():
                written.set_result(intact)

        def tell(intact: bool) -> None:
            self._loop.call_soon_threadsafe(settle, intact)

        self._outgoing.put((line, tell))
        return await written

    def _read(self) -> None:
        """Runs in its own thread."""
        lines = Lines()
        try:
            with contextlib.suppress(OSError, RuntimeError):
                while block := os.read(self._fd_in, READ_BYTES):
                    self._take(lines.feed(block))
                self._take(lines.rest())
        finally:  # a session ends when its input is no longer read, whatever the reason
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self.close_input)

    def _take(self, lines: Iterator[bytes | None]) -> None:
        for line in lines:
            asyncio.run_coroutine_threadsafe(self.take(line), self._loop).result()

    def _write(self) -> None:
        """Runs in its own thread, so that a client that does not read blocks nothing else."""
        while (taken := self._outgoing.get()) is not None:
            line, tell = taken
            with contextlib.suppress(RuntimeError):
                tell(self._write_whole(line))

    def _write_whole(self, line: bytes) -> bool:
        rest = memoryview(line)
        try:
            while rest:
                rest = rest[os.write(self._fd_out, rest) :]
        except OSError:
            return False
        return True


class SocketWire(Wire):
    """A connected socket, which the event loop itself reads and writes, so that a message changes no threads."""

    def __init__(self, connection: socket.socket, leaving_s: float) -> None:
        """`leaving_s`: how long the last message may take to be written after the server has ended."""
        super().__init__()
        connection.setblocking(False)
        self._connection = connection
        self._leaving_s = leaving_s
        self._writing = asyncio.Lock()

    def start(self) -> None:
        """Starts the task that reads."""
        self._reading = asyncio.create_task(self._read())

    async def leave(self) -> None:
        """Stops reading, and waits until the last message is written."""
        await _cancelled(self._reading)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._leaving_s), self._writing:
                return

    async def send(self, line: bytes) -> bool:
        """Writes the line. Returns False if the client has closed its reading end."""
        async with self._writing:
            try:
                await self._loop.sock_sendall(self._connection, line)
            except OSError:
                return False
        return True

    async def _read(self) -> None:
        lines = Lines()
        try:
            with contextlib.suppress(OSError):
                while block := await self._loop.sock_recv(self._connection, READ_BYTES):
                    for line in lines.feed(block):
                        await self.take(line)
                    await asyncio.sleep(0)  # other sessions go on beside a client that sends without end
                for line in lines.rest():
                    await self.take(line)
        finally:
            self.close_input()


async def _cancelled(task: asyncio.Task[None]) -> None:
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task
