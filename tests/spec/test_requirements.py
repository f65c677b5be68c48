"""Every requirement has a test, and every test of this folder names requirements that exist."""

from __future__ import annotations

import importlib
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.spec.requirements import VARIANT, Requirement

HERE = Path(__file__).parent
REQUIREMENTS: tuple[Requirement, ...] = tuple(
    entry
    for path in sorted(HERE.glob("requirements_*.py"))
    for entry in importlib.import_module(f"tests.spec.{path.stem}").REQUIREMENTS
)


def named_requirements() -> Iterator[tuple[str, tuple[str, ...]]]:
    for path in sorted(HERE.glob("test_*.py")):
        if path.name == Path(__file__).name:
            continue
        module = importlib.import_module(f"tests.spec.{path.stem}")
        for name, test in vars(module).items():
            if name.startswith("test_"):
                yield f"{path.stem}.{name}", getattr(test, "requirements", ())


def test_every_requirement_has_a_test() -> None:
    proved = {name for _, names in named_requirements() for name in names}
    assert [entry.id for entry in REQUIREMENTS if entry.id not in proved] == []


def test_every_test_names_a_requirement_that_exists() -> None:
    known = {entry.id for entry in REQUIREMENTS}
    assert [test for test, names in named_requirements() if not names or set(names) - known] == []


def values_on_every_door(test: object) -> int:
    """Returns how many combinations of values of a parametrized test run on every door."""
    lists = [mark.args[1] for mark in getattr(test, "pytestmark", ()) if mark.name == "parametrize"]
    return math.prod(sum(not is_variant(value) for value in values) for values in lists)


def is_variant(value: object) -> bool:
    return any(mark.name == VARIANT.name for mark in getattr(value, "marks", ()))


def test_a_test_runs_on_every_door_with_at_most_one_value_for_each_requirement() -> None:
    many = {
        f"{path.stem}.{name}": (values_on_every_door(test), len(test.requirements))
        for path in sorted(HERE.glob("test_*.py"))
        for name, test in vars(importlib.import_module(f"tests.spec.{path.stem}")).items()
        if name.startswith("test_") and hasattr(test, "requirements")
    }
    assert len(many) > 60
    assert {name: counts for name, counts in many.items() if counts[0] > counts[1]} == {}


def test_variants_are_left_out_of_the_count() -> None:
    @pytest.mark.parametrize("tool", ["a", "b"])
    @pytest.mark.parametrize("value", [1, pytest.param(2, marks=VARIANT)])
    def example(tool: str, value: int) -> None:
        pass

    assert values_on_every_door(example) == 2


def test_no_requirement_is_listed_twice() -> None:
    assert [name for name, times in Counter(entry.id for entry in REQUIREMENTS).items() if times > 1] == []
