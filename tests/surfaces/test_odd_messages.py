"""Odd ids and halves of surrogate pairs: at each door, every request is answered and the session continues."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sidecar.daemon.replay_lsp import LspReplay
from sidecar.daemon.replay_mcp import McpReplay
from sidecar.surfaces.lsp.frames import FrameReader, Message
from sidecar.surfaces.mcp.messages import parse
from tests.surfaces.http_client import Served, environment
from tests.surfaces.lsp_client import LspClient
from tests.surfaces.test_mcp_stdio import call, server

HALF = rb'"\ud800"'
USABLE = [HALF, rb'"\udfff x"', b"-1", b"0", b'""', b"9" * 400, b'"' + b"x" * 1_000_000 + b'"', rb'"a\u0000b"']
"""Ids of a valid kind, which are returned unchanged."""
UNUSABLE = [b"null", b"1.5", b"1e400", b"NaN", b"true", b"[1]", b'{"a": [null]}', b"9" * 5000, b"1.0"]
"""Ids that no answer can contain: its id is null, or the request is no JSON."""


CALL = b'{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "search_code", "arguments": %s}}'


def body_of(identifier: bytes, method: bytes = b"ping") -> bytes:
    return b'{"jsonrpc": "2.0", "id": %s, "method": "%s"}' % (identifier, method)


def framed(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


@pytest.mark.process
@pytest.mark.parametrize("identifier", USABLE, ids=lambda raw: repr(raw[:12]))
async def test_an_mcp_request_is_answered_by_its_id_however_odd(identifier: bytes) -> None:
    async with server("--workspace", "/w") as pipe:
        await pipe.shake_hands()
        pipe.send(body_of(identifier))
        assert (await pipe.receive())["id"] == json.loads(identifier)
        pipe.send(call(1, "get_index_status"))
        assert "result" in await pipe.answer_to(1)


@pytest.mark.process
async def test_mcp_requests_with_ids_of_wrong_kinds_are_refused_in_turn() -> None:
    async with server("--workspace", "/w") as pipe:
        await pipe.shake_hands()
        for identifier in UNUSABLE:
            pipe.send(body_of(identifier))
            refused = await pipe.receive()
            assert refused["id"] is None
            assert refused["error"]["code"] in (-32600, -32700)
        pipe.send(call(1, "get_index_status"))
        assert "result" in await pipe.answer_to(1)


@pytest.mark.process
@pytest.mark.parametrize(
    "message",
    [
        rb'{"jsonrpc": "2.0", "id": 7, "method": "\ud800"}',
        rb'{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "\udc00"}}',
        CALL % rb'{"query": "\udc00"}',
        CALL % rb'{"\udc00": 1}',
        rb'{"jsonrpc": "2.0", "id": 7, "\udc00": 1, "method": "ping"}',
    ],
)
async def test_half_a_surrogate_pair_anywhere_is_refused_by_name(message: bytes) -> None:
    async with server("--workspace", "/w") as pipe:
        await pipe.shake_hands()
        pipe.send(message)
        refused = await pipe.answer_to(7)
        assert "half of a surrogate pair" in refused["error"]["message"]
        pipe.send(call(1, "get_index_status"))
        assert "result" in await pipe.answer_to(1)


def test_an_answer_of_the_client_is_read_as_far_as_it_can_be() -> None:
    parsed = parse(rb'{"jsonrpc": "2.0", "id": 3, "result": {"action": "accept", "content": {"why": "\ud83d"}}}')
    assert parsed.message.result["content"] == {"why": "\ufffd"}  # type: ignore[union-attr]


@pytest.mark.process
async def test_requests_of_one_id_under_way_at_once_are_all_answered() -> None:
    async with server("--workspace", "/w") as pipe:
        await pipe.shake_hands()
        pipe.send(*[call(5, "get_index_status")] * 4)
        assert [(await pipe.receive())["id"] for _ in range(4)] == [5] * 4


# ---------------------------------------------------------------- LSP


@pytest.mark.process
def test_an_lsp_request_is_answered_however_odd_its_id(tmp_path: Path) -> None:
    with LspClient() as client:
        client.start(tmp_path)
        for identifier in USABLE:
            client.send_raw(framed(body_of(identifier, b"sidecar/getIndexStatus")))
            wanted = json.loads(identifier)
            assert "result" in client.expect(lambda m, wanted=wanted: "method" not in m and m.get("id") == wanted)  # type: ignore[misc]
        for identifier in UNUSABLE:
            client.send_raw(framed(body_of(identifier, b"sidecar/getIndexStatus")))
        assert client.request("sidecar/getIndexStatus")["status"] == "not_found"
        refused = [m for m in client.messages if "error" in m and m["id"] is None]
        assert len(refused) == len(UNUSABLE)


@pytest.mark.parametrize("script", [LspReplay(lambda pid: None), McpReplay()])
def test_what_a_pipe_says_again_to_another_daemon_can_be_read_there(script: Any) -> None:
    begin = rb'{"jsonrpc": "2.0", "id": "\ud800", "method": "initialize", "params": {"clientInfo": {"name": "\udc00"}}}'
    script.from_client(begin, begin)
    script.lost()
    (again,) = script.opening()
    if isinstance(script, LspReplay):
        (read,) = FrameReader().feed(again)
        assert isinstance(read, Message)
        assert read.value["id"] == "\ud800"
    else:
        assert json.loads(again.decode("utf-8"))["params"]["clientInfo"]["name"] == "\udc00"


# ---------------------------------------------------------------- HTTP


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("odd")
    (folder / "work").mkdir()
    (folder / "work" / "a.py").write_text("def alpha():\n    pass\n")
    with Served(folder / "work", environment(folder / "home", CI="1"), ["--toolsets", "all"]) as served:
        served.say("create_index", {}, "accept")
        yield served


@pytest.mark.parametrize("protocol", ["2025-06-18", "2026-07-28"])
@pytest.mark.parametrize("identifier", [*USABLE[:2], *UNUSABLE], ids=lambda raw: repr(raw[:12]))
def test_mcp_over_http_refuses_an_id_that_cannot_be_answered(served: Served, identifier: bytes, protocol: str) -> None:
    headers = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": protocol,
    }
    answer = served.send("POST", "/mcp", body_of(identifier, b"tools/list"), headers)
    assert answer.status == 400
    assert answer.json["error"]["code"] in (-32600, -32700)
    assert answer.json["id"] == (json.loads(identifier) if identifier in USABLE else None)


def test_no_tool_fails_inside_or_hangs_for_half_a_surrogate_pair_over_rest(served: Served) -> None:
    document = served.get("/openapi.json").json
    tools = [path.removeprefix("/tools/") for path in document["paths"] if path.startswith("/tools/")]
    assert len(tools) > 20
    wrong, tried = [], 0
    for tool in tools:
        schema = document["paths"][f"/tools/{tool}"]["post"]["requestBody"]["content"]["application/json"]["schema"]
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
        for name, facts in schema.get("properties", {}).items():
            value: Any = ["\ud800"] if facts.get("type") == "array" else "\ud800"
            required = {one: "x" for one in schema.get("required", ())}
            answer = served.post(tool, {**required, name: value}, "nobody")
            tried += 1
            if answer.status >= 500:
                wrong.append((tool, name, answer.json))
    assert wrong == []
    assert tried > 60
