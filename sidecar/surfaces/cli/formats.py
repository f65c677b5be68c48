"""A tool's result as YAML, for `--format` of `sidecar search index` and `sidecar search query`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_HALVES = re.compile(r"\\\\|\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})")


def yaml_lines(value: Any, indent: str = "") -> Iterator[str]:
    """Yields block YAML. Every text is quoted as in JSON, so that no reader can take it for another type."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _entry(f"{indent}{key}:", part, indent + "  ")
    elif isinstance(value, list):
        for part in value:
            lines = list(yaml_lines(part, indent + "  ")) if _nests(part) else [f"{indent}  {_scalar(part)}"]
            yield f"{indent}- {lines[0].lstrip()}"
            yield from lines[1:]


def _entry(head: str, value: Any, indent: str) -> Iterator[str]:
    if _nests(value):
        yield head
        yield from yaml_lines(value, indent)
    else:
        yield f"{head} {_scalar(value)}"


def _scalar(value: Any) -> str:
    """Returns JSON in which one escape stands for a character beyond U+FFFF, because YAML does not join JSON's two
    halves."""
    return _HALVES.sub(_joined, json.dumps(value)).replace("\x7f", "\\x7f")


def _joined(match: re.Match[str]) -> str:
    if match[1] is None:
        return match[0]
    return f"\\U{0x10000 + ((int(match[1], 16) - 0xD800) << 10) + int(match[2], 16) - 0xDC00:08x}"


def _nests(value: Any) -> bool:
    return isinstance(value, Mapping | list) and bool(value)
