"""Lists the chunks of the candidate files side by side, so that ranking computes on these alone and not on all
chunks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sidecar.engine.search.rank.index_columns import IndexColumns
from sidecar.engine.search.source import Rows
from sidecar.parts.lexical.bm25 import Floats

Places = NDArray[np.int64]


class ChunkGroups:
    """The chunk rows of some files, file after file. An array parallel to them is called local, and an index into it a
    place.

    `files` are the files' rows, all of which must have chunks. `lengths` and `starts` give each file's number of chunks
    and first place; `position` gives for each place the index of its file in `files`.
    """

    def __init__(self, columns: IndexColumns, files: Rows) -> None:
        groups = columns.group_of[files]
        first = columns.group_start[groups]
        self.files = files
        self.lengths: Places = columns.group_length[groups]
        self.starts: Places = self.lengths.cumsum() - self.lengths
        self.position: Places = np.arange(len(files)).repeat(self.lengths)
        offsets = (first - self.starts).repeat(self.lengths)
        self.rows: Rows = (np.arange(len(offsets)) + offsets).astype(np.int32)
        self._offsets: Places = self.starts - first

    def places(self, rows: Rows, position: NDArray[np.integer]) -> Places:
        """Returns the places of these chunk rows. `position` has the index of each one's file in `files`."""
        return np.asarray(rows + self._offsets[position], np.int64)

    def best(self, local: Floats) -> Floats:
        """Returns each file's highest value, shape [files]."""
        if not len(self.starts):
            return np.zeros(0, np.float32)
        return np.asarray(np.maximum.reduceat(local, self.starts), np.float32)

    def mean(self, local: Floats) -> Floats:
        """Returns each file's mean value, shape [files]."""
        if not len(self.starts):
            return np.zeros(0, np.float32)
        return np.asarray(np.add.reduceat(local, self.starts, dtype=np.float64) / self.lengths, np.float32)

    def strongest(self, local: Floats, limit: int) -> tuple[Places, Places]:
        """Returns the places of each file's `limit` highest values, file after file, best first, ties by row; and their
        ranks within the file, from 0. A file with fewer chunks has fewer places.

        The maximum is computed `limit` times, which is faster than sorting because `limit` is small.
        """
        if not len(self.starts):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        left = local.astype(np.float32)
        found = []
        for _ in range(limit):
            hits = (left == np.maximum.reduceat(left, self.starts)[self.position]).nonzero()[0]
            holders = self.position[hits]
            is_first = np.ones(len(hits), bool)
            np.not_equal(holders[1:], holders[:-1], out=is_first[1:])
            firsts = hits[is_first]
            found.append(firsts)
            left[firsts] = -np.inf
        # A file that has run out of chunks repeats one of them.
        kept = np.arange(limit) < self.lengths[:, None]
        return np.array(found).T[kept], kept.nonzero()[1]


def relative(values: Floats) -> Floats:
    """Returns the values divided by the highest one; unchanged if none is above 0."""
    best = np.maximum.reduce(values, initial=0)
    return values / best if best > 0 else values
