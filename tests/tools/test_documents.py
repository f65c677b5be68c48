"""The three tools of document indexes: shapes, every error sentence, everything a caller may get wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from sidecar.errors import SidecarError
from sidecar.tools.dialect import DOCUMENTS
from sidecar.tools.documents import TOOLS
from sidecar.tools.registry import tools_of
from sidecar.tools.service import Done, Service
from tests.fakes import FakeWorkspace, FakeWorkspaces

ROOT = "/fake/workspace"


class Tools:
    """Calls tools by name. A failure is returned in the tool family's form."""

    def __init__(self) -> None:
        self.service = Service(FakeWorkspaces(FakeWorkspace({}, root=ROOT)), tools=tools_of("documents"))

    def __call__(self, tool: str, /, **arguments: object) -> dict[str, Any]:
        try:
            done = self.service.call(tool, arguments, workspace=ROOT)
        except SidecarError as error:
            return DOCUMENTS.shape_error(error)
        assert isinstance(done, Done)
        json.dumps(done.value, allow_nan=False).encode()
        return done.value


@pytest.fixture
def tools() -> Iterator[Tools]:
    tools = Tools()
    yield tools
    tools.service.close()


def nested(depth: int) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for _ in range(depth):
        made = {"in": made}
    return made


def test_a_document_is_added_found_and_replaced(tools: Tools) -> None:
    content = "Python rate limiting with token buckets"
    metadata = {"author": "Smith", "year": 2026}
    added = tools("search_add_document", doc_id="doc-001", content=content, metadata=metadata)
    assert added == {"status": "indexed", "doc_id": "doc-001", "token_count": 6}
    found = tools("search_index", query='+python "rate limiting" -java guide')
    assert list(found) == ["results", "total_matches", "query_parsed"]
    assert found["total_matches"] == 1
    assert found["query_parsed"] == {
        "terms": ["guide"],
        "must": ["python"],
        "must_not": ["java"],
        "phrases": ["rate limiting"],
    }
    (result,) = found["results"]
    assert result == {
        "doc_id": "doc-001",
        "score": 0.920558,
        "highlights": ["...Python rate limiting with token buck...", "...Python rate limiting with token buckets..."],
        "metadata": metadata,
    }
    again = tools("search_add_document", doc_id="doc-001", content="Something else")
    assert again == {"status": "re-indexed", "doc_id": "doc-001", "token_count": 2}
    assert tools("search_index", query="python") == {
        "results": [],
        "total_matches": 0,
        "query_parsed": {"terms": ["python"], "must": [], "must_not": [], "phrases": []},
        "reason": "The only document has none of these words: python.",
    }
    assert tools("search_index", query="something")["results"][0]["metadata"] == {}


def test_an_index_is_created_with_its_defaults_and_its_settings(tools: Tools) -> None:
    made = tools("search_create_index", index_name="project_docs")
    assert made == {"status": "created", "index_name": "project_docs", "backend": "memory"}
    tools("search_create_index", index_name="exact", tokenizer_config={"lowercase": False, "min_length": 4})
    for name, expected in (("project_docs", 3), ("exact", 1)):
        added = tools("search_add_document", doc_id="a", content="The Tokens are a", index_name=name)
        assert added["token_count"] == expected
    assert tools("search_index", query="tokens", index_name="project_docs")["total_matches"] == 1
    assert tools("search_index", query="tokens", index_name="exact")["total_matches"] == 0
    assert tools("search_index", query="tokens")["total_matches"] == 0


@pytest.mark.parametrize("query", ["", "   ", "+ -", '""', '+\n-\t""'])
def test_an_empty_query_returns_exactly_this(tools: Tools, query: str) -> None:
    tools("search_add_document", doc_id="a", content="text")
    assert tools("search_index", query=query) == {
        "results": [],
        "total_matches": 0,
        "query_parsed": {"terms": [], "must": [], "must_not": [], "phrases": []},
    }


def test_k_is_ten_unless_told_otherwise(tools: Tools) -> None:
    for number in range(12):
        tools("search_add_document", doc_id=f"d{number}", content="same text")
    found = tools("search_index", query="text")
    assert [result["doc_id"] for result in found["results"]] == [f"d{number}" for number in range(10)]
    assert found["total_matches"] == 12
    assert len(tools("search_index", query="text", k=3)["results"]) == 3


@pytest.mark.parametrize(
    ("tool", "arguments", "sentence"),
    [
        ("search_index", {"query": "x", "index_name": "nope"}, "Index not found: nope"),
        ("search_index", {"query": "", "index_name": "nope"}, "Index not found: nope"),
        ("search_add_document", {"doc_id": "a", "content": "x", "index_name": "nope"}, "Index not found: nope"),
        ("search_create_index", {"index_name": "default"}, "Index already exists: default"),
        ("search_create_index", {"index_name": "x", "backend": "redis"}, "Unknown backend: redis"),
        ("search_create_index", {"index_name": "x", "backend": ""}, "Unknown backend:"),
        ("search_add_document", {"doc_id": "a"}, "Content must be a non-empty string"),
        ("search_add_document", {"doc_id": "a", "content": ""}, "Content must be a non-empty string"),
        ("search_add_document", {"doc_id": "a", "content": " \n\t "}, "Content must be a non-empty string"),
        ("search_add_document", {"doc_id": "a", "content": None}, "Content must be a non-empty string"),
        ("search_add_document", {"doc_id": "a", "content": 7}, "Content must be a non-empty string"),
    ],
)
def test_every_error_of_the_specification_has_its_sentence_and_nothing_else(
    tools: Tools, tool: str, arguments: dict[str, Any], sentence: str
) -> None:
    assert tools(tool, **arguments) == {"error": sentence}


