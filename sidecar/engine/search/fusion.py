"""Reciprocal rank fusion of ranked lists of chunks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RRF_K = 60
"""The constant k of reciprocal rank fusion (Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms
Condorcet", SIGIR 2009)."""

Rows = NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class Ranking:
    """Distinct rows, best first, with the scores that ranked them. `weight` is that of the whole list."""

    rows: Rows
    scores: NDArray[np.float32]
    weight: float


def fuse(rankings: Sequence[Ranking], size: int, k: int = RRF_K) -> NDArray[np.float32]:
    """Fused scores of shape [size]: for each row, the sum over the rankings of weight * (k + 1) / (k + rank), with
    ranks counted from 1. A row that is in no ranking scores 0.

    Rows with equal scores share a rank, so the result does not depend on the order in which files were indexed. If the
    weights sum to 1, scores lie in 0-1, and a row that is first in every ranking scores 1.
    """
    fused = np.zeros(size, np.float32)
    for ranking in rankings:
        places = np.arange(1, len(ranking.rows) + 1)
        changed = np.diff(ranking.scores, prepend=np.inf) != 0
        ranks = np.maximum.accumulate(np.where(changed, places, 0))
        fused[ranking.rows] += (ranking.weight * (k + 1) / (k + ranks)).astype(np.float32)
    return fused


def best_first(scores: NDArray[np.float32], limit: int, weight: float = 1.0) -> Ranking:
    """The rows of the `limit` highest scores above 0, plus rows that tie with the last of them."""
    rows = np.flatnonzero(scores > 0)
    if len(rows) > limit:
        cut = np.partition(scores[rows], len(rows) - limit)[len(rows) - limit]
        rows = rows[scores[rows] >= cut]
    ordered: Rows = rows[np.argsort(-scores[rows], kind="stable")].astype(np.int32)
    return Ranking(ordered, scores[ordered], weight)
