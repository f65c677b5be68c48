"""The cache of chunk vectors compares the vectors that it was given, whatever it drops in between."""

from __future__ import annotations

import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Callable, Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from sidecar.engine.index.held_rows import Compared, HeldRows, compared, is_faster, products_of
from sidecar.engine.index.sealed_blocks import TOGETHER, SealedBlocks
from sidecar.engine.index.sealed_rows import FirstLook, SealedRows, compare_with_numpy, seal, second_look
from sidecar.engine.index.vector_cache import BLOCK, LOOK, MOST_BYTES, VectorCache
from sidecar.engine.ports import Compare, Floats, Uint8s
from sidecar.engine.search.vector_search import highest_places
from sidecar.model.terms import Vectors
from sidecar.parts.vectors.four_bits import FourBitProducts
from tests.patience import PATIENCE_S

DIMENSION = 8
_COSINES = [float(np.float32(number / 48)) for number in range(-48, 49)]
ROW_BYTES = DIMENSION * 4 + DIMENSION // 2 + 8
"""As float32, with a first look."""


class Disk:
    """Vectors from which their id can be computed; every third chunk has none. Counts what is read."""

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
    compared = cache.compare(disk.ids, np.full(DIMENSION, 0.5, np.float32), disk.load)
    assert compared.found.tolist() == [i % 3 != 0 for i in ids]
    assert compared.products.tolist() == [i * DIMENSION / 2 if i % 3 else 0 for i in ids]
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


# ---------------------------------------------------------------- sealed blocks


def unit(vectors: NDArray[np.floating]) -> Vectors:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(np.divide(vectors, norms, out=np.zeros_like(vectors), where=norms > 0), np.float32)


def filled(vectors: Vectors, most_bytes: int = MOST_BYTES) -> tuple[VectorCache, Callable[..., Compared]]:
    """Returns a cache that has read all of these vectors, and a function that compares them and reads again what is
    missing."""
    cache = VectorCache(most_bytes, FourBitProducts, pays=lambda *_: True)
    ids = np.arange(1, len(vectors) + 1, dtype=np.int64)

    def compare(query: NDArray[np.float32], *, rough: bool = False) -> Compared:
        return cache.compare(ids, query, lambda at: (vectors[at], np.ones(len(at), bool)), rough=rough)

    compare(np.zeros(vectors.shape[1], np.float32))
    return cache, compare


ROWS = 2 * BLOCK + 300
SETS: Mapping[str, Callable[[np.random.Generator, int], Vectors]] = {
    "random": lambda rng, d: rng.standard_normal((ROWS, d)).astype(np.float32),
    "all equal": lambda rng, d: np.tile(rng.standard_normal(d).astype(np.float32), (ROWS, 1)),
    "zero": lambda _, d: np.zeros((ROWS, d), np.float32),
    "some zero": lambda rng, d: rng.standard_normal((ROWS, d)).astype(np.float32) * (np.arange(ROWS) % 3 > 0)[:, None],
    "one huge number": lambda rng, d: (rng.standard_normal((ROWS, d)) + 1000 * (np.arange(d) == 3)).astype(np.float32),
    "one number": lambda rng, d: np.eye(d, dtype=np.float32)[rng.integers(0, d, ROWS)],
    "tiny numbers": lambda rng, d: (rng.standard_normal((ROWS, d)) * 1e-38).astype(np.float32),
}


LITTLE_ROOM = 4 * 64 * BLOCK + 80 * (BLOCK + 400)
"""Bytes: room for `ROWS` vectors of 64 numbers, but not as float32."""


@pytest.mark.parametrize("kind", SETS)
def test_while_they_fit_vectors_are_compared_exactly_after_a_second_look_that_covers_every_error(kind: str) -> None:
    rng = np.random.default_rng(7)
    vectors = unit(SETS[kind](rng, 64))
    _, compare = filled(vectors)
    for query in (*unit(rng.standard_normal((3, 64))), vectors[1], np.zeros(64, np.float32)):
        exact, rough = compare(query), compare(query, rough=True)
        assert exact.rough is None and exact.found.all() and rough.found.all()
        np.testing.assert_allclose(exact.products, vectors @ query, atol=1e-6)
        if rough.rough is not None:
            assert rough.closer_is_exact and rough.rough.sum() == ROWS // LOOK * LOOK
            assert (np.abs(rough.products - exact.products) <= rough.margin + 1e-6).all()
            np.testing.assert_allclose(rough.closer(np.arange(ROWS)), exact.products, atol=1e-6)
    assert rough.rough is not None


