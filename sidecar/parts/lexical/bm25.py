"""BM25 arithmetic on arrays. Knows nothing of where postings come from or of what is done with a score.

Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), §3; the inverse document
frequency in the form that is never negative (as in Lucene).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Curve:
    """`k1`: how soon further occurrences stop to count; `b`: how much a long text is held against it (0-1)."""

    k1: float
    b: float


def idf(documents: int, containing: int) -> float:
    """ln(1 + (N - n + 0.5) / (n + 0.5)): 0 < idf, larger for rarer terms; `containing` may be 0."""
    return math.log1p((documents - containing + 0.5) / (containing + 0.5))


def length_norms(lengths: NDArray[np.generic], average: float, curve: Curve) -> Floats:
    """The part of the denominator that depends on the document alone: k1 * (1 - b + b * length / average)."""
    ratio = lengths.astype(np.float32) / np.float32(max(average, 1e-9))
    return np.asarray(curve.k1 * (1 - curve.b + curve.b * ratio), np.float32)


def saturate(tfs: NDArray[np.generic], norms: Floats, k1: float) -> Floats:
    """tf * (k1 + 1) / (tf + norm), from 0 to k1 + 1."""
    counts = tfs.astype(np.float32)
    return np.asarray(counts * np.float32(k1 + 1) / (counts + norms), np.float32)
