"""Turns texts into bags of tokens as the product does: identifiers are split, and each distinct token id has a
count."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from sidecar.parts.embed.tokens import split_identifiers

_BATCH = 2000


@dataclass(frozen=True)
class Bags:
    """One row of distinct `ids` with `counts` per text; row i is at `starts[i]:starts[i + 1]`."""

    ids: NDArray[np.int32]
    counts: NDArray[np.float32]
    starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.starts) - 1

    def take(self, rows: NDArray[np.int64]) -> Bags:
        """Returns these rows, in this order."""
        lengths = self.starts[rows + 1] - self.starts[rows]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        places = np.arange(starts[-1]) + np.repeat(self.starts[rows] - starts[:-1], lengths)
        return Bags(self.ids[places], self.counts[places], starts)

    def totals(self, vocabulary: int) -> NDArray[np.float64]:
        """The count of each token over all rows; shape [vocabulary]."""
        return np.asarray(np.bincount(self.ids, weights=self.counts, minlength=vocabulary), dtype=np.float64)


class BagMaker:
    """A tokeniser without special tokens. `most` is the limit of tokens per text, 0 for none."""

    def __init__(self, tokenizer: Path, most: int = 0) -> None:
        self._tokenizer = load_tokenizer(tokenizer, most)

    @property
    def vocabulary(self) -> int:
        """The number of tokens in the tokeniser's vocabulary."""
        return int(self._tokenizer.get_vocab_size())

    def bags(self, texts: Iterable[str]) -> Bags:
        """One bag per text, in order. Identifiers are split first."""
        ids, counts, lengths = [], [], [0]
        for one in encoded(self._tokenizer, texts):
            distinct, times = np.unique(np.array(one, dtype=np.int32), return_counts=True)
            ids.append(distinct)
            counts.append(times.astype(np.float32))
            lengths.append(len(distinct))
        return Bags(np.concatenate(ids), np.concatenate(counts), np.cumsum(lengths))


def load_tokenizer(path: Path, most: int = 0) -> Tokenizer:
    """The tokeniser without padding. `most` is the limit of tokens per text, 0 for none."""
    made = Tokenizer.from_file(str(path))
    made.no_padding()
    made.no_truncation()
    if most:
        made.enable_truncation(most)
    return made


def encoded(tokenizer: Tokenizer, texts: Iterable[str]) -> Iterator[list[int]]:
    """The token ids of each text, without special tokens. Identifiers are split first."""
    for part in _parts(texts):
        yield from (encoding.ids for encoding in tokenizer.encode_batch_fast(part, add_special_tokens=False))


def _parts(texts: Iterable[str]) -> Iterable[list[str]]:
    part: list[str] = []
    for text in texts:
        part.append(split_identifiers(text.encode("utf-8", "replace").decode("utf-8")))
        if len(part) == _BATCH:
            yield part
            part = []
    if part:
        yield part


def pooled(bags: Bags, table: NDArray[np.float32], exponent: float) -> NDArray[np.float32]:
    """Shape [rows, dimension]: the normalised sum over a bag of count^exponent times the token's row; zeros for an
    empty bag."""
    sums = np.zeros((len(bags), table.shape[1]), dtype=np.float32)
    weights = bags.counts**exponent
    for row in range(len(bags)):
        part = slice(bags.starts[row], bags.starts[row + 1])
        sums[row] = weights[part] @ table[bags.ids[part]]
    norms = np.linalg.norm(sums, axis=1, keepdims=True)
    rows: NDArray[np.float32] = np.divide(sums, norms, out=np.zeros_like(sums), where=norms > 0)
    return rows