@pytest.mark.parametrize(
    ("tool", "arguments", "reason"),
    [
        ("search_index", {}, "query: is required"),
        ("search_index", {"query": 5}, "query: must be text"),
        ("search_index", {"query": "x", "k": 0}, "k: must be a whole number from 1"),
        ("search_index", {"query": "x", "k": -3}, "k: must be a whole number from 1"),
        ("search_index", {"query": "x", "k": True}, "k: must be a whole number"),
        ("search_index", {"query": "x", "index": "a"}, "the nearest one is index_name"),
        ("search_index", {"query": "x", "index_name": ""}, "index_name: must be text of 1"),
        ("search_index", {"query": "x" * 20_001}, "query: must be text"),
        ("search_add_document", {"content": "x"}, "doc_id: is required"),
        ("search_add_document", {"doc_id": 1, "content": "x"}, "doc_id: must be text"),
        ("search_add_document", {"doc_id": "", "content": "x"}, "doc_id: must be text of 1"),
        ("search_add_document", {"doc_id": "a", "content": "x\ud800"}, "half of a surrogate pair"),
        ("search_add_document", {"doc_id": "a", "content": "x", "metadata": [1]}, "metadata: must be an object"),
        ("search_add_document", {"doc_id": "a", "content": "x", "metadata": "y"}, "metadata: must be an object"),
        ("search_add_document", {"doc_id": "a", "content": "x", "metadata": {"a": float("nan")}}, "JSON values"),
        ("search_add_document", {"doc_id": "a", "content": "x", "metadata": {"a": "\ud800"}}, "JSON values"),
        ("search_add_document", {"doc_id": "a", "content": "x", "metadata": {"a": object()}}, "JSON values"),
        ("search_add_document", {"doc_id": "a", "content": "x", "metadata": nested(5000)}, "at most 100 deep"),
        ("search_create_index", {}, "index_name: is required"),
        ("search_create_index", {"index_name": "  "}, "letters, digits, hyphens and underscores"),
        ("search_create_index", {"index_name": "x", "tokenizer_config": []}, "tokenizer_config: must be an object"),
        (
            "search_create_index",
            {"index_name": "x", "tokenizer_config": {"min_length": 0}},
            "tokenizer_config.min_length: must be a whole number from 1 to 100, not 0",
        ),
        (
            "search_create_index",
            {"index_name": "x", "tokenizer_config": {"lower_case": True}},
            "tokenizer_config.lower_case: is not a parameter; the nearest one is lowercase",
        ),
        (
            "search_create_index",
            {"index_name": "x", "tokenizer_config": {"lowercase": "yes"}},
            'tokenizer_config.lowercase: must be true or false, not "yes"',
        ),
    ],
)
def test_a_wrong_parameter_is_named_with_what_is_allowed(
    tools: Tools, tool: str, arguments: dict[str, Any], reason: str
) -> None:
    answer = tools(tool, **arguments)
    assert list(answer) == ["error"]
    assert answer["error"].startswith("Invalid parameters. ")
    assert reason in answer["error"]


def test_a_name_that_is_taken_is_refused_and_nothing_is_lost(tools: Tools) -> None:
    tools("search_create_index", index_name="docs")
    tools("search_add_document", doc_id="a", content="text", index_name="docs")
    for backend in ("memory", "sqlite"):
        refused = tools("search_create_index", index_name="docs", backend=backend)
        assert refused == {"error": "Index already exists: docs"}
    assert tools("search_index", query="text", index_name="docs")["total_matches"] == 1


def test_awkward_metadata_comes_back_as_it_was(tools: Tools) -> None:
    metadata = {
        "class": "x",
        "a-b": {"nested": [1, {"deep": None}]},
        "null": None,
        "": 0,
        "doc_id": "other",
        "é": 1e300,
    }
    tools("search_add_document", doc_id="a", content="text", metadata=metadata)
    assert tools("search_index", query="text")["results"][0]["metadata"] == metadata


def test_a_document_of_ten_megabytes_is_taken(tools: Tools) -> None:
    content = "word " * 2_000_000 + "needle"
    assert tools("search_add_document", doc_id="big", content=content)["token_count"] == 2_000_001
    (result,) = tools("search_index", query="+needle")["results"]
    assert result["highlights"] == ["..." + "word " * 6 + "needle..."]


def test_a_query_is_only_ever_text(tools: Tools) -> None:
    tools("search_add_document", doc_id="a", content="text")
    for query in ("' OR 1=1 --", "text') DROP TABLE documents; --", "text*", "NEAR(text)", "\0text", "%"):
        assert "error" not in tools("search_index", query=query)
    assert tools("search_index", query="text")["total_matches"] == 1


def test_the_documents_of_this_family_alone_have_its_pure_schema() -> None:
    listed = {tool.name: tool.input_schema() for tool in tools_of("documents")}
    assert (
        list(listed) == [tool.name for tool in TOOLS] == ["search_index", "search_add_document", "search_create_index"]
    )
    assert list(listed["search_index"]["properties"]) == ["query", "k", "index_name"]
    assert "$ref" not in json.dumps(listed)
