"""The shell's commands have the texts and parameters of the tools' `ToolSpec`; nothing of it is written twice."""

from __future__ import annotations

import argparse
import io
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from pydantic import Field

from sidecar.gen.markdown import actions_of, commands_of
from sidecar.gen.shell import facts
from sidecar.settings.declare import DECLARATIONS
from sidecar.surfaces.cli.main import main
from sidecar.surfaces.cli.options import build_parser, command_named
from sidecar.surfaces.cli.presentation import TOOL_COMMANDS, WITHOUT_COMMAND, Argument, ToolCommand
from sidecar.surfaces.cli.tool_options import shell_facts
from sidecar.tools.code_search import SearchCodeParams
from sidecar.tools.context import Context
from sidecar.tools.dialect import SnakeResult
from sidecar.tools.registry import ALL_SPECS, TOOLSETS
from sidecar.tools.service import Service
from sidecar.tools.spec import Params, ToolSpec
from sidecar.tools.wording import SHELL
from tests.fakes import FakeWorkspace, FakeWorkspaces

SPECS = {tool.id: tool for tool in ALL_SPECS}
USES = [(command, SPECS[tool]) for command in TOOL_COMMANDS for tool in command.tools]
PARAMETERS = [
    pytest.param(command, tool, name, id=f"{command.name}, {name}")
    for command, tool in USES
    for name in tool.input_schema()["properties"]
]
FILES = {"src/a.py": "def alpha():\n    return 1\n"}


def test_every_tool_has_a_command_or_a_reason_to_have_none() -> None:
    with_command = [tool for command in TOOL_COMMANDS for tool in command.tools]
    assert sorted([*with_command, *WITHOUT_COMMAND]) == sorted(SPECS)
    assert all(len(reason.split()) > 3 for reason in WITHOUT_COMMAND.values())


def test_what_the_shell_knows_of_the_tools_is_generated_from_them() -> None:
    assert shell_facts() == json.loads(facts())


def actions(command: ToolCommand) -> dict[str, argparse.Action]:
    parser = commands_of(build_parser([command.name]))[command.name]
    return {action.dest: action for action in actions_of(parser)}


@pytest.mark.parametrize(("command", "tool", "name"), PARAMETERS)
def test_the_help_of_an_option_is_the_parameters_own(command: ToolCommand, tool: ToolSpec, name: str) -> None:
    field = tool.input_schema()["properties"][name]
    text = (actions(command)[name].help or "").replace("%%", "%")
    description = field["description"] if field["description"].endswith("...") else field["description"].rstrip(".")
    assert text.lower().startswith(description.lower())
    argument = command.arguments.get(name, Argument())
    rest = text[len(description) :].replace(argument.note, "").replace("may be repeated", "").strip("; ")
    rest = rest.removesuffix("a single - reads standard input") if argument.position == "words" else rest
    allowed = []
    if "minimum" in field:
        allowed.append(f"{field['minimum']} to {field['maximum']}")
    default = field.get("default")
    if default not in (None, False, "", [], {}):
        allowed.append(f"default {json.dumps(default) if isinstance(default, dict) else default}")
    assert rest == (f"({', '.join(allowed)})" if allowed else "")
    assert all(choice in text for choice in field.get("enum", ()))


@pytest.mark.parametrize("command", TOOL_COMMANDS, ids=lambda command: command.name)
def test_a_command_is_described_in_the_words_of_its_tool(command: ToolCommand) -> None:
    shown = command_named(command.name, shell_facts())
    first = SPECS[command.tools[0]]
    assert shown.manual.split("\n")[0] == first.purpose
    assert first.description.startswith(first.purpose)
    if not command.summary:
        assert shown.summary.lower() == "; ".join(SPECS[tool].summary for tool in command.tools).lower()


class Called(SnakeResult):
    """The result of the recording tools, with the fields that the shell reads from real results."""

    status: str = "ready"
    indexed_files: int = 1
    problems: list[str] = []  # noqa: RUF012  # pydantic copies it


