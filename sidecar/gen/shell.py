"""Generates `shell.json`: what the shell's grammar says of tools and settings, without importing the tools."""

from __future__ import annotations

import json
from typing import Any

from sidecar.settings.declare import DECLARATIONS
from sidecar.settings.values import DEFAULTS
from sidecar.tools.models import ModelCard, ModelList
from sidecar.tools.registry import ALL_SPECS
from sidecar.tools.spec import ToolSpec

SETTINGS = ("model", "device", "offline", "toolsets")
"""The settings that are options of every command."""


def facts() -> str:
    """The content of `shell.json`."""
    tools = {tool.id: _tool(tool) for tool in ALL_SPECS}
    settings = {
        one.key: {"description": one.description, "enum": one.choices} for one in DECLARATIONS if one.key in SETTINGS
    }
    shipped = [
        f"{card.model.entry.id} (default)" if card.model.in_use else card.model.entry.id
        for card in known_models()
        if card.model.state == "ships"
    ]
    content = {"tools": tools, "settings": settings, "models": sorted(shipped, key=lambda name: "(" not in name)}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def known_models() -> tuple[ModelCard, ...]:
    """Returns the models that can be named in a new installation, those that ship with sidecar first."""
    return ModelList({"model": DEFAULTS["model"]}, "/", {"SIDECAR_HOME": "/"}).every().models


def _tool(tool: ToolSpec) -> dict[str, Any]:
    properties = tool.input_schema().get("properties", {})
    parameters = {
        name: {key: value for key, value in field.items() if key != "examples"} for name, field in properties.items()
    }
    return {"name": tool.name, "summary": tool.summary, "purpose": tool.purpose, "parameters": parameters}
