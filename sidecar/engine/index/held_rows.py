"""Compares a vector with rows that are in memory: sealed ones, float32 ones that have a first look, and others."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sidecar.engine.concurrency.background import beside
from sidecar.engine.index.sealed_rows import FirstLook, SealedRows, second_look
from sidecar.engine.ports import Floats
from sidecar.model.terms import Ids, Vectors

Flags = NDArray[np.bool_]

_SHARED = 8
"""From this many sealed blocks on, a second thread helps to compare them."""
_TRIES = 5
"""The shortest of so many times counts, because other programs lengthen some."""
_DEVIATIONS = np.float32(6)
"""A float32 row is left out if only an error of more than so many standard deviations could hide that it is close. If
errors are distributed normally, one in five hundred million is larger."""


@dataclass(frozen=True, slots=True)
class Compared:
    """Dot products of chunks with a vector, shape [n]. `found` flags the chunks that have a vector; the others get 0.

    `rough` flags the products that come from a first look only; None if all are exact. For a unit vector, at most one
    in ten thousand of them is wrong by more than `margin`, which has the shape [n] or is the same for all.
    `closer_is_exact`: whether a second look makes them exact, and not only to two decimals.
    """

    products: Floats
    found: Flags
    rough: Flags | None = None
    margin: float | Floats = 0.0
    closer_is_exact: bool = False
    _look_again: Callable[[Ids, Floats], Floats] | None = None

    def closer(self, places: Ids) -> Floats:
        """Returns the products of the chunks at these places, those from a first look after a second one."""
        found = self.products[places]
        if self.rough is not None and self._look_again is not None:
            here = np.flatnonzero(self.rough[places])
            if len(here):
                found[here] = self._look_again(places[here], found[here])
        return found


@dataclass(frozen=True, slots=True)
class HeldRows:
    """The content of the cache at one moment: `sealed` blocks of `block` rows, followed by `tail`, float32 of shape
    [any, dimension]. `looks` are first looks at all sealed rows, or without sealed blocks at the first rows of the
    tail."""

    sealed: tuple[SealedRows, ...]
    block: int
    tail: Vectors
    looks: tuple[FirstLook, ...] = ()
    threads: int = 1
    """With two, a second thread helps to look at many sealed rows."""

    @property
    def in_blocks(self) -> int:
        """The number of sealed rows; they come first."""
        return self.block * len(self.sealed)

    @property
    def rough(self) -> int:
        """The number of rows whose products are rough; they come first."""
        return sum(map(len, self.looks))


def compared(
    products: Floats, found: Flags, rough: Flags | None, held: HeldRows, rows: NDArray[np.intp], vector: Floats
) -> Compared:
    """Returns the products of some rows, with a second look at those that are `rough`."""
    if rough is None:
        return Compared(products, found)

    def look_again(places: Ids, products: Floats) -> Floats:
        """Returns the products at these places after a second look; `products` are those of the first one."""
        if not held.sealed:
            return _of_matrix(held.tail, rows[places], vector)
        numbers, within = np.divmod(rows[places], held.block)
        order = np.argsort(numbers, kind="stable")
        added = np.empty(len(places), np.float32)
        added[order] = second_look(held.sealed, numbers[order], within[order], vector)
        return products + added

    if not held.sealed:
        margins = np.zeros(len(held.tail), np.float32)
        np.concatenate([look.errors for look in held.looks], out=margins[: held.rough])
        return Compared(products, found, rough, (_DEVIATIONS * margins)[rows], True, look_again)
    return Compared(products, found, rough, max(look.margin for look in held.looks), False, look_again)


def products_of(held: HeldRows, rows: NDArray[np.intp], vector: Floats, runs: Sequence[slice] | None = None) -> Floats:
    """Returns the first look's products of these rows, which are also given as `runs` if that is known."""
    if 4 * len(rows) > held.rough > 0:
        everything = np.empty(held.in_blocks + len(held.tail), np.float32)
        _fill(everything, held, vector)
        np.matmul(vector, held.tail[held.rough - held.in_blocks :].T, out=everything[held.rough :])
        return everything.take(rows) if runs is None else np.concatenate([everything[run] for run in runs])
    if not held.sealed:
        return _of_matrix(held.tail, rows, vector)
    begins = np.cumsum([0, *map(len, held.looks)])
    products, looks = np.zeros(len(rows), np.float32), begins.searchsorted(rows, "right") - 1
    for number in np.unique(looks).tolist():
        here = np.flatnonzero(looks == number)
        within = rows[here] - begins[number]
        if number < len(held.looks):
            products[here] = held.looks[number](vector)[within]
        else:
            products[here] = _of_matrix(held.tail, within, vector)
    return products


def is_faster(look: FirstLook, rows: Vectors, clock: Callable[[], float] = time.perf_counter) -> bool:
    """Whether a first look at these rows takes less time than comparing them exactly. Some processors lack instructions
    for it."""
    vector = rows[0]
    ways: tuple[Callable[[Floats], object], ...] = (look, rows.__matmul__)
    taken: tuple[list[float], ...] = ([], [])
    for _ in range(_TRIES):
        for times, compare in zip(taken, ways, strict=True):
            start = clock()
            compare(vector)
            times.append(clock() - start)
    first_look, exact = map(min, taken)
    return first_look < exact


def _fill(products: Floats, held: HeldRows, vector: Floats) -> None:
    """Writes the first look's products of all rows that have one. If two threads do that, each takes one look after the
    other: looking releases the interpreter."""
    ends = np.cumsum([len(look) for look in held.looks]).tolist()
    left = iter(zip(held.looks, ends, strict=True))

    def fill() -> None:
        for look, end in left:
            products[end - len(look) : end] = look(vector)

    other = beside(fill) if held.threads > 1 and len(held.sealed) >= _SHARED else None
    fill()
    if other is not None:
        other.result()


def _of_matrix(matrix: Vectors, rows: NDArray[np.intp], vector: Floats) -> Floats:
    end = int(rows.max()) + 1
    if end > 4 * len(rows):
        return np.asarray(matrix[rows] @ vector, np.float32)
    # Multiplying everything is cheaper than copying the rows first, unless they are few.
    return np.asarray((vector @ matrix[:end].T)[rows], np.float32)
