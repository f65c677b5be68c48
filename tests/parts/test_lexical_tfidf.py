"""The tokenizer of document indexes and its score."""

from __future__ import annotations

from collections.abc import Mapping
from math import log

import pytest

from sidecar.parts.lexical.tfidf import Tokenizer, idf, tfidf_scores


class Postings:
    def __init__(self, size: int, postings: Mapping[str, Mapping[int, int]]) -> None:
        self._size = size
        self._postings = postings

    def size(self) -> int:
        return self._size

    def of(self, token: str) -> Mapping[int, int]:
        return self._postings.get(token, {})


@pytest.mark.parametrize(
    ("tokenizer", "tokens"),
    [
        (Tokenizer(), ["foo", "bar", "foo_bar", "über", "42"]),
        (Tokenizer(min_length=1), ["foo", "bar", "foo_bar", "a", "über", "42"]),
        (Tokenizer(min_length=4), ["foo_bar", "über"]),
        (Tokenizer(lowercase=False), ["Foo", "bar", "foo_bar", "Über", "42"]),
    ],
)
def test_a_token_is_a_run_of_letters_digits_and_underscores(tokenizer: Tokenizer, tokens: list[str]) -> None:
    assert tokenizer.tokens("Foo-bar, foo_bar: a Über 42!") == tokens


def test_a_score_is_the_count_times_the_idf_added_up_over_the_query() -> None:
    postings = Postings(4, {"python": {0: 2, 3: 1}, "guide": {3: 1}})
    python, guide = log(4 / 3) + 1, log(4 / 2) + 1
    scores = tfidf_scores(["python", "guide", "absent"], postings)
    assert scores == pytest.approx({0: 2 * python, 3: python + guide})


def test_a_word_that_stands_twice_in_the_query_counts_twice() -> None:
    postings = Postings(1, {"python": {0: 1}})
    assert tfidf_scores(["python", "python"], postings) == pytest.approx({0: 2 * (log(1 / 2) + 1)})


@pytest.mark.parametrize("documents", [1, 2, 10, 10**6])
def test_the_idf_of_a_token_that_occurs_is_positive(documents: int) -> None:
    assert idf(documents, documents) > 0
