"""An editor in this process: a real `SidecarServer` on the test's event loop, spoken to without a pipe."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sidecar.surfaces.lsp.frames import FrameReader, Message
from sidecar.surfaces.lsp.server import SidecarServer
from tests.patience import PATIENCE_S
from tests.surfaces.lsp_client import EDITOR, NO_ANSWER

Answering = Callable[[Any], Any]


class InProcessEditor:
    """`answers` say what the client returns to a request of the server, by method (default: null)."""

    def __init__(self, server: SidecarServer, answers: Mapping[str, Answering] | None = None) -> None:
        self.server = server
        self.messages: list[dict[str, Any]] = []
        self._answers = dict(answers or {})
        self._frames = FrameReader()
        self._ids = itertools.count(1)
        self._arrived = asyncio.Condition()
        self._tasks: set[asyncio.Task[None]] = set()
        server.attach(self._take, lambda: None)

    async def start(self, *folders: Path, name: str = "Test Editor", capabilities: Any = EDITOR) -> Any:
        result = await self.request(
            "initialize",
            {
                "clientInfo": {"name": name, "version": "1.2"},
                "capabilities": capabilities,
                "workspaceFolders": [{"uri": folder.as_uri(), "name": folder.name} for folder in folders],
            },
        )
        self.notify("initialized", {})
        return result

    async def request(self, method: str, params: Any = None) -> Any:
        number = next(self._ids)
        self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        message = await self.expect(lambda m: m.get("id") == number and "method" not in m)
        if "error" in message:
            raise AssertionError(message["error"])
        return message["result"]

    def notify(self, method: str, params: Any) -> None:
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    async def expect(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Returns the first past or future message that satisfies the condition."""

        def found() -> dict[str, Any] | None:
            return next((message for message in self.messages if wanted(message)), None)

        async with self._arrived:
            async with asyncio.timeout(PATIENCE_S):
                await self._arrived.wait_for(lambda: found() is not None)
        message = found()
        assert message is not None
        return message

    async def expect_method(self, method: str, wanted: Callable[[Any], bool] = lambda params: True) -> Any:
        return (await self.expect(lambda m: m.get("method") == method and wanted(m["params"])))["params"]

    def all_of(self, method: str) -> list[Any]:
        return [message["params"] for message in self.messages if message.get("method") == method]

    async def die(self) -> None:
        """Ends the client's stream without a message."""
        await self.server.wind_down()

    def answer(self, request_id: Any, result: Any) -> None:
        self._send({"jsonrpc": "2.0", "id": request_id, "result": result})

    def _send(self, message: dict[str, Any]) -> None:
        self.server.protocol.receive(Message(json.loads(json.dumps(message))))

    def _take(self, frame: bytes) -> None:
        for event in self._frames.feed(frame):
            assert isinstance(event, Message)
            task = asyncio.ensure_future(self._came(event.value))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _came(self, message: dict[str, Any]) -> None:
        async with self._arrived:
            self.messages.append(message)
            self._arrived.notify_all()
        if "method" in message and "id" in message:
            answering = self._answers.get(message["method"])
            result = answering(message["params"]) if answering else None
            if result is not NO_ANSWER:
                self.answer(message["id"], result)
