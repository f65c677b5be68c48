"""Work-done progress of one call, under the client's token or under one that the server asks the client to create.

Without a token nothing is reported. Reports come from the tool's thread, and at most ten a second are sent.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeAlias

from sidecar import shown

INTERVAL_S = 0.1
CREATE_WAIT_S = 1.0
"""How long `finish` waits for the client to create a token."""

Token: TypeAlias = str | int


class ProgressWire(Protocol):
    """The part of the connection that progress needs."""

    def notify(self, method: str, params: Any) -> None:
        """Sends a notification."""

    def request(self, method: str, params: Any) -> Awaitable[Any]:
        """Sends a request and returns its result."""


class WorkDone:
    """The engine's `Progress`, which may be called from any thread; call `finish` on the event loop.

    `created` gets the token of this work, so that a cancellation by the user finds its call.
    """

    def __init__(
        self, wire: ProgressWire, title: str, token: Token | None, may_create: bool, created: Callable[[Token], None]
    ) -> None:
        self._wire = wire
        self._title = title
        self._created = created
        self._may_create = may_create
        self._loop = asyncio.get_running_loop()
        self._token: Token | None = None
        self._opening: asyncio.Task[None] | None = None
        self._latest: tuple[int, int, str] | None = None
        self._percentage = 0
        self._waiting = False
        self._closed = False
        if token is not None:
            self._begin(token)

    def __call__(self, done: int, total: int, message: str) -> None:
        """Shows this state soon; may be called from any thread. Only the latest of several states is sent."""
        self._latest = (done, total, message)
        if not self._waiting and not self._closed:
            self._waiting = True
            try:
                self._loop.call_soon_threadsafe(self._arrived)
            except RuntimeError:
                self._closed = True  # the loop has ended, and the work is being cancelled

    async def finish(self, message: str) -> None:
        """Ends the progress that was begun. If the client has been asked for a token, it has `CREATE_WAIT_S` to
        answer."""
        if self._opening is not None and not self._opening.done():
            await asyncio.wait({self._opening}, timeout=CREATE_WAIT_S)
        self._report()
        self._closed = True
        if self._token is not None:
            self._send({"kind": "end", "message": message})

    def _arrived(self) -> None:
        if self._closed:
            return
        if self._token is None and self._may_create and self._opening is None:
            self._opening = self._loop.create_task(self._open())
        self._report()
        self._loop.call_later(INTERVAL_S, self._next)

    def _next(self) -> None:
        self._waiting = False
        self._report()

    async def _open(self) -> None:
        token = f"sidecar-{uuid.uuid4().hex[:12]}"
        try:
            await self._wire.request("window/workDoneProgress/create", {"token": token})
        except Exception:  # a client that refuses the token gets no progress
            return
        if not self._closed:
            self._begin(token)
            self._report()

    def _begin(self, token: Token) -> None:
        self._token = token
        self._created(token)
        self._send({"kind": "begin", "title": self._title, "cancellable": True, "percentage": 0})

    def _report(self) -> None:
        if self._closed or self._token is None or self._latest is None:
            return
        (done, total, message), self._latest = self._latest, None
        value: dict[str, Any] = {"kind": "report", "cancellable": True, "message": message}
        if total > 0:
            self._percentage = max(self._percentage, min(100, done * 100 // total))
            value["percentage"] = self._percentage
        self._send(value)

    def _send(self, value: dict[str, Any]) -> None:
        words = {name: shown.sentence(value[name]) for name in ("title", "message") if name in value}
        self._wire.notify("$/progress", {"token": self._token, "value": {**value, **words}})
