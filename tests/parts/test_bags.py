"""Many bags of words are counted as each would be alone, in whatever groups."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.parts.bags import Bags, counted, in_groups, joined, occurrences
from sidecar.parts.lexical.tokens import words
from tests.examples import examples

BAGS = st.lists(st.lists(st.sampled_from(["", "a", "ab", "abba", "bb", "c"]), max_size=9), min_size=1, max_size=6)


def letters_in(bags: Sequence[Sequence[str]]) -> Bags:
    """Counts the letters of the words."""
    found = occurrences(bags)
    parts = np.array([ord(letter) for word in found.words for letter in word], np.int64)
    sizes = np.array([len(word) for word in found.words], np.int64)
    return counted(found.word, found.bag, len(bags), parts, sizes)


def as_counters(bags: Bags) -> list[Counter[str]]:
    assert len(bags.starts) == len(bags.lengths) + 1
    counters = []
    for start, end, length in zip(bags.starts[:-1], bags.starts[1:], bags.lengths, strict=True):
        items, counts = bags.items[start:end], bags.counts[start:end]
        assert (np.diff(items) > 0).all()
        assert counts.sum() == length
        counters.append(Counter(dict(zip(map(chr, items.tolist()), counts.tolist(), strict=True))))
    return counters


@settings(max_examples=examples(300), deadline=None)
@given(BAGS, st.integers(1, 12))
def test_bags_are_counted_as_each_alone_in_groups_of_any_size(bags: list[list[str]], most: int) -> None:
    wanted = [Counter("".join(bag)) for bag in bags]
    assert as_counters(letters_in(bags)) == wanted
    groups = list(in_groups(bags, most))
    assert [bag for group in groups for bag in group] == bags
    assert all(sum(map(len, group[:-1])) < most for group in groups)
    assert as_counters(joined([letters_in(group) for group in groups])) == wanted


def test_bags_without_words_have_nothing() -> None:
    assert as_counters(letters_in([[], []])) == [Counter(), Counter()]


@pytest.mark.parametrize("text", ["", " \t\n", "a_b9 + C.d\x00e\x7ff", "x" * 300, "0x1F::y-z"])
def test_words_are_those_of_the_expression(text: str) -> None:
    assert words(text) == re.findall(r"\w+", text, re.ASCII)
