"""The two lines of a hit that show best why it was found, with the query's words told apart from the rest."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from sidecar.model import ExcerptLine
from sidecar.parts.lexical.tokens import places, query_terms, terms_of

WIDTH = 160
"""Characters of a line; a longer one is cut around its first hit word."""
_LINES = 2
_BEFORE = 40
_DOTS = "\u2026"
_IRREGULAR = frozenset(("die", "lie", "tie"))


@dataclass(frozen=True)
class _Line:
    """`spans`: start and end of each hit word; `terms`: the terms of the query that they have."""

    index: int
    text: str
    spans: tuple[tuple[int, int], ...]
    terms: frozenset[str]


def excerpt(
    content: str, start_line: int, terms: Collection[str], names: Collection[str] = ()
) -> tuple[ExcerptLine, ...]:
    """At most two lines of `content`, in their order: those that hold most of `terms` between them, else those with the
    `names` that it defines, else the first ones that are not blank. `start_line` is the number of the first line."""
    wanted, hints = frozenset(terms), _hints(terms)
    lines = [_look_at(i, text, wanted, hints) for i, text in enumerate(content.split("\n")) if text.strip()]
    return tuple(_shown(line, start_line) for line in sorted(_chosen(lines, names), key=lambda line: line.index))


def hit_words(query: str) -> Callable[[str], list[tuple[int, int]]]:
    """Finds the words of a text that the query's words find, each as start and end; stop words find nothing."""
    wanted = frozenset(query_terms(query))
    return lambda text: [(start, end) for start, end, word in places(text) if wanted.intersection(terms_of(word))]


def _hints(terms: Collection[str]) -> re.Pattern[str]:
    """What an ASCII word that has one of these terms contains: stemming changes neither the first three letters of a
    term of four, nor the first two of a shorter one (but for `dying`, `lying`, `tying`). Terms have no underscores."""
    starts = {term[: 1 if term in _IRREGULAR else 3 if len(term) > 3 else 2] for term in terms}
    return re.compile("|".join("_*".join(map(re.escape, start)) for start in sorted(starts)) or "(?!)", re.IGNORECASE)


def _look_at(index: int, text: str, wanted: frozenset[str], hints: re.Pattern[str]) -> _Line:
    spans: list[tuple[int, int]] = []
    found: set[str] = set()
    # Taking every word apart would cost more than the whole search did.
    if text.isascii() and not hints.search(text):
        return _Line(index, text, (), frozenset())
    for start, end, word in places(text):
        if word.isascii() and not hints.search(word):
            continue
        common = wanted.intersection(terms_of(word))
        if common:
            spans.append((start, end))
            found |= common
    return _Line(index, text, tuple(spans), frozenset(found))


def _chosen(lines: Sequence[_Line], names: Collection[str]) -> list[_Line]:
    """Each next line is the one that adds most terms; among equals the one with more hit words, then one that has a
    name, then the earlier."""
    chosen: list[_Line] = []
    seen: frozenset[str] = frozenset()
    while len(chosen) < min(_LINES, len(lines)):
        rest = [line for line in lines if line not in chosen]
        most = max((len(line.terms - seen), len(line.terms), len(line.spans)) for line in rest)
        best = [line for line in rest if (len(line.terms - seen), len(line.terms), len(line.spans)) == most]
        chosen.append(next((line for line in best if any(name in line.text for name in names)), best[0]))
        seen |= chosen[-1].terms
    return chosen


def _shown(line: _Line, start_line: int) -> ExcerptLine:
    first = len(line.text) - len(line.text.lstrip())
    text = line.text.rstrip()
    begin = first
    if len(text) - first > WIDTH and line.spans:
        begin = max(first, min(line.spans[0][0] - _BEFORE, len(text) - WIDTH))
    end = min(len(text), begin + WIDTH)
    pieces, at = [], begin
    for start, stop in line.spans:
        if start >= begin and stop <= end:
            pieces += [text[at:start], text[start:stop]]
            at = stop
    pieces.append(text[at:end] + (_DOTS if end < len(text) else ""))
    if begin > first:
        pieces[0] = _DOTS + pieces[0]
    return ExcerptLine(start_line + line.index, tuple(pieces))
