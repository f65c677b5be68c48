"""The postings of one term grouped by file, in which `scores_on_demand.py` looks scores up.

The chunks of one file have consecutive ids and are in one segment, so a term's postings in one file are side by side.
Such a range of postings is called a run. There are several times fewer runs than postings, and they are in order of
their files, so those of a few files are found by binary search.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sidecar.engine.search.rank.index_columns import starts_of_runs
from sidecar.engine.search.source import Rows
from sidecar.model.terms import Ids
from sidecar.parts.lexical.bm25 import Floats
from sidecar.parts.lexical.codec import Tfs

_FEW = 16
"""If this many times fewer files are sought than have the term, each is sought by binary search. Otherwise one pass
over the files that have it is faster."""


@dataclass(frozen=True, slots=True)
class TermRuns:
    """Postings of one term in living files of a collection, and their runs.

    `cells` and `tfs` are parallel: what each posting counts in, which is the row of a chunk or the number of a field,
    and how often it occurs there. Run i has `sizes[i]` postings, the first of which is `starts[i]`, all in the file
    with row `files[i]`. `files` ascends. Postings in no run are of other files.
    """

    files: Rows
    starts: Rows
    sizes: Rows
    cells: Rows
    tfs: Tfs

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays."""
        return sum(each.nbytes for each in (self.files, self.starts, self.sizes, self.cells, self.tfs))

    @property
    def counts(self) -> Floats:
        """The number of occurrences in each run, shape [runs]."""
        # Faster than `reduceat`, because most runs are short.
        running = np.zeros(len(self.tfs) + 1, np.int32)
        self.tfs.cumsum(dtype=np.int32, out=running[1:])
        return np.asarray(running[self.starts + self.sizes] - running[self.starts], np.float32)

    def find(self, files: Rows) -> tuple[Ids, Ids]:
        """Returns the runs of those of these distinct file rows that have the term, and the index of each one's file in
        `files`."""
        if not len(files) or not len(self.files):
            return _NONE, _NONE
        if len(files) * _FEW < len(self.files):
            at = np.minimum(self.files.searchsorted(files), len(self.files) - 1)
            places = (self.files[at] == files).nonzero()[0]
            return at[places], places
        place = np.full(max(int(self.files[-1]), int(files.max())) + 1, -1, np.int32)
        place[files] = np.arange(len(files), dtype=np.int32)
        of_runs = place[self.files]
        runs = (of_runs >= 0).nonzero()[0]
        return runs, of_runs[runs].astype(np.int64)

    def postings_in(self, files: Rows) -> tuple[Ids, Ids]:
        """Returns the indexes of the postings in these distinct file rows, run after run, and the index of each one's
        file in `files`."""
        runs, places = self.find(files)
        sizes = self.sizes[runs].astype(np.int64)
        ends = sizes.cumsum()
        first = self.starts[runs].astype(np.int64)
        at = np.asarray(first - (ends - sizes), np.int64).repeat(sizes)
        return at + np.arange(len(at)), places.repeat(sizes)


_NONE = np.zeros(0, np.int64)


def runs_of(files: Rows, cells: NDArray[np.integer], tfs: Tfs) -> TermRuns:
    """Groups postings into runs. The arrays are parallel: the row of the file of each posting, -1 for one that is left
    out, and for `cells` and `tfs` see `TermRuns`. The postings in one file must be side by side."""
    starts = starts_of_runs(files).astype(np.int32)
    sizes = np.diff(starts, append=np.int32(len(files)))
    of_runs = files[starts]
    here = of_runs >= 0
    if not here.all():
        of_runs, starts, sizes = of_runs[here], starts[here], sizes[here]
    if not (of_runs[1:] > of_runs[:-1]).all():
        order = of_runs.argsort(kind="stable")  # fast, because segments follow each other as a few ascending sequences
        of_runs, starts, sizes = of_runs[order], starts[order], sizes[order]
    return TermRuns(of_runs, starts, sizes, cells.astype(np.int32), tfs.copy())
