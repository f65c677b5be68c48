"""TF-IDF for short lists of documents: a tokenizer with two settings, and the score as a sum over postings.

The score of a document is the sum of count * (ln(N / (df + 1)) + 1) over the query's tokens; a token that occurs twice
in the query counts twice. Source: Spärck Jones, "A Statistical Interpretation of Term Specificity and Its Application
in Retrieval" (1972). The caller decides which documents have to match, and where postings are stored.
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
    """Cuts a text into words, which are runs of letters, digits and underscores. Tokens are the words of at least
    `min_length` characters.
    """

    lowercase: bool = True
    min_length: int = 2

    def fold(self, text: str) -> str:
        """Returns the text in lower case, or unchanged if `lowercase` is false."""
        return text.lower() if self.lowercase else text

    def words(self, text: str) -> list[str]:
        """Returns all words of the text, folded, including short ones."""
        return words(self.fold(text))

    def tokens(self, text: str) -> list[str]:
        """Returns the words of the text, folded, that have at least `min_length` characters."""
        return [word for word in self.words(text) if len(word) >= self.min_length]


def count_words(text: str, lowercase: bool, min_length: int) -> Counter[str]:
    """Returns how often each token occurs in `text`."""
    return Counter(Tokenizer(lowercase, min_length).tokens(text))


class TokenCounts(Protocol):
    """Which documents contain a token, and how often. Documents are numbered in the order in which they were added."""

    def size(self) -> int:
        """Returns how many documents there are."""

    def of(self, token: str) -> Mapping[int, int]:
        """Returns the token's count by document number; empty if no document contains it."""


def idf(documents: int, holding: int) -> float:
    """Returns ln(documents / (holding + 1)) + 1, which is positive for every token that occurs."""
    return log(documents / (holding + 1)) + 1


def tfidf_scores(tokens: Iterable[str], postings: TokenCounts) -> dict[int, float]:
    """Returns the score of every document that contains at least one of the tokens, by document number."""
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
