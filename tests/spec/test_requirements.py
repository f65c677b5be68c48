"""Every requirement has a test, and every test of this folder names requirements that exist."""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.spec.requirements import Requirement

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


def test_no_requirement_is_listed_twice() -> None:
    assert [name for name, times in Counter(entry.id for entry in REQUIREMENTS).items() if times > 1] == []
