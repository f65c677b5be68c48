"""The arithmetic of BM25 on arrays. Does not know where postings come from or what a score is used for.

Source: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), section 3, with the
inverse document frequency in the form that is never negative, as in Lucene. The score of a document is the sum of idf *
saturate(tf, norm) over the query's terms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Curve:
    """`k1`: how slowly further occurrences of a term lose weight; `b`: how much the length of a text counts against it
    (0 to 1).
    """

    k1: float
    b: float


def idf(documents: int, containing: int) -> float:
    """ln(1 + (N - n + 0.5) / (n + 0.5)) for N `documents`, n of them `containing` the term; `containing` may be 0.

    Greater than 0, and larger for rarer terms.
    """
    return math.log1p((documents - containing + 0.5) / (containing + 0.5))


def length_norms(lengths: NDArray[np.generic], average: float, curve: Curve) -> Floats:
    """The part of the denominator that depends on the document only: k1 * (1 - b + b * length / average).

    Float32, in the shape of `lengths`.
    """
    ratio = lengths.astype(np.float32) / np.float32(max(average, 1e-9))
    return np.asarray(curve.k1 * (1 - curve.b + curve.b * ratio), np.float32)


def saturate(tfs: NDArray[np.generic], norms: Floats, k1: float) -> Floats:
    """The value `tf * (k1 + 1) / (tf + norm)`, from 0 to k1 + 1, for each pair of `tfs` and `norms`; their shapes must
    broadcast."""
    counts = tfs.astype(np.float32)
    return np.asarray(counts * np.float32(k1 + 1) / (counts + norms), np.float32)
