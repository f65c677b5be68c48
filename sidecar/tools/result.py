"""The base of every tool's result: fields for programs, and methods that turn the result into text."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, Self, get_args

from pydantic import BaseModel, ConfigDict

from sidecar import shown
from sidecar.tools.lines import Line

OWN_SENTENCES = frozenset(
    {"notice", "reason", "message", "warning", "problems", "note", "error", "last_error", "detail"}
)
"""The fields, in any result, that hold sidecar's own sentences (or lists of them) and nothing that must stay exact."""

PLACES = frozenset({"project_path", "index_path", "config_path", "workspace"})
"""The fields, in any result, that name a place on the machine."""


def _as_it_is(text: str) -> str:
    return text


class Result(BaseModel):
    """Base of every result of a tool."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def worded(self, say: Callable[[str], str], place: Callable[[str], str] = _as_it_is) -> Self:
        """Returns a copy in which `say` has changed sidecar's own sentences, at any depth, and `place` the places; the
        result itself if that changes nothing."""
        changed: dict[str, Any] = {}
        for name in _worded_fields(type(self)):
            if (value := getattr(self, name)) is None:
                continue
            way = say if name in OWN_SENTENCES else place if name in PLACES else None
            worded = _worded(value, say, place, way)
            if worded is not value:
                changed[name] = worded
        return self.model_copy(update=changed) if changed else self

    def as_text(self) -> str | None:
        """Returns the text for a language model; None means the fields as compact JSON."""
        return None

    def as_lines(self) -> Iterator[Line]:
        """Yields the lines that a shell prints on standard output: the fields as JSON, unless a subclass has its own
        lines."""
        fields = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        yield from shown.as_json(fields, indent=2).split("\n")

    def row_paths(self) -> Sequence[str] | None:
        """Returns the path of each row, empty for rows without one; None if the result is not a list."""
        return None

    def remark(self) -> str:
        """Returns why the tool was not run (`message`), otherwise the `notice` of the result; empty if it has none."""
        said = dict(self)
        return (said.get("message") if said.get("status") == "cancelled" else said.get("notice")) or ""

    def as_notes(self) -> Iterator[str]:
        """Yields the notes that a shell prints on standard error, one sentence each."""
        yield from ()


@cache
def _worded_fields(kind: type[Result]) -> tuple[str, ...]:
    """Returns the fields of a kind of result that `worded` may change: sentences, places, and further results that have
    such fields. A search has hundreds of fields that are none of these."""
    return tuple(
        name
        for name, field in kind.model_fields.items()
        if name in OWN_SENTENCES or name in PLACES or _may_hold_words(field.annotation)
    )


def _may_hold_words(annotation: Any) -> bool:
    """Whether a value of this type may be or contain a result that `worded` may change."""
    if arguments := get_args(annotation):
        return any(map(_may_hold_words, arguments))
    if not isinstance(annotation, type):
        return annotation is Any
    if issubclass(annotation, Result):
        is_base = not annotation.model_fields
        return is_base or bool(_worded_fields(annotation))
    return issubclass(Result, annotation)


def _worded(
    value: Any, say: Callable[[str], str], place: Callable[[str], str], way: Callable[[str], str] | None
) -> Any:
    if isinstance(value, Result):
        return value.worded(say, place)
    if isinstance(value, list):
        worded = [_worded(entry, say, place, way) for entry in value]
        return value if all(map(operator.is_, worded, value)) else worded
    return way(value) if way is not None and isinstance(value, str) else value