def received(command: ToolCommand, tool: ToolSpec, *words: str) -> dict[str, Any]:
    """Returns the parameters with which the tool is called when these words are typed after the command."""
    calls: list[Params] = []

    def record(context: Context, params: Params) -> Called:
        calls.append(params)
        return Called()

    recording = replace(tool, run=record, question=None, declined=None)
    service = Service(FakeWorkspaces(FakeWorkspace(FILES)), tools=(recording, *others(tool)))
    out, err = io.StringIO(), io.StringIO()
    argv = ["-w", "/fake/workspace", *command.name.split(), *words]
    assert main(argv, service=service, stdin=io.StringIO(), stdout=out, stderr=err) == 0, err.getvalue()
    return dict(calls[0])


def others(tool: ToolSpec) -> tuple[ToolSpec, ...]:
    asked = SPECS["get_index_status"]
    return () if tool.id == asked.id else (replace(asked, run=lambda context, params: Called()),)


def typed(command: ToolCommand, name: str, field: Mapping[str, Any], value: Any) -> list[str]:
    """Returns the words that give a parameter this value."""
    if command.arguments.get(name, Argument()).position:
        return [str(one) for one in (value if isinstance(value, list) else [value])]
    flag = max(actions(command)[name].option_strings, key=len)
    if field["type"] == "boolean":
        return [flag]
    if field["type"] == "object":
        return [flag, json.dumps(value)]
    return [word for one in (value if isinstance(value, list) else [value]) for word in (flag, str(one))]


@pytest.mark.parametrize(("command", "tool", "name"), PARAMETERS)
def test_every_parameter_of_a_tool_can_be_given_and_the_others_keep_their_defaults(
    command: ToolCommand, tool: ToolSpec, name: str
) -> None:
    properties = tool.input_schema()["properties"]
    required = set(tool.input_schema().get("required", ()))
    given = {one: properties[one]["examples"][0] for one in properties if one in required or one == name}
    words = [word for one, value in given.items() for word in typed(command, one, properties[one], value)]
    assert received(command, tool, *words) == dict(tool.params.model_validate(given))


class MoreParams(SearchCodeParams):
    """As `search_code` will take them one day."""

    depth: int = Field(3, ge=1, le=9, description="How deep to look.", examples=[4])
    authors: list[str] = Field([], description="Only what these wrote.", examples=[["me"]])
    tidy: bool = Field(False, description="Leave out what is untidy.", examples=[True])


def test_a_new_parameter_is_an_option_without_a_line_in_the_shell() -> None:
    schema = MoreParams.model_json_schema()["properties"]
    known = json.loads(facts())
    known["tools"]["search_code"]["parameters"] |= {name: schema[name] for name in ("depth", "authors", "tidy")}
    parser = build_parser(["search"], known)
    args = parser.parse_args(["search", "x", "--depth", "4", "--authors", "a", "--authors", "b", "--tidy"])
    assert (args.depth, args.authors, args.tidy) == (4, ["a", "b"], True)
    assert "how deep to look (1 to 9, default 3)" in commands_of(parser)["search"].format_help()


def test_a_parameter_that_no_option_can_take_is_refused_when_the_grammar_is_built() -> None:
    known = json.loads(facts())
    known["tools"]["explain_path"]["parameters"]["tree"] = {"type": "array", "items": {}, "description": "A tree."}
    with pytest.raises(ValueError, match="tree"):
        build_parser(["explain"], known)


def test_advice_names_a_command_for_every_tool_that_has_one() -> None:
    """Where two tools have the same name, it belongs to the first one."""
    assert dict(SHELL) == {tool.name: command.name for command, tool in reversed(USES)}


def test_the_options_for_settings_are_described_as_the_settings_are() -> None:
    common = actions(TOOL_COMMANDS[0])
    described = {one.key: one for one in DECLARATIONS}
    for key in ("model", "device", "offline", "toolsets"):
        text = (common[key].help or "").lower()
        assert text.startswith(described[key].description.lower().rstrip("."))
        assert all(choice in text for choice in described[key].choices)
    assert all(toolset in described["toolsets"].description for toolset in TOOLSETS)
