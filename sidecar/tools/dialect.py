"""How a family of tools spells its answers: field case, the shape of an error. Spec words live nowhere lower."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer

from sidecar import shown
from sidecar.errors import SidecarError


def camel(name: str) -> str:
    """`chunks_created` -> `chunksCreated`."""
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


@dataclass(frozen=True, slots=True)
class Dialect:
    """Parameters keep the names of their model (snake_case); `field_case` spells the fields of results.

    `error_body` makes the body that the family's specification demands of a failure, from a code and the sentence for
    the user; None: the house's own. `nulls`: null stays where it says something (the models of the results decide);
    else every field that is None is left out.
    """

    name: str
    field_case: Callable[[str], str]
    error_body: Callable[[str, str], dict[str, Any]] | None = None
    nulls: bool = False

    def shape(self, result: BaseModel) -> dict[str, Any]:
        """JSON-ready."""
        return result.model_dump(mode="json", by_alias=True, exclude_none=not self.nulls)

    def shape_error(self, error: SidecarError) -> dict[str, Any]:
        return error.as_dict() if self.error_body is None else self.error_body(error.code, error.message)

    def with_both(self, own: Mapping[str, Any], code: str, message: str) -> dict[str, Any]:
        """A failure in the house's spelling (`own`) and in the family's at once, where a protocol has room for it."""
        return dict(own) if self.error_body is None else {**self.error_body(code, message), **own}

    def error_text(self, error: SidecarError) -> str:
        """What a model reads of a failed call: the family's body, else the code and the sentence."""
        if self.error_body is None:
            return f"{error.code}: {error.message}"
        return shown.as_json(self.shape_error(error))


CODE_SEARCH = Dialect(name="code-search", field_case=camel)
"""The dialect of the nine code search tools: snake_case in, camelCase out."""


class CamelResult(BaseModel):
    """Base of every result in the `CODE_SEARCH` dialect."""

    model_config = ConfigDict(alias_generator=camel, populate_by_name=True, extra="forbid", frozen=True)


def snake(name: str) -> str:
    """Fields of results keep the names of their model."""
    return name


class SnakeResult(BaseModel):
    """Base of every result whose family spells its fields in snake_case."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_serializer(mode="wrap")
    def leave_out_what_is_not_there(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Without optional fields that are None; null where a field is required or in what a caller supplied."""
        fields = type(self).model_fields
        values: dict[str, Any] = serialize(self)
        return {name: value for name, value in values.items() if value is not None or fields[name].is_required()}


def _kv_memory_error(code: str, message: str) -> dict[str, Any]:
    return {"success": False, "message": message, "code": code}


MEMORY = Dialect(name="memory", field_case=snake, error_body=_kv_memory_error)
"""`{"success": true, "data": ...}`, and `{"success": false, "message": ...}` for a failure."""

SEMANTIC = Dialect(name="semantic", field_case=snake)
"""Fields in snake_case; a failure is the protocol's error with one sentence."""


def _document_error(_: str, message: str) -> dict[str, Any]:
    return {"error": message}


DOCUMENTS = Dialect(name="documents", field_case=snake, error_body=_document_error, nulls=True)
"""`{"error": sentence}` for a failure; null is a value that a caller's metadata may hold."""


def _inline_error(_: str, message: str) -> dict[str, Any]:
    return {"status": "error", "error": message}


INLINE = Dialect(name="inline", field_case=snake, error_body=_inline_error, nulls=True)
"""`{"status": "ok", ...}`, and `{"status": "error", "error": sentence}` for a failure."""
