"""What a client gets: listings of tools, results and failures in MCP's form.

The structured content is exact. The text beside it is what most hosts give the model. A search's text is therefore as a
person would read it (JSON would escape every line end and quote), and all other text is compact JSON.

In a search's text, each line of a file stands behind its number and a bar, `12| `, and no other line begins like that.
Whatever a file contains, the reader can tell that it comes from the file, and count the results by the lines of the
form `path:start-end score`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp.types import CallToolResult, TextContent, Tool, ToolAnnotations

from sidecar import shown
from sidecar.errors import SidecarError
from sidecar.surfaces.mcp.messages import as_text, whole
from sidecar.tools.spec import ToolSpec

ERROR_META = "sidecar/error"
"""Key in a failed result's `_meta` that holds the structured error.

It is not structured content, because some clients validate that against the tool's output schema even for failures (the
TypeScript SDK does) and would hide the error.
"""


def listing(tool: ToolSpec) -> Tool:
    """Returns a tool as `tools/list` shows it."""
    given, returned = tool.listed_schemas
    return Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=given,
        output_schema=returned,
        annotations=ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.read_only,
            destructive_hint=tool.destructive,
            idempotent_hint=tool.idempotent,
            open_world_hint=False,
        ),
    )


def success(value: Mapping[str, Any]) -> CallToolResult:
    """Returns a tool's result with its text."""
    told = whole(value)
    return CallToolResult(content=[TextContent(text=_text(told))], structured_content=told)


def failure(tool: ToolSpec, error: SidecarError) -> CallToolResult:
    """Returns a failed result that the model can act on: the code, the sentence, and what to do."""
    return CallToolResult(
        content=[TextContent(text=as_text(tool.dialect.error_text(error)))],
        is_error=True,
        _meta={ERROR_META: whole(error.as_dict())},
    )


def _text(value: Mapping[str, Any]) -> str:
    if isinstance(value.get("results"), list) and "searchTimeMs" in value:
        blocks = [_hit(hit) for hit in value["results"]]
        return _search(value, blocks, value.get("available", len(blocks)))
    if isinstance(value.get("r"), list):
        blocks = [_compact(hit) for hit in value["r"]]
        return _search(value, blocks, len(blocks))
    return shown.as_json(value)


def _search(value: Mapping[str, Any], blocks: list[str], total: int) -> str:
    head = [shown.sentence(str(value["notice"]))] if value.get("notice") else []
    if not blocks:
        return "\n".join([*head, "No results."])
    tail = [f"{len(blocks)} of {total} results."] if total > len(blocks) else []
    return "\n\n".join([*head, *blocks, *tail])


def _hit(hit: Mapping[str, Any]) -> str:
    parts = f" {shown.as_json(hit['parts'])}" if hit.get("parts") else ""
    place = f"{shown.path(hit['path'])}:{hit['startLine']}-{hit['endLine']}"
    return "\n".join((f"{place} {hit['score']:.2f}{parts}", *shown.numbered(hit["content"], hit["startLine"])))


def _compact(hit: Mapping[str, Any]) -> str:
    path, _, lines = str(hit["l"]).rpartition(":")
    numbered = shown.numbered(hit["t"], int(lines.partition("-")[0]))
    return "\n".join((f"{shown.path(path)}:{lines} {hit['s']}", *numbered))
