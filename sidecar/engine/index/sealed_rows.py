"""Vectors as small integers: a block of rows that no longer changes, one byte for each number.

A number is `code * scale`, with a scale for each row. The query is split into two digits of seven bits, which makes it
more exact than the rows are. Products of integers are exact: every processor and every library gets the same result.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sidecar.engine.ports import Compare, Int8s, MakeCompare
from sidecar.model.terms import Ids, Vectors

Floats = NDArray[np.float32]

_HIGHEST = 127
_NOTHING = 1e-30
"""Rows without a larger number count as zero: float32 cannot divide them."""
_AT_ONCE = 1024
_DIGITS = 2
_DIGIT = 63
_DIGIT_STEPS = 126
_BESIDE = 8
"""Bytes for each row in addition to its codes: its scale, and the sum of its codes, which is packed with them."""


class Digits:
    """A query vector of shape [dimension] as `codes`, int8 of shape [2, dimension], each from -63 to 63; `scales` has
    the value of one step of each digit."""

    def __init__(self, vector: Floats) -> None:
        left, scale = vector.astype(np.float64), float(np.abs(vector).max(initial=0)) / _DIGIT
        codes, scales = [], []
        for _ in range(_DIGITS):
            digit = np.rint(left / scale) if scale else np.zeros_like(left)
            left = left - digit * scale
            codes.append(digit.astype(np.int8))
            scales.append(scale)
            scale /= _DIGIT_STEPS
        self.codes: Int8s = np.stack(codes)
        self.scales = np.array(scales, np.float32)


@dataclass(frozen=True, slots=True)
class Sealed:
    """A block of rows as integers: `ids` of chunks, shape [rows], `codes` from -127 to 127, shape [rows, dimension],
    and `scales`, shape [rows]."""

    ids: Ids
    codes: Int8s
    scales: Floats


@dataclass(frozen=True, slots=True)
class Exact:
    """A block of rows as they are: `ids` of chunks, shape [rows], and `vectors`, float32 of shape [rows, dimension]."""

    ids: Ids
    vectors: Vectors


def seal(ids: Ids, vectors: Vectors) -> Sealed:
    """Converts rows of float32, shape [rows, dimension], to integers."""
    codes, scales = np.empty(vectors.shape, np.int8), np.empty(len(vectors), np.float32)
    for start in range(0, len(vectors), _AT_ONCE):
        some = slice(start, start + _AT_ONCE)
        codes[some], scales[some] = _codes_of(vectors[some])
    return Sealed(ids, codes, scales)


class SealedRows:
    """The rows of a block, ready for comparison."""

    def __init__(self, block: Sealed, make: MakeCompare) -> None:
        # A copy, because the arrays of a saved block are parts of its file, which they would keep in memory.
        self._scales = block.scales.copy()
        self._compare = make(block.codes)

    def products(self, digits: Digits) -> Floats:
        """Returns the products of a query with all rows, shape [rows]; for unit vectors they are exact to two
        decimals."""
        found = np.empty(len(self._scales), np.float32)
        self.products_into(found, digits)
        return found

    def products_into(self, found: Floats, digits: Digits) -> None:
        """Like `products`, into an array."""
        by_digit = self._compare(digits.codes).astype(np.float32)
        # Without BLAS, which would wake its other threads for each of these small products.
        by_digit *= digits.scales[:, None]
        np.add(by_digit[0], by_digit[1], out=found)
        found *= self._scales


def bytes_of_sealed(count: int, dimension: int) -> int:
    """Returns the bytes of memory that `count` sealed rows take."""
    return count * (dimension + _BESIDE)


def compare_with_numpy(rows: Int8s) -> Compare:
    """Compares without any other library: slower, with the same results, because float32 holds these sums exactly."""

    def compare(digits: Int8s) -> NDArray[np.int32]:
        return (digits.astype(np.float32) @ rows.T.astype(np.float32)).astype(np.int32)

    return compare


def _codes_of(vectors: Vectors) -> tuple[Int8s, Floats]:
    """Returns the codes of some rows, from -127 to 127, and their scales."""
    peak = np.abs(vectors).max(axis=1, initial=0)
    scales = np.asarray(np.where(peak > _NOTHING, peak / _HIGHEST, 0), np.float32)
    steps = np.divide(vectors, scales[:, None], out=np.zeros_like(vectors), where=scales[:, None] > 0)
    return np.rint(steps).astype(np.int8), scales
