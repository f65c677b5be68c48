"""How alike two texts are by the letters that must change. The one file that imports rapidfuzz."""

from __future__ import annotations

from rapidfuzz.distance import Levenshtein


def similarity(left: str, right: str, at_least: float = 0.0) -> float:
    """1 - Levenshtein distance / length of the longer one, in 0-1; 0 where either is empty. Case counts.

    A similarity below `at_least` may come back as 0: stopping early is what makes long texts cheap.
    """
    if not left or not right:
        return 0.0
    return float(Levenshtein.normalized_similarity(left, right, score_cutoff=at_least))
