"""`sidecar serve` for a group: what each caller may use, what no caller learns, and what strangers try. The tests use
real TLS."""

from __future__ import annotations

import asyncio
import json
import os
import re
import socket
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.context import ClientRequestContext
from mcp.client.streamable_http import streamable_http_client
from mcp.types import ElicitRequestParams, ElicitResult, TextContent

from tests.patience import PATIENCE_S
from tests.surfaces.group_server import GroupServer, said

MODES = ("legacy", "2026-07-28")
CALLERS = {
    "both": ("--workspace", "api", "--workspace", "web"),
    "writer": ("--workspace", "*", "--tools", "all"),
    "api-only": ("--workspace", "api"),
    "nothing": (),
    "operator": ("--metrics",),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GroupServer]:
    place = tmp_path_factory.mktemp("group")
    for name in ("api", "web"):
        (place / name).mkdir()
    (place / "api" / "net.py").write_text("def open_connection(host):\n    '''Dial a host.'''\n    return dial(host)\n")
    (place / "web" / "page.py").write_text("def render_page(template):\n    '''Fill a template.'''\n    return 1\n")
    with GroupServer(place, CALLERS) as server:
        for name in ("api", "web"):
            assert server.agree("writer", "create_index", {"workspace": name}).json["status"] == "created"
        yield server
        assert server.end()[0] == 0


# ------------------------------------------------------------------ what a caller has


def test_one_search_covers_all_workspaces_of_the_caller_and_each_hit_names_its_own(server: GroupServer) -> None:
    for query, best in (("open connection to a host", "api"), ("render a page template", "web")):
        answer = server.call("both", "search_code", {"query": query}).json
        assert answer["results"][0]["workspace"] == best
        scores = [hit["score"] for hit in answer["results"]]
        assert scores == sorted(scores, reverse=True)
        assert server.call("both", "search_code", {"query": query}).json["results"] == answer["results"]
    only = server.call("both", "search_code", {"query": "render a page template", "workspaces": ["api"]}).json
    assert {hit["workspace"] for hit in only["results"]} == {"api"}
    compact = server.call("both", "search_code", {"query": "render a page", "compact": True}).json
    assert compact["r"][0]["w"] == "web"


def test_by_query_string_too(server: GroupServer) -> None:
    answer = server.as_caller("both", "GET", "/search?q=render+page&workspaces=web").json
    assert [hit["path"] for hit in answer["results"]] == ["page.py"]


def test_a_caller_with_one_workspace_need_not_name_it_and_sees_no_other(server: GroupServer) -> None:
    assert server.call("api-only", "get_index_status", {}).json["projectPath"] == "api"
    assert server.call("api-only", "get_index_status", {"workspace": "api"}).json["status"] == "ready"
    assert server.as_caller("api-only", "GET", "/").json["workspaces"] == ["api"]
    found = server.call("api-only", "search_code", {"query": "render page template"}).json["results"]
    assert {hit["workspace"] for hit in found} == {"api"}
    everything = (
        server.as_caller("api-only", "GET", "/openapi.json").body + server.as_caller("api-only", "GET", "/tools").body
    )
    assert b"web" not in everything.replace(b"web page", b"")


def test_a_caller_of_several_must_name_one_where_a_tool_is_about_one(server: GroupServer) -> None:
    refused = server.call("both", "get_index_status", {})
    assert (refused.status, refused.json["code"]) == (400, "INVALID_PARAMS")
    assert "workspace" in refused.json["detail"]


def test_by_default_a_caller_only_reads_and_is_not_told_the_servers_settings(server: GroupServer) -> None:
    listed = {tool["name"] for tool in server.as_caller("both", "GET", "/tools").json["tools"]}
    assert {"search_code", "get_index_status", "explain_path"} <= listed
    assert not {"create_index", "reindex_project", "reindex_file", "delete_index", "get_config"} & listed
    refused = server.call("both", "delete_index", {"workspace": "api"})
    assert refused.status == 404
    assert "delete_index with this token; ask whoever runs it" in refused.json["detail"]
    assert "--toolsets" not in refused.json["detail"]


def test_a_caller_without_workspaces_has_no_tools(server: GroupServer) -> None:
    assert server.as_caller("nothing", "GET", "/tools").json == {"tools": []}
    assert server.call("nothing", "search_code", {"query": "x"}).status == 404


