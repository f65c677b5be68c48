"""Every requirement of the specification of memory search (003). `requirements.py` describes the scheme."""

from __future__ import annotations

from tests.spec.requirements import Requirement


def _of(tool: str, *rows: tuple[str, str, str]) -> tuple[Requirement, ...]:
    return tuple(Requirement(f"003.{tool}.{name}", quote, behaviour) for name, quote, behaviour in rows)


REQUIREMENTS: tuple[Requirement, ...] = (
    *_of(
        "memory_search",
        ("matching", "tool returns search results matching the query", "by word and by meaning; nothing for nonsense"),
        ("fields", "results include memory key, summary, and relevance score", "these, relevance 0-1, best first"),
        ("pagination", "supports optional limit and offset parameters for pagination", "pages follow without gaps"),
    ),
    *_of(
        "memory_fulltext_search",
        ("results", "tool returns full-text search results", "memories that hold the keywords"),
        ("operator", "supports operator parameter (AND/OR) for keyword combination", "AND needs all, OR any"),
        ("highlighting", "results include keyword highlighting in text excerpts", "<mark> around every keyword"),
    ),
    *_of(
        "validation",
        ("descriptive", "tool returns descriptive error message", "names the parameter and what it may be"),
        ("mcp-format", "error message follows MCP error format standards", "isError and a body the model reads"),
    ),
    *_of(
        "output",
        ("consistent", "output format is consistent with existing MCP memory tools", "success and data, everywhere"),
        ("structured", "results are structured for easy parsing by Agents", "JSON with named fields and a schema"),
    ),
    *_of(
        "registration",
        (
            "both",
            "memory_search and memory_fulltext_search tools are registered",
            "by the memory toolset only",
        ),
        ("available", "tools are available to connected clients", "listed and callable"),
        ("schema", "each tool has proper JSON schema definition for parameters", "an object, types, required"),
        ("compatible", "tool behavior is consistent with REST API search endpoints", "one behaviour on every door"),
        ("equivalent", "results are equivalent to corresponding API calls", "equal results on every door"),
        ("examples", "schema includes descriptions and examples for all parameters", "each has both"),
    ),
)
