"""Sentences about texts that lack the words of a query, for the searches of texts that callers supply."""

from __future__ import annotations

from collections.abc import Sequence

from sidecar import shown


def none_of(size: int, noun: str) -> str:
    """Returns the beginning of a sentence about something that no text has. `size` is the number of texts, at least
    1."""
    return f"None of the {size:,} {noun}s has" if size > 1 else f"The only {noun} does not have"


def without_words(size: int, noun: str, words: Sequence[str]) -> str:
    """Returns one sentence about `size` texts, at least 1, that says that none of them has any of the words."""
    has = f"None of the {size:,} {noun}s has any" if size > 1 else f"The only {noun} has none"
    return f"{has} of these words: {shown.short(', '.join(dict.fromkeys(words)))}."
