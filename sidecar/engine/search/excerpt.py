"""Chooses the two lines of a hit that best show why it was found, and marks the query's words in them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from sidecar.model.answers import MarkedLine
from sidecar.parts.lexical.tokens import places, query_terms, terms_of, words

WIDTH = 160
"""The maximum number of characters of an excerpt line. A longer line is cut so that its first hit word is visible."""
_LINES = 2
_BEFORE = 40
_DOTS = "\u2026"
_IRREGULAR = frozenset(("die", "lie", "tie"))
_REMEMBERED = 1 << 14
_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True)
class _Line:
    """A line of the hit. `index` counts from 0. `hits` has, for each hit word in the line, those of the query's terms
    that the word has."""

    index: int
    text: str
    hits: Sequence[frozenset[str]] = ()

    @cached_property
    def terms(self) -> frozenset[str]:
        """All of the query's terms that are in the line."""
        return _NONE.union(*self.hits)


def excerpt(
    content: str, start_line: int, terms: Collection[str], names: Collection[str] = ()
) -> tuple[MarkedLine, ...]:
    """Returns at most two lines of `content`, in their order; `start_line` is the number of its first line.

    They are the lines that together contain the most of the query's `terms`; in a tie, a line with one of the defined
    `names` is preferred. If fewer than two lines have a term, the others are the first lines that are not blank, lines
    with a name before those without.
    """
    hits, texts = _hits_of(frozenset(terms)), content.split("\n")
    # Splitting every word of every line into terms would take longer than the search itself.
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
    """Returns a function that finds the words of a text that match the query, each as (start, end) in characters. Stop
    words match nothing unless the query has no other words."""
    hits = _hits_of(frozenset(query_terms(query)))
    return lambda text: _spans(text, hits)


class _Hits(dict[str, frozenset[str]]):
    """The query's terms that each word has, computed when a word is first looked up."""

    def __init__(self, terms: frozenset[str]) -> None:
        super().__init__()
        self._terms = terms
        squeezed = {_squeezed(term) for term in terms}
        # Each ASCII word with one of the terms contains one of these strings. Stemming cuts off a word's end and may
        # change the last letter of the rest. Of a term of up to three letters, only the first two are certainly in the
        # word, and of `die`, `lie` and `tie` only the first (`dying`, `lying`, `tying`).
        self._hints = tuple({t[: 1 if t in _IRREGULAR else -1 if len(t) > 3 else 2] for t in squeezed})

    def may_be_in(self, squeezed: str) -> bool:
        """Whether a lower-case text without underscores may contain a hit word. False is certain, True is not. Always
        True for a text that is not ASCII."""
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
    """Returns the `_Hits` of these terms. Cached, because all hits of a page share them."""
    return _Hits(terms)


def _spans(text: str, hits: _Hits) -> list[tuple[int, int]]:
    return [(start, end) for start, end, word in places(text) if hits[word]]


def _squeezed(text: str) -> str:
    """Returns the text in the spelling of terms: lower case, without underscores."""
    return text.lower().replace("_", "")


def _chosen(lines: Sequence[_Line], names: Collection[str]) -> list[_Line]:
    """Returns the lines to show. Each is the one that adds the most terms; in a tie, the one with more terms, then with
    more hit words, then with one of the names, then the earlier one."""
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


def _shown(line: _Line, start_line: int, hits: _Hits) -> MarkedLine:
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
    return MarkedLine(start_line + line.index, tuple(pieces))
