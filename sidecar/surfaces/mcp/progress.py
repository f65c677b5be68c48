"""Carries a tool's progress from its thread to the client, as MCP progress notifications."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from sidecar import shown

Send = Callable[[float, float | None, str | None], Awaitable[None]]


class ProgressRelay:
    """A `Progress` that sends reports to the client in order, each with more done than the last, as the protocol
    demands.

    A slow client gets the newest report, not all of them. Use it as an asynchronous context manager: the last report
    has been sent when the block ends, so that none follows the result.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._loop = asyncio.get_running_loop()
        self._newest: tuple[int, int, str] | None = None
        self._sent = -1
        self._over = False
        self._fresh = asyncio.Event()
        self._sending: asyncio.Task[None] | None = None

    def __call__(self, done: int, total: int, message: str) -> None:
        """Reports progress, from any thread."""
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._take, done, total, message)

    async def __aenter__(self) -> ProgressRelay:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._over = True
        if self._sending is None:  # as most calls report nothing
            return
        if kind is None:
            self._fresh.set()
        else:
            self._sending.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._sending

    def _take(self, done: int, total: int, message: str) -> None:
        self._newest = (done, total, message)
        self._fresh.set()
        if self._sending is None and not self._over:
            self._sending = asyncio.create_task(self._keep_sending())

    async def _keep_sending(self) -> None:
        while not self._over or self._fresh.is_set():
            await self._fresh.wait()
            self._fresh.clear()
            if self._newest is not None and self._newest[0] > self._sent:
                done, total, message = self._newest
                self._sent = done
                await self._send(done, total or None, shown.sentence(message) or None)