# ------------------------------------------------------------------ what nobody learns


@pytest.mark.parametrize("name", ["web", "no-such-workspace", "../web", "/etc", "api/../web", "*", "API", "web\0"])
def test_a_workspace_of_others_is_as_unknown_as_one_that_does_not_exist(server: GroupServer, name: str) -> None:
    for tool, arguments in (
        ("search_code", {"query": "page", "workspaces": [name]}),
        ("search_code", {"query": "page", "workspaces": ["api", name]}),
        ("explain_path", {"path": "page.py", "workspace": name}),
    ):
        reply = server.call("api-only", tool, arguments)
        assert (reply.status, reply.json["code"]) == (400, "INVALID_PARAMS")
        assert reply.json["detail"].endswith('. There are: "api". Whoever runs the server can give you another.')


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search_code", {"query": "page", "workspaces": ["web"]}),
        ("explain_path", {"path": "page.py", "workspace": "web"}),
        ("get_index_status", {"workspace": "web"}),
    ],
)
def test_both_get_the_same_answer_to_the_byte(server: GroupServer, tool: str, arguments: dict[str, Any]) -> None:
    """The answers are equal except for the name that the caller has sent."""
    theirs = server.call("api-only", tool, arguments)
    nobodys = server.call("api-only", tool, json.loads(json.dumps(arguments).replace("web", "wob")))
    assert (theirs.status, theirs.body.replace(b"web", b"wob")) == (nobodys.status, nobodys.body)
    headers = [{name for name in reply.headers if name != "date"} for reply in (theirs, nobodys)]
    assert headers[0] == headers[1]


def test_no_answer_tells_where_the_server_keeps_things(server: GroupServer) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("get_index_status", {"workspace": "api"}),
        ("explain_path", {"workspace": "api", "path": "net.py"}),
        ("explain_path", {"workspace": "api", "path": "missing.py"}),
        ("explain_path", {"workspace": "api", "path": "../../etc/passwd"}),
        ("reindex_file", {"workspace": "api", "file_path": str(server.place / "web" / "page.py")}),
        ("reindex_project", {"workspace": "api"}),
        ("create_index", {"workspace": "api"}),
        ("delete_index", {"workspace": "api"}),
        ("search_code", {"query": "open"}),
        ("search_docs", {"query": "open"}),
        ("search_symbols", {"workspace": "api", "query": "open_connection"}),
        ("find_similar", {"workspace": "api", "path": "net.py", "line": 1}),
    ]
    for tool, arguments in calls:
        reply = server.call("writer", tool, arguments)
        assert str(server.place).encode() not in reply.body.replace(json.dumps(arguments).encode(), b""), tool
        assert b"/home" not in reply.body, tool


def test_neither_the_log_nor_the_list_nor_the_screen_has_a_token(server: GroupServer) -> None:
    server.send("GET", "/status", headers={"Authorization": "Bearer sct_" + "x" * 43})
    server.as_caller("both", "GET", "/status?token=" + server.tokens["both"])
    stored = (server.place / "home" / "serve" / "callers.json").read_text()
    for token in server.tokens.values():
        assert token not in server.log() + stored + said(server.env, "list")
    assert stat.S_IMODE((server.place / "home" / "serve" / "callers.json").stat().st_mode) == 0o600


# ------------------------------------------------------------------ strangers


def test_without_a_valid_token_there_is_health_and_nothing_else(server: GroupServer) -> None:
    health = server.send("GET", "/health", headers={"Authorization": None})
    assert (health.status, health.json) == (200, {"status": "ok"})
    answers = {
        server.send(method, path, headers={"Authorization": given}).body
        for method, path in (("GET", "/"), ("GET", "/tools"), ("POST", "/mcp"), ("GET", "/nowhere"), ("DELETE", "/mcp"))
        for given in (None, "Bearer wrong", "Basic " + server.token, "Bearer " + server.token[:-1], "Bearer ")
    }
    assert len(answers) == 1
    said = json.loads(answers.pop())
    assert said["code"] == "UNAUTHORIZED"
    assert "whoever runs the server" in said["detail"]


