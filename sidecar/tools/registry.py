"""Every tool, by toolset. A new tool is one more line here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from types import MappingProxyType

from sidecar import shown
from sidecar.errors import InvalidParams
from sidecar.settings.values import DEFAULTS
from sidecar.tools import (
    cancelling,
    code_index,
    code_lookup,
    code_search,
    document_lists,
    documents,
    inline,
    memory,
    overview,
    search_index,
    semantic,
    snapshot_offer,
)
from sidecar.tools.spec import ToolSpec

TOOLSETS: Mapping[str, tuple[ToolSpec, ...]] = MappingProxyType(
    {
        "code": (
            code_index.CREATE_INDEX,
            code_search.SEARCH_CODE,
            code_search.SEARCH_DOCS,
            code_search.SEARCH_BY_PATH,
            code_index.GET_INDEX_STATUS,
            code_index.GET_CONFIG,
            code_index.REINDEX_PROJECT,
            code_index.REINDEX_FILE,
            code_index.DELETE_INDEX,
            code_index.EXPLAIN_PATH,
            code_lookup.SEARCH_SYMBOLS,
            code_lookup.FIND_SIMILAR,
        ),
        "documents": documents.TOOLS,
        "document-lists": document_lists.TOOLS,
        "inline": inline.TOOLS,
        "memory": memory.TOOLS,
        "overview": (overview.WORKSPACE_OVERVIEW,),
        "semantic": (search_index.SEARCH_INDEX_PATTERNS, semantic.SEARCH_QUERY),
    }
)
"""The tools of each toolset, in listing order. The name `all` selects every toolset."""

SHARED_NAMES: Mapping[str, ToolSpec] = MappingProxyType({"search_index": search_index.SEARCH_INDEX})
"""The tool to list if two enabled toolsets share its name: `search_index` is in documents and in semantic."""

DEFAULT_TOOLSETS: str = DEFAULTS["toolsets"]


def tools_of(toolsets: str | Iterable[str] = DEFAULT_TOOLSETS) -> tuple[ToolSpec, ...]:
    """Returns the tools of these toolsets, each name once. `toolsets`: names, or one text with commas between the
    names.

    Raises `InvalidParams` for an unknown toolset, and if no toolset is named.
    """
    given = toolsets.split(",") if isinstance(toolsets, str) else toolsets
    wanted = {name.strip().lower() for name in given} - {""}
    for name in sorted(wanted - {*TOOLSETS, "all"}):
        raise InvalidParams(f"There is no toolset {shown.quoted(name)}. {_advice(name)}")
    if not wanted:
        raise InvalidParams(f"Name at least one toolset. {_advice('')}")
    chosen: dict[str, ToolSpec] = {}
    for toolset, tools in TOOLSETS.items():
        for tool in tools if toolset in wanted or "all" in wanted else ():
            chosen[tool.name] = SHARED_NAMES[tool.name] if tool.name in chosen else tool
    return tuple(chosen.values())


def toolset_of(is_meant: Callable[[ToolSpec], bool]) -> str:
    """Returns the first toolset that has a tool for which `is_meant` is true; empty if none has."""
    return next((toolset for toolset, tools in TOOLSETS.items() if any(map(is_meant, tools))), "")


def not_enabled(name: str, toolset: str) -> str:
    """Returns one sentence for a caller who names something that belongs to a toolset that is not enabled."""
    return f"{name} belongs to the toolset {toolset}, which is not enabled here; enable it with --toolsets."


def _advice(name: str) -> str:
    nearest = get_close_matches(name, TOOLSETS, n=1, cutoff=0.5)
    return f"Did you mean {nearest[0]}?" if nearest else f"Known toolsets: {', '.join(TOOLSETS)}, all."


FOR_EDITORS: tuple[ToolSpec, ...] = (
    snapshot_offer.FIND_SNAPSHOT,
    snapshot_offer.INDEX_HERE,
    cancelling.CANCEL_INDEXING,
)
"""Requests of editors. They belong to no toolset, and nobody else is offered them."""

DEFAULT_TOOLS = tools_of(DEFAULT_TOOLSETS)
"""The tools that an agent gets if no setting or option chooses toolsets."""

ALL_SPECS = tuple(tool for tools in TOOLSETS.values() for tool in tools)
"""Every tool of every toolset; two of them share a name."""

ALL_TOOLS = tools_of("all")
