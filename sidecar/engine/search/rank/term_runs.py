"""The postings of the terms of a query grouped by file, in which `scores_on_demand.py` looks scores up.

The chunks of one file have consecutive ids and are in one segment, so a term's postings in one file are side by side.
Such a range of postings is called a run. There are several times fewer files than postings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sidecar.engine.search.source import Rows
from sidecar.model.terms import Ids
from sidecar.parts.lexical.codec import Tfs

Keys: TypeAlias = NDArray[np.int64] | NDArray[np.int32]

_FEW = 16
"""If this many times fewer files are sought than have a term, each is sought by binary search. Otherwise one pass over
the files of all terms is faster."""


class Found(NamedTuple):
    """Some of the files of several terms, term after term: where each is in the list of all, the index of its term, and
    its index in the list of the files that were sought."""

    at: Ids
    terms: Ids
    places: Ids


class InRuns(NamedTuple):
    """Postings in the files found, file after file: what each counts in, how often, and the index in `Found`."""

    keys: Keys
    tfs: Tfs
    of: Ids


@dataclass(frozen=True, slots=True)
class Runs:
    """Postings of one term in one column, or of several, term after term.

    `keys` and `tfs` are parallel: what each posting counts in, which is the id of a chunk or file id * FIELDS + field,
    and how often it occurs there. The postings in file i of the term are `sizes[i]`, the first of which is `starts[i]`;
    there may be none. Postings in no run are of files that are gone.
    """

    starts: Rows
    sizes: Rows
    keys: Keys
    tfs: Tfs

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays."""
        return sum(each.nbytes for each in (self.starts, self.sizes, self.keys, self.tfs))

    def of(self, found: Found) -> InRuns:
        """Returns the postings in the files found."""
        sizes = self.sizes[found.at]
        before = self.starts[found.at] - (sizes.cumsum(dtype=np.int64) - sizes)
        at = np.asarray(before, np.int64).repeat(sizes)
        at += np.arange(len(at))
        return InRuns(self.keys[at], self.tfs[at], np.arange(len(sizes)).repeat(sizes))


NO_ROWS = np.zeros(0, np.int32)
NO_RUNS = Runs(NO_ROWS, NO_ROWS, NO_ROWS, np.zeros(0, np.uint8))


class FilesOfTerms:
    """The files of several terms, term after term."""

    def __init__(self, files: Sequence[Rows], width: int) -> None:
        """`files` are the rows of the files of each term, which must ascend; all are less than `width`."""
        self._width = width
        self._ends = np.cumsum([len(each) for each in files])
        self._all = np.concatenate([NO_ROWS, *files])

    def find(self, sought: Rows) -> Found:
        """Finds these distinct file rows."""
        if len(sought) * _FEW * len(self._ends) < len(self._all):
            return self._search(sought)
        place = np.full(self._width, -1, np.int32)
        place[sought] = np.arange(len(sought), dtype=np.int32)
        of_files = place[self._all]
        at = (of_files >= 0).nonzero()[0]
        return Found(at, self._ends.searchsorted(at, "right"), of_files[at].astype(np.int64))

    def _search(self, sought: Rows) -> Found:
        wanted = (np.arange(len(self._ends))[:, None] * np.int64(self._width) + sought).ravel()
        at = np.minimum(self._cells.searchsorted(wanted), len(self._cells) - 1)
        there = (self._cells[at] == wanted).nonzero()[0]
        terms = there // len(sought)
        return Found(at[there], terms, there - terms * len(sought))

    @cached_property
    def _cells(self) -> Ids:
        """The terms and files of all: term * width + file, ascending."""
        sizes = np.diff(self._ends, prepend=0)
        of_terms = np.arange(len(sizes), dtype=np.int64) * self._width
        return np.asarray(of_terms.repeat(sizes) + self._all)


def joined(parts: Sequence[Runs]) -> Runs:
    """Returns the postings of several lists of files as those of one list."""
    if len(parts) < 2:
        return parts[0] if parts else NO_RUNS
    before = np.cumsum([0, *(len(part.tfs) for part in parts[:-1])], dtype=np.int32)
    return Runs(
        np.concatenate([part.starts + first for part, first in zip(parts, before, strict=True)]),
        np.concatenate([part.sizes for part in parts]),
        np.concatenate([part.keys for part in parts]),
        np.concatenate([part.tfs for part in parts]),
    )


def narrow(keys: Ids) -> Keys:
    """Returns a copy of the keys, of half the size if they allow it."""
    return keys.astype(np.int32) if not len(keys) or int(keys.max()) < 1 << 31 else keys.copy()