def test_a_header_that_comes_twice_opens_nothing(server: GroupServer) -> None:
    token = server.tokens["both"]
    assert raw(server, f"GET /tools HTTP/1.1\r\nHost: {server.host}\r\nAuthorization: Bearer {token}\r\n\r\n") == 200
    for second in (token, "wrong"):
        twice = f"Authorization: Bearer {token}\r\nauthorization: Bearer {second}\r\n"
        assert raw(server, f"GET /tools HTTP/1.1\r\nHost: {server.host}\r\n{twice}\r\n") == 401


def test_a_token_in_an_address_is_refused_even_if_it_is_right(server: GroupServer) -> None:
    for path in ("/status", "/mcp", "/nowhere"):
        reply = server.as_caller("both", "GET", f"{path}?access_token={server.tokens['both']}")
        assert (reply.status, reply.json["code"]) == (400, "TOKEN_IN_URL")


def test_a_body_beyond_the_limit_is_413_over_rest_and_mcp(server: GroupServer) -> None:
    big = b'{"query": "' + b"x" * (17 * 1024**2) + b'"}'
    headers = {"Authorization": f"Bearer {server.tokens['both']}", "Content-Type": "application/json"}
    assert server.send("POST", "/tools/search_code", big, headers).status == 413
    assert server.send("POST", "/mcp", big, {**headers, "Accept": "application/json, text/event-stream"}).status == 413


def test_connections_that_say_nothing_do_not_keep_a_caller_out(server: GroupServer) -> None:
    """Some clients stop before TLS has begun, the others within the headers of a request."""
    host, _, port = server.host.partition(":")
    idle: list[socket.socket] = []
    try:
        for number in range(100):
            one = socket.create_connection((host, int(port)), timeout=PATIENCE_S)
            if number % 2 and number < 40:
                one = server.trusting().wrap_socket(one, server_hostname=host)
                one.sendall(b"GET /tools HTTP/1.1\r\nHost: ")
            idle.append(one)
        assert server.as_caller("both", "GET", "/tools").status == 200
    finally:
        for one in idle:
            one.close()


# ------------------------------------------------------------------ numbers


def test_metrics_are_prometheus_text_and_a_caller_reads_its_own_only(server: GroupServer) -> None:
    server.call("api-only", "get_index_status", {})
    own = server.as_caller("both", "GET", "/metrics")
    assert own.headers["content-type"].startswith("text/plain; version=0.0.4")
    sample = re.compile(r'sidecar_[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.]+')
    lines = own.body.decode().splitlines()
    assert all(line.startswith(("# HELP ", "# TYPE ")) or sample.fullmatch(line) for line in lines)
    assert b'caller="both"' in own.body
    assert b"api-only" not in own.body
    every = server.as_caller("operator", "GET", "/metrics").body
    assert b'caller="api-only"' in every
    assert b"sidecar_refused_total" in every
    from_here = server.send("GET", "/metrics", headers={"Authorization": None})
    assert b'caller="api-only"' in from_here.body


# ------------------------------------------------------------------ MCP


async def yes(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
    assert str(Path.home()) not in params.message
    return ElicitResult(action="accept", content={"confirm": True})


@asynccontextmanager
async def connected(server: GroupServer, caller: str, mode: str, asks: bool = True) -> AsyncIterator[Client]:
    headers = {"Authorization": f"Bearer {server.tokens[caller]}"}
    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE_S, verify=server.trusting()) as web:
        transport = streamable_http_client(server.url + "/mcp", http_client=web)
        async with Client(transport, mode=mode, elicitation_callback=yes if asks else None) as client:
            yield client


@pytest.mark.parametrize("mode", MODES)
async def test_the_official_client_searches_over_tls(server: GroupServer, mode: str) -> None:
    async with connected(server, "both", mode) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert "delete_index" not in tools
        assert "workspaces" in tools["search_code"].input_schema["properties"]
        answer = await client.call_tool("search_code", {"query": "render page template"})
    assert (answer.structured_content or {})["results"][0]["workspace"] == "web"
    [text] = answer.content
    assert isinstance(text, TextContent) and "[web] page.py:1-" in text.text


