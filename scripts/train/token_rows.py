"""Texts as rows of token ids, for models that read the order of tokens. Identifiers are split, as the product does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .bags import encoded, load_tokenizer

FIRST, LAST, PADDING = 101, 102, 0
"""The ids of `[CLS]`, `[SEP]` and `[PAD]`."""


@dataclass(frozen=True)
class TokenRows:
    """One row of `ids` for each text, without special tokens; row i is at `starts[i]:starts[i + 1]`."""

    ids: NDArray[np.uint16]
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def row(self, number: int) -> NDArray[np.uint16]:
        """The ids of one row."""
        return self.ids[self.starts[number] : self.starts[number + 1]]

    def lengths(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many ids these rows have."""
        return self.starts[rows + 1] - self.starts[rows]

    def padded(self, rows: NDArray[np.int64], most: int) -> NDArray[np.int64]:
        """Returns at most `most` ids of each of these rows between `[CLS]` and `[SEP]`, shape [rows, longest + 2]."""
        lengths = np.minimum(self.lengths(rows), most)
        found = np.full((len(rows), int(lengths.max(initial=0)) + 2), PADDING, np.int64)
        columns = np.arange(found.shape[1] - 2)
        places = np.minimum(self.starts[rows][:, None] + columns, max(0, len(self.ids) - 1))
        if len(self.ids):
            found[:, 1:-1] = np.where(columns < lengths[:, None], self.ids[places], PADDING)
        found[:, 0] = FIRST
        found[np.arange(len(rows)), lengths + 1] = LAST
        return found

    def parts(self, rows: NDArray[np.int64], count: int) -> list[NDArray[np.int64]]:
        """Divides places of `rows` into `count` parts with rows of similar length, so that little is padded."""
        return [part for part in np.array_split(np.argsort(self.lengths(rows), kind="stable"), count) if len(part)]


def tokenised(texts: Sequence[str], tokenizer: Path, most: int) -> TokenRows:
    """At most `most` tokens of each text."""
    ids, lengths = [np.zeros(0, np.uint16)], [0]
    for one in encoded(load_tokenizer(tokenizer, most), texts):
        ids.append(np.array(one, np.uint16))
        lengths.append(len(one))
    return TokenRows(np.concatenate(ids), np.cumsum(lengths))
