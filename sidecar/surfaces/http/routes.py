"""Which path calls which tool, derived from the tools. Names only: no web library, nothing is answered here."""

from __future__ import annotations

from collections.abc import Iterable

from sidecar.tools.spec import ToolSpec

TOOLS = "/tools"
OPENAPI = "/openapi.json"
MCP = "/mcp"


def post_path(tool: ToolSpec) -> str:
    return f"{TOOLS}/{tool.name}"


def get_paths(tools: Iterable[ToolSpec]) -> dict[str, ToolSpec]:
    """The tool that each friendly path calls; the later tool has a path that two claim.

    Raises ValueError for a tool that changes something: GET must not.
    """
    paths: dict[str, ToolSpec] = {}
    for tool in tools:
        if tool.rest and not tool.read_only:
            raise ValueError(f"{tool.name} changes something, so GET may not call it")
        for path in tool.rest:
            paths.pop(path, None)
            paths[path] = tool
    return paths
