"""One-shot search over texts that come with the call: no index, no query operators, and nothing is kept afterwards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sidecar.errors import Cancelled
from sidecar.model import IsCancelled
from sidecar.parts.lexical.highlight import highlights
from sidecar.parts.lexical.tfidf import Tokenizer, tfidf_scores

Similarity: TypeAlias = Callable[[str, str, float], float]
"""Similarity of two texts, 0-1. The third argument is a cutoff: for anything below it, the result may be 0."""


@dataclass(frozen=True, slots=True)
class TextHit:
    """`place` is the index of the text, from 0. `score` is its TF-IDF score, which has no upper bound."""

    place: int
    score: float
    highlights: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FuzzyMatch:
    """A candidate with its similarity to the query, 0-1."""

    candidate: str
    score: float


def search_texts(query: str, texts: Sequence[str], limit: int, cancelled: IsCancelled) -> list[TextHit]:
    """Texts that contain any token of the query, best first; equal scores keep the order of the texts. Returns at most
    `limit` hits. Raises Cancelled."""
    tokenizer = Tokenizer()
    wanted = tokenizer.tokens(query)
    scores = tfidf_scores(wanted, _Texts.of_texts(texts, set(wanted), tokenizer, cancelled))
    best = sorted(scores, key=lambda place: (-scores[place], place))[:limit]
    runs = [[token] for token in wanted]
    return [
        TextHit(place, scores[place], tuple(highlights(texts[place], tokenizer.fold(texts[place]), runs)))
        for place in best
    ]


def match_fuzzy(
    query: str, candidates: Sequence[str], threshold: float, similarity: Similarity, cancelled: IsCancelled
) -> list[FuzzyMatch]:
    """Candidates whose similarity to the query, ignoring case, is at least `threshold` (0-1). Best first; equal scores
    keep the order of the candidates. Raises Cancelled."""
    wanted = query.lower()
    found = []
    for candidate in candidates:
        if cancelled():
            raise Cancelled
        score = similarity(wanted, candidate.lower(), threshold)
        if score >= threshold:
            found.append(FuzzyMatch(candidate, score))
    return sorted(found, key=lambda match: -match.score)


@dataclass(frozen=True, slots=True)
class _Texts:
    """The postings (`tfidf.Postings`) of the query's tokens alone."""

    count: int
    postings: Mapping[str, Mapping[int, int]]

    @classmethod
    def of_texts(cls, texts: Sequence[str], tokens: set[str], tokenizer: Tokenizer, cancelled: IsCancelled) -> _Texts:
        postings: dict[str, dict[int, int]] = {token: {} for token in tokens}
        for place, text in enumerate(texts):
            if cancelled():
                raise Cancelled
            for token, count in Counter(tokenizer.tokens(text)).items():
                if token in postings:
                    postings[token][place] = count
        return cls(len(texts), postings)

    def size(self) -> int:
        """The number of texts."""
        return self.count

    def of(self, token: str) -> Mapping[int, int]:
        """Counts of the token by text index. The token must be one of the query's."""
        return self.postings[token]
