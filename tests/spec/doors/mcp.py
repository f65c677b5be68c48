"""The real `sidecar mcp`, called by the official client in the handshake protocols (2025-11-25 and before)."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from mcp import Client, StdioServerParameters
from mcp.client.context import ClientRequestContext
from mcp.shared.exceptions import MCPError
from mcp.types import ElicitRequestParams, ElicitResult, Implementation, TextContent

from sidecar.surfaces.mcp.results import ERROR_META
from tests.spec.doors import Answer, ToolFailed

CLIENT = Implementation(name="spec", version="1", title="The specification")


@dataclass
class Session:
    """A connected client, kept open by a task of its own. `can_ask`: it has declared that it can ask a person."""

    client: Client
    can_ask: bool
    over: asyncio.Event
    life: asyncio.Task[None]

    async def end(self) -> None:
        self.over.set()
        await self.life


class Door:
    name: ClassVar[str] = "mcp"
    mode: ClassVar[str] = "legacy"

    def __init__(self, workspace: Path, env: Mapping[str, str]) -> None:
        arguments = ["-m", "sidecar", "mcp", "--workspace", str(workspace)]
        self._program = StdioServerParameters(command=sys.executable, args=arguments, env=dict(env))
        self._answer: Answer | None = None
        self._session: Session | None = None
        self._connecting = asyncio.Lock()

    async def __aenter__(self) -> Door:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.end()

    async def call(self, tool: str, arguments: dict[str, Any], answer: Answer | None = None) -> dict[str, Any]:
        self._answer = answer
        client = await self._client(can_ask=answer is not None)
        try:
            result = await client.call_tool(tool, arguments)
        except MCPError as error:
            raise ToolFailed("UNKNOWN_TOOL", error.error.message) from error
        if result.is_error:
            (block,) = result.content
            assert isinstance(block, TextContent)
            raise _failed((result.meta or {})[ERROR_META], block.text)
        return dict(result.structured_content)

    async def _client(self, *, can_ask: bool) -> Client:
        """A client declares once whether it can ask, so the other case needs another client (and process)."""
        async with self._connecting:
            if self._session is not None and self._session.can_ask is not can_ask:
                await self._session.end()
                self._session = None
            if self._session is None:
                self._session = await self._connect(can_ask)
            return self._session.client

    async def _connect(self, can_ask: bool) -> Session:
        connected: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        over = asyncio.Event()

        async def live() -> None:
            asking = self._person if can_ask else None
            client = Client(self._program, mode=self.mode, elicitation_callback=asking, client_info=CLIENT)
            async with client:
                connected.set_result(client)
                await over.wait()

        life = asyncio.create_task(live())
        either: set[asyncio.Future[Any]] = {life, connected}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if life.done():
            life.result()
        return Session(connected.result(), can_ask, over, life)

    async def _person(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        if self._answer == "accept":
            return ElicitResult(action="accept", content={"confirm": True})
        return ElicitResult(action="decline")


def _failed(error: dict[str, Any], text: str) -> ToolFailed:
    """Reads the structured error and the text for the model: code and sentence, or the tool family's own body."""
    code: str = error["code"]
    if text.startswith(f"{code}: "):
        return ToolFailed(code, text.removeprefix(f"{code}: "), error)
    body = json.loads(text)
    return ToolFailed(code, body.get("message") or body["error"], body)
