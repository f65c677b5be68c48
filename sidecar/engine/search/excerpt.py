"""The two lines of a hit that show best why it was found, with the query's words told apart from the rest."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from sidecar.model import ExcerptLine
from sidecar.parts.lexical.tokens import places, query_terms, terms_of, words

WIDTH = 160
"""Characters of a line; a longer one is cut around its first hit word."""
_LINES = 2
_BEFORE = 40
_DOTS = "\u2026"
_IRREGULAR = frozenset(("die", "lie", "tie"))
_REMEMBERED = 1 << 14
_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True)
class _Line:
    """`hits`: for each hit word the terms of the query that it has; `terms`: those of all."""

    index: int
    text: str
    hits: Sequence[frozenset[str]] = ()

    @cached_property
    def terms(self) -> frozenset[str]:
        return _NONE.union(*self.hits)


def excerpt(
    content: str, start_line: int, terms: Collection[str], names: Collection[str] = ()
) -> tuple[ExcerptLine, ...]:
    """At most two lines of `content`, in their order: those that hold most of `terms` between them, else those with the
    `names` that it defines, else the first ones that are not blank. `start_line` is the number of the first line."""
    hits, texts = _hits_of(frozenset(terms)), content.split("\n")
    # Taking every word of every line apart would cost more than the whole search did.
    likely = (i for i, squeezed in enumerate(_squeezed(content).split("\n")) if hits.may_be_in(squeezed))
    lines = [
        _Line(i, texts[i], found)
        for i in likely
        if (found := [common for word in words(texts[i]) if (common := hits[word])])
    ]
    if len(lines) < _LINES:
        found_in = {line.index: line for line in lines}
        lines = [found_in.get(i) or _Line(i, text) for i, text in enumerate(texts) if text.strip()]
    chosen = sorted(_chosen(lines, names), key=lambda line: line.index)
    return tuple(_shown(line, start_line, hits) for line in chosen)


def hit_words(query: str) -> Callable[[str], list[tuple[int, int]]]:
    """Finds the words of a text that the query's words find, each as start and end; stop words find nothing."""
    hits = _hits_of(frozenset(query_terms(query)))
    return lambda text: _spans(text, hits)


class _Hits(dict[str, frozenset[str]]):
    """Which of the query's terms each word has, found out when a word is first met."""

    def __init__(self, terms: frozenset[str]) -> None:
        super().__init__()
        self._terms = terms
        squeezed = {_squeezed(term) for term in terms}
        # What an ASCII word that has one of the terms contains: stemming changes nothing but the last letter of what it
        # leaves, or of a short one all but the first two (but for `dying`, `lying`, `tying`).
        self._hints = tuple({t[: 1 if t in _IRREGULAR else -1 if len(t) > 3 else 2] for t in squeezed})

    def may_be_in(self, squeezed: str) -> bool:
        for hint in self._hints:
            if hint in squeezed:
                return True
        return not squeezed.isascii()

    def __missing__(self, word: str) -> frozenset[str]:
        if len(self) >= _REMEMBERED:
            self.clear()
        found = self._terms.intersection(terms_of(word)) if self.may_be_in(_squeezed(word)) else _NONE
        self[word] = found
        return found


@lru_cache(maxsize=8)
def _hits_of(terms: frozenset[str]) -> _Hits:
    """One for all the hits of a page."""
    return _Hits(terms)


def _spans(text: str, hits: _Hits) -> list[tuple[int, int]]:
    return [(start, end) for start, end, word in places(text) if hits[word]]


def _squeezed(text: str) -> str:
    """As terms are written: lower case, without underscores."""
    return text.lower().replace("_", "")


def _chosen(lines: Sequence[_Line], names: Collection[str]) -> list[_Line]:
    """Each next line is the one that adds most terms; among equals the one with more hit words, then one that has a
    name, then the earlier."""
    chosen: list[_Line] = []
    seen, rest = _NONE, list(lines)
    while rest and len(chosen) < _LINES:
        merits = [(len(line.terms - seen), len(line.terms), len(line.hits)) for line in rest]
        most = max(merits)
        best = [i for i, merit in enumerate(merits) if merit == most]
        first = next((i for i in best if any(name in rest[i].text for name in names)), best[0])
        chosen.append(rest.pop(first))
        seen |= chosen[-1].terms
    return chosen


def _shown(line: _Line, start_line: int, hits: _Hits) -> ExcerptLine:
    first = len(line.text) - len(line.text.lstrip())
    text = line.text.rstrip()
    begin = first
    spans = _spans(line.text, hits) if line.hits else []
    if len(text) - first > WIDTH and spans:
        begin = max(first, min(spans[0][0] - _BEFORE, len(text) - WIDTH))
    end = min(len(text), begin + WIDTH)
    pieces, at = [], begin
    for start, stop in spans:
        if start >= begin and stop <= end:
            pieces += [text[at:start], text[start:stop]]
            at = stop
    pieces.append(text[at:end] + (_DOTS if end < len(text) else ""))
    if begin > first:
        pieces[0] = _DOTS + pieces[0]
    return ExcerptLine(start_line + line.index, tuple(pieces))
