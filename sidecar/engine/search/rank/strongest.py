"""Finds the highest of many scores."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from sidecar.engine.search.source import Rows
from sidecar.parts.lexical.bm25 import Floats

_GROUPS, _LARGEST_GROUP = 8, 64


class Paths(Protocol):
    """Paths by row, of which only those of equal scores are read."""

    def __getitem__(self, row: int, /) -> str: ...


def strongest(scores: Floats, limit: int, paths: Paths) -> Rows:
    """Returns the rows of the `limit` highest scores above 0, in no particular order. Ties are decided by path."""
    rows = (scores > 0).nonzero()[0]
    if len(rows) > limit:
        found = scores[rows]
        cut = np.partition(found, len(rows) - limit)[len(rows) - limit]
        above, level = rows[found > cut], rows[found == cut]
        if len(above) + len(level) > limit:
            level = np.array(sorted(level.tolist(), key=paths.__getitem__)[: limit - len(above)])
        rows = np.concatenate([above, level])
    return rows.astype(np.int32)


def reached_by(values: Floats, count: int) -> np.float32:
    """Returns a value that at least `count` of these reach, and not many more: the highest ones, and few that are
    lower; the least of all if there are no more than `count`. There must be at least one."""
    groups = min(_LARGEST_GROUP, len(values) // (_GROUPS * count))
    # So many groups have a value that is at least the least of these, so the highest values are too.
    best = values[: len(values) // groups * groups].reshape(groups, -1).max(axis=0) if groups > 1 else values
    if len(best) <= count:
        return np.float32(values.min())
    return np.float32(np.partition(best, len(best) - count)[len(best) - count])
