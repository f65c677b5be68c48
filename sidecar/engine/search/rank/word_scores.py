"""The interface of the word search for ranking: scores of files and chunks. Either all of them are computed beforehand
(`lexical_scores.py`) or only those that are needed (`scores_on_demand.py`). Both give the same results, bit by bit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sidecar.engine.search.rank.chunk_groups import ChunkGroups
from sidecar.engine.search.source import Flags, Rows
from sidecar.parts.lexical.bm25 import Floats


@dataclass(frozen=True, slots=True)
class FileWords:
    """The scores of a query's terms in some files. `whole`, `bodies` and `body_cover` have the shape [files]; `fields`
    and `field_scores` [FIELDS, files].

    - BM25, unbounded: `bodies` of all bodies of a file, `field_scores` of each field; `whole` is BM25F of all fields
      and the body.
    - Shares of the query's idf, 0-1: `body_cover` in a file's bodies, `fields` in each field.
    """

    whole: Floats
    fields: Floats
    bodies: Floats
    field_scores: Floats
    body_cover: Floats


@dataclass(frozen=True, slots=True)
class ChunkWords:
    """The scores of a query's terms in some chunks, each of shape [chunks]: BM25 of the body (`bodies`, unbounded), and
    the shares of the query's idf, 0-1, in the body (`cover`) and in the names that the chunk defines (`names`)."""

    bodies: Floats
    cover: Floats
    names: Floats


class WordScores(Protocol):
    """How well the files and chunks of a snapshot match a query's terms; 0 outside the collection."""

    @property
    def rarity(self) -> float:
        """The sum of the idf, among chunks, of the query's terms, whether or not any chunk has them."""

    @property
    def best_whole(self) -> np.float32:
        """The highest BM25F of a file; 0 without any."""

    def whole(self, files: Rows) -> Floats:
        """Returns BM25F of all fields and the body of these file rows, unbounded, shape [n]. A row may be repeated."""

    def of_files(self, files: Rows) -> FileWords:
        """Returns the scores of these distinct file rows, in their order."""

    def of_chunks(self, groups: ChunkGroups) -> ChunkWords:
        """Returns the scores of these chunks, local to the groups."""

    def best_by_whole(self, limit: int, paths: Sequence[str]) -> Rows:
        """Returns the `limit` file rows with the highest BM25F above 0, in no particular order. Ties are decided by
        path."""

    def best_by_chunk(self, limit: int, paths: Sequence[str]) -> Rows:
        """Returns the `limit` file rows whose best chunks have the highest BM25 above 0, in no particular order. Ties
        are decided by path."""

    def keep(self, chunks: Flags, files: Flags) -> None:
        """Sets BM25F of files, and of chunks `bodies` and `names`, to 0 where the flags of shape [chunks] and [files]
        are false."""


def balance(first: float, second: float) -> tuple[np.float32, np.float32]:
    """Returns the factors of two queries' scores in their balanced mean. `first` and `second` are the best scores; both
    are brought to half of their mean. If one query matches nothing, both factors are 1."""
    if not first or not second:
        return np.float32(1), np.float32(1)
    level = (first + second) / 4
    return np.float32(level / first), np.float32(level / second)


def balanced(one: Floats, other: Floats, factors: tuple[np.float32, np.float32]) -> Floats:
    """Returns the sum of two queries' scores, each times its factor."""
    return np.asarray(one * factors[0] + other * factors[1])


def mean(one: Floats, other: Floats) -> Floats:
    """Returns the mean of two queries' shares."""
    return np.asarray((one + other) / np.float32(2))
