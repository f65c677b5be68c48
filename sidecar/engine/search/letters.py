"""Scores how well a path fits the letters that a person types to find it, as in editors' lists of files.

A path fits if it contains the letters of each typed word in their order, in any case, with anything in between. Letters
that stand together, that begin a word, or that are in the file's own name count for more.

Both texts come from anybody. The work for a word and a path grows with the sum of their lengths: a path is never looked
through again for every way in which letters can be skipped.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Callable, Iterable
from typing import NamedTuple

_IN_NAME = 8
"""The points for each letter that is found in the file's name and not in its folders."""
_TOGETHER = 5
_BEGINS = 4
_WHOLE = 30
"""The points for a word at the beginning of the file's name; half of them if it begins another word of the name."""
_BREAKS = frozenset("/_-. ")


class Fit(NamedTuple):
    """A path and its score; a higher one fits better."""

    path: str
    score: float


def best_fits(paths: Iterable[str], typed: str, limit: int) -> tuple[list[Fit], int]:
    """Returns the `limit` best fitting paths, best first, and how many fit at all. Ties are ordered by length, the
    shorter path first, then alphabetically. Nothing fits if nothing is typed."""
    fits = fitting(typed)
    found = [Fit(path, score) for path in paths if (score := fits(path)) is not None]
    best = heapq.nsmallest(limit, found, key=lambda fit: (-fit.score, len(fit.path), fit.path))
    return best, len(found)


def fitting(typed: str) -> Callable[[str], float | None]:
    """Returns a function that scores a path, higher for a better fit; it returns None for a path that does not fit."""
    words = typed.replace("\\", "/").casefold().split()

    def score(path: str) -> float | None:
        folded = path.casefold()
        if not words or not all(_has(folded, word) for word in words):
            return None
        # Folding may change the length of a text; then the positions in both no longer correspond.
        letters = path if len(folded) == len(path) else folded
        return sum(_score(folded, letters, word) for word in words) / (1 + len(path) / 1000)

    return score


def _score(folded: str, path: str, word: str) -> float:
    """Returns the score of one word: within the file's name if it fits there, else within the whole path."""
    start = folded.rfind("/") + 1
    in_name = _places(folded, path, word, start)
    if in_name is not None:
        return _value(path, in_name, start) + _IN_NAME * len(word) + _beginning(folded, path, word, start)
    anywhere = _places(folded, path, word, 0)
    return _value(path, anywhere, 0) if anywhere is not None else 0.0


def _places(folded: str, path: str, word: str, start: int) -> list[int] | None:
    """Returns the positions of the letters: side by side if the path contains the word as it is; else each letter as
    early as possible, at the beginning of a word if the rest still fits after that. None if they do not fit."""
    together = folded.find(word, start)
    if together >= 0:
        return list(range(together, together + len(word)))
    latest = _latest(folded, word, start)
    if latest is None:
        return None
    beginnings: dict[str, list[int]] = {}
    for place in range(start, len(path)):
        if _is_beginning(path, place):
            beginnings.setdefault(folded[place], []).append(place)
    places: list[int] = []
    at = start
    for letter, last in zip(word, latest, strict=True):
        place = folded.find(letter, at)
        if not places or place != places[-1] + 1:
            own = beginnings.get(letter, ())
            next_one = bisect_left(own, place)
            if next_one < len(own) and own[next_one] <= last:
                place = own[next_one]
        places.append(place)
        at = place + 1
    return places


def _has(folded: str, letters: str) -> bool:
    """Whether the text contains the letters in this order."""
    at = 0
    for letter in letters:
        at = folded.find(letter, at) + 1
        if at == 0:
            return False
    return True


def _latest(folded: str, word: str, start: int) -> list[int] | None:
    """Returns the last position of each letter from which the rest of the word still fits; None if it does not fit
    after `start`."""
    latest: list[int] = []
    end = len(folded)
    for letter in reversed(word):
        end = folded.rfind(letter, start, end)
        if end < 0:
            return None
        latest.append(end)
    return latest[::-1]


def _value(path: str, places: list[int], start: int) -> float:
    value = float(len(places))
    for before, place in zip([start - 2, *places], places, strict=False):
        value += _TOGETHER * (place == before + 1) + _BEGINS * _is_beginning(path, place)
    return value


def _beginning(folded: str, path: str, word: str, start: int) -> float:
    at = folded.find(word, start)
    if at < 0:
        return 0.0
    return _WHOLE if at == start else _WHOLE / 2 if _is_beginning(path, at) else 0.0


def _is_beginning(path: str, at: int) -> bool:
    if at == 0 or path[at - 1] in _BREAKS:
        return True
    return path[at].isupper() and not path[at - 1].isupper()
