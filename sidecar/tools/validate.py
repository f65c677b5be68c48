"""Turns a call's arguments into a tool's parameters, or raises an `InvalidParams` that names field, reason and range.

An invalid search query or glob raises the error that the parameter names (`RefusedAs`).

Rules that the schema cannot express (no blank query, no malformed glob) are checked by the tool.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import ValidationError

from sidecar.errors import InvalidParams
from sidecar.tools.spec import PLAIN_NAME, Params, RefusedAs, ToolSpec

_MADE_OF = {PLAIN_NAME: ": letters, digits, hyphens and underscores"}
"""The meaning of the patterns of texts, in words."""


def validate(tool: ToolSpec, arguments: Mapping[str, object]) -> Params:
    """Returns the tool's parameters. `null` counts as not given. Raises `InvalidParams`."""
    if not isinstance(arguments, Mapping):
        raise InvalidParams(f"The parameters of {tool.name} must be one JSON object.")
    given = _renamed(tool, {name: value for name, value in arguments.items() if value is not None})
    try:
        return tool.params.model_validate(given)
    except ValidationError as error:
        raise _explained(tool, error) from None


def _renamed(tool: ToolSpec, given: dict[str, object]) -> dict[str, object]:
    for alias, name in tool.parameter_aliases.items():
        if alias not in given:
            continue
        if name in given:
            raise InvalidParams(f"{alias}: is another name of {name}; send only one of them.")
        given[name] = given.pop(alias)
    return given


def _explained(tool: ToolSpec, error: ValidationError) -> InvalidParams:
    schema = tool.input_schema()["properties"]
    problems: dict[str, dict[str, str]] = {}
    errors: set[type[InvalidParams]] = set()
    for problem in error.errors(include_url=False):
        name, around = _place(problem["loc"], schema)
        problems.setdefault(name, _problem(name, problem, around))
        errors.add(_refused_as(tool, problem["loc"], problem["type"]))
    detail = " ".join(f"{problem['field']}: {problem['reason']}." for problem in problems.values())
    raised = errors.pop() if len(errors) == 1 else InvalidParams
    return raised(detail, fields=list(problems.values()))


def _refused_as(tool: ToolSpec, loc: tuple[int | str, ...], kind: str) -> type[InvalidParams]:
    """Returns the error for a problem of this kind with the parameter at `loc`, or with an entry of it."""
    field = tool.params.model_fields.get(str(loc[0])) if loc else None
    if field is None:
        return InvalidParams
    entry = any(isinstance(part, int) for part in loc)
    marks = _marks_inside(field.annotation) if entry else field.metadata
    return next((mark.for_problem(kind) for mark in marks if isinstance(mark, RefusedAs)), InvalidParams)


def _marks_inside(annotation: Any) -> Iterator[object]:
    """Yields the annotations of the parts of a type, at any depth."""
    for part in get_args(annotation):
        yield from getattr(part, "__metadata__", ())
        yield from _marks_inside(part)


def _place(loc: tuple[int | str, ...], schema: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Returns the dotted name of the parameter at `loc`, and the schema of the fields beside it. Entries of a list have
    no name of their own."""
    if not loc:
        return "parameters", schema
    around, depth = schema, 1
    while depth < len(loc) and (inner := around.get(str(loc[depth - 1]), {}).get("properties")):
        around, depth = inner, depth + 1
    return ".".join(map(str, loc[:depth])), around


def _problem(name: str, problem: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, str]:
    field = name.rsplit(".", 1)[-1]
    if problem["type"] == "extra_forbidden":
        return {"field": name, "reason": _unknown(field, schema), "allowed": ", ".join(schema) or "no parameters"}
    allowed = describe(schema.get(field, {}))
    if problem["type"] == "missing":
        return {"field": name, "reason": f"is required ({allowed})", "allowed": allowed}
    if problem["type"] == "string_unicode":
        return {"field": name, "reason": f"must be {allowed}, without half of a surrogate pair", "allowed": allowed}
    return {"field": name, "reason": f"must be {allowed}, not {_shown(problem['input'])}", "allowed": allowed}


def _unknown(name: str, schema: Mapping[str, Any]) -> str:
    nearest = get_close_matches(name.lower(), list(schema), n=1, cutoff=0.5)
    if nearest:
        return f"is not a parameter; the nearest one is {nearest[0]}"
    known = ", ".join(schema)
    return f"is not a parameter; known parameters: {known}" if known else "is not a parameter; this tool takes none"


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        shown = ascii(value)[1:-1]
        return f'"{shown}"' if len(shown) <= 40 else f'"{shown[:40]}..." ({len(value)} characters)'
    if isinstance(value, int):
        return str(value) if abs(value) < 10**20 else "a number with more than 20 digits"
    if isinstance(value, float):
        return f"{value:.12g}"
    return "an object" if isinstance(value, Mapping) else "a list"


def describe(field: Mapping[str, Any]) -> str:
    """Describes the JSON schema of one parameter in words, such as `a whole number from 1 to 50`."""
    if "enum" in field:
        return "one of " + ", ".join(f'"{choice}"' for choice in field["enum"])
    if "anyOf" in field:
        return ", or ".join(describe(choice) for choice in field["anyOf"] if choice.get("type") != "null")
    kind = field.get("type")
    if kind in {"integer", "number"}:
        return ("a whole number" if kind == "integer" else "a number") + _range(field, "minimum", "maximum")
    if kind == "string":
        return (
            "text" + _sized(field, "minLength", "maxLength", "characters") + _MADE_OF.get(field.get("pattern", ""), "")
        )
    if kind == "array":
        return "a list" + _sized(field, "minItems", "maxItems", "entries") + ", each " + describe(field["items"])
    return {"boolean": "true or false", "object": "an object"}.get(str(kind), "another value")


def _range(field: Mapping[str, Any], low: str, high: str) -> str:
    if low in field and high in field:
        return f" from {field[low]:.12g} to {field[high]:.12g}"
    return f" of at least {field[low]:.12g}" if low in field else ""


def _sized(field: Mapping[str, Any], low: str, high: str, unit: str) -> str:
    if high not in field:
        return ""
    return f" of {field.get(low, 0)} to {field[high]} {unit}"
