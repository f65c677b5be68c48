"""Converts a query string to a tool's parameters, by the tool's own schema. The tool itself refuses invalid values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from sidecar.errors import InvalidParams
from sidecar.tools.spec import ToolSpec

SHORT = {"q": "query"}
"""Short names that a query string may use for a parameter, unless the tool itself has a parameter of that name."""

_TRUTH = {"true": True, "1": True, "false": False, "0": False}


def arguments_of(tool: ToolSpec, pairs: Iterable[tuple[str, str]]) -> dict[str, object]:
    """Returns the parameters; a repeated name becomes a list.

    Text that is not a value of the parameter's type stays text, and the tool refuses it. Raises `InvalidParams` if a
    parameter is given under both of its names.
    """
    schema = tool.input_schema()["properties"]
    given: dict[str, list[str]] = {}
    for name, text in pairs:
        given.setdefault(name, []).append(text)
    for short, name in SHORT.items():
        if short in given and short not in schema and name in (*schema, *tool.parameter_aliases):
            if name in given:
                raise InvalidParams(f"{short}: is another name of {name}; send only one of them.")
            given[name] = given.pop(short)
    return {
        name: _value(schema.get(tool.parameter_aliases.get(name, name), {}), texts) for name, texts in given.items()
    }


def shown_name(name: str) -> str:
    """Returns the name that the documentation shows for a parameter in a query string."""
    return next((short for short, full in SHORT.items() if full == name), name)


def _value(field: Mapping[str, Any], texts: list[str]) -> object:
    choices = field.get("anyOf", [field])
    kinds = {choice.get("type") for choice in choices}
    lists = [choice for choice in choices if choice.get("type") == "array"]
    if lists and (len(texts) > 1 or kinds == {"array"}):
        return [_scalar({lists[0]["items"].get("type")}, text) for text in texts]
    return _scalar(kinds, texts[0]) if len(texts) == 1 else list(texts)


def _scalar(kinds: set[Any], text: str) -> object:
    if "string" in kinds:
        return text
    if kinds & {"integer", "number"} and re.fullmatch(r"-?[0-9]{1,18}", text):
        return int(text)
    if "number" in kinds and re.fullmatch(r"-?[0-9]{1,18}\.[0-9]{1,18}", text):
        return float(text)
    return _TRUTH.get(text.lower(), text) if "boolean" in kinds else text
