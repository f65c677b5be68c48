"""Similarity by letters."""

from __future__ import annotations

import pytest

from sidecar.parts.fuzzy import closest, similarity


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


@pytest.mark.parametrize("length", range(1, 40))
def test_what_is_exactly_as_similar_as_asked_is_not_cut_off(length: int) -> None:
    for changed in range(length + 1):
        left, right = "a" * length, "b" * changed + "a" * (length - changed)
        share = (length - changed) / length
        assert similarity(left, right, share) == share
        assert similarity(left, right, min(1.0, share + 1.5 / length)) in (0.0, share)


def test_what_is_far_from_the_threshold_is_not_measured() -> None:
    assert similarity("abcdefgh", "ABCDEFGH", 0.6) == 0.0
    assert similarity("abcdefgh", "abcdEFGH", 0.9) == 0.0


def test_the_closest_names_have_the_fewest_edits_and_begin_and_end_alike() -> None:
    names = ["bouter", "route", "router", "routers", "rooster", "table"]
    assert closest("routr", names, 1, 10) == ["router", "route"]
    assert closest("ruoter", names, 1, 10) == ["router"]
    assert closest("router", names, 1, 3) == ["router", "route", "routers"]
    assert closest("zzzzz", names, 2, 10) == []
