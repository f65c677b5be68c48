"""What a tool is: one frozen `ToolSpec` from which schemas, requests, commands and documentation are derived.

Not here: the tools themselves (one file per family), the policy of asking (`service.py`), validation messages
(`validate.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict

from sidecar import shown
from sidecar.tools.context import Context
from sidecar.tools.dialect import CODE_SEARCH, Dialect, camel

Answer: TypeAlias = Literal["accept", "decline", "cancel", "timeout", "nobody"]
"""`nobody`: there was nobody who could be asked."""

DESCRIPTIONS = Path(__file__).parent / "descriptions"


@dataclass(frozen=True, slots=True)
class Question:
    """What a person is asked before a tool goes on.

    `id` is the same when the same call is made again. `message` names the asker and the workspace, `detail` what will
    be lost or take time. `accept` and `decline` are button titles. All four are shown as they are.
    """

    id: str
    tool: str
    message: str
    detail: str
    accept: str
    decline: str
    destructive: bool

    def __post_init__(self) -> None:
        for name in ("message", "detail", "accept", "decline"):
            object.__setattr__(self, name, shown.sentence(getattr(self, name)))


class Params(BaseModel):
    """Base of every tool's parameters: JSON types are taken strictly and unknown names are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


Run: TypeAlias = Callable[[Context, Any], BaseModel]
Ask: TypeAlias = Callable[[Context, Any], Question | None]
Declined: TypeAlias = Callable[[Context, Any, Answer], BaseModel]
Meaning: TypeAlias = "Callable[[Mapping[str, object]], ToolSpec | None]"


@dataclass(frozen=True)
class ToolSpec:
    """One tool. `question` may raise what the tool would raise (an index exists already): nobody is asked in vain.

    `parameter_aliases` maps other accepted names of parameters to the real ones; `other_results` are shapes that
    `run` may return instead of `result` (the compact form of a search). `described_in` is the file of the description,
    without `.md`, where it is not called like the tool. `rest` are the paths where GET answers as well; one that two
    enabled tools claim belongs to the one that is listed later. `alongside`: it changes something, but nothing that a
    build of the index would be in the way of. `meaning`: of a name that two tools share, which one the arguments mean.
    """

    name: str
    family: str
    summary: str
    params: type[Params]
    result: type[BaseModel]
    run: Run
    read_only: bool
    idempotent: bool
    destructive: bool = False
    question: Ask | None = None
    declined: Declined | None = None
    aliases: tuple[str, ...] = ()
    parameter_aliases: Mapping[str, str] = field(default_factory=dict)
    other_results: tuple[type[BaseModel], ...] = ()
    dialect: Dialect = CODE_SEARCH
    described_in: str = ""
    alongside: bool = False
    rest: tuple[str, ...] = ()
    meaning: Meaning | None = None

    def meant_by(self, arguments: object) -> ToolSpec:
        """The tool whose spelling of results and errors holds, and beside what it may run."""
        chosen = self.meaning(arguments) if self.meaning and isinstance(arguments, Mapping) else None
        return chosen or self

    @property
    def lsp_method(self) -> str:
        return f"sidecar/{camel(self.name)}"

    @property
    def title(self) -> str:
        return self.name.replace("_", " ").capitalize()

    @cached_property
    def description(self) -> str:
        """The text an agent reads: when to use the tool, and an example."""
        return (DESCRIPTIONS / f"{self.described_in or self.name}.md").read_text(encoding="utf-8").strip()

    @cached_property
    def listed_schemas(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """`input_schema()` and `output_schema()`, made once: not to be changed."""
        return self.input_schema(), self.output_schema()

    def input_schema(self) -> dict[str, Any]:
        """JSON schema of the parameters, without references; `additionalProperties` is false."""
        schema = _bare(self.params.model_json_schema())
        inlined: dict[str, Any] = _inlined(schema, schema.pop("$defs", {}))
        return inlined

    def output_schema(self) -> dict[str, Any]:
        """JSON schema of every result that the tool may return: one object, required is what all of them have."""
        return _merged(list(self.result_schemas().values()))

    def result_schemas(self) -> dict[str, dict[str, Any]]:
        """JSON schema of each shape that a result may have, by the shape's name."""
        shapes = (self.result, *self.other_results)
        return {shape.__name__: _bare(shape.model_json_schema(by_alias=True)) for shape in shapes}


def _bare(schema: dict[str, Any]) -> dict[str, Any]:
    """Without pydantic's titles and class docstrings: an agent pays for every word."""
    bare: dict[str, Any] = _plain(schema)
    bare.pop("description", None)
    for definition in bare.get("$defs", {}).values():
        definition.pop("description", None)
    return bare


def _plain(node: Any) -> Any:
    """Without titles; a field that may be None is an optional one, since None is left out."""
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


def _inlined(node: Any, definitions: Mapping[str, Any]) -> Any:
    """With each reference replaced by what it refers to: not every host follows them."""
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
