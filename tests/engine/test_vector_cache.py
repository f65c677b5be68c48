"""The cache of chunk vectors: what it compares equals what it was given, whatever it forgets."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sidecar.engine.index.vector_cache import VectorCache

DIMENSION = 8
ROW_BYTES = DIMENSION * 4


class Disk:
    """Vectors that tell their id; every third chunk has none. Counts what is read."""

    def __init__(self, ids: NDArray[np.int64]) -> None:
        self.ids = ids
        self.read = 0

    def load(self, positions: NDArray[np.int64]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        ids = self.ids[positions]
        self.read += len(ids)
        there = ids % 3 != 0
        return np.where(there[:, None], ids[:, None], 0).repeat(DIMENSION, 1).astype(np.float32), there


def ask(cache: VectorCache, *ids: int) -> int:
    """Asks for products, checks every one, and returns how many vectors were read from disk."""
    disk = Disk(np.array(ids, np.int64))
    products, found = cache.compare(disk.ids, np.full(DIMENSION, 0.5, np.float32), disk.load)
    assert found.tolist() == [i % 3 != 0 for i in ids]
    assert products.tolist() == [i * DIMENSION / 2 if i % 3 else 0 for i in ids]
    return disk.read


def test_products_are_those_of_the_vectors_and_what_was_compared_is_not_read_again() -> None:
    cache = VectorCache()
    assert ask(cache, *range(1, 6000)) == 5999
    assert ask(cache, *range(1, 6000)) == 1999, "those that have none"
    assert ask(cache, 5998, 1, 7) == 0, "a few of many"
    assert ask(cache, 6001, 2) == 1
    assert ask(cache, 4, 6001) == 0


def test_products_are_right_without_any_room() -> None:
    cache = VectorCache(most_bytes=0)
    assert ask(cache, *range(1, 5000)) == 4999
    assert ask(cache, 4, 2, 3) == 3
    assert not cache.has_room(1, DIMENSION)


def test_room_is_counted_in_bytes() -> None:
    cache = VectorCache(most_bytes=10 * ROW_BYTES)
    assert cache.has_room(10, DIMENSION)
    assert not cache.has_room(11, DIMENSION)
    assert not cache.has_room(10, DIMENSION + 1)


def test_what_was_asked_for_once_is_not_read_again() -> None:
    cache = VectorCache()
    assert ask(cache, 5, 4, 100) == 3
    assert ask(cache, 100, 5, 7) == 1
    assert ask(cache, 7, 4, 5, 100) == 0


def test_a_vector_that_is_not_there_yet_is_asked_for_again() -> None:
    cache = VectorCache()
    assert ask(cache, 3, 4) == 2
    assert ask(cache, 3, 4) == 1


def test_ids_below_and_far_above_the_first_ones_are_right() -> None:
    cache = VectorCache()
    ask(cache, 1000)
    ask(cache, 1, 2)
    ask(cache, 50_000, 2)
    ask(cache, 20_000_000, 1)
    assert ask(cache, 20_000_000) == 0


def test_a_full_cache_serves_what_it_holds_and_starts_anew_when_misses_pile_up() -> None:
    cache = VectorCache(most_bytes=4 * ROW_BYTES)
    assert ask(cache, 1, 2, 4, 5, 7, 8) == 6
    assert ask(cache, 1, 2, 4, 5) == 0
    assert ask(cache, 10, 11, 13) == 3
    assert ask(cache, 10, 11, 13) == 3
    assert ask(cache, 10, 11, 13) == 0
    assert ask(cache) == 0
