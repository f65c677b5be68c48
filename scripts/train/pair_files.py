"""Reads the files of scripts/train/make-pairs."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .contrast import query_key


class PairFiles(NamedTuple):
    """`heads` are the first lines of all files, which say what was taken from each repository; `rows` the pairs, and
    `places` the number of each pair's repository."""

    heads: list[dict[str, Any]]
    rows: list[list[str]]
    places: list[int]

    def labels(self, kinds: Sequence[str]) -> tuple[NDArray[np.int32], NDArray[np.int8], NDArray[np.int64]]:
        """`repository`, `kind` (an index into `kinds`) and `query_key` of `contrast.Pairs`."""
        return (
            np.array(self.places, dtype=np.int32),
            np.array([kinds.index(row[0]) for row in self.rows], dtype=np.int8),
            np.array([query_key(row[1]) for row in self.rows], dtype=np.int64),
        )


def read_pairs(folder: Path, *others: Path) -> PairFiles:
    """All pairs of the repositories in `folder`, each followed by its pairs in the other folders. Exits if there are
    none."""
    files = sorted(folder.glob("*.jsonl"))
    if not files:
        sys.exit(f"{folder} holds no pairs: run scripts/train/make-pairs first.")
    found = PairFiles([], [], [])
    for place, path in enumerate(files):
        for file in (path, *(other / path.name for other in others)):
            if file.exists():
                head, *some = map(json.loads, file.read_text("utf-8").splitlines())
                found.heads.append(head)
                found.rows.extend(some)
                found.places.extend([place] * len(some))
    return found
