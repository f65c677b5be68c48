"""What is derived from a tool's definition: names, schemas, descriptions."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from sidecar.errors import InvalidParams
from sidecar.tools.registry import ALL_TOOLS, DEFAULT_TOOLS, TOOLSETS, tools_of
from sidecar.tools.service import Service
from sidecar.tools.spec import ToolSpec
from tests.fakes import FakeWorkspaces

SPECIFIED = [
    "create_index",
    "search_code",
    "search_docs",
    "search_by_path",
    "get_index_status",
    "get_config",
    "reindex_project",
    "reindex_file",
    "delete_index",
]


def test_the_nine_specified_tools_come_first_and_in_order() -> None:
    assert [tool.name for tool in DEFAULT_TOOLS] == [*SPECIFIED, "explain_path", "search_symbols", "find_similar"]


@pytest.mark.parametrize("tool", ALL_TOOLS, ids=lambda tool: tool.name)
def test_every_parameter_has_a_description_and_an_example_and_no_other_is_taken(tool: ToolSpec) -> None:
    schema = tool.input_schema()
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    for field in schema.get("properties", {}).values():
        assert field["description"]
        assert field["examples"]


UNLISTED = {"minLength", "maxLength", "minItems", "maxItems"}


@pytest.mark.parametrize("tool", DEFAULT_TOOLS, ids=lambda tool: tool.name)
def test_the_default_tools_list_every_parameter_without_what_goes_without_saying(tool: ToolSpec) -> None:
    whole, listed = tool.input_schema(), tool.listed_schemas[0]
    assert list(listed["properties"]) == list(whole["properties"])
    assert listed.get("required") == whole.get("required")
    for name, field in whole["properties"].items():
        left_out = {key: value for key, value in field.items() if key not in listed["properties"][name]}
        assert not left_out.pop("default", None)
        assert left_out.pop("maximum", 1000) >= 1000
        assert left_out.pop("minimum", 0) in (0, 1)
        assert set(left_out) - {"examples"} <= UNLISTED


@pytest.mark.parametrize("tool", [t for t in ALL_TOOLS if t.family != "code-search"], ids=lambda tool: tool.name)
def test_a_tool_of_another_family_lists_all_that_its_parameters_may_be(tool: ToolSpec) -> None:
    assert tool.listed_schemas[0] == tool.input_schema()


@pytest.mark.parametrize("tool", ALL_TOOLS, ids=lambda tool: tool.name)
def test_every_tool_has_a_description_with_an_example_that_validates(tool: ToolSpec) -> None:
    start = tool.description.index("{")
    example, _ = json.JSONDecoder().raw_decode(tool.description[start:])
    tool.params.model_validate(example)
    assert len(tool.description) < 500


@pytest.mark.parametrize("tool", ALL_TOOLS, ids=lambda tool: tool.name)
def test_an_output_schema_is_one_object_without_null_but_where_the_specification_has_it(tool: ToolSpec) -> None:
    schema = tool.output_schema()
    assert schema["type"] == "object"
    assert ('"null"' in json.dumps(schema)) is (tool.name == "search_fuzzy")


def test_the_schema_text_of_the_default_tools_stays_small() -> None:
    assert sum(len(json.dumps(tool.input_schema())) + len(tool.description) for tool in DEFAULT_TOOLS) < 9_600


def test_toolsets_are_named_with_commas_or_one_by_one() -> None:
    assert tools_of(" Code ") == tools_of(["code"]) == DEFAULT_TOOLS
    assert tools_of(",".join(TOOLSETS)) == tools_of(TOOLSETS) == tools_of("code,all") == ALL_TOOLS


def test_every_tool_of_a_service_has_one_name_in_every_choice_of_toolsets() -> None:
    names = list(TOOLSETS)
    for choice in range(1, 2 ** len(names)):
        wanted = [name for place, name in enumerate(names) if choice >> place & 1]
        Service(FakeWorkspaces(), tools=tools_of(wanted)).close()


def test_an_unknown_toolset_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(InvalidParams, match="Did you mean code"):
        tools_of("codes")
    with pytest.raises(InvalidParams, match="Known toolsets: code, "):
        tools_of("zzz")
    with pytest.raises(InvalidParams, match="at least one"):
        tools_of(" , ")


def test_two_tools_of_one_name_are_refused() -> None:
    search = ALL_TOOLS[1]
    with pytest.raises(ValueError, match="two tools are called search_code"):
        Service(FakeWorkspaces(), tools=(search, replace(ALL_TOOLS[2], aliases=("search_code",))))


def test_a_question_without_what_a_no_returns_is_refused() -> None:
    with pytest.raises(ValueError, match="does not say what a no returns"):
        Service(FakeWorkspaces(), tools=(replace(ALL_TOOLS[0], declined=None),))


def test_a_tool_is_found_by_name_and_by_its_lsp_method() -> None:
    service = Service(FakeWorkspaces(), tools=ALL_TOOLS)
    for tool in ALL_TOOLS:
        assert service.tool(tool.name) is tool
        assert service.tool(tool.lsp_method) is tool
    assert service.tool("sidecar/searchByPath").name == "search_by_path"


def test_every_tool_that_destroys_asks_first() -> None:
    destroying = [tool for tool in ALL_TOOLS if tool.destructive]
    assert {"delete_index", "memory_delete"} <= {tool.name for tool in destroying}
    assert [tool.name for tool in destroying if tool.question is None or tool.declined is None] == []