@pytest.mark.parametrize("mode", MODES)
async def test_a_question_goes_to_the_caller_or_is_a_no(server: GroupServer, mode: str) -> None:
    async with connected(server, "writer", mode) as client:
        answer = await client.call_tool("reindex_project", {"workspace": "web"})
        assert (answer.structured_content or {})["status"] == "reindexed"
    async with connected(server, "writer", mode, asks=False) as client:
        answer = await client.call_tool("reindex_project", {"workspace": "web"})
        assert (answer.structured_content or {})["status"] == "cancelled"
    by_rest = await asyncio.to_thread(server.call, "writer", "reindex_project", {"workspace": "web"}, "nobody")
    assert by_rest.json["status"] == "cancelled"


async def test_a_session_of_one_caller_is_none_for_another(server: GroupServer) -> None:
    begin = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }
    wanted = {"Accept": "application/json, text/event-stream"}
    opened = await asyncio.to_thread(server.as_caller, "both", "POST", "/mcp", begin, **wanted)
    held = opened.headers["mcp-session-id"]
    ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
    for caller, status in (("both", 200), ("api-only", 404)):
        reply = await asyncio.to_thread(
            server.as_caller, caller, "POST", "/mcp", ping, **wanted, **{"Mcp-Session-Id": held}
        )
        assert reply.status == status


async def test_a_caller_who_is_removed_during_a_session_is_out_at_once(server: GroupServer) -> None:
    server.tokens["leaving"] = await asyncio.to_thread(server.add, "leaving", "--workspace", "api")
    headers = {"Authorization": f"Bearer {server.tokens['leaving']}", "Accept": "text/event-stream"}
    begin = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE_S, verify=server.trusting()) as web:
        both = {"Accept": "application/json, text/event-stream"}
        message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": begin}
        opened = await web.post(server.url + "/mcp", json=message, headers=both)
        session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
        async with web.stream("GET", server.url + "/mcp", headers=session) as stream:
            assert stream.status_code == 200
            await asyncio.to_thread(said, server.env, "remove", "leaving")
            refused = await web.post(server.url + "/mcp", json=message, headers=both)
            assert refused.status_code == 401
            with pytest.raises(httpx2.HTTPError):  # the open stream is closed
                async for _ in stream.aiter_bytes():
                    pass
                raise httpx2.ReadError("it was ended")


# ------------------------------------------------------------------ where it may listen


def begun(place: Path, *options: str) -> tuple[int, str]:
    """Returns exit status and output of a server that refuses to start."""
    command = [sys.executable, "-m", "sidecar", "serve", "--share", f"api={place}", *options]
    env = {**os.environ, "SIDECAR_HOME": str(place / "home")}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr


@pytest.mark.process
def test_other_machines_may_connect_only_with_callers_and_tls_or_a_proxy(tmp_path: Path) -> None:
    status, err = begun(tmp_path, "--host", "0.0.0.0", "--behind-proxy")
    assert (status, "sidecar serve token add NAME --workspace api" in err) == (2, True)
    said({**os.environ, "SIDECAR_HOME": str(tmp_path / "home")}, "add", "one", "--workspace", "api")
    status, err = begun(tmp_path, "--host", "0.0.0.0")
    assert (status, "--tls-cert" in err, "--behind-proxy" in err) == (2, True, True)


@pytest.mark.process
@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--tls-cert", "c.pem"], "--tls-key"),
        (["--tls-cert", "missing.pem", "--tls-key", "missing.pem"], "PEM"),
        (["--tls-cert", "c.pem", "--tls-key", "k.pem", "--behind-proxy"], "either"),
        (["--token-file", "t"], "--token-file"),
        (["--per-minute", "0"], "--per-minute"),
        (["--at-once", "1"], "--at-once"),
        (["--share", "api=/"], "two folders"),
        (["--share", "bad name=/"], "no name"),
        (["--share", "none=/no/such/folder"], "folder"),
    ],
)
def test_what_does_not_make_a_server_is_refused_with_a_reason(tmp_path: Path, options: list[str], named: str) -> None:
    status, err = begun(tmp_path, *options)
    assert status in (2, 3)
    assert named in err


def raw(server: GroupServer, request: str) -> int:
    """Sends these bytes, and returns the status of the answer."""
    host, _, port = server.host.partition(":")
    plain = socket.create_connection((host, int(port)), timeout=PATIENCE_S)
    with server.trusting().wrap_socket(plain, server_hostname=host) as connection:
        connection.sendall(request.encode())
        return int(connection.recv(64).split()[1])
