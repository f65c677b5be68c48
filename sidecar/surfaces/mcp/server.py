"""The MCP server object: lists the tools and calls them, in every protocol version that the SDK serves.

The transport (`pipe.py`, or the SDK's HTTP application), the tools and the asking (`elicit.py`) are elsewhere.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncIterator
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import anyio.to_thread
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    InputRequiredResult,
    ListToolsResult,
    NotificationParams,
    PaginatedRequestParams,
)
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

from sidecar.errors import SidecarError, UnknownTool
from sidecar.settings.home import current_folder
from sidecar.surfaces.mcp.clients import Clients
from sidecar.surfaces.mcp.elicit import ANSWER_TIMEOUT_SECONDS, InputNeededError, MidCallAsker, Round
from sidecar.surfaces.mcp.progress import ProgressRelay
from sidecar.surfaces.mcp.results import failure, listing, success
from sidecar.surfaces.mcp.roots import Places
from sidecar.surfaces.mcp.status import TOOL as STATUS_TOOL
from sidecar.surfaces.mcp.status import StatusResource
from sidecar.tools.confirm import call_with_questions
from sidecar.tools.service import Done, Service
from sidecar.tools.sessions import Sessions
from sidecar.tools.spec import ToolSpec
from sidecar.tools.word import AGENT

NAME = "sidecar"
INSTRUCTIONS = """\
Searches this workspace by meaning and by word, on this machine. To find code, call search_code before reading or \
grepping files: ask in words ("where are retries done") or with an identifier. search_docs searches prose, \
search_by_path finds files by glob. Each result has path, lines and text. INDEX_NOT_FOUND means: call create_index \
once, a person may be asked. If something is missing from the results, explain_path says why."""
TOOLS_FRESH_MS = 3_600_000
"""How long a client may keep the list of tools."""

logger = logging.getLogger("sidecar.mcp")
Ctx = ServerRequestContext[Any]


def make_server(
    service: Service,
    workspace: str | None,
    *,
    one_client: bool = True,
    answer_timeout_seconds: float = ANSWER_TIMEOUT_SECONDS,
    sessions: Sessions | None = None,
    working_directory: str | None = None,
    for_group: bool = False,
) -> Server[Any]:
    """Returns a server over `service`. `workspace` fixes the folder of every call; None asks the client for its roots.

    `one_client` means that all calls come from one client, as over stdio. `sessions` is this process's registry, if it
    has other doors too. `working_directory` is the client's, if it differs from this process's; empty if that folder
    does not exist any more. `for_group`: each call
    names its workspace, so there is no status resource, and the list of tools is the caller's own.
    """
    places = Places(
        workspace, current_folder() if working_directory is None else working_directory, remember=one_client
    )
    clients = Clients(sessions or Sessions(), one_client)
    calls = _Calls(service, places, clients, answer_timeout_seconds)
    status = StatusResource(service, calls.root_of)

    async def list_tools(ctx: Ctx, params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[listing(tool) for tool in service.tools])

    @contextlib.asynccontextmanager
    async def lifespan(_: Server[Any]) -> AsyncIterator[dict[str, Any]]:
        try:
            yield {}
        finally:
            status.close()
            clients.leave()

    async def roots_changed(ctx: Ctx, params: NotificationParams) -> None:
        places.forget()

    server: Server[Any] = Server(
        NAME,
        version=_version(),
        title="sidecar code search",
        instructions=INSTRUCTIONS,
        lifespan=lifespan,
        on_list_tools=list_tools,
        on_call_tool=calls.call,
        **(_status_methods(status, service, one_client) if not for_group else {}),
        cache_hints={"tools/list": CacheHint(ttl_ms=TOOLS_FRESH_MS, scope="private" if for_group else "public")},
    )
    server.add_notification_handler("notifications/initialized", NotificationParams, calls.open_ahead)
    server.add_notification_handler("notifications/roots/list_changed", NotificationParams, roots_changed)
    server.middleware[:] = [RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=NAME)]
    return server


def _status_methods(status: StatusResource, service: Service, one_client: bool) -> dict[str, Any]:
    """Returns the handlers for the status resource; none if its tool is not enabled.

    If clients share the server object, `resources/subscribe` is left out, because a subscription would belong to no
    client in particular.
    """
    if not any(tool.name == STATUS_TOOL for tool in service.tools):
        return {}
    methods = {
        "on_list_resources": status.list,
        "on_read_resource": status.read,
        "on_subscriptions_listen": status.listen,
    }
    own = {"on_subscribe_resource": status.subscribe, "on_unsubscribe_resource": status.unsubscribe}
    return {**methods, **own} if one_client else methods


class _Calls:
    """Finds the workspace of each tool call and makes the call."""

    def __init__(self, service: Service, places: Places, clients: Clients, answer_timeout_seconds: float) -> None:
        self._service = service
        self._places = places
        self._clients = clients
        self._answer_timeout_seconds = answer_timeout_seconds

    async def call(self, ctx: Ctx, params: CallToolRequestParams) -> CallToolResult | InputRequiredResult:
        """Answers `tools/call`.

        Raises MCPError for an unknown tool; every other failure becomes a result that the model reads.
        """
        try:
            tool = self._service.tool(params.name)
        except UnknownTool as error:
            raise MCPError(INVALID_PARAMS, error.message, {"name": params.name[:80]}) from error
        try:
            return success(await self._run(ctx, params, tool))
        except InputNeededError as needed:
            return needed.result
        except SidecarError as error:
            return failure(tool.meant_by(params.arguments), error)

    async def root_of(self, ctx: Ctx) -> str:
        """Returns the workspace of a request that is no tool call. Raises `WorkspaceNotFound`."""
        known = self._places.without_asking(ctx)
        if known is not None:
            return known
        modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        return self._places.choose([]) if modern else await self._places.ask(ctx)

    async def open_ahead(self, ctx: Ctx, params: NotificationParams) -> None:
        """Opens the workspace after the handshake, so that the first call does not have to wait for it."""
        try:
            root = self._places.without_asking(ctx) or await self._places.ask(ctx)
            self._clients.come(ctx, root)
            await anyio.to_thread.run_sync(self._service.workspace, root, abandon_on_cancel=True)
        except SidecarError as error:
            logger.info("%s: %s", error.code, error.message)

    async def _run(self, ctx: Ctx, params: CallToolRequestParams, tool: ToolSpec) -> Done:
        ask: Round | MidCallAsker
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
            ask = Round.of(ctx, params)
            workspace = self._modern_workspace(ask)
        else:
            ask = MidCallAsker(ctx, self._answer_timeout_seconds)
            workspace = self._places.without_asking(ctx) or await self._places.ask(ctx)
        relay = ProgressRelay(ctx.session.report_progress)
        async with self._clients.calling(ctx, workspace) as session, relay as progress:
            return await call_with_questions(
                self._service,
                tool.name,
                params.arguments or {},
                workspace=workspace,
                ask=ask,
                by=AGENT,
                given=ask.given,
                progress=progress,
                session=session,
            )

    def _modern_workspace(self, asked: Round) -> str:
        if asked.workspace is None:
            asked.workspace = self._places.without_asking(asked.ctx)
        if asked.workspace is None:
            asked.workspace = self._places.choose(asked.root_uris())
        return asked.workspace


def _version() -> str:
    try:
        return version("sidecar-search")
    except PackageNotFoundError:
        return "0"
