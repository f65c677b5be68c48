"""One-shot search: over texts that come with the call and are forgotten after it. No index, no operators, no state."""

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
"""Of two texts, in 0-1; below the third argument it may say 0."""


@dataclass(frozen=True, slots=True)
class TextHit:
    """`place` counts the texts from 0; `score` is TF-IDF, unbounded."""

    place: int
    score: float
    highlights: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FuzzyMatch:
    """`score` is a similarity, 0-1."""

    candidate: str
    score: float


def search_texts(query: str, texts: Sequence[str], limit: int, cancelled: IsCancelled) -> list[TextHit]:
    """Texts that hold any token of the query, best first, equal scores in the order of the texts."""
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
    """Candidates at least as similar as `threshold` (0-1), case aside, best first, equal ones in their order."""
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
    """`tfidf.Postings` of the query's tokens only."""

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
        return self.count

    def of(self, token: str) -> Mapping[int, int]:
        return self.postings[token]