@pytest.mark.parametrize("kind", [kind for kind in SETS if kind != "one huge number"])
def test_of_too_many_vectors_the_closest_are_among_twice_as_many_and_exact_ones_are_read_again(kind: str) -> None:
    rng = np.random.default_rng(11)
    vectors = unit(SETS[kind](rng, 64))
    _, compare = filled(vectors, LITTLE_ROOM)
    for query in (*unit(rng.standard_normal((3, 64))), vectors[1]):
        exact, rough = compare(query), compare(query, rough=True)
        assert rough.rough is not None and rough.rough.sum() == 2 * BLOCK and exact.rough is None
        np.testing.assert_allclose(exact.products, vectors @ query, atol=1e-6)
        closer = rough.closer(np.arange(ROWS))
        assert (np.abs(rough.products - closer) > rough.margin).sum() <= ROWS * 0.0002
        np.testing.assert_allclose(closer, vectors @ query, atol=0.02)
        compared_again = exact.products[np.argsort(-closer, kind="stable")[:400]]
        np.testing.assert_allclose(np.sort(compared_again)[-200:], np.sort(exact.products)[-200:], atol=1e-6)


@pytest.mark.parametrize("room", [MOST_BYTES, LITTLE_ROOM])
def test_some_rows_of_any_block_have_the_products_that_all_rows_have(room: int) -> None:
    rng = np.random.default_rng(5)
    vectors = unit(rng.standard_normal((ROWS, 64)))
    cache, compare = filled(vectors, room)
    query = vectors[9]
    every = compare(query, rough=True)
    whole, closer = every.products, every.closer(np.arange(ROWS))
    for ids in (rng.integers(1, ROWS + 1, 50), np.array([ROWS]), np.array([1, ROWS, BLOCK, BLOCK + 1])):
        some = cache.compare(ids, query, lambda at: pytest.fail("it is in memory"), rough=True)
        np.testing.assert_allclose(some.products, whole[ids - 1], atol=1e-6)
        np.testing.assert_allclose(some.closer(np.arange(len(ids))), closer[ids - 1], atol=1e-6)
        np.testing.assert_allclose(every.closer(ids - 1), closer[ids - 1], atol=1e-6)


def test_many_sealed_blocks_are_compared_two_at_a_time() -> None:
    both = threading.Barrier(2, timeout=PATIENCE_S)

    def make(packed: Uint8s, scales: Floats, dimension: int) -> Compare:
        compare = compare_with_numpy(packed, scales, dimension)

        def beside_another(vector: Floats) -> Floats:
            both.wait()
            return compare(vector)

        return beside_another

    vectors = unit(np.random.default_rng(2).standard_normal((160, DIMENSION)))
    blocks = [seal(np.arange(first, first + 16), vectors[first : first + 16]) for first in range(0, 160, 16)]
    looks = tuple(FirstLook([block], DIMENSION, make) for block in blocks)
    held = HeldRows(tuple(map(SealedRows, blocks)), 16, vectors[:0], looks, threads=2)
    found = compared_rows(held, vectors[9])
    np.testing.assert_allclose(found.closer(np.arange(160)), vectors @ vectors[9], atol=0.02)


def compared_rows(held: HeldRows, vector: Floats) -> Compared:
    rows = np.arange(held.in_blocks)
    every = np.ones(len(rows), bool)
    return compared(products_of(held, rows, vector), every, every, held, rows, vector)


def test_blocks_are_looked_at_together_once_there_are_enough_and_the_results_stay_the_same() -> None:
    vectors = unit(np.random.default_rng(4).standard_normal((16 * (2 * TOGETHER + 3), DIMENSION)))
    sealed = SealedBlocks()
    for first in range(0, len(vectors), 16):
        block = seal(np.arange(first, first + 16), vectors[first : first + 16])
        look = FirstLook([block], DIMENSION, compare_with_numpy)
        sealed = sealed.followed_by((block,), look).put_together(DIMENSION, compare_with_numpy)
        held = HeldRows(sealed.rows, 16, vectors[:0], sealed.looks)
        assert held.rough == held.in_blocks == first + 16
        products = compared_rows(held, vectors[5]).closer(np.arange(held.in_blocks))
        np.testing.assert_allclose(products, vectors[: first + 16] @ vectors[5], atol=0.02)
        assert len(sealed.looks) == len(sealed) // TOGETHER + len(sealed) % TOGETHER


