"""The chunks of the candidate files, side by side: what ranking compares is computed on these alone, never on all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sidecar.engine.search.rank.index_columns import IndexColumns
from sidecar.engine.search.source import Rows
from sidecar.parts.lexical.bm25 import Floats

Places = NDArray[np.int64]


class ChunkGroups:
    """The chunk rows of some files, file after file. An array over them is called local; a place is an index into it.

    `files` are rows of files that have chunks; `position` says for each place the index of its file in `files`.
    """

    def __init__(self, columns: IndexColumns, files: Rows) -> None:
        groups = columns.group_of[files]
        first = columns.group_start[groups]
        self.files = files
        self.lengths: Places = columns.group_length[groups]
        self.starts: Places = np.cumsum(self.lengths) - self.lengths
        self.position: Places = np.repeat(np.arange(len(files)), self.lengths)
        offsets = np.repeat(first - self.starts, self.lengths)
        self.rows: Rows = (np.arange(len(offsets)) + offsets).astype(np.int32)

    def best(self, local: Floats) -> Floats:
        """Each file's best value."""
        if not len(self.starts):
            return np.zeros(0, np.float32)
        return np.asarray(np.maximum.reduceat(local, self.starts), np.float32)

    def mean(self, local: Floats) -> Floats:
        if not len(self.starts):
            return np.zeros(0, np.float32)
        return np.asarray(np.add.reduceat(local, self.starts, dtype=np.float64) / self.lengths, np.float32)

    def strongest(self, local: Floats, limit: int) -> tuple[Places, Places]:
        """Places of each file's `limit` best values, file after file, best first (ties by row), and their ranks from 0.

        Quicker than sorting, as `limit` is small. Fewer where a file has fewer chunks.
        """
        if not len(self.starts):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        left = local.astype(np.float32)
        found = []
        for _ in range(limit):
            hits = np.flatnonzero(left == np.maximum.reduceat(left, self.starts)[self.position])
            firsts = hits[self.position[hits] != np.append(-1, self.position[hits[:-1]])]
            found.append(firsts)
            left[firsts] = -np.inf
        # A file without further chunks comes up with one that it has shown already.
        places, files = np.stack(found, 1), np.arange(len(self.files))
        ranks = np.broadcast_to(np.arange(limit), places.shape)
        kept = ranks < self.lengths[files, None]
        return places[kept], ranks[kept]


def relative(values: Floats) -> Floats:
    """Divided by the best; all 0 where nothing is above 0."""
    best = values.max(initial=0)
    return values / best if best > 0 else values
