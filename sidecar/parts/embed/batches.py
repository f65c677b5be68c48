"""Groups token rows of unequal length into batches with little padding. Pure arithmetic, no model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sidecar.model.terms import Ids


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """The maximum numbers of tokens and rows of a batch. `tokens` includes padding (rows x longest row). One row is
    always allowed, however long it is.
    """

    tokens: int
    rows: int


def plan_batches(lengths: Sequence[int], limits: BatchLimits) -> list[NDArray[np.intp]]:
    """Divides rows of these lengths into batches and returns the row numbers of each, shortest rows first. Every row is
    in exactly one batch; no rows give no batches.
    """
    order = np.argsort(np.asarray(lengths, dtype=np.int64), kind="stable")
    batches: list[NDArray[np.intp]] = []
    start = 0
    for end in range(1, len(order) + 1):
        longest = max(1, lengths[order[end - 1]])
        if end - 1 > start and ((end - start) * longest > limits.tokens or end - start > limits.rows):
            batches.append(order[start : end - 1])
            start = end - 1
    if start < len(order):
        batches.append(order[start:])
    return batches


def pad_rows(rows: Sequence[Ids]) -> Ids:
    """Returns the rows as one array of shape [rows, longest row], padded with zeros. It has at least one column."""
    padded = np.zeros((len(rows), max(1, max(map(len, rows), default=1))), dtype=np.int64)
    for position, row in enumerate(rows):
        padded[position, : len(row)] = row
    return padded
