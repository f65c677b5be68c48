"""Decides who may call: an ASGI layer around everything on the port, including MCP.

A page in a browser can send requests to this machine, and by DNS rebinding even as if it came from the same site. For
that reason Host and Origin are checked besides the token. What a request asks for is not examined here.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Collection, MutableMapping, Sequence
from typing import Any, TypeAlias

from sidecar.surfaces.http.faults import RequestFault, foreign, json_bytes, too_many, unauthorized
from sidecar.surfaces.loopback.admission import Admission

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
Headers: TypeAlias = Sequence[tuple[bytes, bytes]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

CONNECTION = "sidecar.connection"
"""Key in the state of a request's scope: its value is the key under which `Admission` knows the connection."""

HEADERS = ((b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))
"""Headers of every response: answers hold source code, which must not be cached, and are never a page."""


class Guard:
    """Passes on a request that names this server, comes from no foreign page and carries the token.

    `hosts` are the allowed values of Host (such as `127.0.0.1:7777`); an Origin must be `http://` followed by one of
    them. `admission` records which connections have shown the token.
    """

    def __init__(self, app: App, token: str, hosts: frozenset[str]) -> None:
        self.admission = Admission()
        self._app = app
        self._token = token.encode()
        self._hosts = {host.encode() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one request, or the start and stop of the server, as ASGI. A WebSocket is closed at once."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        fault = self._fault(scope["headers"]) if scope["type"] == "http" else None
        if fault is None and scope["type"] == "http" and not self._admitted(scope):
            fault = too_many()
        if fault is not None:
            await refuse(fault, send)
            return
        await self._app(scope, receive, send)

    def _admitted(self, scope: Scope) -> bool:
        return self.admission.admit(scope.get("state", {}).get(CONNECTION))

    def _fault(self, headers: Headers) -> RequestFault | None:
        fault = is_named(headers, self._hosts, (b"http",))
        if fault is not None:
            return fault
        given = bearer(headers)
        return None if given is not None and hmac.compare_digest(given, self._token) else unauthorized()


def is_named(headers: Headers, hosts: Collection[bytes], schemes: Collection[bytes]) -> RequestFault | None:
    """Returns a fault if Host is none of `hosts`, or Origin is not a scheme of `schemes` with one of them; otherwise
    None."""
    given = _values(headers, b"host")
    if len(given) != 1 or given[0].lower() not in hosts:
        return foreign("Host")
    for origin in _values(headers, b"origin"):
        scheme, _, host = origin.lower().partition(b"://")
        if scheme not in schemes or host not in hosts:
            return foreign("Origin")
    return None


def bearer(headers: Headers) -> bytes | None:
    """Returns the token of a request; None if it has no Authorization header, more than one, or another scheme than
    Bearer."""
    given = _values(headers, b"authorization")
    if len(given) != 1:
        return None
    scheme, _, token = given[0].partition(b" ")
    return token.strip() if scheme.lower() == b"bearer" else None


def _values(headers: Headers, name: bytes) -> list[bytes]:
    return [value.strip() for key, value in headers if key.lower() == name]


async def refuse(fault: RequestFault, send: Send) -> None:
    """Sends the whole response itself, because nothing behind this layer may see a refused request.

    The connection is closed afterwards, so a client without the token keeps none open.
    """
    body = json_bytes(fault.as_dict())
    headers = [(name.lower().encode(), value.encode()) for name, value in fault.headers.items()]
    headers += [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    headers += [(b"connection", b"close"), *HEADERS]
    await send({"type": "http.response.start", "status": fault.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
