"""The plugin for Claude Code and its skill say what sidecar is."""

from __future__ import annotations

import json
import re
from pathlib import Path

import yaml

from sidecar.agents.catalog import BY_NAME
from sidecar.agents.change import pasted
from sidecar.tools.registry import tools_of

ROOT = Path(__file__).resolve().parents[2]
SKILL = ROOT / "plugin" / "skills" / "code-search" / "SKILL.md"


def test_the_plugin_starts_the_server_as_an_entry_does() -> None:
    project = BY_NAME["claude-code"].project
    assert project is not None
    assert json.loads((ROOT / "plugin" / ".mcp.json").read_text("utf-8")) == json.loads(pasted(project, ["sidecar"]))


def test_the_marketplace_names_the_plugin_where_it_is() -> None:
    (listed,) = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text("utf-8"))["plugins"]
    plugin = json.loads((ROOT / listed["source"] / ".claude-plugin" / "plugin.json").read_text("utf-8"))
    assert listed["name"] == plugin["name"]


def test_the_skill_names_only_tools_and_parameters_that_agents_are_offered() -> None:
    text = SKILL.read_text("utf-8")
    offered = {tool.name: tool for tool in tools_of()}
    named = set(re.findall(r"`([a-z]+_[a-z_]+)`", text))
    assert {"search_code", "search_symbols", "search_by_path", "find_similar"} <= named
    assert named <= offered.keys()
    parameters = offered["search_code"].input_schema()["properties"]
    assert {"mode", "compact", "paths", "languages"} <= parameters.keys()
    assert "fts" in parameters["mode"]["enum"]


def test_the_skill_says_when_it_is_for_and_is_short() -> None:
    _, front, body = SKILL.read_text("utf-8").split("---\n", 2)
    facts = yaml.safe_load(front)
    assert facts["name"] == SKILL.parent.name
    assert len(facts["description"]) <= 300
    assert len(body) <= 3000
