"""A quicker way to pickle small values, of which a file has hundreds."""

from __future__ import annotations

from operator import attrgetter
from typing import Any, TypeVar

T = TypeVar("T")


def quickly_pickled(kind: type[T]) -> type[T]:
    """Decorates a dataclass with slots and at least two fields: its instances are pickled as their fields, with which
    the class is called again. That takes less than half of the time of what dataclasses do themselves."""
    fields = attrgetter(*kind.__slots__)  # type: ignore[attr-defined]

    def reduce(value: T) -> tuple[type[T], Any]:
        return kind, fields(value)

    kind.__reduce__ = reduce  # type: ignore[method-assign,assignment]
    return kind
