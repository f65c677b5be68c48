"""Registers the clients of one server object as sessions: over stdio one for the whole connection, over HTTP one per
call."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

from mcp.server.context import ServerRequestContext

from sidecar.tools.sessions import Session, Sessions

Ctx = ServerRequestContext[Any]


class Clients:
    """The clients of one server object.

    `one`: all calls come from one client, which names itself in its first message.
    """

    def __init__(self, sessions: Sessions, one: bool) -> None:
        self._sessions = sessions
        self._one = one
        self._session: Session | None = None

    @contextlib.asynccontextmanager
    async def calling(self, ctx: Ctx, workspace: str) -> AsyncIterator[Session]:
        """Yields the session that a call belongs to."""
        if self._one:
            yield self._stay(ctx, workspace)
            return
        session = self._sessions.attach("mcp", *_name(ctx), workspaces=[workspace])
        try:
            yield session
        finally:
            session.detach()

    def come(self, ctx: Ctx, workspace: str) -> None:
        """Registers the client when it is ready, before its first call."""
        if self._one:
            self._stay(ctx, workspace)

    def leave(self) -> None:
        """Removes the client from the registry."""
        session, self._session = self._session, None
        if session is not None:
            session.detach()

    def _stay(self, ctx: Ctx, workspace: str) -> Session:
        if self._session is None:
            self._session = self._sessions.attach("mcp", *_name(ctx), workspaces=[workspace])
        self._session.introduce(*_name(ctx), workspaces=[workspace])
        return self._session


def _name(ctx: Ctx) -> tuple[str, str]:
    """Returns the name that the client gives itself, to show in a question, and its version."""
    client = ctx.session.client_params
    if client is None:
        return "An agent", ""
    return (client.client_info.title or client.client_info.name or "An agent")[:80], client.client_info.version[:40]
