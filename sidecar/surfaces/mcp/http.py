"""MCP over streamable HTTP, as an application. The caller listens, checks the token and serves the other routes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from mcp.server.transport_security import TransportSecuritySettings
from mcp.types import INVALID_REQUEST, JSONRPCError

from sidecar.surfaces.mcp.messages import as_line, parse, refusal
from sidecar.surfaces.mcp.server import make_server
from sidecar.tools.service import Service
from sidecar.tools.sessions import Sessions

MAX_BYTES = 16 * 1024**2
"""Bytes of the largest message, as in REST."""
MAX_SECONDS = 30.0
"""Time in which a message must arrive, in seconds, as in REST."""


def make_http_app(
    service: Service, workspace: str, hosts: Iterable[str] | None, path: str, sessions: Sessions | None = None
) -> Any:
    """Returns an ASGI application. Its `router.lifespan_context` must be entered while it serves.

    `hosts` are the values of Host that name this server; an Origin must be `http://` followed by one of them. None is
    for a group's server: the caller has checked the headers, each call names its workspace, and there is no status
    resource. Sessions are stateful, so that a question can be asked in the middle of a call. `sessions` is this
    process's registry.
    """
    allowed = sorted(hosts or ())
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=hosts is not None,
        allowed_hosts=allowed,
        allowed_origins=[f"http://{host}" for host in allowed],
    )
    server = make_server(service, workspace, one_client=False, sessions=sessions, for_group=hosts is None)
    app = server.streamable_http_app(
        streamable_http_path=path, transport_security=security, max_request_body_size=MAX_BYTES
    )
    app.add_middleware(Reader)
    return app


class Reader:
    """Answers a body that is not a message (as over stdio) or does not arrive in time; one that is too long is left to
    the SDK."""

    def __init__(self, app: Any, seconds: float = MAX_SECONDS) -> None:
        self._app = app
        self._seconds = seconds

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serves one request, as ASGI. Only the bodies of POST requests are read here."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        try:
            async with asyncio.timeout(self._seconds):
                body, said = await _read(receive)
        except TimeoutError:
            late = f"The message did not arrive within {self._seconds:g} seconds."
            await _refuse(refusal(INVALID_REQUEST, late), send, status=408)
            return
        refused = parse(body) if body is not None else None
        if isinstance(refused, JSONRPCError):
            await _refuse(refused, send)
            return

        async def again() -> Any:
            return said.pop(0) if said else await receive()

        await self._app(scope, again, send)


async def _read(receive: Any) -> tuple[bytes | None, list[Any]]:
    """Returns the body, or None if it is too long or incomplete, and the ASGI messages that were received."""
    said: list[Any] = []
    body = bytearray()
    while len(body) <= MAX_BYTES:
        message = await receive()
        said.append(message)
        if message["type"] != "http.request":
            return None, said
        body += message.get("body", b"")
        if not message.get("more_body", False):
            return (bytes(body) if len(body) <= MAX_BYTES else None), said
    return None, said


async def _refuse(refused: JSONRPCError, send: Any, status: int = 400) -> None:
    body = as_line(refused)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
