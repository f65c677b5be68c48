"""TF-IDF over short lists of documents: the tokenizer with its two settings, and the sum over postings.

The score is the classic one (Spärck Jones 1972, tf × idf): raw count times ln(N / (df + 1)) + 1, added up over the
query's tokens; a token that stands twice in the query counts twice. Not here: what must match, where postings are kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import log
from typing import Protocol

from sidecar.parts.lexical.tokens import words


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """Runs of letters, digits and underscores; those shorter than `min_length` characters are dropped."""

    lowercase: bool = True
    min_length: int = 2

    def fold(self, text: str) -> str:
        return text.lower() if self.lowercase else text

    def words(self, text: str) -> list[str]:
        """All words, short ones too."""
        return words(self.fold(text))

    def tokens(self, text: str) -> list[str]:
        return [word for word in self.words(text) if len(word) >= self.min_length]


def count_words(text: str, lowercase: bool, min_length: int) -> Counter[str]:
    """How often each token stands in it."""
    return Counter(Tokenizer(lowercase, min_length).tokens(text))


class Postings(Protocol):
    """Which documents hold a token, and how often. Documents are numbered in the order in which they came."""

    def size(self) -> int:
        """How many documents there are."""

    def of(self, token: str) -> Mapping[int, int]:
        """Document number -> count."""


def idf(documents: int, holding: int) -> float:
    """Positive for every token that occurs."""
    return log(documents / (holding + 1)) + 1


def tfidf_scores(tokens: Iterable[str], postings: Postings) -> dict[int, float]:
    """Score of every document that holds at least one of the tokens."""
    size = postings.size()
    scores: dict[int, float] = {}
    for token in tokens:
        holders = postings.of(token)
        if not holders:
            continue
        weight = idf(size, len(holders))
        for number, count in holders.items():
            scores[number] = scores.get(number, 0.0) + count * weight
    return scores
