"""Maps paths to the tools that they call, derived from the tools. This module only names paths and needs no web
library."""

from __future__ import annotations

from collections.abc import Iterable

from sidecar.tools.spec import ToolSpec

TOOLS = "/tools"
OPENAPI = "/openapi.json"
MCP = "/mcp"


def post_path(tool: ToolSpec) -> str:
    """Returns the path that calls this tool by POST."""
    return f"{TOOLS}/{tool.name}"


def get_paths(tools: Iterable[ToolSpec]) -> dict[str, ToolSpec]:
    """Returns the tool that each GET path calls; if two tools claim a path, the later one gets it.

    Raises ValueError for a tool that changes something, because GET must not.
    """
    paths: dict[str, ToolSpec] = {}
    for tool in tools:
        if tool.rest and not tool.read_only:
            raise ValueError(f"{tool.name} changes something, so GET may not call it")
        for path in tool.rest:
            paths.pop(path, None)
            paths[path] = tool
    return paths
