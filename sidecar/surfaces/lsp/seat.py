"""The person at one editor, as the other doors of this process see them.

The other doors can ask them a question, show them work and tell them about activity.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from sidecar.surfaces.lsp.confirm import Confirmer
from sidecar.surfaces.lsp.progress import ProgressWire, Token, WorkDone
from sidecar.tools.activity import ActivityChanged
from sidecar.tools.dialect import CODE_SEARCH
from sidecar.tools.sessions import Closing
from sidecar.tools.spec import Answer, Question

INTERVAL_S = 0.2


class Stops:
    """What ends the work behind each progress token."""

    def __init__(self) -> None:
        self._by_token: dict[Token, Callable[[], object]] = {}

    def add(self, token: Token, stop: Callable[[], object]) -> None:
        """Registers what ends the work behind this token."""
        self._by_token[token] = stop

    def discard(self, token: Token) -> None:
        """Forgets this token."""
        self._by_token.pop(token, None)

    def stop(self, token: Any) -> None:
        """Ends the work behind this token, because the user has cancelled it. Ignores an unknown token."""
        found = self._by_token.get(token) if isinstance(token, str | int) else None
        if found is not None:
            found()


class EditorClient:
    """Implements `sidecar.tools.sessions.Editor` for one client. Lives on the event loop."""

    def __init__(
        self,
        wire: ProgressWire,
        asker: Confirmer,
        stops: Stops,
        summary: Callable[[], ActivityChanged],
        interval_s: float = INTERVAL_S,
    ) -> None:
        self._wire = wire
        self._asker = asker
        self._stops = stops
        self._summary = summary
        self._interval_s = interval_s
        self._pausing = False
        self._due = False
        self._left = False
        self.may_create_progress = False

    def can_ask(self) -> bool:
        """Whether the client can show a question."""
        return self._asker.can_ask()

    async def ask(self, question: Question, closing: Closing) -> Answer:
        """Asks the person at the editor."""
        return await self._asker.ask(question, closing)

    def begin(self, title: str, cancel: Callable[[], None]) -> Shown:
        """Shows work of another session as progress; `cancel` is called when the user cancels it."""
        return Shown(self._wire, title, self.may_create_progress and not self._left, self._stops, cancel)

    def activity_changed(self) -> None:
        """Notifies the client at most five times a second; the last change is always reported."""
        self._due = True
        if not self._pausing and not self._left:
            self._tell()

    def leave(self) -> None:
        """Marks the client as gone."""
        self._left = True
        self._asker.leave()

    def _tell(self) -> None:
        self._due, self._pausing = False, True
        self._wire.notify("sidecar/activityChanged", CODE_SEARCH.shape(self._summary()))
        asyncio.get_running_loop().call_later(self._interval_s, self._resume)

    def _resume(self) -> None:
        self._pausing = False
        if self._due and not self._left:
            self._tell()


class Shown:
    """Work of another session, shown as progress under a token that the server asks the client to create."""

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
        """Shows this state soon; called from any thread."""
        self._work(done, total, message)

    def finish(self, message: str) -> None:
        """Ends the progress with this message."""
        self._ending = asyncio.get_running_loop().create_task(self._finish(message))

    async def _finish(self, message: str) -> None:
        await self._work.finish(message)
        if self._token is not None:
            self._stops.discard(self._token)
