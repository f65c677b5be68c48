"""The query language of document indexes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.parts.lexical.query import parse_query


@pytest.mark.parametrize(
    ("text", "terms", "must", "must_not", "phrases"),
    [
        ('+python "machine learning"', (), ("python",), (), ("machine learning",)),
        ("rate limiting API", ("rate", "limiting", "API"), (), (), ()),
        ("-draft guide", ("guide",), (), ("draft",), ()),
        ('-"old draft" guide', ("guide",), (), ("old draft",), ()),
        ('+"old draft"', (), (), (), ("old draft",)),
        ('see"a phrase"inside', ("see", "inside"), (), (), ("a phrase",)),
        ('say "unclosed words', ("say", '"unclosed', "words"), (), (), ()),
        ('"first" and "second', ("and", '"second'), (), (), ("first",)),
        ("--twice ++thrice +-mixed", (), ("thrice", "mixed"), ("twice",), ()),
        ("well-known a+b", ("well-known", "a+b"), (), (), ()),
        ("  spaced\t\nout  ", ("spaced", "out"), (), (), ()),
    ],
)
def test_a_query_is_taken_apart(
    text: str, terms: tuple[str, ...], must: tuple[str, ...], must_not: tuple[str, ...], phrases: tuple[str, ...]
) -> None:
    parsed = parse_query(text)
    assert (parsed.terms, parsed.must, parsed.must_not, parsed.phrases) == (terms, must, must_not, phrases)


@pytest.mark.parametrize("text", ["", "  \n", "+", "-", '""', '" "', '+ - +- "" -"" ! ... \'', '"'])
def test_operators_alone_ask_for_nothing(text: str) -> None:
    assert parse_query(text).is_empty


def test_what_is_wanted_stands_in_the_order_of_the_query() -> None:
    wanted = parse_query('one +two "three four" -five six').wanted
    assert [(clause.text, clause.required) for clause in wanted] == [
        ("one", False),
        ("two", True),
        ("three four", True),
        ("six", False),
    ]


@given(st.text(alphabet='ab+-" \n\u0131\0', max_size=60))
def test_every_text_is_a_query_and_no_word_is_lost(text: str) -> None:
    parsed = parse_query(text)
    letters = "".join((*parsed.terms, *parsed.must, *parsed.must_not, *parsed.phrases))
    for letter in "ab\u0131":
        assert letters.count(letter) == text.count(letter)


def test_many_quotes_are_parsed_in_no_time() -> None:
    assert len(parse_query('"a" ' * 20_000).phrases) == 20_000
    assert len(parse_query('a"' * 20_001).phrases) == 10_000
