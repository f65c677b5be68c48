"""A tool's result as table, JSON or YAML: what `--format` of `sidecar search index|query` chooses."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sidecar.surfaces.cli.terminal import Style, printable

FORMATS = ("table", "json", "yaml")


def yaml_lines(value: Any, indent: str = "") -> Iterator[str]:
    """Block YAML. Every text is a JSON string, which YAML 1.2 reads as one: nothing needs guessing."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _entry(f"{indent}{key}:", part, indent + "  ")
    elif isinstance(value, list):
        for part in value:
            lines = list(yaml_lines(part, indent + "  ")) if _nests(part) else [f"{indent}  {json.dumps(part)}"]
            yield f"{indent}- {lines[0].lstrip()}"
            yield from lines[1:]


def _entry(head: str, value: Any, indent: str) -> Iterator[str]:
    if _nests(value):
        yield head
        yield from yaml_lines(value, indent)
    else:
        yield f"{head} {json.dumps(value)}"


def _nests(value: Any) -> bool:
    return isinstance(value, Mapping | list) and bool(value)


def query_table(result: Mapping[str, Any], style: Style) -> Iterator[str]:
    """`path:start-end  similarity  type language`, the excerpt, an empty line."""
    for hit in result["results"]:
        place = printable(f"{hit['file_path']}:{hit['line_start']}-{hit['line_end']}")
        about = style.dim(f"{hit['chunk_type']} {hit['language']}")
        yield f"{style.cyan(place)}  {style.bold(format(hit['similarity_score'], '.3f'))}  {about}"
        yield from (f"    {printable(line)}" for line in hit["excerpt"].split("\n"))
        yield ""
    yield f"{result['total_results']} results in {result['execution_time_ms']} ms"


def index_table(result: Mapping[str, Any], style: Style) -> Iterator[str]:
    """The message, then the counts and what could not be indexed."""
    yield style.bold(result["message"])
    yield (
        f"{result['skipped_files']} skipped, {result['failed_files']} failed, {result['total_chunks']} chunks,"
        f" {result['execution_time_ms']} ms"
    )
    for failure in result.get("errors", ()):
        yield style.red(printable(f"{failure['path']}: {failure['error']}"))


Table = Callable[[Mapping[str, Any], Style], Iterator[str]]
