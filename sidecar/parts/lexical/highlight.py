"""Finds words that follow one another in a text, and cuts out excerpts around them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

AROUND = 30
MAX_HIGHLIGHTS = 3
DOTS = "..."


def find_words(text: str, words: Sequence[str]) -> tuple[int, int] | None:
    """Returns the start and end, in characters, of the first place where the words follow one another with only
    non-word characters between them; None if there is none.

    The comparison is exact, so the text and the words must have been folded in the same way.
    """
    # The pattern begins with the bare word, so that `re` can skip to it. The word boundaries are checked afterwards.
    pattern = re.compile(r"\W+".join(re.escape(word) for word in words))
    for match in pattern.finditer(text):
        start, end = match.span()
        if not _continues(text[start - 1 : start]) and not _continues(text[end : end + 1]):
            return start, end
    return None


def highlights(text: str, folded: str, runs: Iterable[Sequence[str]]) -> list[str]:
    """Returns one excerpt for each run of words that is found in `folded`: the words and 30 characters on either side,
    between dots.

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
    """Whether this character continues a word. Combining vowel signs are part of words."""
    return bool(character) and (
        character == "_" or character.isalnum() or unicodedata.category(character) in {"Mn", "Mc"}
    )
