"""A chunk's vector, combined from those of its body and its path (docs/decisions/0001)."""

from __future__ import annotations

import numpy as np

from sidecar.model.terms import Vectors


def combine(body: Vectors, path: Vectors, path_weight: float) -> Vectors:
    """Returns the vectors of chunks: normalise(body + path_weight * path), row by row. All arrays have the shape
    [chunks, dimension]. A row whose sum is zero stays zero. A row whose body is zero is zero too: a chunk without a
    word, such as encoded data, gets no meaning from its path."""
    mixed = body + np.float32(path_weight) * path * body.any(axis=1, keepdims=True)
    norms = np.linalg.norm(mixed, axis=1, keepdims=True)
    unit: Vectors = np.divide(mixed, norms, out=np.zeros_like(mixed), where=norms > 0)
    return unit
