"""The postings of a query's terms grouped by file, in which `scores_on_demand.py` looks scores up.

The chunks of one file have consecutive ids and are in one segment, so a term's postings in one file are side by side.
Such a range of postings is called a run. There are several times fewer runs than postings, and a single pass over them
finds the postings of any files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sidecar.engine.search.rank.index_columns import IndexColumns, RowTable
from sidecar.engine.search.source import Flags, Rows
from sidecar.model.terms import Ids
from sidecar.parts.lexical.bm25 import Floats
from sidecar.parts.lexical.codec import Tfs
from sidecar.parts.lexical.postings import PostingsByTerm


@dataclass(frozen=True)
class TermRuns:
    """Postings whose file is alive and in the collection, term after term, and their runs, in the same order.

    `ids` and `tfs` are parallel; the postings of term t are those from `bounds[t]` to `bounds[t + 1]`. Run i has the
    postings from `starts[i]` to `starts[i + 1]`, all in the file with row `files[i]`; the runs of term t are those from
    `run_bounds[t]` to `run_bounds[t + 1]`. `begins` flags the first posting of each run.
    """

    ids: Ids
    tfs: Tfs
    bounds: Ids
    starts: Ids
    files: Rows
    run_bounds: Ids
    begins: Flags

    @cached_property
    def runs(self) -> Ids:
        """The number of each posting's run, shape [postings]."""
        return np.cumsum(self.begins) - 1

    @property
    def postings(self) -> NDArray[np.int64]:
        """The number of postings of each term, shape [terms]."""
        return np.diff(self.bounds)

    @cached_property
    def terms(self) -> Ids:
        """The number of each run's term, shape [runs]."""
        return np.repeat(np.arange(len(self.run_bounds) - 1), np.diff(self.run_bounds))

    @cached_property
    def counts(self) -> Floats:
        """The number of occurrences of its term in each run, shape [runs]."""
        # Faster than `reduceat`, because most runs are short.
        running = np.concatenate([[0], np.cumsum(self.tfs, dtype=np.int64)])[self.starts]
        return np.diff(running).astype(np.float32)

    def in_files(self, position: Rows) -> RunsOfFiles:
        """Returns the runs of the files that have a position. `position` is given by file row, and is -1 for all other
        files."""
        at = position[self.files]
        runs = np.flatnonzero(at >= 0)
        return RunsOfFiles(runs, at[runs], self.terms[runs])

    def spread(self, runs: Ids) -> tuple[Ids, Ids]:
        """Returns the index of each posting of these runs, run after run, and the number of its run among `runs`."""
        sizes = self.starts[runs + 1] - self.starts[runs]
        number = np.repeat(np.arange(len(runs)), sizes)
        within = np.arange(len(number)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return np.asarray(self.starts[runs][number] + within, np.int64), number


@dataclass(frozen=True, slots=True)
class RunsOfFiles:
    """The runs of some files: their numbers, the positions of their files, and the numbers of their terms. Parallel
    arrays, term after term."""

    runs: Ids
    position: Rows
    terms: Ids


def runs_of(found: PostingsByTerm, holders: RowTable, of_one: int = 1) -> TermRuns:
    """Groups postings into runs. `holders` maps an id, divided by `of_one`, to a file row."""
    ids, tfs, bounds = found.ids, found.tfs, found.bounds
    files = holders.rows(ids // of_one if of_one > 1 else ids)
    alive = files >= 0
    if not alive.all():
        ids, tfs, files = ids[alive], tfs[alive], files[alive]
        bounds = np.concatenate([[0], np.cumsum(alive)])[bounds]
    begins = np.ones(len(ids), bool)
    np.not_equal(files[1:], files[:-1], out=begins[1:])
    begins[bounds[:-1][bounds[:-1] < len(ids)]] = True
    starts = np.flatnonzero(begins)
    run_bounds = np.searchsorted(starts, bounds)
    return TermRuns(ids, tfs, bounds, np.append(starts, len(ids)), files[starts], run_bounds, begins)


def joined(parts: Sequence[TermRuns]) -> TermRuns:
    """Joins the runs of several lists of terms into one list."""
    if len(parts) == 1:
        return parts[0]
    before = np.cumsum([0, *(len(part.ids) for part in parts)])
    runs_before = np.cumsum([0, *(len(part.files) for part in parts)])

    def bounds(each: Sequence[Ids], offsets: Ids) -> Ids:
        shifted = [values[:-1] + offset for values, offset in zip(each, offsets[:-1].tolist(), strict=True)]
        return np.concatenate([*shifted, offsets[-1:]]).astype(np.int64)

    return TermRuns(
        ids=np.concatenate([np.zeros(0, np.int64), *(part.ids for part in parts)]),
        tfs=np.concatenate([np.zeros(0, np.uint8), *(part.tfs for part in parts)]),
        bounds=bounds([part.bounds for part in parts], before),
        starts=bounds([part.starts for part in parts], before),
        files=np.concatenate([np.zeros(0, np.int32), *(part.files for part in parts)]),
        run_bounds=bounds([part.run_bounds for part in parts], runs_before),
        begins=np.concatenate([np.zeros(0, bool), *(part.begins for part in parts)]),
    )


def positions_of(files: Rows, columns: IndexColumns) -> Rows:
    """Returns the index of each file row in `files`, shape [all files]; -1 for file rows that are not in it."""
    position = np.full(len(columns.group_of), -1, np.int32)
    position[files] = np.arange(len(files), dtype=np.int32)
    return position
