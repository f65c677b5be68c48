"""Reciprocal rank fusion of ranked lists of chunks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

RRF_K = 60
"""Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet" (SIGIR 2009)."""

Rows = NDArray[np.int32]


def fuse(lists: Sequence[tuple[Rows, float]], size: int, k: int = RRF_K) -> NDArray[np.float32]:
    """Scores of all `size` rows: the sum over the lists of weight * (k + 1) / (k + rank), rank from 1.

    Each list holds distinct rows, best first. With weights that sum to 1 the score lies in 0-1, and is 1 for the
    row that is first in every list.
    """
    scores = np.zeros(size, np.float32)
    for rows, weight in lists:
        scores[rows] += np.float32(weight * (k + 1)) / np.arange(k + 1, k + 1 + len(rows), dtype=np.float32)
    return scores


def best_first(scores: NDArray[np.float32], limit: int) -> Rows:
    """Rows with a score above 0, best first, ties by row; at most `limit`."""
    rows = np.flatnonzero(scores > 0)
    if len(rows) > limit:
        cut = np.partition(scores[rows], len(rows) - limit)[len(rows) - limit]
        rows = rows[scores[rows] >= cut]
    order = np.argsort(-scores[rows], kind="stable")
    return rows[order][:limit].astype(np.int32)
