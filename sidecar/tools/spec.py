"""One frozen `ToolSpec` per tool, from which schemas, requests, commands and documentation are derived.

Each family's tools are in a file of their own; `service.py` decides when to ask, `validate.py` has validation messages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from pydantic import BaseModel, ConfigDict, create_model

from sidecar import shown
from sidecar.errors import InvalidParams
from sidecar.tools.context import Context
from sidecar.tools.dialect import CODE_SEARCH, Dialect, camel
from sidecar.tools.result import Result

Answer: TypeAlias = Literal["accept", "decline", "cancel", "timeout", "nobody"]
"""`nobody`: no client could show the question to a person."""

DESCRIPTIONS = Path(__file__).parent / "descriptions"


@dataclass(frozen=True, slots=True)
class Question:
    """The question that a person answers before a tool runs.

    `id` is the same if the same call is repeated. `message` names the asker and the workspace; `detail` says what will
    be lost or take time; `accept` and `decline` are button titles. `title` is the question in sidecar's own words
    alone, for the person whose own call it is, and for a surface that shows `asker` (the asker's own name for itself,
    quoted; empty if it gives none) separately; the default is `message`. All of them are made safe to show.
    `only_always`: the call itself is a person's wish, so the question is asked only if the setting `confirm` is
    `always`.
    """

    id: str
    tool: str
    message: str
    detail: str
    accept: str
    decline: str
    destructive: bool
    title: str = ""
    asker: str = ""
    only_always: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", self.title or self.message)
        for name in ("message", "detail", "accept", "decline", "title", "asker"):
            object.__setattr__(self, name, shown.sentence(getattr(self, name)))


PLAIN_NAME = "^[A-Za-z0-9_-]+$"
"""JSON schema pattern of a name that may become part of a path."""


@dataclass(frozen=True, slots=True)
class RefusedAs:
    """Annotates a parameter, or the entries of one, with the error that any invalid value raises; `too_long`: the error
    for a text that is too long, if it is another one."""

    error: type[InvalidParams]
    too_long: type[InvalidParams] | None = None

    def for_problem(self, kind: str) -> type[InvalidParams]:
        """Returns the error for a problem of this kind, as pydantic names it."""
        return self.too_long if self.too_long is not None and kind == "string_too_long" else self.error


class Params(BaseModel):
    """Base class of the parameters of a tool. JSON types are checked strictly and unknown names are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def widened(params: type[Params], **fields: Any) -> type[Params]:
    """Returns the parameters with further ones, each given as `(type, Field(...))`."""
    made: Any = create_model(params.__name__, __base__=params, **fields)
    made.__doc__ = params.__doc__
    return cast("type[Params]", made)


Run: TypeAlias = Callable[[Context, Any], Result]
Ask: TypeAlias = Callable[[Context, Any], Question | None]
Declined: TypeAlias = Callable[[Context, Any, Answer], Result]
Meaning: TypeAlias = "Callable[[Mapping[str, object]], ToolSpec | None]"


