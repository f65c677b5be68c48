"""Text of the documents that the client has open, kept in step with its changes.

The standard ends lines at `\\n`, `\\r\\n` and `\\r` only, and counts columns in UTF-16 units unless both sides agree on
others. pygls splits at form feeds and Unicode separators too (`str.splitlines`), which shifts every later edit of a
file that holds one; hence our own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

_LINE_END = re.compile(r"\r\n|\n|\r")
_UNITS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
ENCODINGS = tuple(_UNITS)


def chosen_encoding(offered: Sequence[str] | None) -> str:
    """UTF-16 where the client offers it or says nothing, else its first that we know."""
    if not offered or "utf-16" in offered:
        return "utf-16"
    return next((name for name in offered if name in _UNITS), "utf-16")


def apply_changes(text: str, changes: Iterable[Any], encoding: str) -> str:
    """The text after LSP content changes (raw dicts), each with respect to the one before.

    Raises KeyError, TypeError or ValueError where a change has not the standard's shape.
    """
    for change in changes:
        place = change.get("range")
        if place is None:
            text = _string(change["text"])
            continue
        start = _offset(text, place["start"], encoding)
        end = max(start, _offset(text, place["end"], encoding))
        text = text[:start] + _string(change["text"]) + text[end:]
    return text


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("text must be a string")
    return value


def _offset(text: str, position: dict[str, int], encoding: str) -> int:
    """Index into `text`; a place beyond the line's or the text's end is that end, as the standard says."""
    line, column = int(position["line"]), int(position["character"])
    begin = 0
    for _ in range(line):
        found = _LINE_END.search(text, begin)
        if found is None:
            return len(text)
        begin = found.end()
    found = _LINE_END.search(text, begin)
    content = text[begin : found.start() if found else len(text)]
    return begin + _column(content, max(0, column), encoding)


def _column(content: str, units: int, encoding: str) -> int:
    if content.isascii():
        return min(units, len(content))
    codec, size = _UNITS[encoding]
    raw = content.encode(codec, "surrogatepass")[: units * size]
    return len(raw.decode(codec, "ignore"))
