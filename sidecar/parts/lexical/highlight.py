"""Finds words in a text: the first place where they follow one another, and an excerpt around it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

AROUND = 30
MAX_HIGHLIGHTS = 3
DOTS = "..."


def find_words(text: str, words: Sequence[str]) -> tuple[int, int] | None:
    """The start and end of the first place where the words follow one another, with only non-word characters between
    them, or None.

    Compares exactly, so the text and the words must have been folded in the same way.
    """
    # Beginning with the bare word lets `re` skip to it; the word boundaries are checked afterwards.
    pattern = re.compile(r"\W+".join(re.escape(word) for word in words))
    for match in pattern.finditer(text):
        start, end = match.span()
        if not _continues(text[start - 1 : start]) and not _continues(text[end : end + 1]):
            return start, end
    return None


def highlights(text: str, folded: str, runs: Iterable[Sequence[str]]) -> list[str]:
    """One excerpt for each run of words that is found in `folded`: 30 characters on either side, between dots.

    At most three excerpts, all different. `folded` is `text` as it was folded for the search.
    """
    # Folding may lengthen a text (a dotted capital I); positions then only fit the folded one.
    source = text if len(text) == len(folded) else folded
    found: list[str] = []
    for run in runs:
        place = find_words(folded, run)
        if place is None:
            continue
        excerpt = f"{DOTS}{source[max(0, place[0] - AROUND) : place[1] + AROUND]}{DOTS}"
        if excerpt not in found:
            found.append(excerpt)
        if len(found) == MAX_HIGHLIGHTS:
            break
    return found


def _continues(character: str) -> bool:
    """Whether a word goes on with this character; combining vowel signs are part of words."""
    return bool(character) and (
        character == "_" or character.isalnum() or unicodedata.category(character) in {"Mn", "Mc"}
    )