@dataclass(frozen=True)
class ToolSpec:
    """One tool.

    `question` returns the question to ask before the tool runs, or None; it raises the errors that the tool would raise
    (such as `IndexExists`), so that no person is asked in vain. `declined` makes the result if the answer is no.
    `parameter_aliases` maps accepted names of parameters to the real ones. `other_results` are shapes that `run` may
    return instead of `result`, such as the compact form of a search. `described_in` is the name of the description
    file, without `.md`, if it differs from `name`. `rest` are further paths that answer GET; a path that two enabled
    tools claim belongs to the one listed later. `alongside`: the tool writes, but can run during a build of the index.
    `apart`: the tool may wait for another machine, so it runs in threads of its own, and no search waits for it.
    `meaning` chooses between two tools that share a name, by the arguments.
    """

    name: str
    family: str
    summary: str
    params: type[Params]
    result: type[Result]
    run: Run
    read_only: bool
    idempotent: bool
    destructive: bool = False
    question: Ask | None = None
    declined: Declined | None = None
    aliases: tuple[str, ...] = ()
    parameter_aliases: Mapping[str, str] = field(default_factory=dict)
    other_results: tuple[type[Result], ...] = ()
    dialect: Dialect = CODE_SEARCH
    described_in: str = ""
    alongside: bool = False
    apart: bool = False
    rest: tuple[str, ...] = ()
    meaning: Meaning | None = None

    def meant_by(self, arguments: object) -> ToolSpec:
        """Returns the tool that these arguments fit. Its dialect, `read_only` and `alongside` apply to the call."""
        chosen = self.meaning(arguments) if self.meaning and isinstance(arguments, Mapping) else None
        return chosen or self

    @property
    def id(self) -> str:
        """The name, or the name of the description file if two tools share the name."""
        return self.described_in or self.name

    @property
    def lsp_method(self) -> str:
        """The LSP request of the tool, such as `sidecar/searchCode`."""
        return f"sidecar/{camel(self.name)}"

    @property
    def title(self) -> str:
        """The name in the form that people read, such as `Search code`."""
        return self.name.replace("_", " ").capitalize()

    @cached_property
    def description(self) -> str:
        """The text that an agent reads: when to use the tool, with an example."""
        return (DESCRIPTIONS / f"{self.described_in or self.name}.md").read_text(encoding="utf-8").strip()

    @property
    def purpose(self) -> str:
        """What the tool does: the first sentence of the description."""
        return self.description.split("\n")[0].partition(". ")[0].rstrip(".") + "."

    @cached_property
    def listed_schemas(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The schemas that an agent is shown, computed once: `input_schema()`, shortened by `thrifty` for the tools
        that every agent gets, and `output_schema()`. Do not modify them."""
        parameters = self.input_schema()
        return thrifty(parameters) if self.family == CODE_SEARCH.name else parameters, self.output_schema()

    def input_schema(self) -> dict[str, Any]:
        """Returns the JSON schema of the parameters, without references; `additionalProperties` is false."""
        schema = _bare(self.params.model_json_schema())
        inlined: dict[str, Any] = _inlined(schema, schema.pop("$defs", {}))
        return inlined

    def output_schema(self) -> dict[str, Any]:
        """Returns a JSON schema that covers every result shape: one object that requires only the fields that all
        shapes require."""
        return _merged(list(self.result_schemas().values()))

    def result_schemas(self) -> dict[str, dict[str, Any]]:
        """Returns the JSON schema of each result shape, by the name of its class."""
        shapes = (self.result, *self.other_results)
        return {shape.__name__: _bare(shape.model_json_schema(by_alias=True)) for shape in shapes}


_LENGTHS = frozenset({"minLength", "maxLength", "minItems", "maxItems"})
_BOUNDS = frozenset({"minimum", "maximum"})
_NO_LIMIT = 1000
"""A maximum from which on a bound tells an agent nothing useful."""


def _bare(schema: dict[str, Any]) -> dict[str, Any]:
    """Removes pydantic's titles and the class docstrings, because an agent pays for every word."""
    bare: dict[str, Any] = _plain(schema)
    bare.pop("description", None)
    for definition in bare.get("$defs", {}).values():
        definition.pop("description", None)
    return bare


def _plain(node: Any) -> Any:
    """Removes titles and turns a nullable field into an optional one, since None is left out of results."""
    if isinstance(node, dict):
        choices = node.get("anyOf")
        if isinstance(choices, list) and len(choices) == 2 and choices[1] == {"type": "null"}:
            rest = {key: value for key, value in node.items() if key not in {"anyOf", "default"}}
            return _plain({**choices[0], **rest})
        return {
            key: {name: _plain(part) for name, part in value.items()}
            if key in {"properties", "$defs"}
            else _plain(value)
            for key, value in node.items()
            if key != "title"
        }
    if isinstance(node, list):
        return [_plain(item) for item in node]
    return node


def thrifty(schema: dict[str, Any]) -> dict[str, Any]:
    """Returns a schema of parameters for an agent, which pays for every word.

    It omits defaults that equal an absent value, lengths of texts and lists, and bounds that no sensible call reaches:
    a call beyond them is refused with a sentence that names them. It omits examples too: the tool's description has one
    that shows several parameters.
    """
    properties = {name: _thrifty(field) for name, field in schema.get("properties", {}).items()}
    return {**schema, "properties": properties}


def _thrifty(field: dict[str, Any]) -> dict[str, Any]:
    left_out = {"examples"} | _LENGTHS | (_BOUNDS if field.get("maximum", 0) >= _NO_LIMIT else set())
    left_out |= {"default"} if not field.get("default") else set()
    kept = {key: value for key, value in field.items() if key not in left_out}
    return {**kept, "items": _thrifty(kept["items"])} if "items" in kept else kept


def _inlined(node: Any, definitions: Mapping[str, Any]) -> Any:
    """Replaces each reference with the schema it refers to, because not every host follows references."""
    if isinstance(node, list):
        return [_inlined(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    rest = {key: _inlined(value, definitions) for key, value in node.items() if key != "$ref"}
    if "$ref" not in node:
        return rest
    return {**_inlined(definitions[node["$ref"].rsplit("/", 1)[-1]], definitions), **rest}


def _merged(schemas: list[dict[str, Any]]) -> dict[str, Any]:
    if len(schemas) == 1:
        return schemas[0]
    merged: dict[str, Any] = {"type": "object", "additionalProperties": False, "properties": {}}
    definitions: dict[str, Any] = {}
    for schema in schemas:
        merged["properties"].update(schema["properties"])
        definitions.update(schema.get("$defs", {}))
    required = set.intersection(*(set(schema.get("required", ())) for schema in schemas))
    merged["required"] = sorted(required)
    if definitions:
        merged["$defs"] = definitions
    return merged
