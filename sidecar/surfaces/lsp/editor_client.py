"""The person at one editor, as the other doors of this process see them.

The other doors can ask this person a question, show work as progress and report activity.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

from sidecar.surfaces.lsp.confirm import Asked, Confirmer
from sidecar.surfaces.lsp.progress import ProgressWire, Token, WorkDone
from sidecar.tools.activity import ActivityChanged
from sidecar.tools.dialect import CODE_SEARCH

INTERVAL_S = 0.2


class Stops:
    """The functions that cancel the work behind each progress token."""

    def __init__(self) -> None:
        self._by_token: dict[Token, Callable[[], object]] = {}

    def add(self, token: Token, stop: Callable[[], object]) -> None:
        """Registers the function that cancels the work behind this token."""
        self._by_token[token] = stop

    def discard(self, token: Token) -> None:
        """Forgets this token."""
        self._by_token.pop(token, None)

    def stop(self, token: Any) -> None:
        """Cancels the work behind this token, because the user asked for that. Ignores an unknown token."""
        found = self._by_token.get(token) if isinstance(token, str | int) else None
        if found is not None:
            found()


class EditorWire(Asked, ProgressWire, Protocol):
    """The part of the connection that questions and progress need."""


class EditorClient(Confirmer):
    """Implements `sidecar.tools.sessions.Editor` for one client. Lives on the event loop."""

    def __init__(
        self,
        wire: EditorWire,
        can_ask: Callable[[], bool],
        timeout_s: Callable[[], float],
        stops: Stops,
        summary: Callable[[], ActivityChanged],
        interval_s: float = INTERVAL_S,
    ) -> None:
        super().__init__(wire, can_ask, timeout_s)
        self._editor = wire
        self._stops = stops
        self._summary = summary
        self._interval_s = interval_s
        self._pausing = False
        self._due = False
        self.may_create_progress = False

    def begin(self, title: str, cancel: Callable[[], None]) -> Shown:
        """Shows the work of another session as progress; `cancel` is called if the user cancels it."""
        return Shown(self._editor, title, self.may_create_progress and not self.left, self._stops, cancel)

    def activity_changed(self) -> None:
        """Notifies the client at most five times a second; the last change is always reported."""
        self._due = True
        if not self._pausing and not self.left:
            self._tell()

    def _tell(self) -> None:
        self._due, self._pausing = False, True
        self._editor.notify("sidecar/activityChanged", CODE_SEARCH.shape(self._summary()))
        asyncio.get_running_loop().call_later(self._interval_s, self._resume)

    def _resume(self) -> None:
        self._pausing = False
        if self._due and not self.left:
            self._tell()


class Shown:
    """The work of another session, shown as progress under a token that the server asks the client to create."""

    def __init__(
        self, wire: ProgressWire, title: str, may_create: bool, stops: Stops, cancel: Callable[[], None]
    ) -> None:
        self._stops = stops
        self._token: Token | None = None
        self._ending: asyncio.Task[None] | None = None

        def created(token: Token) -> None:
            self._token = token
            stops.add(token, cancel)

        self._work = WorkDone(wire, title, None, may_create, created)

    def __call__(self, done: int, total: int, message: str) -> None:
        """Shows this state soon; may be called from any thread."""
        self._work(done, total, message)

    def finish(self, message: str) -> None:
        """Ends the progress with this message."""
        self._ending = asyncio.get_running_loop().create_task(self._finish(message))

    async def _finish(self, message: str) -> None:
        await self._work.finish(message)
        if self._token is not None:
            self._stops.discard(self._token)
