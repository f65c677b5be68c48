"""How alike two texts are by the letters that must change. The one file that imports rapidfuzz."""

from __future__ import annotations

from math import ceil

from rapidfuzz.distance import Levenshtein


def similarity(left: str, right: str, at_least: float = 0.0) -> float:
    """1 - Levenshtein distance / length of the longer one, in 0-1; 0 where either is empty. Case counts.

    A similarity below `at_least` may come back as 0: stopping early is what makes long texts cheap.
    """
    if not left or not right:
        return 0.0
    longest = max(len(left), len(right))
    # Counted in letters: rapidfuzz's own normalised cutoff loses what lies exactly at it (3 of 5 letters at 0.6).
    allowed = ceil((1 - at_least) * longest)
    distance = Levenshtein.distance(left, right, score_cutoff=allowed)
    return 0.0 if distance > allowed else (longest - distance) / longest
