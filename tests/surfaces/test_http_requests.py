"""REST with the real process: who may call, which requests are valid, how tools answer, fail and ask."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from sidecar.surfaces.http.faults import no_such_path
from tests.patience import PATIENCE_S
from tests.surfaces.http_client import Served, environment

FILES = {
    "net.py": "def open_connection(host):\n    return dial(host)\n",
    "guide.md": "# Logging\n\nSet the level with LOG_LEVEL.\n",
}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Yields a server with every toolset, over a small workspace with an index."""
    folder = tmp_path_factory.mktemp("rest")
    (folder / "work").mkdir()
    for name, text in FILES.items():
        (folder / "work" / name).write_text(text)
    with Served(folder / "work", environment(folder / "home"), ["--toolsets", "all"]) as served:
        assert served.post("create_index", answer="nobody").json["status"] == "created"
        yield served
        assert served.end() == (0, "")


# ---------------------------------------------------------------- who may call


@pytest.mark.parametrize(
    "authorization", [None, "", "Bearer", "Bearer wrong", "Basic {token}", "{token}", "Bearer {token}x"]
)
@pytest.mark.parametrize("path", ["/", "/status", "/openapi.json", "/mcp", "/nowhere"])
def test_without_the_token_nothing_is_said(served: Served, path: str, authorization: str | None) -> None:
    given = authorization.format(token=served.token) if authorization else authorization
    reply = served.send("GET", path, headers={"Authorization": given})
    assert reply.status == 401
    assert reply.json["code"] == "UNAUTHORIZED"
    assert reply.headers["www-authenticate"].startswith("Bearer")
    assert str(served.announced["workspace"]) not in reply.body.decode()


@pytest.mark.parametrize(
    "header",
    [
        {"Host": "example.org"},
        {"Host": "127.0.0.1"},
        {"Host": "127.0.0.1:1"},
        {"Host": "localhost.example.org:{port}"},
        {"Origin": "https://example.org"},
        {"Origin": "null"},
        {"Origin": "http://localhost:1"},
        {"Origin": "https://127.0.0.1:{port}"},
        {"Origin": "vscode-webview://x"},
    ],
)
@pytest.mark.parametrize("path", ["/status", "/mcp"])
def test_a_foreign_host_or_origin_is_refused_even_with_the_token(
    served: Served, path: str, header: dict[str, str]
) -> None:
    port = served.host.rpartition(":")[2]
    reply = served.send("GET", path, headers={k: v.format(port=port) for k, v in header.items()})
    assert reply.status == 403
    assert reply.json["code"] == "FOREIGN_CALLER"


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"])
def test_every_name_of_this_machine_is_no_foreign_host(served: Served, name: str) -> None:
    own = f"{name}:{served.host.rpartition(':')[2]}"
    assert served.send("GET", "/status", headers={"Host": own, "Origin": f"http://{own}"}).status == 200


def test_a_request_that_names_no_host_is_refused(served: Served) -> None:
    said = raw(served, f"GET /status HTTP/1.0\r\nAuthorization: Bearer {served.token}\r\n\r\n".encode())
    assert said.startswith(b"HTTP/1.1 403 ")


def test_answers_are_neither_cached_nor_sniffed(served: Served) -> None:
    for path in ("/status", "/nowhere"):
        headers = served.get(path).headers
        assert headers["cache-control"] == "no-store"
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers


# ---------------------------------------------------------------- what a request may be


@pytest.mark.parametrize("path", ["/nowhere", "/status/", "/tools/", "/tools/a/b", "/search%2f", "//status", "/%00"])
def test_a_path_that_is_not_there_is_404(served: Served, path: str) -> None:
    reply = served.get(path)
    assert (reply.status, reply.json["code"]) == (404, "NOT_FOUND")


def test_an_unknown_tool_is_404_and_the_nearest_is_named(served: Served) -> None:
    reply = served.post("serch_code")
    assert (reply.status, reply.json["code"]) == (404, "UNKNOWN_TOOL")
    assert "Did you mean search_code?" in reply.json["detail"]


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/tools/search_code", "POST"),
        ("DELETE", "/tools/search_code", "POST"),
        ("POST", "/search", "GET"),
        ("OPTIONS", "/search", "GET"),
        ("BREW", "/tools/search_code", "POST"),
    ],
)
def test_another_method_is_405_and_the_right_one_is_named(served: Served, method: str, path: str, allowed: str) -> None:
    reply = served.send(method, path)
    assert (reply.status, reply.json["code"]) == (405, "METHOD_NOT_ALLOWED")
    assert allowed in reply.headers["allow"].split(", ")


