"""Specification 003 on every door. One set of memories serves the whole file; no index is ever made."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.types import TextContent

from sidecar.errors import InvalidParams
from sidecar.surfaces.mcp.results import failure, listing
from sidecar.tools.registry import DEFAULT_TOOLS, tools_of
from sidecar.tools.validate import validate
from tests.spec.conftest import DOORS, Drive
from tests.spec.doors import ToolFailed
from tests.spec.families import open_drive
from tests.spec.requirements import VARIANT, requires

SEARCHES = ("memory_search", "memory_fulltext_search")
MEMORIES: tuple[dict[str, Any], ...] = (
    {"key": "build/command", "summary": "How to build", "text": "Run `make all`; it needs clang 17."},
    {"key": "deploy", "summary": "Deploying", "text": "Push a tag; the pipeline ships to kubernetes with make."},
    {"key": "style", "summary": "Preferences", "text": "The user wants short functions."},
)


@pytest.fixture(scope="module", params=DOORS)
def drive(
    request: pytest.FixtureRequest, repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Drive]:
    for drive in open_drive(request, repository, tmp_path_factory, "memory"):
        for memory in MEMORIES:
            assert drive("memory_save", **memory)["status"] == "created"
        yield drive


@pytest.fixture
def direct(drive: Drive) -> Iterator[Drive]:
    """The service itself, on the same workspace and memories."""
    direct = Drive("direct", drive.workspace, drive.home, {"SIDECAR_TOOLSETS": "memory"})
    yield direct
    direct.close()


def results(answer: dict[str, Any]) -> list[dict[str, Any]]:
    assert answer["success"] is True
    found: list[dict[str, Any]] = answer["data"]["results"]
    return found


@requires(
    "003.memory_search.matching",
    "003.memory_search.fields",
    "003.memory_search.pagination",
    "003.output.consistent",
    "003.registration.available",
)
def test_a_search_by_meaning_and_word_is_ranked_and_paged(drive: Drive) -> None:
    first = results(drive("memory_search", query="how do I compile this with make"))
    assert first[0]["key"] == "build/command"
    assert first[0]["summary"] == "How to build"
    relevances = [hit["relevance"] for hit in first]
    assert all(0 < relevance <= 1 for relevance in relevances)
    assert relevances == sorted(relevances, reverse=True)
    page = drive("memory_search", query="how do I compile this with make", limit=1, offset=1)
    assert results(page) == first[1:2]
    assert page["data"]["pagination"] == {"total": len(first), "limit": 1, "offset": 1}
    assert results(drive("memory_search", query="zebra quantum")) == []


@requires(
    "003.memory_fulltext_search.results",
    "003.memory_fulltext_search.operator",
    "003.memory_fulltext_search.highlighting",
    "003.output.consistent",
)
def test_keywords_are_combined_and_marked(drive: Drive) -> None:
    (hit,) = results(drive("memory_fulltext_search", keywords=["make", "clang"], operator="AND"))
    assert hit["key"] == "build/command"
    assert hit["excerpt"] == "Run `<mark>make</mark> all`; it needs <mark>clang</mark> 17."
    either = results(drive("memory_fulltext_search", keywords="make,clang", operator="OR"))
    assert [found["key"] for found in either] == ["build/command", "deploy"]
    assert either[0]["relevance"] > either[1]["relevance"]


@requires("003.registration.compatible", "003.registration.equivalent")
def test_every_door_gives_the_same_results(drive: Drive, direct: Drive) -> None:
    calls: tuple[tuple[str, dict[str, Any]], ...] = (
        ("memory_search", {"query": "user preferences on functions", "limit": 2}),
        ("memory_fulltext_search", {"keywords": "make, functions", "operator": "OR", "limit": 2, "offset": 1}),
    )
    for tool, arguments in calls:
        assert drive(tool, **arguments) == direct(tool, **arguments)


@requires("003.validation.descriptive")
@pytest.mark.parametrize(
    ("tool", "arguments", "names"),
    [
        ("memory_search", {}, "query: is required"),
        pytest.param(
            "memory_search",
            {"query": "x", "limit": 0},
            "limit: must be a whole number from 1 to 100, not 0",
            marks=VARIANT,
        ),
        pytest.param(
            "memory_search", {"query": "x", "offset": -1}, "offset: must be a whole number from 0", marks=VARIANT
        ),
        pytest.param(
            "memory_fulltext_search",
            {"keywords": "x", "operator": "XOR"},
            'one of "AND", "OR", not "XOR"',
            marks=VARIANT,
        ),
        pytest.param(
            "memory_fulltext_search",
            {"keywords": " , "},
            "keywords must contain at least one non-empty value",
            marks=VARIANT,
        ),
        pytest.param("memory_save", {"key": "a", "text": " "}, "text: must not be blank", marks=VARIANT),
    ],
)
def test_a_wrong_parameter_is_described(drive: Drive, tool: str, arguments: dict[str, Any], names: str) -> None:
    with pytest.raises(ToolFailed) as failed:
        drive(tool, **arguments)
    assert failed.value.code == ("INVALID_QUERY" if names.startswith("query") else "INVALID_PARAMS")
    assert names in failed.value.message
    assert failed.value.body | {"success": False, "message": failed.value.message} == failed.value.body


@requires("003.validation.mcp-format")
def test_a_failure_over_mcp_has_the_flag_and_the_family_s_body() -> None:
    tool = next(tool for tool in tools_of("memory") if tool.name == "memory_search")
    with pytest.raises(InvalidParams) as refused:
        validate(tool, {"query": "x", "limit": 0})
    result = failure(tool, refused.value)
    assert result.is_error
    (block,) = result.content
    assert isinstance(block, TextContent)
    assert block.text.startswith('{"success":false,"message":"Invalid parameters. limit: must be')


@requires("003.registration.both", "003.registration.schema", "003.registration.examples", "003.output.structured")
def test_both_tools_are_listed_with_schemas_when_the_toolset_is_on() -> None:
    listed = {tool.name: listing(tool) for tool in tools_of("memory")}
    assert not {tool.name for tool in DEFAULT_TOOLS} & set(listed)
    for name in SEARCHES:
        schema = listed[name].input_schema
        assert schema["type"] == "object"
        assert schema["required"]
        for field in schema["properties"].values():
            assert field["description"]
            assert field["examples"]
            assert "type" in field or "anyOf" in field
        assert (listed[name].output_schema or {})["properties"]["data"]
