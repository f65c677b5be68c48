"""The expression that stands for a group of rules matches whatever one of the rules does."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.parts.secrets.rules import without_limits
from tests.examples import examples

ATOMS = st.sampled_from(["a", "b", "[ab]", "[^a]", r"\{", r"[{]", "(?:ab|c)", "(b)", r"\b", "c?"])
LIMITS = st.sampled_from(["", "", "?", "*", "{2}", "{1,}", "{0,2}", "{1,3}", "{2,3}?"])
REPEATED = st.builds(lambda atom, limit: atom + ("" if atom in (r"\b", "c?") else limit), ATOMS, LIMITS)
REGEXES = st.lists(REPEATED, min_size=1, max_size=5).map("".join)


@settings(max_examples=examples(500), deadline=None)
@given(REGEXES, st.text("abc{} ", max_size=12))
def test_whatever_an_expression_matches_is_matched_without_its_limits(regex: str, text: str) -> None:
    free = re.compile(without_limits(regex))
    for match in re.finditer(regex, text):
        assert free.match(text, match.start())


@pytest.mark.parametrize(
    ("regex", "free"),
    [
        ("a{2,5}b", "a{2,}b"),
        ("a{0,40}?b", "a{0,}?b"),
        ("a{3}", "a{3}"),
        ("a{3,}", "a{3,}"),
        (r"\{2,5}", r"\{2,5}"),
        (r"[a{2,5}]{2,5}", r"[a{2,5}]{2,}"),
        (r"[]{2,5}]x{0,1}", r"[]{2,5}]x{0,}"),
        (r"[^]{2,5}\]]{1,9}", r"[^]{2,5}\]]{1,}"),
    ],
)
def test_only_repetitions_lose_their_limits(regex: str, free: str) -> None:
    assert without_limits(regex) == free
