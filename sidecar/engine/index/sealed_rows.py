"""Vectors as small integers: a block of rows that no longer changes, one byte for each number.

A number is about `code * scale`, with a scale for each row. A code is cut into halves of four bits. The first look at a
row compares with the upper half; the second look, at the few rows that may be close, adds the lower half.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sidecar.engine.ports import Compare, Floats, MakeCompare, Uint8s
from sidecar.model.terms import Ids, Vectors

_HIGHEST, _LOWEST = 127, -120
"""Of a code. So its upper half, the code divided by 16 and rounded to the nearest, is from -7 to 8."""
_STEP = 16
"""What 1 in the upper half of a code stands for."""
_ZERO = 8
"""What zero is in either half."""
_NOTHING = 1e-30
"""Rows without a larger number count as zero: float32 cannot divide them."""
_AT_ONCE = 1024
_AGAIN_AT_ONCE = 4096
"""Rows that get a second look together. Most questions have fewer."""
_BESIDE = 8
"""Bytes for each row in addition to its codes: its scale, twice."""
_DEVIATIONS, _PERCENTILE = 4, 90
"""The first look errs by more than so many standard deviations of the rows with the largest errors once in ten thousand
rows."""


@dataclass(frozen=True, slots=True)
class Sealed:
    """A block of rows as integers: `ids` of chunks, shape [rows]; `upper` and `lower`, the halves of codes, uint8 of
    shape [rows, half of the dimension, rounded up], with two numbers in a byte, the first in its lower four bits; and
    `scales`, shape [rows]. Upper halves are negative: 8 less the number of whole steps in the code."""

    ids: Ids
    upper: Uint8s
    lower: Uint8s
    scales: Floats


@dataclass(frozen=True, slots=True)
class Exact:
    """A block of rows as they are: `ids` of chunks, shape [rows], and `vectors`, float32 of shape [rows, dimension]."""

    ids: Ids
    vectors: Vectors


def seal(ids: Ids, vectors: Vectors) -> Sealed:
    """Converts rows of float32, shape [rows, dimension], to integers."""
    count, width = len(vectors), packed_width(vectors.shape[1])
    upper, lower = np.empty((count, width), np.uint8), np.empty((count, width), np.uint8)
    scales = np.empty(count, np.float32)
    for start in range(0, count, _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        codes, scales[some] = _codes_of(vectors[some])
        whole, rest = np.divmod(codes + _ZERO, _STEP)
        upper[some], lower[some] = _packed(_ZERO - whole), _packed(rest)
    return Sealed(ids, upper, lower, scales)


class FirstLook:
    """The upper halves of the rows of some blocks, ready for comparison with vectors of this dimension."""

    def __init__(self, blocks: Sequence[Sealed], dimension: int, make: MakeCompare) -> None:
        self.scales = np.concatenate([block.scales for block in blocks])
        upper = blocks[0].upper if len(blocks) == 1 else np.concatenate([block.upper for block in blocks])
        self._compare = make(upper, self.scales * np.float32(-_STEP), dimension)
        self.margin = _DEVIATIONS * float(np.percentile(self.errors, _PERCENTILE))
        """What the products err by at most, but for one row in ten thousand, for a unit vector."""

    def __len__(self) -> int:
        return len(self.scales)

    def __call__(self, vector: Floats) -> Floats:
        """Returns roughly the products of a vector with all rows, shape [rows]."""
        return self._compare(vector)

    @property
    def errors(self) -> Floats:
        """The standard deviation of the error of each row's product with a unit vector, shape [rows]."""
        return self.scales * np.float32(_STEP / 12**0.5)


class SealedRows:
    """What a second look at the rows of a block needs."""

    def __init__(self, block: Sealed) -> None:
        self.lower, self.scales = block.lower, block.scales


def second_look(blocks: Sequence[SealedRows], numbers: Ids, within: Ids, vector: Floats) -> Floats:
    """Returns what must be added to the first look's products of some rows, shape [n]; for unit vectors the sum is
    exact to two decimals. The rows are those at `within` in the blocks with these `numbers`, which ascend."""
    added = np.empty(len(numbers), np.float32)
    # Of many equal chunks, all may be close, and their lower halves as floats take four times the memory of both.
    for start in range(0, len(numbers), _AGAIN_AT_ONCE):
        some = slice(start, start + _AGAIN_AT_ONCE)
        added[some] = _second_look(blocks, numbers[some], within[some], vector)
    return added


def _second_look(blocks: Sequence[SealedRows], numbers: Ids, within: Ids, vector: Floats) -> Floats:
    lower = np.empty((len(numbers), packed_width(len(vector))), np.uint8)
    scales = np.empty(len(numbers), np.float32)
    present, firsts = np.unique(numbers, return_index=True)
    for number, first, end in zip(present.tolist(), firsts, [*firsts[1:], len(numbers)], strict=True):
        rows, block = slice(first, end), blocks[number]
        block.lower.take(within[rows], axis=0, out=lower[rows])
        scales[rows] = block.scales[within[rows]]
    even, odd = vector[0::2], vector[1::2]
    added = (lower & (_STEP - 1)).astype(np.float32) @ even
    added += (lower[:, : len(odd)] >> 4).astype(np.float32) @ odd
    return np.asarray((added - np.float32(_ZERO) * vector.sum()) * scales, np.float32)


def packed_width(dimension: int) -> int:
    """Returns how many bytes half of a row's bits take."""
    return (dimension + 1) // 2


def bytes_of_look(count: int, dimension: int) -> int:
    """Returns the bytes of memory that first looks at `count` rows take."""
    return count * (packed_width(dimension) + _BESIDE)


def bytes_of_sealed(count: int, dimension: int) -> int:
    """Returns the bytes of memory that `count` sealed rows take."""
    return bytes_of_look(count, dimension) + count * packed_width(dimension)


def compare_with_numpy(packed: Uint8s, scales: Floats, dimension: int) -> Compare:
    """Compares without any other library: slower, and more exact, because the vector is not rounded."""

    def compare(vector: Floats) -> Floats:
        numbers = np.empty((len(packed), 2 * packed.shape[1]), np.float32)
        numbers[:, 0::2], numbers[:, 1::2] = packed & (_STEP - 1), packed >> 4
        return np.asarray((numbers[:, :dimension] - _ZERO) @ vector * scales, np.float32)

    return compare


def _codes_of(vectors: Vectors) -> tuple[NDArray[np.int16], Floats]:
    """Returns the codes of some rows and their scales."""
    peak = np.maximum(vectors.max(axis=1, initial=0) / _HIGHEST, vectors.min(axis=1, initial=0) / _LOWEST)
    scales = np.asarray(np.where(peak > _NOTHING / _HIGHEST, peak, 0), np.float32)
    steps = np.divide(vectors, scales[:, None], out=np.zeros_like(vectors), where=scales[:, None] > 0)
    return np.clip(np.rint(steps), _LOWEST, _HIGHEST).astype(np.int16), scales


def _packed(numbers: NDArray[np.int16]) -> Uint8s:
    """Returns two numbers below 16 in each byte."""
    small = numbers.astype(np.uint8)
    packed = small[:, 0::2].copy()
    packed[:, : numbers.shape[1] // 2] |= small[:, 1::2] << 4
    return packed
