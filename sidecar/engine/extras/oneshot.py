"""One-shot search over texts that come with the call: no index, no query operators, and nothing is stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sidecar import shown
from sidecar.engine.extras.no_words import without_words
from sidecar.errors import Cancelled
from sidecar.model.terms import IsCancelled
from sidecar.parts.lexical.highlight import highlights
from sidecar.parts.lexical.tfidf import Tokenizer, tfidf_scores

Similarity: TypeAlias = Callable[[str, str, float], float]
"""Returns the similarity of two texts, 0-1. The third argument is a cutoff: a result below it may be 0 instead."""


@dataclass(frozen=True, slots=True)
class TextHit:
    """A text that was found. `place` is its index, from 0. `score` is its TF-IDF score, which has no upper bound."""

    place: int
    score: float
    highlights: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FuzzyMatch:
    """A candidate with its similarity to the query, 0-1."""

    candidate: str
    score: float


def search_texts(query: str, texts: Sequence[str], limit: int, cancelled: IsCancelled) -> list[TextHit]:
    """Returns the texts that contain any token of the query, best first; texts with equal scores keep their order.
    Returns at most `limit` hits. Raises Cancelled."""
    tokenizer = Tokenizer()
    wanted = tokenizer.tokens(query)
    scores = tfidf_scores(wanted, _Texts.of_texts(texts, set(wanted), tokenizer, cancelled))
    best = sorted(scores, key=lambda place: (-scores[place], place))[:limit]
    runs = [[token] for token in wanted]
    return [
        TextHit(place, scores[place], tuple(highlights(texts[place], tokenizer.fold(texts[place]), runs)))
        for place in best
    ]


def why_no_texts(query: str, texts: Sequence[str]) -> str:
    """Returns, in one sentence, why `search_texts` found nothing."""
    if not texts:
        return "The call brings no texts to search."
    tokenizer = Tokenizer()
    if not tokenizer.words(query):
        return "The query has no word to look for."
    wanted = tokenizer.tokens(query)
    if not wanted:
        return f"Words of fewer than {tokenizer.min_length} characters are not looked for."
    return without_words(len(texts), "text", wanted)


def match_fuzzy(
    query: str, candidates: Sequence[str], threshold: float, similarity: Similarity, cancelled: IsCancelled
) -> list[FuzzyMatch]:
    """Returns the candidates whose similarity to the query, ignoring case, is at least `threshold` (0-1). Best first;
    candidates with equal scores keep their order. Raises Cancelled."""
    wanted = query.lower()
    found = []
    for candidate in candidates:
        if cancelled():
            raise Cancelled
        score = similarity(wanted, candidate.lower(), threshold)
        if score >= threshold:
            found.append(FuzzyMatch(candidate, score))
    return sorted(found, key=lambda match: -match.score)


def why_no_fuzzy(
    query: str, candidates: Sequence[str], threshold: float, similarity: Similarity, cancelled: IsCancelled
) -> str:
    """Returns, in one sentence, why `match_fuzzy` found nothing. Raises Cancelled."""
    if not candidates:
        return "The call brings no candidates to compare."
    closest = match_fuzzy(query, candidates, 0, similarity, cancelled)[0]
    if not closest.score:
        return "No candidate has anything in common with the query."
    score = min(closest.score, threshold - 0.0001)
    return (
        f"The closest candidate, {shown.quoted(closest.candidate)}, has a similarity of {score:.4g}, below the"
        f" threshold {threshold:g}."
    )


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
        """Returns the number of texts."""
        return self.count

    def of(self, token: str) -> Mapping[int, int]:
        """Returns the counts of the token by text index. The token must be one of the query's."""
        return self.postings[token]
