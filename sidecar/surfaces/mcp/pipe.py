"""JSON-RPC lines over two file descriptors: whole lines in, whole lines out, and nothing else.

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


def read_lines(fd: int, limit: int = MAX_LINE_BYTES) -> Iterator[bytes | None]:
    """Yields lines without their line ends until the stream ends; None stands for a line longer than `limit` bytes."""
    held: list[bytes] = []
    size = 0
    while block := os.read(fd, READ_BYTES):
        *ends, rest = block.split(b"\n")
        for end in ends:
            size += len(end)
            yield b"".join((*held, end)) if size <= limit else None
            held, size = [], 0
        size += len(rest)
        held = [*held, rest] if size <= limit else []
    if held:
        yield b"".join(held)


def parse_line(line: bytes | None) -> SessionMessage | JSONRPCError:
    """Returns the message, or the error that JSON-RPC demands as the answer. None stands for a line that is too
    long."""
    if line is None:
        return refusal(INVALID_REQUEST, f"The message is longer than {MAX_LINE_BYTES // 1024**2} MiB.")
    return parse(line)


class Wire:
    """The two streams that the SDK's server runs on, served by two daemon threads that never keep the process alive.

    `lost` is set when the client has closed its reading end. Use it as an asynchronous context manager.
    """

    def __init__(self, fd_in: int, fd_out: int) -> None:
        self._fd_in = fd_in
        self._fd_out = fd_out
        self._outgoing: queue.SimpleQueue[tuple[bytes, Callable[[bool], None]] | None] = queue.SimpleQueue()
        self.lost = asyncio.Event()
        self._threads = (
            threading.Thread(target=self._read, name="mcp-read", daemon=True),
            threading.Thread(target=self._write, name="mcp-write", daemon=True),
        )

    def join(self, timeout_s: float) -> bool:
        """Waits, and returns whether both threads have ended, so that the descriptors may be closed.

        It blocks, so it must not be called on the event loop's thread.
        """
        for thread in self._threads:
            thread.join(timeout_s)
        return not any(thread.is_alive() for thread in self._threads)

    async def __aenter__(
        self,
    ) -> tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]:
        self._loop = asyncio.get_running_loop()
        self._to_server, from_client = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        to_client, self._from_server = anyio.create_memory_object_stream[SessionMessage](0)
        for thread in self._threads:
            thread.start()
        self._forwarding = asyncio.create_task(self._forward())
        return from_client, to_client

    async def __aexit__(self, *_: object) -> None:
        self._forwarding.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._forwarding
        self._outgoing.put(None)

    def _read(self) -> None:
        """Runs in its own thread. It reads no faster than the server works, because each message waits until it is
        accepted."""
        try:
            with contextlib.suppress(OSError, RuntimeError):
                for line in read_lines(self._fd_in):
                    if line is not None and not line.strip():
                        continue
                    parsed = parse_line(line)
                    if isinstance(parsed, JSONRPCError):
                        self._on_loop(self._send(parsed))
                    else:
                        self._on_loop(self._deliver(parsed))
        finally:  # a session ends when its input is no longer read, whatever the reason
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._to_server.close)

    def _on_loop(self, work: Any) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _deliver(self, message: SessionMessage) -> None:
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self._to_server.send(message)

    async def _forward(self) -> None:
        async for sent in self._from_server:
            await self._send(sent.message)

    async def _send(self, message: Any) -> None:
        line = as_line(message)
        written = self._loop.create_future()

        def settle(intact: bool) -> None:
            if not written.done():
                written.set_result(intact)

        def tell(intact: bool) -> None:
            self._loop.call_soon_threadsafe(settle, intact)

        self._outgoing.put((line, tell))
        if not await written:
            self.lost.set()

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
