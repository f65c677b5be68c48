"""The state of the index as a resource that a client may read and subscribe to: `sidecar://index/status`.

MCP tells a client of changes at the server by `notifications/resources/updated`, after `resources/subscribe` in
protocols with a handshake, and after `subscriptions/listen` from 2026-07-28 on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import anyio.to_thread
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    EmptyResult,
    ListResourcesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    TextResourceContents,
    UnsubscribeRequestParams,
)

from sidecar import shown
from sidecar.errors import SidecarError
from sidecar.model.answers import StatusAnswer
from sidecar.tools.service import Done, Service

URI = "sidecar://index/status"
TOOL = "get_index_status"
INTERVAL_S = 1.0
"""Shortest time between two notifications."""

Ctx = ServerRequestContext[Any]


class StatusResource:
    """The status resource of one server object. Lives on the event loop.

    It listens to a workspace from the first subscription on.
    """

    def __init__(
        self, service: Service, root_of: Callable[[Ctx], Awaitable[str]], interval_s: float = INTERVAL_S
    ) -> None:
        self._service = service
        self._root_of = root_of
        self._interval_s = interval_s
        self._bus = InMemorySubscriptionBus()
        self._listen = ListenHandler(self._bus)
        self._watched: dict[str, Callable[[], None]] = {}
        self._subscribed: Callable[[], None] | None = None
        self._sending: set[asyncio.Task[None]] = set()
        self._pausing = False
        self._due = False

    async def list(self, ctx: Ctx, params: PaginatedRequestParams | None) -> ListResourcesResult:
        """Answers `resources/list`."""
        about = "Whether the workspace is indexed and how completely, as get_index_status returns it; kept up to date."
        return ListResourcesResult(
            resources=[Resource(uri=URI, name="index-status", description=about, mime_type="application/json")]
        )

    async def read(self, ctx: Ctx, params: ReadResourceRequestParams) -> ReadResourceResult:
        """Answers `resources/read` with the result of `get_index_status`."""
        _known(params.uri)
        try:
            done = await self._service.acall(TOOL, {}, workspace=await self._root_of(ctx))
        except SidecarError as error:
            raise MCPError(INVALID_PARAMS, error.message, error.as_dict()) from error
        text = shown.as_json(done.value if isinstance(done, Done) else {})
        return ReadResourceResult(contents=[TextResourceContents(uri=URI, mime_type="application/json", text=text)])

    async def subscribe(self, ctx: Ctx, params: SubscribeRequestParams) -> EmptyResult:
        """Answers `resources/subscribe`."""
        _known(params.uri)
        await self._watch(ctx)
        session = ctx.session

        def tell(event: object) -> None:
            self._start(session.send_resource_updated(URI))

        if self._subscribed is None:
            self._subscribed = self._bus.subscribe(tell)
        return EmptyResult()

    async def unsubscribe(self, ctx: Ctx, params: UnsubscribeRequestParams) -> EmptyResult:
        """Answers `resources/unsubscribe`."""
        _known(params.uri)
        end, self._subscribed = self._subscribed, None
        if end is not None:
            end()
        return EmptyResult()

    async def listen(self, ctx: Ctx, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
        """Answers `subscriptions/listen`."""
        if URI in (params.notifications.resource_subscriptions or ()):
            await self._watch(ctx)
        return await self._listen(ctx, params)

    def close(self) -> None:
        """Ends all subscriptions, because the client has disconnected."""
        for end in self._watched.values():
            end()
        self._watched.clear()
        for task in self._sending:
            task.cancel()

    async def _watch(self, ctx: Ctx) -> None:
        loop = asyncio.get_running_loop()

        def heard(answer: StatusAnswer) -> None:
            try:
                loop.call_soon_threadsafe(self._changed)
            except RuntimeError:
                return  # the loop has ended

        try:
            root = await self._root_of(ctx)
            if root not in self._watched:
                end = await anyio.to_thread.run_sync(lambda: self._service.workspace(root).on_change(heard))
                if self._watched.setdefault(root, end) is not end:
                    end()
        except SidecarError as error:
            raise MCPError(INVALID_PARAMS, error.message, error.as_dict()) from error

    def _changed(self) -> None:
        """Notifies at most once a second; the last change is always reported."""
        self._due = True
        if not self._pausing:
            self._notify()

    def _notify(self) -> None:
        self._due, self._pausing = False, True
        self._start(self._bus.publish(ResourceUpdated(URI)))
        asyncio.get_running_loop().call_later(self._interval_s, self._resume)

    def _resume(self) -> None:
        self._pausing = False
        if self._due:
            self._notify()

    def _start(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)


def _known(uri: object) -> None:
    """Raises MCPError for any other resource than the status."""
    if str(uri) != URI:
        raise MCPError(INVALID_PARAMS, f"There is no resource {shown.quoted(str(uri))}; there is {URI}.")