@pytest.mark.parametrize("dimension", [1, 7, 16, 64, 100, 256, 300, 384, 768])
@pytest.mark.parametrize("count", [1, 1000])
def test_every_library_finds_the_same_but_for_the_rounding_of_the_vector(dimension: int, count: int) -> None:
    rng = np.random.default_rng(3)
    packed = rng.integers(0, 256, (count, (dimension + 1) // 2)).astype(np.uint8)
    scales, vector = rng.uniform(-0.01, 0.01, count).astype(np.float32), unit(rng.standard_normal((1, dimension)))[0]
    numbers = np.stack([packed & 15, packed >> 4], axis=2).reshape(count, -1)[:, :dimension].astype(np.float64) - 8
    wanted = numbers @ vector * scales
    np.testing.assert_allclose(compare_with_numpy(packed, scales, dimension)(vector), wanted, atol=1e-6)
    rounding = np.abs(numbers).sum(axis=1) * np.abs(scales) * np.abs(vector).max() / 127 * 0.501
    assert (np.abs(FourBitProducts(packed, scales, dimension)(vector) - wanted) <= rounding + 1e-6).all()


def looked_at_twice(vectors: Vectors, query: Floats) -> Floats:
    """The products of rows in two blocks, after a second look at each."""
    half = (len(vectors) + 1) // 2
    blocks = [seal(np.arange(len(part)), part) for part in (vectors[:half], vectors[half:])]
    first = np.concatenate([FirstLook([block], vectors.shape[1], compare_with_numpy)(query) for block in blocks])
    numbers, within = np.divmod(np.arange(len(vectors)), half)
    return first + second_look([SealedRows(block) for block in blocks], numbers, within, query)


@given(
    arrays(np.float32, st.tuples(st.integers(2, 20), st.just(15)), elements=st.floats(-1, 1, width=32)),
    arrays(np.float32, 15, elements=st.floats(-1, 1, width=32)),
)
def test_any_vectors_are_compared_to_half_a_step_of_their_largest_number(vectors: Vectors, query: Floats) -> None:
    worst = 0.5001 * np.abs(vectors).max(axis=1) / 120 * np.abs(query).sum()
    found = looked_at_twice(vectors, query)
    assert (np.abs(found - vectors.astype(np.float64) @ query) <= worst + 1e-5).all()


@pytest.mark.parametrize("heaviness", [1.0, 1.3, 3.0])
def test_the_first_look_errs_by_more_than_its_margin_once_in_ten_thousand_rows(heaviness: float) -> None:
    rng = np.random.default_rng(8)

    def drawn(count: int) -> Vectors:
        numbers = rng.standard_normal((count, 256))
        return unit(np.sign(numbers) * np.abs(numbers) ** heaviness)

    vectors = drawn(100_000)
    vectors[::3] = 0
    look = FirstLook([seal(np.arange(len(vectors)), vectors)], 256, FourBitProducts)
    for query in drawn(5):
        assert (np.abs(look(query) - vectors @ query) > look.margin).sum() <= 10


def test_numbers_that_are_zero_stay_zero_at_the_first_look() -> None:
    vectors = np.eye(8, dtype=np.float32)[[3, 5]] * np.float32(-0.5)
    look = FirstLook([seal(np.arange(2), vectors)], 8, compare_with_numpy)
    query = np.ones(8, np.float32)
    query[[3, 5]] = 0
    assert look(query).tolist() == [0, 0]


def test_a_saved_file_reads_its_own_rows_and_leaves_sealed_blocks_as_they_are() -> None:
    sealed: list[int] = []

    def make(packed: Uint8s, scales: Floats, dimension: int) -> Compare:
        sealed.append(len(packed))
        return compare_with_numpy(packed, scales, dimension)

    cache = VectorCache(LITTLE_ROOM, make)
    vectors = unit(np.random.default_rng(1).standard_normal((ROWS, 64)))
    ids, query = np.arange(1, len(vectors) + 1), vectors[7]
    read: list[int] = []

    def ask(upto: int) -> None:
        def load(at: NDArray[np.int64]) -> tuple[Vectors, NDArray[np.bool_]]:
            read.extend(at.tolist())
            return vectors[at], np.ones(len(at), bool)

        cache.compare(ids[:upto], query, load, rough=True)

    ask(ROWS - 10)
    assert sealed == [BLOCK, BLOCK]
    read.clear()
    ask(ROWS)
    assert read == list(range(ROWS - 10, ROWS))
    assert sealed == [BLOCK, BLOCK]


@pytest.mark.parametrize("room", [MOST_BYTES, LITTLE_ROOM])
def test_looking_again_at_thousands_of_equal_chunks_takes_little_memory(room: int) -> None:
    vectors = unit(SETS["all equal"](np.random.default_rng(2), 64))
    _, compare = filled(vectors, room)
    compare(vectors[0], rough=True)
    compared = compare(vectors[0], rough=True)
    assert compared.rough is not None
    tracemalloc.start()
    closer = compared.closer(np.arange(ROWS))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    np.testing.assert_allclose(closer, 1, atol=0.02)
    assert most < vectors.nbytes / 2


class _SealedLater:
    """A cache of two small blocks and more, whose blocks are sealed when `due` is run."""

    def __init__(self, rows: int = 100) -> None:
        self.due: list[Callable[[], None]] = []
        self.vectors = unit(np.random.default_rng(5).standard_normal((rows, 64)))
        room = 4 * 64 * 32 + (64 + 8) * (rows - 32)  # for 51 exact rows
        self.cache = VectorCache(room, compare_with_numpy, block=32, later=self.due.append)

    def rough(self, upto: int) -> int:
        """Compares so many rows, checks every product, and returns how many are rough."""
        compared = self.cache.compare(
            np.arange(1, upto + 1), self.vectors[3], lambda at: (self.vectors[at], np.ones(len(at), bool)), rough=True
        )
        assert compared.found.all()
        products = compared.closer(np.arange(upto))
        np.testing.assert_allclose(products, self.vectors[:upto] @ self.vectors[3], atol=0.02)
        return 0 if compared.rough is None else int(compared.rough.sum())


def test_no_question_waits_until_a_block_is_sealed() -> None:
    later = _SealedLater()
    later.rough(60)
    assert later.rough(60) == 0
    later.due.pop()()
    assert later.rough(60) == 32
    assert not later.due


def test_one_thread_seals_however_many_vectors_are_read_before_it_begins() -> None:
    later = _SealedLater()
    for upto in (55, 57, 59, 61, 63):
        later.rough(upto)
    assert len(later.due) == 1
    later.due.pop()()
    assert later.rough(63) == 32
    later.rough(95)
    assert len(later.due) == 1, "of the block that came since"


def test_blocks_are_sealed_at_once_if_too_many_wait() -> None:
    later = _SealedLater()
    later.rough(60)
    later.rough(100)
    assert later.rough(100) == 96
    for work in later.due:
        work()  # has nothing left to do
    assert later.rough(100) == 96


def test_a_block_that_waits_is_sealed_with_what_came_while_it_waited() -> None:
    later = _SealedLater()
    later.rough(50)
    assert later.rough(62) == 0
    for work in later.due:
        work()
    assert later.rough(62) == 32
    assert later.rough(100) == 32
    for work in later.due:
        work()
    assert later.rough(100) == 96


class _LookedLater:
    """A cache with room for 100 float32 vectors, whose first looks, at 16 each, are prepared when `due` is run."""

    def __init__(self) -> None:
        self.due: list[Callable[[], None]] = []
        self.vectors = unit(np.random.default_rng(6).standard_normal((200, 64)))
        room = (4 * 64 + 40) * 100
        self.cache = VectorCache(room, FourBitProducts, 120, later=self.due.append, look=16, pays=lambda *_: True)

    def rough(self, *rows: int, exactly: bool = False) -> int:
        """Compares these rows, checks every product, and returns how many are rough."""
        some = self.vectors[list(rows)]
        compared = self.cache.compare(
            np.array(rows) + 1, self.vectors[3], lambda at: (some[at], np.ones(len(at), bool)), rough=not exactly
        )
        assert compared.found.all()
        np.testing.assert_allclose(compared.closer(np.arange(len(rows))), some @ self.vectors[3], atol=1e-6)
        return 0 if compared.rough is None else int(compared.rough.sum())

    @classmethod
    def prepared(cls, rows: int) -> _LookedLater:
        """Returns one that has compared so many rows, and prepared their first looks."""
        cache = cls()
        for _ in range(2):
            cache.rough(*range(rows))
        cache.prepare()
        return cache

    def prepare(self) -> None:
        """Runs what is due."""
        while self.due:
            self.due.pop()()


def test_no_question_waits_until_a_first_look_is_prepared() -> None:
    cache = _LookedLater()
    assert cache.rough(*range(50)) == 0 and not cache.due, "preparing would delay what is still to be done for it"
    assert cache.rough(*range(50)) == 0 and len(cache.due) == 1
    cache.prepare()
    assert cache.rough(*range(50)) == 48
    assert not cache.due


def test_rows_that_come_later_get_a_first_look_later() -> None:
    cache = _LookedLater.prepared(20)
    assert cache.rough(*range(30)) == 16
    for _ in range(2):
        assert cache.rough(*range(70)) == 16
    cache.prepare()
    assert cache.rough(*range(70)) == 64
    assert cache.rough(*range(69, -1, -1)) == 64


def test_where_no_first_look_can_be_prepared_everything_is_compared_exactly() -> None:
    cache = _LookedLater()

    def fail(packed: Uint8s, scales: Floats, dimension: int) -> Compare:
        raise RuntimeError("the operator is missing")

    cache.cache = VectorCache((4 * 64 + 40) * 100, fail, block=120, later=cache.due.append, look=16)
    for _ in range(2):
        assert cache.rough(*range(50)) == 0
    with pytest.raises(RuntimeError):
        cache.prepare()
    assert cache.rough(*range(60)) == 0 and not cache.due, "it is not tried again"


def test_where_a_first_look_takes_longer_everything_is_compared_exactly() -> None:
    cache, judged = _LookedLater(), []

    def pays(look: FirstLook, rows: Vectors) -> bool:
        judged.append((len(look.errors), len(rows)))
        return False

    cache.cache = VectorCache((4 * 64 + 40) * 100, FourBitProducts, 120, later=cache.due.append, look=16, pays=pays)
    for _ in range(2):
        assert cache.rough(*range(50)) == 0
    cache.prepare()
    assert cache.rough(*range(60)) == 0 and not cache.due, "it is not tried again"
    assert judged == [(16, 16)]


@pytest.mark.parametrize(("looking", "exactly", "pays"), [(2.0, 3.0, True), (3.0, 2.0, False)])
def test_a_first_look_pays_if_the_shortest_of_several_took_less_time(
    looking: float, exactly: float, pays: bool
) -> None:
    rows = unit(np.random.default_rng(8).standard_normal((16, 64)))
    look = FirstLook([seal(np.arange(16), rows)], 64, compare_with_numpy)
    # Another program delays all but the fourth look and the second exact comparison.
    taken = [second for n in range(5) for second in (looking + 9 * (n != 3), exactly + 9 * (n != 1))]
    times = iter(np.cumsum([moment for second in taken for moment in (1.0, second)]).tolist())
    assert is_faster(look, rows, clock=lambda: next(times)) == pays
    assert not list(times)


def test_few_rows_and_those_to_be_compared_exactly_get_no_first_look() -> None:
    cache = _LookedLater.prepared(80)
    assert cache.rough(*range(0, 80, 5)) == 0
    assert cache.rough(*range(80), exactly=True) == 0
    assert cache.rough(*range(80)) == 80


def test_rows_that_do_not_fit_are_read_again_beside_those_with_a_first_look() -> None:
    cache = _LookedLater.prepared(90)
    assert cache.rough(*range(95)) == 80
    assert cache.rough(*range(105)) == 80


def test_first_looks_at_float32_rows_end_when_blocks_are_sealed_or_everything_is_forgotten() -> None:
    later = _SealedLater()
    room = 4 * 64 * 32 + 72 * 68
    later.cache = VectorCache(room, FourBitProducts, 32, later=later.due.append, look=16, pays=lambda *_: True)
    for _ in range(2):
        assert later.rough(40) == 0
    later.due.pop()()
    assert later.rough(40) == 32, "two first looks at sixteen rows"
    later.rough(60)
    assert later.rough(60) == 32, "a block waits to be sealed, and the first looks still serve"
    for work in later.due:
        work()
    assert later.rough(60) == 32
    assert later.rough(100) == 32

    cache = _LookedLater.prepared(90)
    cache.rough(*range(100, 200))
    for _ in range(3):
        assert cache.rough(*range(100, 200)) == 0, "the cache starts anew and is filled"
    cache.prepare()
    assert cache.rough(*range(100, 200)) == 96


def test_nothing_and_a_single_row_are_compared() -> None:
    cache, compare = filled(np.full((1, 4), 0.5, np.float32))
    assert compare(np.ones(4, np.float32)).products.tolist() == [2.0]
    nothing = cache.compare(np.zeros(0, np.int64), np.ones(4, np.float32), lambda at: pytest.fail("nothing to read"))
    assert len(nothing.products) == 0 and nothing.rough is None


def test_a_million_vectors_fit_into_memory() -> None:
    assert VectorCache().has_room(1_000_000, 256)
    assert not VectorCache().has_room(1_200_000, 256)


_FILL = """
import re
import numpy as np
from pathlib import Path
from sidecar.engine.index.vector_cache import BLOCK, VectorCache
from sidecar.parts.vectors.four_bits import FourBitProducts

def resident():
    return int(re.search(r"RssAnon:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024

numbers = np.random.default_rng(1)
def load(positions):
    return numbers.standard_normal((len(positions), 256), np.float32), np.ones(len(positions), bool)

FourBitProducts(np.zeros((8, 128), np.uint8), np.zeros(8, np.float32), 256)(np.zeros(256, np.float32))
before = resident()
cache = VectorCache(make_compare=FourBitProducts)
cache.compare(np.arange(1, 17 * BLOCK), np.ones(256, np.float32), load)
print((resident() - before) / (17 * BLOCK * 256))
"""


@pytest.mark.process
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks Linux how much memory is resident")
def test_what_making_blocks_took_is_given_back() -> None:
    """While a block is made, onnxruntime needs twice its memory."""
    run = subprocess.run([sys.executable, "-c", _FILL], capture_output=True, text=True, check=True, timeout=PATIENCE_S)
    assert float(run.stdout) < 1.8, "bytes for each number of a vector"


# ---------------------------------------------------------------- what is the same for many questions


def test_a_list_of_ids_that_cannot_change_is_compared_as_any_other_whatever_happens_in_between() -> None:
    vectors = unit(np.random.default_rng(3).normal(size=(200, DIMENSION)))
    cache = VectorCache(most_bytes=150 * ROW_BYTES, make_compare=FourBitProducts, block=16)
    ids = np.arange(1, 61, dtype=np.int64)
    fixed = ids.copy()
    fixed.flags.writeable = False

    def compare(some: NDArray[np.int64], number: int) -> Compared:
        return cache.compare(
            some, vectors[number], lambda at: (vectors[some[at] - 1], np.ones(len(at), bool)), rough=True
        )

    for number, more in enumerate((range(61, 62), range(62, 90), range(90, 140), range(140, 200))):
        for _ in range(2):
            expected, found = compare(ids, number), compare(fixed, number)
            assert found.products.tolist() == expected.products.tolist()
            assert found.found.tolist() == expected.found.tolist()
            assert (found.rough is None) == (expected.rough is None)
            if found.rough is not None and expected.rough is not None:
                assert found.rough.tolist() == expected.rough.tolist()
        compare(np.array(more, np.int64), number)


@given(
    arrays(np.float32, st.integers(0, 3000), elements=st.sampled_from(_COSINES)),
    st.integers(1, 40),
)
def test_no_cosine_that_counts_among_the_highest_is_passed_over(cosines: NDArray[np.float32], limit: int) -> None:
    rounded = np.round(cosines, 4)
    least = np.sort(rounded)[-limit] if len(rounded) >= limit else -2
    assert set(np.flatnonzero(rounded >= least)) <= set(highest_places(cosines, limit).tolist())


def test_of_many_cosines_few_are_looked_at_again() -> None:
    cosines = np.random.default_rng(4).normal(0, 0.1, 800_000).astype(np.float32)
    assert 400 <= len(highest_places(cosines, 400)) < 2000
