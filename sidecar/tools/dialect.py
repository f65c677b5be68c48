"""How a family of tools spells its answers: field case, the shape of an error. Spec words live nowhere lower."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict

from sidecar.errors import SidecarError


def camel(name: str) -> str:
    """`chunks_created` -> `chunksCreated`."""
    head, *rest = name.split("_")
    return head + "".join(word.capitalize() for word in rest)


@dataclass(frozen=True, slots=True)
class Dialect:
    """Parameters keep the names of their model (snake_case); `field_case` spells the fields of results."""

    name: str
    field_case: Callable[[str], str]

    def shape(self, result: BaseModel) -> dict[str, Any]:
        """JSON-ready; a field that is None is left out."""
        return result.model_dump(mode="json", by_alias=True, exclude_none=True)

    def shape_error(self, error: SidecarError) -> dict[str, Any]:
        return error.as_dict()


CODE_SEARCH = Dialect(name="code-search", field_case=camel)
"""The dialect of the nine code search tools: snake_case in, camelCase out."""


class CamelResult(BaseModel):
    """Base of every result in the `CODE_SEARCH` dialect."""

    model_config = ConfigDict(alias_generator=camel, populate_by_name=True, extra="forbid", frozen=True)
