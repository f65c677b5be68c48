"""One address for a group: the caller decides which workspaces and tools are available.

Each caller has an application of its own, with its own MCP sessions and open questions, so that nothing that belongs to
one can be reached with another's token. An application ends, and what runs in it is cancelled, as soon as its caller is
removed from the list or gets other rights.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable
from typing import Any

from sidecar.errors import SidecarError
from sidecar.surfaces.http.faults import RequestFault, token_in_url, too_many, too_often, unauthorized
from sidecar.surfaces.http.guard import CONNECTION, HEADERS, Receive, Scope, Send, bearer, is_named, refuse
from sidecar.surfaces.http.limits import CallerLimits
from sidecar.surfaces.http.metrics import CONTENT_TYPE, Metrics
from sidecar.surfaces.loopback.admission import SECONDS, Admission
from sidecar.tools.callers import TOKEN, CallerList, GroupCaller

HEALTH, METRICS = "/health", "/metrics"
LOOK_SECONDS = 1.0
"""Interval between checks of the list of callers while requests run."""
CONNECTIONS_PER_REQUEST = 2
"""A caller may have this many connections for each request that it may make at the same time: with as many MCP streams
as requests, it needs two."""
LOOPBACK = frozenset({"127.0.0.1", "::1"})
_TOKENS = "whoever runs the server gives you one, with sidecar serve token add"
logger = logging.getLogger("sidecar.group")


class Group:
    """The ASGI application around everything on the port of a server for a group.

    `make` returns the application of a caller. `hosts` are the allowed values of Host; None allows any, because
    workspaces and tools are protected by the token alone. `behind_proxy`: a connection from this machine may come from
    anybody, so the metrics need a token there too. `seconds`: see `admission.SECONDS`.
    """

    def __init__(
        self,
        callers: CallerList,
        make: Callable[[GroupCaller], Any],
        *,
        limits: CallerLimits,
        hosts: Iterable[str] | None = None,
        behind_proxy: bool = False,
        look_seconds: float = LOOK_SECONDS,
        seconds: float = SECONDS,
    ) -> None:
        # A proxy decides itself how many connections it needs, and whose request comes on which.
        most = {} if behind_proxy else {"most_of_each": CONNECTIONS_PER_REQUEST * limits.at_once}
        self.admission = Admission(**most, seconds=seconds)
        self.metrics = Metrics()
        self._callers = callers
        self._make = make
        self._limits = limits
        self._hosts = None if hosts is None else {host.encode() for host in hosts}
        self._behind_proxy = behind_proxy
        self._look_seconds = look_seconds
        self._open: dict[GroupCaller, _Open] = {}
        self._unusable = ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves one request, or the start and stop of the server, as ASGI. A WebSocket is closed at once."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        elif scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["path"] == HEALTH and scope["method"] in ("GET", "HEAD"):
            await _answer(send, b'{"status":"ok"}', b"application/json", close=True)
        else:
            await self._request(scope, receive, send)

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        fault = self._wrong(scope)
        caller = self._caller(scope) if fault is None else None
        if caller is None:
            if fault is None and scope["path"] == METRICS and self._is_local(scope):
                await _answer(send, self.metrics.text().encode(), CONTENT_TYPE.encode(), close=True)
                return
            fault = fault or unauthorized(_TOKENS)
            self.metrics.refused(fault.status)
            await refuse(fault, send)
            return
        end = self.metrics.begin(caller.name)
        answered = _Answered(send)
        try:
            await self._serve(caller, scope, receive, answered)
        finally:
            end(answered.status or 500)

    def _wrong(self, scope: Scope) -> RequestFault | None:
        """Returns the fault of a request that is refused no matter who sends it, or None."""
        if TOKEN.search(scope.get("query_string", b"").decode("latin-1")):
            return token_in_url()
        return None if self._hosts is None else is_named(scope["headers"], self._hosts, (b"https", b"http"))

    def _caller(self, scope: Scope) -> GroupCaller | None:
        given = bearer(scope["headers"])
        return None if given is None else self._among_callers(given)

    def _among_callers(self, token: bytes) -> GroupCaller | None:
        """Returns the caller with this token. While the list cannot be read, nobody is a caller."""
        try:
            found = self._callers.of_token(token)
            self._unusable = ""
            return found
        except SidecarError as error:
            if error.message != self._unusable:
                logger.error("everybody is refused: %s", error.message)
            self._unusable = error.message
            return None

    async def _serve(self, caller: GroupCaller, scope: Scope, receive: Receive, send: _Answered) -> None:
        if not self.admission.admit(scope.get("state", {}).get(CONNECTION), caller.name):
            await refuse(too_many(), send)
            return
        is_stream = scope["path"] == "/mcp" and scope["method"] == "GET"
        name = f"{caller.name} listens" if is_stream else caller.name
        wait = self._limits.wait(name)
        if wait:
            await refuse(too_often(wait), send)
            return
        with self._limits.running(name):
            if scope["path"] == METRICS:
                text = self.metrics.text(None if caller.metrics else caller.name)
                await _answer(send, text.encode(), CONTENT_TYPE.encode(), close=False)
                return
            await self._application(caller).serve(scope, receive, send)

    def _application(self, caller: GroupCaller) -> _Open:
        if caller not in self._open:
            self._open[caller] = _Open(self._make(caller))
        return self._open[caller]

    def _is_local(self, scope: Scope) -> bool:
        client = scope.get("client") or ("",)
        return not self._behind_proxy and client[0] in LOOPBACK

    async def _live(self, receive: Receive, send: Send) -> None:
        """Answers the lifespan events of ASGI; between them it closes the applications of callers that are removed."""
        await receive()
        looking = asyncio.create_task(self._look())
        await send({"type": "lifespan.startup.complete"})
        await receive()
        looking.cancel()
        await asyncio.gather(looking, *(one.close() for one in self._open.values()), return_exceptions=True)
        await send({"type": "lifespan.shutdown.complete"})

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(self._look_seconds)
            try:
                there = set(self._callers.every())
            except SidecarError:
                there = set()
            for caller in [one for one in self._open if one not in there]:
                await self._open.pop(caller).close()


class _Open:
    """A caller's application while it is used. Its lifespan runs in a task of its own, as the MCP library demands."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self._ready = asyncio.Event()
        self._over = asyncio.Event()
        self._living = asyncio.create_task(self._live())
        self._running: set[asyncio.Task[None]] = set()

    async def serve(self, scope: Scope, receive: Receive, send: _Answered) -> None:
        """Serves one request. If the caller is removed before it ends, it is cancelled, and refused if nothing was sent
        yet."""
        await self._ready.wait()
        task = asyncio.ensure_future(self._app(scope, receive, send))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        try:
            await asyncio.wait({task})
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task})
        if not task.cancelled():
            task.result()
        elif not send.status:
            await refuse(unauthorized(_TOKENS), send)

    async def close(self) -> None:
        """Cancels the running requests and ends the application."""
        for task in self._running:
            task.cancel()
        self._over.set()
        with contextlib.suppress(Exception):
            await self._living

    async def _live(self) -> None:
        try:
            async with self._app.router.lifespan_context(self._app):
                self._ready.set()
                await self._over.wait()
        finally:
            self._ready.set()  # requests that wait then get the error of an application that failed to start


class _Answered:
    """Passes a response on and remembers its status, which is 0 until the response begins."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = 0

    async def __call__(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = int(message["status"])
        await self._send(message)


async def _answer(send: Send, body: bytes, content_type: bytes, *, close: bool) -> None:
    headers = [(b"content-type", content_type), (b"content-length", str(len(body)).encode()), *HEADERS]
    headers += [(b"connection", b"close")] if close else []
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
