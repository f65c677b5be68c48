"""Time limits over HTTP, for a body that does not arrive and a tool that does not answer; errors have each tool
family's field names."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import pytest

from sidecar.model.answers import SearchAnswer, SearchRequest
from sidecar.model.terms import IsCancelled
from sidecar.surfaces.http.app import make_app
from sidecar.tools.registry import tools_of
from sidecar.tools.service import Service
from tests.fakes import FakeWorkspace, FakeWorkspaces
from tests.patience import PATIENCE_S

Message = MutableMapping[str, Any]


class Slow(FakeWorkspace):
    """Searches until it is cancelled."""

    def __init__(self) -> None:
        super().__init__({"a.py": "def alpha():\n    pass\n"})
        self.cancelled = threading.Event()

    def search(self, request: SearchRequest, cancelled: IsCancelled) -> SearchAnswer:
        while not cancelled():
            threading.Event().wait(0.01)
        self.cancelled.set()
        return SearchAnswer((), 0, "hybrid", 0.0)


async def ask(
    app: Callable[..., Awaitable[None]], path: str, *parts: bytes, ends: bool = True
) -> tuple[int, dict[str, Any]]:
    """Sends a POST with a body of these parts. Without `ends`, the body is never completed."""
    coming = [{"type": "http.request", "body": part, "more_body": True} for part in parts]
    if ends:
        coming[-1]["more_body"] = False
    said: list[Message] = []

    async def receive() -> Message:
        if not coming:
            await asyncio.Event().wait()
        return coming.pop(0)

    async def send(message: Message) -> None:
        said.append(message)

    headers = [(b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": headers}
    await app(scope, receive, send)
    return said[0]["status"], json.loads(b"".join(message.get("body", b"") for message in said[1:]))


@pytest.mark.parametrize(
    ("tool", "spelt"),
    [
        ("search_code", {"code": "REQUEST_TIMEOUT"}),
        ("search_index", {"code": "REQUEST_TIMEOUT"}),
        ("search_fuzzy", {"code": "REQUEST_TIMEOUT", "status": "error"}),
        ("memory_search", {"code": "REQUEST_TIMEOUT", "success": False}),
    ],
)
async def test_a_body_that_does_not_come_is_408(tool: str, spelt: dict[str, Any]) -> None:
    service = Service(FakeWorkspaces(FakeWorkspace({})), tools=tools_of("all"))
    app = make_app(service, "/fake/workspace", body_seconds=0.05)
    status, body = await ask(app, f"/tools/{tool}", b'{"query": ', ends=False)
    assert status == 408
    assert body | spelt == body
    service.close()


async def test_a_tool_that_only_reads_and_does_not_answer_is_504_and_is_cancelled() -> None:
    workspace = Slow()
    service = Service(FakeWorkspaces(workspace))
    status, body = await ask(
        make_app(service, "/fake/workspace", reading_seconds=0.05), "/tools/search_code", b'{"query": "x"}'
    )
    assert (status, body["code"]) == (504, "TIMEOUT")
    assert await asyncio.to_thread(workspace.cancelled.wait, PATIENCE_S)
    service.close()


@pytest.mark.parametrize(
    ("tool", "fields"),
    [
        ("search_add_document", {"error"}),
        ("search_documents", {"status", "error"}),
        ("memory_save", {"success", "message", "code"}),
        ("search_query", {"code", "userMessage"}),
    ],
)
async def test_a_body_that_is_too_large_is_413_in_the_familys_spelling(tool: str, fields: set[str]) -> None:
    service = Service(FakeWorkspaces(FakeWorkspace({})), tools=tools_of("all"))
    app = make_app(service, "/fake/workspace")
    status, body = await ask(app, f"/tools/{tool}", *[b" " * 1024**2] * 17)
    assert status == 413
    assert fields <= set(body)
    service.close()
