"""MCP over streamable HTTP on the port of `sidecar serve`: the same tools, the same answers, both kinds of protocol."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import httpx2
import pytest
from mcp import Client
from mcp.client.context import ClientRequestContext
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitRequestParams, ElicitResult

from tests.patience import PATIENCE_S
from tests.surfaces.http_client import Served, environment

MODES = ("legacy", "2026-07-28")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("http-mcp")
    (folder / "work").mkdir()
    (folder / "work" / "net.py").write_text("def open_connection(host):\n    return dial(host)\n")
    with Served(folder / "work", environment(folder / "home")) as served:
        assert served.post("create_index", answer="nobody").status == 200
        yield served
        assert served.end() == (0, "")


async def yes(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
    return ElicitResult(action="accept", content={"confirm": True})


@asynccontextmanager
async def connected(served: Served, mode: str) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {served.token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE_S) as web:
        transport = streamable_http_client(served.announced["mcp"], http_client=web)
        async with Client(transport, mode=mode, elicitation_callback=yes) as client:
            yield client


@pytest.mark.parametrize("mode", MODES)
async def test_a_tool_answers_over_mcp_what_it_answers_over_rest(served: Served, mode: str) -> None:
    async with connected(served, mode) as client:
        answer = await client.call_tool("search_code", {"query": "open connection"})
    by_rest = (await asyncio.to_thread(served.get, "/search", q="open connection")).json
    by_mcp = dict(answer.structured_content or {})
    assert by_mcp.pop("searchTimeMs") > 0
    assert by_rest.pop("searchTimeMs") > 0
    assert by_mcp == by_rest


@pytest.mark.parametrize("mode", MODES)
async def test_a_person_behind_the_mcp_client_is_asked(served: Served, mode: str) -> None:
    async with connected(served, mode) as client:
        answer = await client.call_tool("reindex_project", {})
    assert (answer.structured_content or {})["status"] == "reindexed"


async def test_without_the_token_there_is_no_mcp(served: Served) -> None:
    async with httpx2.AsyncClient() as web:
        message = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        assert (await web.post(served.announced["mcp"], json=message)).status_code == 401
