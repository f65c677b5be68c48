"""Identifier splitting before the model's tokeniser."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.parts.embed.tokens import split_identifiers

# The rule as the static model's training applied it, on the whole text at once.
TRAINED_WITH = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|_+|(?<=[A-Za-z])(?=[0-9])")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("getHTTPResponse_v2", "get HTTP Response v 2"),
        ("snake_case__twice", "snake case twice"),
        ("plain words, 42 of them.", "plain words, 42 of them."),
        ("utf8Decode(md5sum)", "utf 8 Decode(md 5sum)"),
        ("__init__", " init "),
        ("größeBerechnen", "größe Berechnen"),
        ("", ""),
    ],
)
def test_identifiers_are_cut_where_words_meet(text: str, expected: str) -> None:
    assert split_identifiers(text) == expected


@given(st.text(alphabet="abzAZ09_ .\nß", max_size=60))
def test_splitting_word_by_word_equals_the_rule_the_model_was_trained_with(text: str) -> None:
    assert split_identifiers(text) == TRAINED_WITH.sub(" ", text)