@pytest.mark.parametrize("content_type", [None, "text/plain", "application/x-www-form-urlencoded", "application/jsonx"])
def test_a_body_that_is_not_json_by_its_own_word_is_415(served: Served, content_type: str | None) -> None:
    reply = served.send("POST", "/tools/search_code", b'{"query": "x"}', {"Content-Type": content_type})
    assert (reply.status, reply.json["code"]) == (415, "UNSUPPORTED_MEDIA_TYPE")


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"nonsense",
        b'{"query": NaN}',
        b'{"query": Infinity}',
        b"\xff\xfe{}",
        b'["query"]',
        b'"query"',
        b"null",
        b"[" * 200_000,
        b'{"top_k": ' + b"9" * 5000 + b"}",
    ],
)
def test_a_body_that_is_not_a_json_object_is_400(served: Served, body: bytes) -> None:
    reply = served.send("POST", "/tools/search_code", body, {"Content-Type": "application/json"})
    assert (reply.status, reply.json["code"]) == (400, "INVALID_PARAMS")
    assert len(reply.body) < 1000


def test_a_body_of_more_than_16_mib_is_413(served: Served) -> None:
    body = b'{"query": "' + b"x" * 16 * 1024**2 + b'"}'
    reply = served.send("POST", "/tools/search_code", body, {"Content-Type": "application/json; charset=utf-8"})
    assert (reply.status, reply.json["code"]) == (413, "BODY_TOO_LARGE")


def test_a_body_of_unknown_length_is_bounded_as_well(served: Served) -> None:
    head = f"POST /tools/search_code HTTP/1.1\r\nHost: {served.host}\r\nAuthorization: Bearer {served.token}\r\n"
    chunk = b"%x\r\n" % 1024**2 + b" " * 1024**2 + b"\r\n"
    start = head.encode() + b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    assert raw(served, start + chunk * 17 + b"0\r\n\r\n").startswith(b"HTTP/1.1 413 ")


def test_a_body_just_under_the_limit_reaches_the_tool(served: Served) -> None:
    text = "word " * 2_100_000
    assert len(text) > 10_000_000
    reply = served.post("search_add_document", {"doc_id": "d", "content": text})
    assert reply.json["doc_id"] == "d"


def test_no_body_at_all_means_no_parameters(served: Served) -> None:
    assert served.send("POST", "/tools/get_index_status").json["status"] == "ready"
    assert served.send("POST", "/tools/search_code").json["code"] == "INVALID_QUERY"


def test_what_is_not_http_ends_the_connection_with_400(served: Served) -> None:
    assert raw(served, b"\x16\x03\x01\x02\x00nonsense\r\n\r\n").startswith(b"HTTP/1.1 400 ")


def raw(served: Served, request: bytes) -> bytes:
    host, _, port = served.host.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        said = b""
        while part := connection.recv(65536):
            said += part
    return said


# ---------------------------------------------------------------- how tools answer and fail


