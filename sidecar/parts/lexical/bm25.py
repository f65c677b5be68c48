"""Computes BM25 on arrays. The callers read the postings and use the scores.

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
    """The parameters of BM25. The higher `k1`, the more further occurrences of a term count; the higher `b` (0 to 1),
    the more the length of a text counts against it.
    """

    k1: float
    b: float


def idf(documents: int, containing: int) -> float:
    """Returns ln(1 + (N - n + 0.5) / (n + 0.5)) for N `documents`, n of them `containing` the term; `containing` may be
    0.

    The result is greater than 0, and larger for rarer terms.
    """
    return math.log1p((documents - containing + 0.5) / (containing + 0.5))


def length_norms(lengths: NDArray[np.generic], average: float, curve: Curve) -> Floats:
    """Returns the part of the denominator that depends on the document only: k1 * (1 - b + b * length / average).

    The result is float32, with the shape of `lengths`.
    """
    norms: Floats = np.divide(lengths, np.float32(max(average, 1e-9)), dtype=np.float32)
    norms *= curve.b
    norms += 1 - curve.b
    norms *= curve.k1
    return norms


def saturate(tfs: NDArray[np.generic], norms: Floats, k1: float) -> Floats:
    """Returns `tf * (k1 + 1) / (tf + norm)`, from 0 to k1 + 1, for each pair of `tfs` and `norms`, float32. Their
    shapes must broadcast."""
    counts = tfs.astype(np.float32)
    return np.asarray(counts * np.float32(k1 + 1) / (counts + norms), np.float32)
