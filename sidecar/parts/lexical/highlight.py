"""Words in a text: where they first stand in a row, and the text around that place as a caller sees it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

AROUND = 30
MAX_HIGHLIGHTS = 3
DOTS = "..."


def find_words(text: str, words: Sequence[str]) -> tuple[int, int] | None:
    """Start and end of the first place where the words stand one after the other, whatever is between them.

    Letters must be equal: fold the text and the words the same way before.
    """
    # Beginning with the bare word lets `re` skip to it; what stands before is looked at afterwards.
    pattern = re.compile(r"\W+".join(re.escape(word) for word in words))
    for match in pattern.finditer(text):
        start, end = match.span()
        if not _continues(text[start - 1 : start]) and not _continues(text[end : end + 1]):
            return start, end
    return None


def highlights(text: str, folded: str, runs: Iterable[Sequence[str]]) -> list[str]:
    """One excerpt for each run of words that is found, at most three: 30 characters either side, between dots."""
    # Folding may lengthen a text (a dotted capital I); places then hold for the folded one only.
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
    """Whether a word goes on with this character; vowel signs belong to words too."""
    return bool(character) and (
        character == "_" or character.isalnum() or unicodedata.category(character) in {"Mn", "Mc"}
    )
