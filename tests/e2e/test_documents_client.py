"""A client written from specification 000 alone, over the real `sidecar mcp`.

It knows nothing else of this server, and speaks MCP with the standard library only: JSON messages, one on each line.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.patience import PATIENCE_S

pytestmark = pytest.mark.e2e
REPOSITORY = Path(__file__).parents[2]


class SearchClient:
    """The three tools of the specification as methods. An answer with `error` is returned unchanged."""

    def __init__(self, workspace: Path, home: Path) -> None:
        command = [sys.executable, "-m", "sidecar", "mcp", "--toolsets", "documents", "--workspace", str(workspace)]
        env = {**os.environ, "SIDECAR_HOME": str(home), "PYTHONPATH": str(REPOSITORY)}
        self._server = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, text=True, encoding="utf-8"
        )
        self._last = 0
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
        self._ask("initialize", hello)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def tools(self) -> list[str]:
        return [tool["name"] for tool in self._ask("tools/list", {})["tools"]]

    def search_index(self, query: str, **options: Any) -> dict[str, Any]:
        return self._call("search_index", {"query": query, **options})

    def search_add_document(self, doc_id: str, content: str, **options: Any) -> dict[str, Any]:
        return self._call("search_add_document", {"doc_id": doc_id, "content": content, **options})

    def search_create_index(self, index_name: str, **options: Any) -> dict[str, Any]:
        return self._call("search_create_index", {"index_name": index_name, **options})

    def close(self) -> int:
        assert self._server.stdin is not None
        self._server.stdin.close()
        assert self._server.stdout is not None
        self._server.stdout.close()
        return self._server.wait(PATIENCE_S)

    def _call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        result = self._ask("tools/call", {"name": name, "arguments": arguments})
        answer: dict[str, Any] = json.loads(result["content"][0]["text"])
        assert bool(result.get("isError")) is ("error" in answer)
        return answer

    def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._last += 1
        self._send({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})
        assert self._server.stdout is not None
        for line in self._server.stdout:
            message = json.loads(line)
            if message.get("id") == self._last and "method" not in message:
                result: dict[str, Any] = message["result"]
                return result
        raise EOFError(f"the server ended during {method}")

    def _send(self, message: dict[str, Any]) -> None:
        assert self._server.stdin is not None
        self._server.stdin.write(json.dumps(message) + "\n")
        self._server.stdin.flush()


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "work").mkdir()
    return tmp_path / "work", tmp_path / "home"


@pytest.fixture
def client(places: tuple[Path, Path]) -> Iterator[SearchClient]:
    client = SearchClient(*places)
    yield client
    assert client.close() == 0


def test_a_session_as_the_specification_tells_it(client: SearchClient) -> None:
    assert client.tools() == ["search_index", "search_add_document", "search_create_index"]
    created = client.search_create_index("codebase_search", tokenizer_config={"lowercase": True, "min_length": 3})
    assert created == {"status": "created", "index_name": "codebase_search", "backend": "memory"}
    content = "Rate limiting protects APIs from abuse by throttling request frequency."
    metadata = {"module": "rate_limiting", "type": "readme"}
    where = {"index_name": "codebase_search"}
    added = client.search_add_document("readme-rate-limiting", content, metadata=metadata, **where)
    assert added == {"status": "indexed", "doc_id": "readme-rate-limiting", "token_count": 9}
    client.search_add_document("other", "Python for machine learning", **where)
    found = client.search_index("rate limiting API", k=3, **where)
    assert found["total_matches"] == 1
    assert found["results"][0]["doc_id"] == "readme-rate-limiting"
    assert found["results"][0]["metadata"] == metadata
    assert found["results"][0]["score"] > 0
    assert found["results"][0]["highlights"] == [
        "...Rate limiting protects APIs from a...",
        "...Rate limiting protects APIs from abuse by t...",
    ]
    found = client.search_index('+python "machine learning"', **where)
    assert [result["doc_id"] for result in found["results"]] == ["other"]
    assert found["query_parsed"]["must"] == ["python"]
    assert found["query_parsed"]["terms"] == []
    again = client.search_add_document("other", "Something else", **where)
    assert again == {"status": "re-indexed", "doc_id": "other", "token_count": 2}


def test_every_error_is_the_specified_object_and_flagged(client: SearchClient) -> None:
    assert client.search_index("") == {
        "results": [],
        "total_matches": 0,
        "query_parsed": {"terms": [], "must": [], "must_not": [], "phrases": []},
    }
    assert client.search_index("x", index_name="nope") == {"error": "Index not found: nope"}
    assert client.search_add_document("a", " ") == {"error": "Content must be a non-empty string"}
    assert client.search_create_index("default") == {"error": "Index already exists: default"}
    assert client.search_create_index("x", backend="elastic") == {"error": "Unknown backend: elastic"}
    assert client.search_create_index("x")["status"] == "created"
    assert client.search_create_index("x") == {"error": "Index already exists: x"}


def test_documents_in_sqlite_survive_the_server_and_those_in_memory_do_not(places: tuple[Path, Path]) -> None:
    first = SearchClient(*places)
    first.search_create_index("kept", backend="sqlite")
    first.search_add_document("a", "Words to keep", index_name="kept", metadata={"a-b": {"class": None}})
    first.search_add_document("b", "Words to forget")
    assert first.search_index("words")["total_matches"] == 1
    assert first.close() == 0
    second = SearchClient(*places)
    (result,) = second.search_index("+keep", index_name="kept")["results"]
    assert (result["doc_id"], result["metadata"]) == ("a", {"a-b": {"class": None}})
    assert second.search_index("words")["total_matches"] == 0
    assert second.close() == 0


def test_a_document_of_ten_megabytes_goes_through_the_pipe(client: SearchClient) -> None:
    assert client.search_add_document("big", "word " * 2_000_000 + "needle")["token_count"] == 2_000_001
    assert client.search_index("+needle")["total_matches"] == 1
