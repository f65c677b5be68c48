"""Vectors and ids for tests of vector stores."""

from __future__ import annotations

import numpy as np

from sidecar.model.terms import Ids, Vectors

DIMENSION = 16


def random_vectors(rows: int, seed: int = 0, dimension: int = DIMENSION) -> Vectors:
    """Returns unit vectors, shape [rows, dimension]."""
    vectors = np.random.default_rng(seed).standard_normal((rows, dimension)).astype(np.float32)
    unit: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


def ids(*numbers: int) -> Ids:
    """Returns these numbers as ids."""
    return np.array(numbers, dtype=np.int64)
