"""The REST application: a POST route for each tool, GET routes for the searches, and one way to answer, fail and ask.

Other modules decide who may call (`guard.py`) and which path calls which tool (`routes.py`), and listen (`run.py`).
"""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from sidecar import __version__
from sidecar.errors import Internal, SidecarError
from sidecar.logs import log_failure, workspace_log
from sidecar.surfaces.http.answers import Answers
from sidecar.surfaces.http.body import MAX_SECONDS, read_arguments
from sidecar.surfaces.http.faults import (
    ANSWER_HEADER,
    RequestFault,
    json_bytes,
    no_answer_in_time,
    no_such_path,
    wrong_method,
)
from sidecar.surfaces.http.guard import HEADERS
from sidecar.surfaces.http.openapi import document
from sidecar.surfaces.http.query import arguments_of
from sidecar.surfaces.http.routes import MCP, OPENAPI, TOOLS, get_paths, post_path
from sidecar.tools.confirm import call_with_questions
from sidecar.tools.service import Service
from sidecar.tools.sessions import Sessions
from sidecar.tools.spec import Answer, Question, ToolSpec
from sidecar.tools.word import AGENT

READING_SECONDS = 120.0
"""Time limit of a tool that only reads. A tool that writes runs without a limit, for as long as the caller waits."""
CLIENT_GONE = 499
"""Status of the response when the caller has closed the connection. Nobody reads it."""

Arguments: TypeAlias = Callable[[Request, ToolSpec], Awaitable[Mapping[str, object]]]
"""Reads a request's parameters for a tool."""
Lifespan: TypeAlias = Callable[[Any], contextlib.AbstractAsyncContextManager[Any]]


def make_app(
    service: Service,
    workspace: str,
    *,
    mcp: Any = None,
    mcp_lifespan: Lifespan | None = None,
    reading_seconds: float = READING_SECONDS,
    body_seconds: float = MAX_SECONDS,
    sessions: Sessions | None = None,
    names: Sequence[str] | None = None,
) -> Starlette:
    """Returns the application without its guard.

    `mcp` is an ASGI application for /mcp; its lifespan is entered with this application's. `sessions` is this process's
    registry, if it has other doors too. `names` are the caller's workspaces on a server for a group; `workspace` is
    then not one of them, because each call names its own.
    """
    endpoints = _Endpoints(service, workspace, reading_seconds, body_seconds, sessions or Sessions(), names)
    routes = [
        Route("/", endpoints.about, methods=["GET"]),
        Route(OPENAPI, endpoints.openapi, methods=["GET"]),
        Route(TOOLS, endpoints.list_tools, methods=["GET"]),
        Route(f"{TOOLS}/{{name}}", endpoints.post, methods=["POST"]),
        *(Route(path, endpoints.get(tool), methods=["GET"]) for path, tool in get_paths(service.tools).items()),
    ]
    if mcp is not None:
        routes.append(Route(MCP, mcp))

    @contextlib.asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        async with mcp_lifespan(mcp) if mcp_lifespan else contextlib.nullcontext():
            yield

    app = Starlette(routes=routes, lifespan=lifespan, exception_handlers={HTTPException: _http_fault})
    app.router.redirect_slashes = False
    return app


