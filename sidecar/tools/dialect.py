"""Dialects: how a family of tools spells its answers (the case of fields and the shape of errors). No layer below knows
these spellings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ConfigDict, SerializerFunctionWrapHandler, model_serializer

from sidecar import shown
from sidecar.errors import SidecarError
from sidecar.tools.lines import Line
from sidecar.tools.result import Result


def camel(name: str) -> str:
    """Converts `chunks_created` to `chunksCreated`."""
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one family of tools spells results and errors. Parameters are snake_case in every dialect.

    `field_case` spells the fields of results. `error_body` builds the error body that the family's specification
    requires, from an error code and the message for the user; None means sidecar's standard error body. `nulls`: the
    result models decide which null fields stay; otherwise every field that is None is left out.
    """

    name: str
    field_case: Callable[[str], str]
    error_body: Callable[[str, str], dict[str, Any]] | None = None
    nulls: bool = False

    def shape(self, result: Result) -> dict[str, Any]:
        """Returns the result as JSON-ready values."""
        return result.model_dump(mode="json", by_alias=True, exclude_none=not self.nulls)

    def shape_error(self, error: SidecarError) -> dict[str, Any]:
        """Returns the error as JSON-ready values: the family's error body, or the standard one if it has none."""
        return error.as_dict() if self.error_body is None else self.error_body(error.code, error.message)

    def with_both(self, own: Mapping[str, Any], code: str, message: str) -> dict[str, Any]:
        """Merges `own`, the standard error body, with the family's, for protocols whose errors can carry both. If both
        have a key, `own` wins."""
        return dict(own) if self.error_body is None else {**self.error_body(code, message), **own}

    def error_text(self, error: SidecarError) -> str:
        """Returns the text of a failed call for a language model: the family's error body, otherwise the code and the
        message."""
        if self.error_body is None:
            return f"{error.code}: {error.message}"
        return shown.as_json(self.shape_error(error))


CODE_SEARCH = Dialect(name="code-search", field_case=camel)
"""The dialect of the nine code search tools: snake_case in, camelCase out."""


class CamelResult(Result):
    """Base of every result in the `CODE_SEARCH` dialect."""

    model_config = ConfigDict(alias_generator=camel, populate_by_name=True)


def snake(name: str) -> str:
    """Returns `name` unchanged: model fields are already snake_case."""
    return name


class SnakeResult(Result):
    """Base of every result whose family spells its fields in snake_case."""

    def as_lines(self) -> Iterator[Line]:
        """Yields the fields as JSON, with the nulls that `leave_out_what_is_not_there` keeps."""
        yield from shown.as_json(self.model_dump(mode="json"), indent=2).split("\n")

    @model_serializer(mode="wrap")
    def leave_out_what_is_not_there(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leaves out optional fields that are None. A required field stays null, and so do nulls inside a value from
        the caller."""
        fields = type(self).model_fields
        values: dict[str, Any] = serialize(self)
        return {name: value for name, value in values.items() if value is not None or fields[name].is_required()}


def _kv_memory_error(code: str, message: str) -> dict[str, Any]:
    return {"success": False, "message": message, "code": code}


MEMORY = Dialect(name="memory", field_case=snake, error_body=_kv_memory_error)
"""Results are `{"success": true, "data": ...}`, errors `{"success": false, "message": ..., "code": ...}`."""

SEMANTIC = Dialect(name="semantic", field_case=snake)
"""Results in snake_case; errors have the standard body."""


def _document_error(_: str, message: str) -> dict[str, Any]:
    return {"error": message}


DOCUMENTS = Dialect(name="documents", field_case=snake, error_body=_document_error, nulls=True)
"""Errors are `{"error": sentence}`. Nulls stay, because a caller's metadata may hold them."""


def _either_error(code: str, message: str) -> dict[str, Any]:
    return {"error": message, "code": code}


EITHER = Dialect(name="documents or semantic", field_case=snake, error_body=_either_error, nulls=True)
"""For a call whose family is not known: errors have the fields of `DOCUMENTS` and the code that `SEMANTIC` has."""


def _inline_error(_: str, message: str) -> dict[str, Any]:
    return {"status": "error", "error": message}


INLINE = Dialect(name="inline", field_case=snake, error_body=_inline_error, nulls=True)
"""Results are `{"status": "ok", ...}`, errors `{"status": "error", "error": sentence}`."""