TWINS: list[tuple[str, dict[str, Any], str, dict[str, Any]]] = [
    ("/code/search", {"q": "open connection", "top_k": 1}, "search_code", {"query": "open connection", "top_k": 1}),
    ("/code/search", {"query": "open", "mode": "fts"}, "search_code", {"query": "open", "mode": "fts"}),
    (
        "/code/search",
        {"q": "open", "paths": ["*.py", "x/**"]},
        "search_code",
        {"query": "open", "paths": ["*.py", "x/**"]},
    ),
    ("/code/search", {"q": "open", "languages": "python"}, "search_code", {"query": "open", "languages": ["python"]}),
    ("/code/search", {"q": "open", "alpha": "0.25"}, "search_code", {"query": "open", "alpha": 0.25}),
    ("/code/search", {"q": "open", "compact": "true"}, "search_code", {"query": "open", "compact": True}),
    ("/docs", {"q": "logging"}, "search_docs", {"query": "logging"}),
    ("/paths", {"pattern": "**/*.py"}, "search_by_path", {"pattern": "**/*.py"}),
    ("/status", {}, "get_index_status", {}),
    ("/config", {}, "get_config", {}),
    ("/explain", {"path": "net.py"}, "explain_path", {"path": "net.py"}),
    ("/symbols", {"q": "open_connection"}, "search_symbols", {"name": "open_connection"}),
    ("/similar", {"path": "net.py", "line": 1}, "find_similar", {"path": "net.py", "line": 1}),
    ("/semantic/search", {"q": "open connection"}, "search_query", {"query": "open connection"}),
    ("/search", {"q": "level", "limit": 3}, "memory_search", {"query": "level", "limit": 3}),
    (
        "/fulltext",
        {"keywords": "a,b", "operator": "AND"},
        "memory_fulltext_search",
        {"keywords": "a,b", "operator": "AND"},
    ),
]
TIMES = {"searchTimeMs", "ms", "execution_time_ms", "storageSize"}


@pytest.mark.parametrize(("path", "query", "tool", "arguments"), TWINS)
def test_a_get_twin_answers_what_the_tool_answers(
    served: Served, path: str, query: dict[str, Any], tool: str, arguments: dict[str, Any]
) -> None:
    by_get, by_post = served.get(path, **query), served.post(tool, arguments)
    assert (by_get.status, by_post.status) == (200, 200), by_post.body
    assert timeless(by_get.json) == timeless(by_post.json)


def timeless(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if name not in TIMES}


@pytest.mark.parametrize(
    ("path", "query", "field"),
    [
        ("/code/search", {}, "query"),
        ("/code/search", {"q": "x", "top_k": "many"}, "top_k"),
        ("/code/search", {"q": "x", "top_k": "2.5"}, "top_k"),
        ("/code/search", {"q": "x", "top_k": ""}, "top_k"),
        ("/code/search", {"q": "x", "compact": "maybe"}, "compact"),
        ("/code/search", {"q": ["x", "y"]}, "query"),
        ("/code/search", {"q": "x", "nonsense": "1"}, "nonsense"),
        ("/code/search", {"q": "x", "query": "x"}, "q"),
        ("/paths", {"pattern": "*", "limit": "101"}, "limit"),
    ],
)
def test_a_wrong_query_string_is_400_and_the_field_is_named(
    served: Served, path: str, query: dict[str, Any], field: str
) -> None:
    reply = served.get(path, **query)
    code = "INVALID_QUERY" if field == "query" else "INVALID_PARAMS"
    assert (reply.status, reply.json["code"]) == (400, code)
    assert reply.json["detail"].startswith(f"{field}:")


@pytest.mark.parametrize(
    ("tool", "arguments", "status", "code"),
    [
        ("search_code", {"query": " "}, 400, "INVALID_QUERY"),
        ("search_by_path", {"pattern": "[" * 3}, 400, "INVALID_PATTERN"),
        ("reindex_file", {"file_path": "../outside"}, 400, "PATH_TRAVERSAL"),
        ("reindex_file", {"file_path": "missing.py"}, 404, "FILE_NOT_FOUND"),
        ("create_index", {}, 409, "INDEX_EXISTS"),
        ("memory_get", {"key": "missing"}, 404, "MEMORY_NOT_FOUND"),
    ],
)
def test_a_failure_has_its_status_and_its_code(
    served: Served, tool: str, arguments: dict[str, Any], status: int, code: str
) -> None:
    reply = served.post(tool, arguments)
    assert (reply.status, reply.json["code"]) == (status, code)
    assert "question" not in reply.json


def test_a_failure_is_spelt_as_its_family_spells_it(served: Served) -> None:
    memory = served.post("memory_search", {"query": ""})
    assert memory.status == 400
    assert memory.json["success"] is False
    documents = served.post("search_add_document", {"doc_id": "d", "content": "x", "index_name": "nowhere"})
    assert (documents.status, documents.json) == (404, {"error": "Index not found: nowhere"})
    broken = served.send("POST", "/tools/search_fuzzy", b"{", {"Content-Type": "application/json"})
    assert (broken.status, broken.json["status"]) == (400, "error")


