"""What a client gets: tool listings from the specifications of tools, results and failures as MCP has them.

The structured content is exact. The text beside it is what most hosts give the model, so searches are text as a
person would read it (JSON would escape every line end and quote) and everything else is compact JSON.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from mcp.types import CallToolResult, TextContent, Tool, ToolAnnotations

from sidecar.errors import SidecarError
from sidecar.surfaces.mcp.messages import as_text, whole
from sidecar.tools.spec import ToolSpec

ERROR_META = "sidecar/error"
"""Key in a failed result's `_meta` that holds the structured error. It is not structured content: a client that
validates that against the tool's output schema (the TypeScript SDK does, for failures too) would hide the error."""


def listing(tool: ToolSpec) -> Tool:
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
    told = whole(value)
    return CallToolResult(content=[TextContent(text=_text(told))], structured_content=told)


def failure(tool: ToolSpec, error: SidecarError) -> CallToolResult:
    """A result that the model can read and act on: the code, the sentence, what to do."""
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
        blocks = [f"{hit['l']} {hit['s']}\n{hit['t']}" for hit in value["r"]]
        return _search(value, blocks, len(blocks))
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _search(value: Mapping[str, Any], blocks: list[str], total: int) -> str:
    head = [str(value["notice"])] if value.get("notice") else []
    if not blocks:
        return "\n".join([*head, "No results."])
    tail = [f"{len(blocks)} of {total} results."] if total > len(blocks) else []
    return "\n\n".join([*head, *blocks, *tail])


def _hit(hit: Mapping[str, Any]) -> str:
    parts = f" {json.dumps(hit['parts'], separators=(',', ':'))}" if hit.get("parts") else ""
    return f"{hit['path']}:{hit['startLine']}-{hit['endLine']} {hit['score']:.2f}{parts}\n{hit['content']}"
