"""Results as text, in the shell and for an agent, equal the recorded texts."""

from __future__ import annotations

import pytest

from tests.surfaces.texts import EXPECTED, everything


def by_title(text: str) -> dict[str, str]:
    return dict(block.split("\n", 1) for block in ("\n" + text).split("\n=== ")[1:])


FOUND = by_title(everything())
WANTED = by_title(EXPECTED.read_text(encoding="utf-8"))


@pytest.mark.parametrize("title", WANTED)
def test_a_text_is_as_recorded(title: str) -> None:
    assert FOUND[title] == WANTED[title]


def test_every_text_is_recorded() -> None:
    assert FOUND.keys() == WANTED.keys()
