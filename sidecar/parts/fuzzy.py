"""Similarity of two texts by edit distance. The only module that imports rapidfuzz."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from rapidfuzz import process
from rapidfuzz.distance import OSA, Levenshtein


def similarity(left: str, right: str, at_least: float = 0.0) -> float:
    """Returns 1 - Levenshtein distance / length of the longer text, in 0-1; 0 when either is empty. Case-sensitive.

    A similarity below `at_least` may be returned as 0, because the computation then stops early.
    """
    if not left or not right:
        return 0.0
    longest = max(len(left), len(right))
    # An absolute cutoff: rapidfuzz's normalised one loses values exactly at the limit (3 of 5 characters at 0.6).
    allowed = ceil((1 - at_least) * longest)
    distance = Levenshtein.distance(left, right, score_cutoff=allowed)
    return 0.0 if distance > allowed else (longest - distance) / longest


def closest(wanted: str, names: Sequence[str], most_edits: int, limit: int) -> list[str]:
    """Returns at most `limit` names that at most `most_edits` edits turn into `wanted`: fewest edits first, then names
    with the same first and last letter, then in the given order. An edit adds, drops or replaces a letter, or swaps two
    adjacent ones (optimal string alignment distance)."""
    found = process.extract(wanted, names, scorer=OSA.distance, score_cutoff=most_edits, limit=None)
    best = sorted(found, key=lambda one: (one[1], one[0][:1] != wanted[:1], one[0][-1:] != wanted[-1:], one[2]))
    return [name for name, _, _ in best[:limit]]
