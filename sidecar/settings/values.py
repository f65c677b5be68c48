"""One value of a setting: conversion between a file or a variable and `Settings`, and the defaults."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, cast

from .declare import DECLARATIONS, Declaration, Kind, Value

_UNITS = {"KB": 1024, "MB": 1024**2}
_WORDS = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}


def parse_size(text: str) -> int:
    """Converts `"500KB"` to 512000 bytes (1 KB = 1024). Raises ValueError for any other form."""
    match = re.fullmatch(r"([0-9]{1,9})(KB|MB)", text.strip(), re.IGNORECASE)
    if match is None:
        raise ValueError(text)
    return int(match[1]) * _UNITS[match[2].upper()]


def written(kind: Kind, value: Value) -> object:
    """Returns the value as config.json spells it."""
    if isinstance(value, tuple):
        return list(value)
    if kind == "size":
        size = cast(int, value)
        unit = "MB" if size % _UNITS["MB"] == 0 else "KB"
        return f"{size // _UNITS[unit]}{unit}"
    return value


def parsed(declaration: Declaration, value: object, textual: bool = False) -> Value:
    """Returns the value as `Settings` holds it. With `textual`, numbers, booleans and lists may also be texts, because
    an environment variable can hold nothing else. Raises ValueError if it is not allowed."""
    if textual and isinstance(value, str):
        value = _from_text(declaration.kind, value.strip())
    parsers: dict[Kind, Callable[[Declaration, object], Value]] = {
        "boolean": _boolean,
        "integer": _number,
        "number": _number,
        "text": _text,
        "choice": _choice,
        "patterns": _patterns,
        "size": _size,
    }
    read = parsers[declaration.kind](declaration, value)
    if declaration.check is not None:
        declaration.check(read)
    return read


def _from_text(kind: Kind, text: str) -> object:
    if kind == "boolean":
        return _WORDS.get(text.lower())
    if kind == "integer":
        return int(text)
    if kind == "number":
        return float(text)
    if kind == "patterns":
        return json.loads(text) if text.startswith("[") else [part.strip() for part in text.split(";") if part.strip()]
    return text


def _boolean(_: Declaration, value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise ValueError


def _number(declaration: Declaration, value: object) -> int | float:
    whole = declaration.kind == "integer"
    if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
        raise ValueError
    if not declaration.low <= value <= declaration.high:
        raise ValueError
    return value if whole else float(value)


def _text(declaration: Declaration, value: object) -> str:
    if isinstance(value, str) and "\0" not in value and declaration.low <= len(value.strip()) <= declaration.high:
        return value.strip()
    raise ValueError


def _choice(declaration: Declaration, value: object) -> str:
    if isinstance(value, str) and value in declaration.choices:
        return value
    raise ValueError


def _patterns(declaration: Declaration, value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not (value or declaration.may_be_empty):
        raise ValueError
    if not all(isinstance(pattern, str) and pattern.strip() and "\0" not in pattern for pattern in value):
        raise ValueError
    return tuple(value)


def _size(declaration: Declaration, value: object) -> int:
    if not isinstance(value, str):
        raise ValueError
    size = parse_size(value)
    if not declaration.low <= size <= declaration.high:
        raise ValueError
    return size


DEFAULTS: Mapping[str, Any] = {one.key: parsed(one, one.default) for one in DECLARATIONS}
"""The declared default of each setting, by its key in config.json, in the form that `Settings` holds (a size in
bytes)."""
