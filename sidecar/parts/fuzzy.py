"""Similarity of two texts by edit distance. The only module that imports rapidfuzz."""

from __future__ import annotations

from math import ceil

from rapidfuzz.distance import Levenshtein


def similarity(left: str, right: str, at_least: float = 0.0) -> float:
    """1 - Levenshtein distance / length of the longer text, in 0-1; 0 when either is empty. Case-sensitive.

    A similarity below `at_least` may be returned as 0: stopping early keeps long texts cheap.
    """
    if not left or not right:
        return 0.0
    longest = max(len(left), len(right))
    # An absolute cutoff: rapidfuzz's normalised one loses values exactly at the limit (3 of 5 characters at 0.6).
    allowed = ceil((1 - at_least) * longest)
    distance = Levenshtein.distance(left, right, score_cutoff=allowed)
    return 0.0 if distance > allowed else (longest - distance) / longest
