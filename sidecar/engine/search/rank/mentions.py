"""Finds the files that mention a candidate file: those whose code contains its name, according to the postings.

A file's name stands for what the file defines: for the class itself in languages with one class per file, and in import
lines elsewhere. Results are kept per revision and take a few bytes per file that was ever a candidate. `features.py`
uses the mentions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from sidecar.engine.search.rank.index_columns import IndexColumns
from sidecar.engine.search.source import Rows, SearchedSnapshot
from sidecar.parts.lexical.analyse import file_stem
from sidecar.parts.lexical.bm25 import Floats
from sidecar.parts.lexical.postings import MOST_TERMS, read_bodies
from sidecar.parts.lexical.tokens import whole_term

_NOBODY = np.zeros(0, np.int32)


class Mentions:
    """For each of some files, the rows of the other files of its collection whose code contains its name."""

    def __init__(self, lists: Sequence[Rows]) -> None:
        self._users = np.concatenate(lists) if lists else _NOBODY
        self._lengths = np.array([len(rows) for rows in lists], np.int64)

    @property
    def counts(self) -> Floats:
        """The number of files that mention each file, shape [files]."""
        return self._lengths.astype(np.float32)

    def sums(self, score: Callable[[Rows], Floats]) -> Floats:
        """Returns the sum of the scores of the files that mention each file, shape [files]. `score` returns the scores
        of some file rows, of which the same may be given several times."""
        ends = np.cumsum(self._lengths)
        running = np.append(0, np.cumsum(score(self._users), dtype=np.float64))
        return np.asarray(running[ends] - running[ends - self._lengths], np.float32)


@dataclass(frozen=True)
class _Known:
    """The rows of the files that mention a file, by collection and file row, of those files that have been looked
    up."""

    by_collection: dict[int, dict[int, Rows]] = field(default_factory=dict)


def mentions_of(snapshot: SearchedSnapshot, columns: IndexColumns, files: Rows) -> Mentions:
    """Returns the mentions of these file rows. Names that no earlier search of the revision has looked up are read from
    the postings."""
    known = snapshot.memo.get(_Known, _Known).by_collection.setdefault(columns.collection, {})
    wanted: dict[str, list[int]] = {}
    paths = snapshot.paths
    for file in files.tolist():
        if file not in known:
            wanted.setdefault(whole_term(file_stem(paths[file])), []).append(file)
    unknown = list(wanted)
    for start in range(0, len(unknown), MOST_TERMS):
        _look_up(snapshot, columns, unknown[start : start + MOST_TERMS], wanted, known)
    return Mentions([known[file] for file in files.tolist()])


def _look_up(
    snapshot: SearchedSnapshot,
    columns: IndexColumns,
    terms: Sequence[str],
    wanted: dict[str, list[int]],
    known: dict[int, Rows],
) -> None:
    bodies = read_bodies(snapshot.connection, terms)
    # One extra column per term, for chunks that no longer exist, whose row is -1.
    width = len(snapshot.file_ids) + 1
    held = np.zeros((len(terms), width), bool)
    held.ravel()[bodies.places * width + columns.holders.rows(bodies.ids) + 1] = True
    held[:, 0] = False
    found = np.flatnonzero(held)
    bounds = np.searchsorted(found, np.arange(len(terms) + 1) * width)
    for place, term in enumerate(terms):
        holders = (found[bounds[place] : bounds[place + 1]] - (place * width + 1)).astype(np.int32)
        for file in wanted[term]:
            known[file] = holders[holders != file]
