"""`search_index`, whose meaning depends on its arguments if both tool families are enabled."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

from sidecar.errors import InvalidParams
from sidecar.surfaces.mcp.results import listing
from sidecar.tools.registry import DEFAULT_TOOLS, tools_of
from sidecar.tools.spec import ToolSpec
from tests.tools.conftest import RealTools

TOKENIZER = Path(__file__).parents[2] / "models" / "minilm-code" / "tokenizer.json"


def search_index(toolsets: str) -> ToolSpec:
    return next(tool for tool in tools_of(toolsets) if tool.name == "search_index")


@pytest.fixture
def both(real_tools: Callable[..., RealTools]) -> RealTools:
    return real_tools("documents,semantic", confirm="never")


@pytest.mark.process
def test_a_query_searches_documents_and_patterns_index_files(both: RealTools) -> None:
    both("search_add_document", doc_id="one", content="A kettle in the kitchen", metadata={"room": None})
    found = both("search_index", query="+kettle", k=5, index_name="default")
    assert [hit["doc_id"] for hit in found["results"]] == ["one"]
    assert found["query_parsed"]["must"] == ["kettle"]
    assert both("search_index", patterns=["**/*.py"], force=False)["indexed_files"] == 2
    assert both("search_index", patterns=["**/*.py"])["skipped_files"] == 2


def test_an_empty_query_is_a_query(both: RealTools) -> None:
    assert both("search_index", query="") == {
        "results": [],
        "total_matches": 0,
        "query_parsed": {"terms": [], "must": [], "must_not": [], "phrases": []},
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "Send either query .* or patterns .*, one of them is required"),
        ({"query": None}, "one of them is required"),
        ({"query": "x", "patterns": ["*.py"]}, "not both"),
        ({"query": "x", "force": True}, "force: belongs to patterns"),
        ({"patterns": ["*.py"], "k": 3}, "k: belongs to query"),
        ({"patterns": ["*.py"], "index_name": "a"}, "index_name: belongs to query"),
        ({"k": 3}, "one of them is required"),
        ({"query": 5}, "query: must be text"),
        ({"query": "x", "k": 0}, "k: must be a whole number from 1"),
        ({"patterns": []}, "No patterns or files provided for indexing"),
        ({"patterns": "*.py"}, "patterns: must be a list"),
        ({"pattern": ["*.py"]}, "pattern: is not a parameter; the nearest one is patterns"),
    ],
)
def test_anything_else_is_refused_clearly(both: RealTools, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParams, match=message):
        both("search_index", **arguments)


def test_with_one_family_it_has_that_family_s_pure_schema() -> None:
    patterns = search_index("semantic").input_schema()
    assert set(patterns["properties"]) == {"patterns", "force"}
    assert patterns["required"] == ["patterns"]
    query = search_index("documents").input_schema()
    assert set(query["properties"]) == {"query", "k", "index_name"}
    assert query["required"] == ["query"]


def test_with_both_families_the_schema_is_flat_and_all_is_optional() -> None:
    schema = search_index("documents,semantic").input_schema()
    assert schema["type"] == "object"
    assert not {"oneOf", "anyOf", "allOf"} & set(schema)
    assert set(schema["properties"]) == {"query", "k", "index_name", "patterns", "force"}
    assert "required" not in schema


def test_what_the_default_tools_cost_an_agent_is_at_most_3000_tokens() -> None:
    """Counts tokens with the shipped WordPiece tokenizer of all-MiniLM-L6-v2, which gives high counts: every bracket is
    a token."""
    tokenizer = Tokenizer.from_file(str(TOKENIZER))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    assert len(tokenizer.encode("{} " * 5000).ids) > 10_000
    wire = [listing(tool).model_dump(mode="json", by_alias=True, exclude_none=True) for tool in DEFAULT_TOOLS]
    texts = [json.dumps({key: tool[key] for key in ("name", "description", "inputSchema")}) for tool in wire]
    assert sum(len(tokenizer.encode(text).ids) for text in texts) <= 3000


@pytest.mark.parametrize("arguments", [{}, {"query": "a", "patterns": ["**"]}])
def test_a_refusal_of_both_or_neither_has_the_fields_of_both_families(
    both: RealTools, arguments: dict[str, object]
) -> None:
    tool = both.service.tool("search_index")
    with pytest.raises(InvalidParams) as refused:
        both("search_index", **arguments)
    body = tool.meant_by(arguments).dialect.shape_error(refused.value)
    assert body == {"error": refused.value.message, "code": "INVALID_PARAMS"}
