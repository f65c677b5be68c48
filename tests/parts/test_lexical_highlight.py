"""Finding words in a row, and the excerpt around them."""

from __future__ import annotations

import pytest

from sidecar.parts.lexical.highlight import find_words, highlights


@pytest.mark.parametrize(
    ("text", "words", "place"),
    [
        ("the king sings", ["king"], (4, 8)),
        ("the kings king", ["king"], (10, 14)),
        ("seeking", ["king"], None),
        ("king_size", ["king"], None),
        ("machine   learning", ["machine", "learning"], (0, 18)),
        ("machine-learning", ["machine", "learning"], (0, 16)),
        ("machine and learning", ["machine", "learning"], None),
        ("machinelearning", ["machine", "learning"], None),
        ("a.b.c", ["b"], (2, 3)),
        ("\u0915\u093f \u0915", ["\u0915"], (3, 4)),
        ("", ["a"], None),
    ],
)
def test_words_stand_whole_and_one_after_the_other(text: str, words: list[str], place: tuple[int, int] | None) -> None:
    assert find_words(text, words) == place


def test_an_excerpt_has_thirty_characters_either_side_between_dots() -> None:
    text = "x" * 50 + " needle " + "y" * 50
    assert highlights(text, text, [["needle"]]) == ["..." + "x" * 29 + " needle " + "y" * 29 + "..."]


def test_an_excerpt_shows_the_text_as_it_is_written() -> None:
    assert highlights("Machine Learning", "machine learning", [["learning"]]) == ["...Machine Learning..."]


def test_there_are_at_most_three_excerpts_none_twice_in_the_order_of_the_words() -> None:
    text = "".join(f"{word:.<80}" for word in ("one", "two", "three", "four"))
    found = highlights(text, text, [["four"], ["missing"], ["two"], ["two"], ["three"], ["one"]])
    assert [excerpt.strip(".") for excerpt in found] == ["four", "two", "three"]


def test_a_text_that_folding_makes_longer_still_has_its_excerpt() -> None:
    text = "\u0130" * 40 + " needle here"
    (found,) = highlights(text, text.lower(), [["needle"]])
    assert found.endswith(" needle here...")
