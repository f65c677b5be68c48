"""Replaces names of tools in sentences with the commands that the caller of each door knows.

The engine and the tools write a command in a sentence as a tool's name between backticks: "Run `create_index` first." A
door never shows that: the service passes every error and every sentence of a result through the `Wording` of the
caller's door. Names of tools that are not advice to run something have no backticks and stay. The module is cheap to
import.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

Door: TypeAlias = Literal["lsp", "mcp", "rest", "shell"]

SHELL: Mapping[str, str] = MappingProxyType(
    {
        "create_index": "index",
        "search_code": "search",
        "search_docs": "docs",
        "search_by_path": "paths",
        "get_index_status": "status",
        "get_config": "config",
        "reindex_project": "reindex",
        "reindex_file": "reindex",
        "delete_index": "delete",
        "explain_path": "explain",
        "search_index": "search index",
        "search_query": "search query",
        "search_symbols": "symbols",
        "find_similar": "similar",
        "workspace_overview": "overview",
        "memory_save": "memory save",
        "memory_get": "memory get",
        "memory_list": "memory list",
        "memory_search": "memory search",
        "memory_fulltext_search": "memory words",
        "memory_delete": "memory delete",
        "search_create_index": "documents create",
        "search_add_document": "documents add",
        "search_list_documents": "documents list",
        "search_list_indexes": "documents indexes",
        "search_delete_document": "documents delete",
        "search_delete_index": "documents drop",
    }
)
"""The shell's command for each tool that has one; `sidecar call` calls every tool."""

PALETTE: Mapping[str, str] = MappingProxyType(
    {
        "create_index": "Create Index",
        "search_code": "Search Code",
        "search_docs": "Search Docs",
        "search_by_path": "Search by Path",
        "search_symbols": "Go to Symbol by Meaning",
        "find_similar": "Find Similar Code",
        "get_index_status": "Show Index Status",
        "get_config": "Open Config",
        "reindex_project": "Reindex Project",
        "reindex_file": "Reindex This File",
        "delete_index": "Delete Index",
        "explain_path": "Why Is This File (Not) Indexed?",
    }
)
"""The title of the extension's command for each tool that has one."""

_COMMAND = re.compile(r'"[^"]*"|`([a-z]+(?:_[a-z]+)+)`')
"""Quoted text comes from somebody else and stays; `shown.quoted` leaves no quotation mark inside it."""


class Wording:
    """Rewrites sentences for the callers of one door. `tools` are the names of the tools that they have."""

    def __init__(self, door: Door, tools: Collection[str]) -> None:
        self._door = door
        self._tools = frozenset(tools)

    def __call__(self, sentence: str) -> str:
        """Returns the sentence with each tool's name between backticks replaced by the caller's own command."""
        return _COMMAND.sub(lambda found: (found[1] and self._command(found[1])) or found[0], sentence)

    def _command(self, tool: str) -> str:
        """Returns how the caller runs the tool; empty if no such tool exists."""
        if self._door == "shell":
            return in_a_shell(tool) if tool in SHELL or tool in self._tools else ""
        if tool not in self._tools:
            return f"{in_a_shell(tool)} in a terminal" if tool in SHELL else ""
        if self._door == "rest":
            return f"POST /tools/{tool}"
        # An editor without the extension has no palette, but can execute the command with the tool's name.
        return f'"Sidecar: {PALETTE[tool]}" ({tool})' if self._door == "lsp" and tool in PALETTE else tool


def in_a_shell(tool: str) -> str:
    """Returns the shell's command that runs a tool, between backticks."""
    return f"`sidecar {SHELL.get(tool) or f'call {tool}'}`"
