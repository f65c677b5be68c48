"""The LSP door: the real program over its pipes, as an editor opens it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.spec.doors import Answer, ToolFailed
from tests.surfaces.lsp_client import UNKNOWN_METHOD, Failed, LspClient

COMMAND = (sys.executable, "-m", "sidecar", "--stdio")


class Door:
    """One editor with one folder open. Calls may run at the same time; a question gets the running calls' answer."""

    name = "lsp"

    def __init__(self, workspace: Path, env: Mapping[str, str]) -> None:
        self._workspace = workspace
        self._env = env
        self._answers: list[Answer | None] = []
        self._client: LspClient | None = None

    async def __aenter__(self) -> Door:
        asked = {"window/showMessageRequest": self._say}
        self._client = LspClient(COMMAND, env=self._env, on_request=asked)
        await asyncio.to_thread(self._client.start, self._workspace)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._client is not None
        with self._client as client:
            status = await asyncio.to_thread(client.stop)
            assert status == 0
            assert client.stderr() == ""

    async def call(self, tool: str, arguments: dict[str, Any], answer: Answer | None = None) -> dict[str, Any]:
        """Calls the tool by its own request."""
        assert self._client is not None
        self._answers.append(answer)
        head, *rest = tool.split("_")
        camel = f"{head}{''.join(word.capitalize() for word in rest)}"
        method = f"sidecar/{tool if '.' in tool else camel}"
        try:
            result: dict[str, Any] = await asyncio.to_thread(self._client.request, method, arguments)
        except Failed as failed:
            body = failed.body if isinstance(failed.body, dict) else {}
            raise ToolFailed(body.get("code", str(failed.number)), failed.message, body) from failed
        finally:
            self._answers.remove(answer)
        return result

    def _say(self, params: dict[str, Any]) -> Any:
        said = next((answer for answer in self._answers if answer is not None), None)
        if said is None:
            return UNKNOWN_METHOD
        return params["actions"][0 if said == "accept" else 1]
