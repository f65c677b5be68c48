"""The requirements of the specifications, entry by entry, and the tests that prove them. `requirements_*.py` has the
entries.

`quote` is the specification's wording, `behaviour` is what a caller sees. A test names its entries with
`@requires(id)`; `test_requirements.py` fails when an entry has no test or a test names no entry. Each test runs on
every door once, its further values (`VARIANT`) on one door.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import pytest

VARIANT = pytest.mark.variant
"""Marks a further value of a test that runs on every door with its other values. This one runs on one door."""
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Requirement:
    id: str
    quote: str
    behaviour: str


def requires(*ids: str) -> Callable[[F], F]:
    """Marks a test as the proof of these entries."""

    def mark(test: F) -> F:
        test.__dict__["requirements"] = ids
        return test

    return mark
