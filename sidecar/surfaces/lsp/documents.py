r"""Keeps the text of the client's open documents up to date with its changes.

The LSP standard ends lines at `\n`, `\r\n` and `\r` only, and counts columns in UTF-16 units unless both sides agree on
another encoding. pygls also splits at form feeds and Unicode separators (`str.splitlines`), which shifts every later
edit of a file that contains one. Hence this module.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

_LINE_END = re.compile(r"\r\n|\n|\r")
_UNITS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


def chosen_encoding(offered: Sequence[str] | None) -> str:
    """Returns the position encoding for a session: UTF-16, unless the client offers only others.

    In that case it is the first known encoding that the client offers, or UTF-16 if it offers none that is known.
    """
    if not offered or "utf-16" in offered:
        return "utf-16"
    return next((name for name in offered if name in _UNITS), "utf-16")


def apply_changes(text: str, changes: Iterable[Any], encoding: str) -> str:
    """Returns the text after LSP content changes (raw dicts), each of which applies to the result of the previous one.

    Raises KeyError, TypeError or ValueError if a change does not have the shape that the standard demands.
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
    """Returns the index in `text` of a position.

    A position beyond the end of the line or text means that end, as the standard says.
    """
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
    """Returns the index in a line of the column that is `units` code units from its start."""
    if content.isascii():
        return min(units, len(content))
    codec, size = _UNITS[encoding]
    raw = content.encode(codec, "surrogatepass")[: units * size]
    return len(raw.decode(codec, "ignore"))