def test_text_that_is_no_unicode_is_refused_by_a_message_that_is(served: Served) -> None:
    reply = served.send("POST", "/tools/search_code", b'{"query": "a \\ud800 b"}', {"Content-Type": "application/json"})
    assert reply.status == 400
    assert "half of a surrogate pair" in json.dumps(json.loads(reply.body.decode("utf-8")))


def test_an_alias_of_a_tool_is_taken(served: Served) -> None:
    name, arguments = "codomyrmex.search_fuzzy", {"query": "cat", "candidates": ["cat", "dog"]}
    assert served.post(name, arguments).body == served.post("search_fuzzy", arguments).body


def test_the_tools_are_listed_with_their_paths(served: Served) -> None:
    listed = {tool["name"]: tool for tool in served.get("/tools").json["tools"]}
    assert listed["search_code"]["get"] == ["/code/search"]
    assert sorted(listed["memory_search"]["get"]) == ["/memory/search", "/search"]
    assert listed["delete_index"] | {"destructive": True, "asks": True, "get": []} == listed["delete_index"]


# ---------------------------------------------------------------- how a person is asked


def test_a_question_is_a_409_that_says_how_to_answer(served: Served) -> None:
    reply = served.post("delete_index")
    assert (reply.status, reply.json["code"]) == (409, "CONFIRMATION_REQUIRED")
    question = reply.json["question"]
    assert question["destructive"] is True
    assert str(served.announced["workspace"]) in question["message"]
    assert f"{question['id']}=accept" in reply.json["detail"]
    assert served.get("/status").json["status"] == "ready"


@pytest.mark.parametrize("said", ["decline", "nobody"])
def test_whatever_is_not_a_yes_deletes_nothing(served: Served, said: str) -> None:
    assert served.say("delete_index", {}, said).json["status"] == "cancelled"
    assert served.post("delete_index", answer="nobody").json["status"] == "cancelled"
    assert served.get("/status").json["status"] == "ready"


@pytest.mark.parametrize("header", ["accept", "=accept", "yes", "x=yes", "x=", "nobody=1", "accept=nobody=maybe"])
def test_an_answer_that_names_no_question_is_refused(served: Served, header: str) -> None:
    reply = served.post("delete_index", answer=header)
    assert (reply.status, reply.json["code"]) == (400, "INVALID_PARAMS")
    assert "Sidecar-Answer" in reply.json["detail"]


def test_an_answer_to_another_question_or_a_made_up_one_is_none(served: Served) -> None:
    rebuild = served.post("reindex_project").json["question"]["id"]
    for made_up in (rebuild, "0" * 32, "delete_index-0123456789ab"):
        assert served.post("delete_index", answer=f"{made_up}=accept").status == 409
    assert served.get("/status").json["status"] == "ready"


@pytest.mark.parametrize("name", ["answers", "answer", "confirm", "Sidecar-Answer"])
def test_no_parameter_stands_in_for_a_person(served: Served, name: str) -> None:
    assert served.post("delete_index", {name: "accept"}).json["code"] == "INVALID_PARAMS"
    assert served.get("/status").json["status"] == "ready"


def test_a_yes_deletes_and_the_index_can_be_made_again(served: Served) -> None:
    assert served.say("delete_index", {}, "accept").json["status"] == "deleted"
    assert served.get("/code/search", q="x").json["code"] == "INDEX_NOT_FOUND"
    assert served.say("create_index", {}, "accept").json["status"] == "created"


@pytest.mark.parametrize(
    ("path", "toolset"),
    [
        ("/fulltext", "memory"),
        ("/memory/fulltext", "memory"),
        ("/memory", "memory"),
        ("/semantic/search", "semantic"),
    ],
)
def test_a_path_of_a_toolset_that_is_not_enabled_names_the_toolset(path: str, toolset: str) -> None:
    fault = no_such_path(path).as_dict()
    assert fault["detail"] == (
        f"{path} belongs to the toolset {toolset}, which is not enabled here; enable it with --toolsets."
    )
    assert "toolset" not in no_such_path("/nonsense").as_dict()["detail"]
