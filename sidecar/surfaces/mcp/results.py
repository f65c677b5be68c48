"""What a client gets: listings of tools, results and failures in MCP's form.

The structured content is exact. The text beside it is what most hosts give the model: the result's own text, or the
structured content as compact JSON. A search has its own text, because JSON would escape every line end and quote.
"""

from __future__ import annotations

from mcp.types import CallToolResult, TextContent, Tool, ToolAnnotations

from sidecar import shown
from sidecar.errors import SidecarError
from sidecar.surfaces.mcp.messages import as_text, whole
from sidecar.tools.service import Done
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


def success(done: Done) -> CallToolResult:
    """Returns a tool's result as structured content and text."""
    shown_value = whole(done.value)
    text = done.result.as_text()
    return CallToolResult(
        content=[TextContent(text=shown.as_json(shown_value) if text is None else text)], structured_content=shown_value
    )


def failure(tool: ToolSpec, error: SidecarError) -> CallToolResult:
    """Returns a failed result that the model can act on: the code, the sentence, and advice."""
    return CallToolResult(
        content=[TextContent(text=as_text(tool.dialect.error_text(error)))],
        is_error=True,
        _meta={ERROR_META: whole(error.as_dict())},
    )