class _Endpoints:
    """The endpoints of all routes, for one service and one workspace."""

    def __init__(
        self,
        service: Service,
        workspace: str,
        reading_seconds: float,
        body_seconds: float,
        sessions: Sessions,
        names: Sequence[str] | None,
    ) -> None:
        self._service = service
        self._sessions = sessions
        self._workspace = workspace
        self._where = {"workspace": workspace} if names is None else {"workspaces": list(names)}
        self._reading_seconds = reading_seconds
        self._body_seconds = body_seconds
        self._answers = Answers()
        self._document = document(service.tools)

    async def about(self, request: Request) -> Response:
        about = {"name": "sidecar", "version": __version__, **self._where}
        return reply(200, {**about, "tools": TOOLS, "openapi": OPENAPI, "mcp": MCP})

    async def openapi(self, request: Request) -> Response:
        return reply(200, self._document)

    async def list_tools(self, request: Request) -> Response:
        gets: dict[str, list[str]] = {}
        for path, tool in get_paths(self._service.tools).items():
            gets.setdefault(tool.name, []).append(path)
        return reply(200, {"tools": [_described(tool, gets.get(tool.name, [])) for tool in self._service.tools]})

    async def post(self, request: Request) -> Response:
        try:
            tool = self._service.tool(request.path_params["name"])
        except SidecarError as error:
            return reply(error.http_status, error.as_dict())
        return await self._answered(request, tool, self._from_body)

    def get(self, tool: ToolSpec) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            return await self._answered(request, tool, _from_query)

        return endpoint

    async def _from_body(self, request: Request, tool: ToolSpec) -> Mapping[str, object]:
        return await read_arguments(request, self._body_seconds)

    async def _answered(self, request: Request, tool: ToolSpec, arguments: Arguments) -> Response:
        """Calls the tool with the request's parameters and turns its result or error into a response."""
        sent: Mapping[str, object] = {}
        try:
            given = self._answers.given(request.headers.get(ANSWER_HEADER, ""))
            sent = await arguments(request, tool)
            return reply(200, await self._call(request, tool, sent, given))
        except RequestFault as fault:
            return reply(fault.status, fault.spelt_for(tool.meant_by(sent).dialect), fault.headers)
        except ClientDisconnect:
            return Response(status_code=CLIENT_GONE)
        except SidecarError as error:
            return _failed(tool.meant_by(sent), error)
        except Exception:
            incident = uuid.uuid4().hex[:8]
            log = workspace_log("sidecar.http", self._workspace)
            where = log_failure(log, "incident %s in %s", incident, tool.name)
            return _failed(tool, Internal(f"Incident {incident}. {where}", incident=incident))

    async def _call(
        self, request: Request, tool: ToolSpec, arguments: Mapping[str, object], given: Mapping[str, Answer]
    ) -> Mapping[str, object]:
        """Returns the tool's result. If the caller disconnects, the tool is cancelled.

        Raises `RequestFault`, `SidecarError`, and `ClientDisconnect` if the caller disconnects.
        """

        async def ask(question: Question) -> Answer:
            return self._answers.answer(question, given)

        def brought(question: Question) -> Answer | None:
            return self._answers.brought(question, given)

        session = self._sessions.attach("rest", _asker(request), workspaces=[self._workspace])
        calling = asyncio.ensure_future(
            call_with_questions(
                self._service,
                tool.name,
                arguments,
                workspace=self._workspace,
                ask=ask,
                by=AGENT,
                given=brought,
                session=session,
            )
        )
        leaving = asyncio.ensure_future(_gone(request))
        seconds = self._reading_seconds if tool.read_only else None
        try:
            done, _ = await asyncio.wait({calling, leaving}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if calling in done:
                return calling.result().value
            if leaving in done:
                raise ClientDisconnect
            raise no_answer_in_time(self._reading_seconds)
        finally:
            for task in (calling, leaving):
                task.cancel()
            await asyncio.gather(calling, leaving, return_exceptions=True)
            session.detach()


def reply(status: int, value: object, headers: Mapping[str, str] | None = None) -> Response:
    """Returns a JSON response with the headers that every response has."""
    response = Response(json_bytes(value), status, headers, media_type="application/json")
    response.raw_headers.extend(HEADERS)
    return response


async def _from_query(request: Request, tool: ToolSpec) -> Mapping[str, object]:
    return arguments_of(tool, request.query_params.multi_items())


async def _gone(request: Request) -> None:
    """Returns when the caller has closed the connection; anything it sends before that is discarded."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _http_fault(request: Request, error: Exception) -> Response:
    """Answers a request that matches no route."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    headers = dict(getattr(error, "headers", None) or {})
    fault = wrong_method(request.method, headers) if status == 405 else no_such_path(request.url.path)
    return reply(fault.status, fault.as_dict(), fault.headers)


def _failed(tool: ToolSpec, error: SidecarError) -> Response:
    return reply(error.http_status, tool.dialect.shape_error(error))


def _asker(request: Request) -> str:
    """Returns the name that the calling program gives itself, to show in a question."""
    agent = "".join(letter for letter in request.headers.get("user-agent", "") if letter.isprintable())[:60]
    return f"{agent} (REST)" if agent else "A program (REST)"


def _described(tool: ToolSpec, gets: list[str]) -> dict[str, object]:
    return {
        "name": tool.name,
        "title": tool.title,
        "summary": tool.summary,
        "post": post_path(tool),
        "get": gets,
        "readOnly": tool.read_only,
        "destructive": tool.destructive,
        "asks": tool.question is not None,
    }
