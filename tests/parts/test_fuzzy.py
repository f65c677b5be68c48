"""Similarity by letters."""

from __future__ import annotations

import pytest

from sidecar.parts.fuzzy import similarity


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("pythn", "python", 5 / 6),
        ("kitten", "sitting", 4 / 7),
        ("same", "same", 1.0),
        ("abc", "xyz", 0.0),
        ("", "", 0.0),
        ("", "abc", 0.0),
        ("A", "a", 0.0),
        ("żółw", "zółw", 0.75),
    ],
)
def test_similarity_is_one_minus_the_share_of_changed_letters(left: str, right: str, expected: float) -> None:
    assert similarity(left, right) == pytest.approx(expected)
    assert similarity(right, left) == similarity(left, right)


def test_what_is_exactly_as_similar_as_asked_is_not_cut_off() -> None:
    assert similarity("abcd", "abcx", 0.75) == 0.75
    assert similarity("abcd", "abcx", 0.76) == 0.0
