"""Rough cosines decide nothing that exact ones would decide otherwise, as far as their errors go.

`VectorSearch` looks a second time at the chunks whose cosines at the first look are not lower than those of the closest
by more than the first look's margin. It computes the closest of these again exactly, and leaves out those whose cosine
at the second look is lower by more than another margin. That one has to cover the error of both cosines that are
compared: one too high, one too low.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from sidecar.engine.index.sealed_rows import FirstLook, SealedRows, seal, second_look
from sidecar.engine.search.rank.index_columns import IndexColumns
from sidecar.engine.search.source import SearchedSnapshot
from sidecar.engine.search.vector_search import DEPTH, VectorSearch
from sidecar.parts.vectors.four_bits import FourBitProducts

MARGIN = 0.04
LARGEST_ERROR = 0.0034
"""The margin covers two errors of this size: four times the mean error of cosines of the shipped model."""


class RoughSnapshot:
    """A snapshot of many vectors: `exact` has their cosines to the question, `errors` what those of the second look
    differ by, none if all are kept as float32, and `first_errors`, at most `MARGIN`, those of the first look. Notes
    which rows are looked at again and computed again. The rows in `lost` have no vector; those in `exactly` are
    compared exactly at once."""

    def __init__(
        self,
        exact: NDArray[np.float32],
        errors: NDArray[np.float32] | None,
        first_errors: NDArray[np.float32] | None = None,
        lost: Sequence[int] = (),
        exactly: Sequence[int] = (),
    ) -> None:
        self.chunk_ids = np.arange(len(exact))
        self.looked_again: list[int] = []
        self.compared_again: list[int] = []
        self._exact = exact
        self._errors = np.zeros(len(exact), np.float32) if errors is None else errors
        self._first_errors = self._errors if first_errors is None else first_errors
        self._looked_at = ~np.isin(self.chunk_ids, exactly)
        self._closer_is_exact = errors is None
        self._found = ~np.isin(self.chunk_ids, lost)

    def embedded_rows(self, collection: object) -> NDArray[np.int32]:
        return np.arange(len(self._exact), dtype=np.int32)

    def keeps_all(self, dimension: int) -> bool:
        return True

    def cosines(
        self,
        rows: NDArray[np.int32],
        vector: object,
        check: Callable[[], None],
        *,
        rough: bool = False,
        threads: int = 2,
    ) -> Any:
        if not rough:
            self.compared_again += rows.tolist()

        def closer(places: NDArray[np.intp]) -> NDArray[np.float32]:
            self.looked_again += rows[places].tolist()
            return (self._exact + self._errors)[rows[places]].astype(np.float32)

        found = self._found[rows]
        products = np.where(
            found, self._exact[rows] + (self._first_errors * self._looked_at)[rows] if rough else self._exact[rows], 0
        )
        return SimpleNamespace(
            products=products.astype(np.float32),
            found=found,
            rough=found & self._looked_at[rows] if rough else None,
            margin=self._looked_at[rows] * np.float32(MARGIN) if self._closer_is_exact else MARGIN,
            closer_is_exact=self._closer_is_exact,
            closer=closer,
        )


def closest(snapshot: RoughSnapshot) -> list[int]:
    allowed = np.ones(len(snapshot.chunk_ids), bool)
    columns = SimpleNamespace(in_collection=allowed, collection="code", chunk_count=len(allowed))
    search = VectorSearch(
        cast(SearchedSnapshot, snapshot), cast(IndexColumns, columns), np.zeros(4, np.float32), lambda: False
    )
    search.begin(lambda: None, "code", allowed)
    found: list[int] = search.closest().tolist()
    return found


@pytest.mark.parametrize("last", [1, DEPTH // 2, DEPTH - 1])
def test_close_chunks_that_look_too_low_take_the_places_of_those_that_look_too_high(last: int) -> None:
    # The first `last` chunks are the closest, but look lower than all the others that are computed again.
    exact = np.full(2 * DEPTH, 0.5, np.float32)
    exact[:last] += 0.0002
    errors = np.full(2 * DEPTH, LARGEST_ERROR, np.float32)
    errors[:last] *= -1
    found = closest(RoughSnapshot(exact, errors))
    assert found[:last] == list(range(last))
    assert found[last:] == list(range(last, DEPTH)), "ties are in order of row"


def test_the_order_of_close_chunks_is_that_of_their_exact_cosines() -> None:
    rng = np.random.default_rng(11)
    exact = np.round(rng.uniform(0.1, 0.4, 5000), 4).astype(np.float32)
    errors = rng.choice([-LARGEST_ERROR, LARGEST_ERROR], 5000).astype(np.float32)
    assert closest(RoughSnapshot(exact, errors)) == np.argsort(-exact, kind="stable")[:DEPTH].tolist()


def test_no_error_of_the_first_look_that_its_margin_covers_changes_what_is_found() -> None:
    rng = np.random.default_rng(12)
    exact = np.round(rng.uniform(0.1, 0.4, 50_000), 4).astype(np.float32)
    wanted = np.argsort(-exact, kind="stable")[:DEPTH].tolist()
    for errors in (
        rng.uniform(-MARGIN, MARGIN, len(exact)),
        np.where(np.isin(np.arange(len(exact)), wanted), -MARGIN, 0.0),
        np.where(np.isin(np.arange(len(exact)), wanted[: DEPTH // 2]), -MARGIN, MARGIN / 2),
    ):
        for second in (np.zeros(len(exact), np.float32), None):
            snapshot = RoughSnapshot(exact, second, errors.astype(np.float32) * np.float32(0.99))
            assert closest(snapshot) == wanted
            assert len(snapshot.looked_again) == len(set(snapshot.looked_again)), "no row is looked at twice"


def test_what_the_second_look_finds_exactly_is_not_computed_again() -> None:
    exact = np.random.default_rng(14).normal(0.2, 0.1, 50_000).astype(np.float32)
    snapshot = RoughSnapshot(exact, None)
    assert closest(snapshot) == np.argsort(-np.round(exact, 4), kind="stable")[:DEPTH].tolist()
    assert DEPTH <= len(snapshot.looked_again) < 1500 and not snapshot.compared_again


def test_of_cosines_that_are_equal_when_rounded_the_first_rows_are_found_whichever_are_compared_at_once() -> None:
    # Around the 200th place are two rows that differ in the fifth decimal, the lower one first.
    exact = np.concatenate([np.linspace(0.9, 0.6, DEPTH - 1), [0.50001, 0.50003], np.full(300, 0.1)]).astype(np.float32)
    for exactly in ((), range(len(exact)), (DEPTH - 1, DEPTH), (DEPTH - 1,), (DEPTH,)):
        assert closest(RoughSnapshot(exact, None, exactly=exactly)) == list(range(DEPTH))


def test_most_chunks_get_one_look_only() -> None:
    rng = np.random.default_rng(13)
    exact = rng.normal(0.2, 0.1, 100_000).astype(np.float32)
    snapshot = RoughSnapshot(exact, np.zeros(len(exact), np.float32))
    closest(snapshot)
    assert DEPTH < len(snapshot.looked_again) < 1500
    assert DEPTH <= len(snapshot.compared_again) < 2 * DEPTH


@pytest.mark.parametrize("count", [1, 3, DEPTH - 1, DEPTH, DEPTH + 1])
def test_of_few_chunks_all_are_found_and_lost_vectors_take_nothing_away(count: int) -> None:
    exact = np.linspace(0.9, 0.1, count + 2).astype(np.float32)
    wanted = [row for row in range(count + 2) if row not in (0, count // 2 + 1)][:DEPTH]
    for errors in (np.zeros(count + 2, np.float32), None):
        assert closest(RoughSnapshot(exact, errors, lost=[0, count // 2 + 1])) == wanted


def test_chunks_that_are_surely_too_far_are_not_computed_again() -> None:
    exact = np.linspace(0.8, 0.0, 5000, dtype=np.float32)
    snapshot = RoughSnapshot(exact, np.zeros(5000, np.float32))
    assert closest(snapshot) == list(range(DEPTH))
    assert DEPTH <= len(snapshot.compared_again) < 2 * DEPTH


@pytest.mark.parametrize("heaviness", [1.0, 1.1])
def test_sealed_vectors_err_by_less_than_the_margin_covers(heaviness: float) -> None:
    # The largest of the 256 numbers of such a unit vector is 0.19 and 0.21 on average, as with the shipped model.
    rng = np.random.default_rng(5)

    def unit(count: int) -> NDArray[np.float32]:
        drawn = rng.standard_normal((count, 256))
        drawn = np.sign(drawn) * np.abs(drawn) ** heaviness
        return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True), np.float32)

    rows = unit(20_000)
    sealed = seal(np.arange(len(rows)), rows)
    look = FirstLook([sealed], 256, FourBitProducts)
    for query in unit(5):
        second = second_look([SealedRows(sealed)], np.zeros(len(rows), np.int64), np.arange(len(rows)), query)
        errors = np.abs(look(query) + second - rows @ query)
        assert errors.max() < LARGEST_ERROR
