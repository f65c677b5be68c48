"""Finds the rows of the highest scores."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from sidecar.engine.search.source import Rows
from sidecar.parts.lexical.bm25 import Floats


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
