"""Rough cosines decide nothing that exact ones would decide otherwise, as far as their errors go.

`VectorSearch` computes the closest chunks again exactly and leaves out those whose rough cosine is lower by more than
its margin. The margin has to cover the error of both cosines that are compared: one too high, one too low.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from numpy.typing import NDArray

from sidecar.engine.index.sealed_rows import Digits, SealedRows, compare_with_numpy, seal
from sidecar.engine.search.rank.index_columns import IndexColumns
from sidecar.engine.search.source import SearchedSnapshot
from sidecar.engine.search.vector_search import DEPTH, VectorSearch

LARGEST_ERROR = 0.0029
"""The margin covers two errors of this size: five times the mean error of cosines of the shipped model."""


class RoughSnapshot:
    """A snapshot of vectors too many to be kept as float32: `exact` has their cosines to the question, `errors` what
    the rough ones differ by. Notes which rows are computed again."""

    def __init__(self, exact: NDArray[np.float32], errors: NDArray[np.float32]) -> None:
        self.chunk_ids = np.arange(len(exact))
        self.compared_again: list[int] = []
        self._exact = exact
        self._errors = errors

    def embedded_rows(self, collection: object) -> NDArray[np.int32]:
        return np.arange(len(self._exact), dtype=np.int32)

    def keeps_all(self, dimension: int) -> bool:
        return True

    def cosines(
        self, rows: NDArray[np.int32], vector: object, check: Callable[[], None], *, rough: bool = False
    ) -> Any:
        if not rough:
            self.compared_again += rows.tolist()
        products = self._exact[rows] + self._errors[rows] if rough else self._exact[rows]
        found = np.ones(len(rows), bool)
        return SimpleNamespace(products=products.astype(np.float32), found=found, rough=found if rough else None)


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
    sealed = SealedRows(seal(np.arange(len(rows)), rows), compare_with_numpy)
    for query in unit(5):
        errors = np.abs(sealed.products(Digits(query)) - rows @ query)
        assert errors.max() < LARGEST_ERROR
