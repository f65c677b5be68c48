"""Results as text, in the shell and for an agent, equal the recorded texts."""

from __future__ import annotations

import pytest

from tests.surfaces.texts import EXPECTED, everything


def by_title(text: str) -> dict[str, str]:
    return dict(block.split("\n", 1) for block in ("\n" + text).split("\n=== ")[1:])


WANTED = by_title(EXPECTED.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def found() -> dict[str, str]:
    return by_title(everything())


@pytest.mark.parametrize("title", WANTED)
def test_a_text_is_as_recorded(found: dict[str, str], title: str) -> None:
    assert found[title] == WANTED[title]


def test_every_text_is_recorded(found: dict[str, str]) -> None:
    assert found.keys() == WANTED.keys()
