"""How much a word counts in a chunk, in a file's body and in each of its fields: the parameters of BM25 and BM25F.

Merges write upper bounds that were computed with them (`bounds.py`).
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sidecar.parts.lexical.analyse import Field
from sidecar.parts.lexical.bm25 import Curve, Floats

Real = TypeVar("Real", bound=np.floating)

CHUNK_CURVE = Curve(k1=1.5, b=0.75)
FILE_CURVE = Curve(k1=1.5, b=0.5)
_IN_FIELD = {
    Field.PATH: (Curve(0.6, 0.3), 2.0),
    Field.STEM: (Curve(0.4, 0.5), 2.5),
    Field.DIRECTORIES: (Curve(0.4, 0.3), 0.8),
    Field.NAMES: (Curve(1.5, 0.75), 1.5),
    Field.SIGNATURES: (Curve(1.5, 0.75), 0.7),
    Field.COMMENTS: (Curve(1.5, 0.75), 1.0),
    Field.HEAD: (Curve(1.5, 0.75), 1.0),
}
"""The curve and the weight of each field. In short fields (path, stem, directories) only the first occurrence of a term
matters much, so k1 is small."""
FIELD_CURVES = tuple(_IN_FIELD[field][0] for field in Field)
FIELD_WEIGHTS = np.array([_IN_FIELD[field][1] for field in Field], np.float32)
FIELD_K1 = np.array([curve.k1 for curve in FIELD_CURVES], np.float32)
_ONE = np.float32(1)
_DAMPING = 0.15
"""The strength of BM25F's second saturation: a term that occurs in five fields is not five times the evidence."""


def damped(sums: NDArray[Real], weights: Floats | np.float32 = _ONE) -> NDArray[Real]:
    """Returns BM25F of each weighted sum over the body and the fields: `weights` times the sum, saturated once more."""
    return np.asarray(weights * sums / (1 + np.float32(_DAMPING) * sums))


def score_fields(fields: NDArray[np.integer], tfs: NDArray[np.uint8], norms: Floats) -> Floats:
    """Returns BM25 of each posting in fields. `fields` are the numbers of the fields, `norms` their length norms."""
    counts = tfs.astype(np.float32)
    return np.asarray(counts * (FIELD_K1 + 1).take(fields) / (counts + norms))


def weighted_sums(fields: NDArray[np.integer], scores: Floats, of: NDArray[np.int64], count: int) -> Floats:
    """Returns the weighted sums of scores in fields, for each of so many files. `of` has the file of each score."""
    # Summed in double precision, one after the other, so that the result does not depend on the number of files.
    return np.bincount(of, weights=scores * FIELD_WEIGHTS.take(fields), minlength=count).astype(np.float32)
