"""Full blocks of vectors, sealed or exact, are read from files unchanged, and files that could be wrong are not
used."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from sidecar.engine.index.block_files import BlockFiles
from sidecar.engine.index.held_rows import Compared
from sidecar.engine.index.sealed_blocks import TOGETHER
from sidecar.engine.index.sealed_rows import Exact, bytes_of_sealed, compare_with_numpy, seal
from sidecar.engine.index.vector_cache import VectorCache
from sidecar.engine.ports import Compare, Floats, Uint8s
from sidecar.model.terms import Vectors

DIMENSION, BLOCK, EXACT = 16, 32, 8
ROWS = 3 * BLOCK + 5
ALL_EXACT = 1 << 20
ROOM = 4 * DIMENSION * BLOCK + (DIMENSION + 8) * (ROWS + BLOCK)
"""Bytes: room for all rows, but not as float32; `ALL_EXACT` has room for them as float32."""
IDENTITY: Mapping[str, object] = {"manifest": 7, "model": "m@1"}

_drawn = np.random.default_rng(1).standard_normal((ROWS, DIMENSION))
VECTORS: Vectors = (_drawn / np.linalg.norm(_drawn, axis=1, keepdims=True)).astype(np.float32)
QUERY = VECTORS[3]
IDS = np.arange(1, ROWS + 1, dtype=np.int64) * 2


class Opened:
    """A cache as in a process that opens the index. It counts what it reads from the embedding cache."""

    def __init__(
        self,
        folder: Path,
        identity: Mapping[str, object] = IDENTITY,
        highest: int = 2 * ROWS,
        room: int = ROOM,
        block: int = BLOCK,
        chunks: int = ROWS,
    ) -> None:
        saved = BlockFiles(folder / "sealed", identity, lambda: highest)
        self.cache = VectorCache(room, block=block, saved=saved)
        self.chunks = chunks
        self.read = 0
        self.most = ROWS

    def save(self) -> None:
        """Saves all vectors. Raises InterruptedError after `most`."""

        def load(at: NDArray[np.int64]) -> tuple[Vectors, NDArray[np.bool_]]:
            if self.read >= self.most:
                raise InterruptedError
            self.read += len(at)
            return VECTORS[at], np.ones(len(at), bool)

        self.cache.save(IDS, DIMENSION, load)

    def hold(self) -> None:
        """Reads all vectors into memory."""

        def load(at: NDArray[np.int64]) -> tuple[Vectors, NDArray[np.bool_]]:
            self.read += len(at)
            return VECTORS[at], np.ones(len(at), bool)

        self.cache.read(IDS, DIMENSION, load)

    def compare(self, rows: NDArray[np.int64] | None = None) -> Compared:
        wanted = np.arange(ROWS) if rows is None else rows

        def load(at: NDArray[np.int64]) -> tuple[Vectors, NDArray[np.bool_]]:
            self.read += len(at)
            return VECTORS[wanted[at]], np.ones(len(at), bool)

        return self.cache.compare(IDS[wanted], QUERY, load, rough=True, chunks=self.chunks)


def test_who_opens_the_index_next_reads_only_what_was_not_sealed_and_compares_the_same(tmp_path: Path) -> None:
    first, second = Opened(tmp_path), Opened(tmp_path)
    first.compare()
    after = second.compare()
    assert (first.read, second.read) == (ROWS, ROWS - 3 * BLOCK)
    whole = first.compare()
    assert np.array_equal(whole.products, after.products)
    assert after.rough is not None and after.rough.sum() == 3 * BLOCK
    assert sorted(path.name for path in (tmp_path / "sealed").iterdir()) == ["0", "1", "2"]


def test_whoever_asks_for_a_part_first_such_as_the_documentation_finds_the_blocks_of_the_whole(tmp_path: Path) -> None:
    Opened(tmp_path).compare()
    opened = Opened(tmp_path)
    opened.compare(np.arange(BLOCK + 4))
    assert opened.read == 0
    opened.compare()
    assert opened.read == ROWS - 3 * BLOCK


def test_blocks_sealed_later_are_saved_too(tmp_path: Path) -> None:
    first = Opened(tmp_path)
    first.compare(np.arange(2 * BLOCK + 4))
    first.compare()
    again = Opened(tmp_path)
    again.compare()
    assert again.read == ROWS - 3 * BLOCK


@pytest.mark.parametrize("damaged", [0, 1, 2])
def test_what_stands_in_a_damaged_block_and_after_it_is_read_again(tmp_path: Path, damaged: int) -> None:
    Opened(tmp_path).compare()
    path = tmp_path / "sealed" / str(damaged)
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    again = Opened(tmp_path)
    np.testing.assert_allclose(again.compare().closer(np.arange(ROWS)), VECTORS @ QUERY, atol=0.02)
    assert again.read == ROWS - damaged * BLOCK
    assert path.read_bytes() == content, "it was made again"


@pytest.mark.parametrize(
    "opened",
    [{"identity": {**IDENTITY, "manifest": 8}}, {"identity": {**IDENTITY, "model": "m@2"}}, {"highest": 2 * BLOCK - 1}],
)
def test_blocks_of_another_manifest_model_or_of_ids_that_were_never_given_are_not_believed(
    tmp_path: Path, opened: dict[str, object]
) -> None:
    Opened(tmp_path).compare()
    other = Opened(tmp_path, **opened)  # type: ignore[arg-type]
    np.testing.assert_allclose(other.compare().closer(np.arange(ROWS)), VECTORS @ QUERY, atol=0.02)
    assert other.read == ROWS


def test_an_index_whose_vectors_fit_as_they_are_uses_no_blocks(tmp_path: Path) -> None:
    Opened(tmp_path).compare()
    roomy = Opened(tmp_path, room=1 << 20)
    compared = roomy.compare()
    assert roomy.read == ROWS and compared.rough is None


def test_blocks_of_another_size_are_not_taken(tmp_path: Path) -> None:
    Opened(tmp_path).compare()
    other = Opened(tmp_path, block=BLOCK // 2)
    np.testing.assert_allclose(other.compare().closer(np.arange(ROWS)), VECTORS @ QUERY, atol=0.02)
    assert other.read == ROWS


def test_a_folder_that_cannot_be_written_costs_nothing_but_the_time(tmp_path: Path) -> None:
    (tmp_path / "sealed").write_text("in the way")
    opened = Opened(tmp_path)
    np.testing.assert_allclose(opened.compare().closer(np.arange(ROWS)), VECTORS @ QUERY, atol=0.02)
    assert (tmp_path / "sealed").read_text() == "in the way"


def test_what_the_cache_drops_is_deleted(tmp_path: Path) -> None:
    saved = BlockFiles(tmp_path / "sealed", IDENTITY, lambda: 10**6)
    cache = VectorCache(ROOM, block=BLOCK, saved=saved)
    for first in (0, ROWS, 2 * ROWS, 3 * ROWS, 4 * ROWS):
        ids = np.arange(first + 1, first + ROWS + 1, dtype=np.int64)
        cache.compare(ids, QUERY, lambda at: (VECTORS[at], np.ones(len(at), bool)))
    kept = [int(block.ids.min()) for block in BlockFiles(tmp_path / "sealed", IDENTITY, lambda: 10**6).read()]
    assert kept and min(kept) > 1


def test_vectors_saved_after_indexing_are_read_by_the_first_question_and_are_not_kept_before_it(tmp_path: Path) -> None:
    indexing, opened, other = Opened(tmp_path), Opened(tmp_path), Opened(tmp_path / "other")
    indexing.save()
    assert indexing.read == 3 * BLOCK
    other.compare()
    assert np.array_equal(opened.compare().products, other.compare().products)
    assert opened.read == ROWS - 3 * BLOCK
    assert np.array_equal(indexing.compare().products, other.compare().products)
    assert indexing.read == ROWS, "the blocks were read from the files"


def test_vectors_are_saved_once(tmp_path: Path) -> None:
    first, again, asked = Opened(tmp_path), Opened(tmp_path), Opened(tmp_path / "other")
    first.save()
    again.save()
    asked.compare()
    read = asked.read
    asked.save()
    assert (again.read, asked.read) == (0, read)


def exact_files(count: int) -> list[str]:
    return sorted(f"exact-{number}" for number in range(count))


def files_of(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "sealed").iterdir()) if (folder / "sealed").exists() else []


def test_vectors_that_fit_as_they_are_are_saved_as_they_are(tmp_path: Path) -> None:
    indexing, opened, other = (Opened(tmp_path / name, room=ALL_EXACT) for name in ("one", "one", "other"))
    for folder in ("one", "other"):
        (tmp_path / folder).mkdir()
    indexing.save()
    assert files_of(tmp_path / "one") == exact_files(12)
    compared = opened.compare()
    assert opened.read == ROWS - 3 * BLOCK
    assert compared.rough is None and compared.found.all()
    assert np.array_equal(compared.products, other.compare().products)


def test_exact_blocks_that_searches_fill_are_saved_once(tmp_path: Path) -> None:
    first = Opened(tmp_path, room=ALL_EXACT)
    first.compare(np.arange(2 * BLOCK + 4))
    assert files_of(tmp_path) == exact_files(8)
    written = (tmp_path / "sealed/exact-0").stat().st_mtime_ns
    first.compare()
    again = Opened(tmp_path, room=ALL_EXACT)
    again.compare()
    again.save()
    assert again.read == ROWS - 3 * BLOCK
    assert files_of(tmp_path) == exact_files(12)
    assert (tmp_path / "sealed/exact-0").stat().st_mtime_ns == written


def test_exact_blocks_are_smaller_than_sealed_ones_so_that_fewer_vectors_are_read_one_by_one(tmp_path: Path) -> None:
    first, saved = (
        Opened(tmp_path, room=ALL_EXACT),
        Opened(tmp_path / "saved", room=ALL_EXACT),
    )
    (tmp_path / "saved").mkdir()
    first.compare()
    saved.save()
    for folder in (tmp_path, tmp_path / "saved"):
        opened = Opened(folder, room=ALL_EXACT)
        np.testing.assert_array_equal(opened.compare().products, first.compare().products)
        assert opened.read == ROWS % EXACT
    by_few = Opened(tmp_path, room=ALL_EXACT)
    by_few.compare(np.arange(EXACT))
    assert by_few.read == 0


def test_exact_blocks_that_no_longer_fit_are_left(tmp_path: Path) -> None:
    Opened(tmp_path, room=ALL_EXACT).compare()
    rows = 2 * BLOCK + 3
    fewer = Opened(tmp_path, room=rows * (4 * DIMENSION + DIMENSION // 2 + 8), chunks=rows)
    np.testing.assert_allclose(fewer.compare(np.arange(rows)).products, VECTORS[:rows] @ QUERY, atol=1e-6)
    assert fewer.read == rows % EXACT, "the others were read from their files"


def test_blocks_of_ids_that_are_far_apart_are_not_taken_together(tmp_path: Path) -> None:
    far = np.concatenate([IDS[:BLOCK], IDS[BLOCK:] + 20_000_000])
    saved = BlockFiles(tmp_path / "sealed", IDENTITY, lambda: 10**9)
    for number in range(12):
        some = slice(number * EXACT, (number + 1) * EXACT)
        saved.write_exact(number, Exact(far[some], VECTORS[some]))
    cache = VectorCache(ALL_EXACT, block=BLOCK, saved=saved)
    for _ in range(2):
        compared = cache.compare(far, QUERY, lambda at: (VECTORS[at], np.ones(len(at), bool)))
        np.testing.assert_allclose(compared.products, VECTORS @ QUERY, atol=1e-6)


def test_sealed_blocks_of_ids_that_are_far_apart_are_not_taken_together(tmp_path: Path) -> None:
    far = np.concatenate([IDS[: 2 * BLOCK], IDS[2 * BLOCK :] + 20_000_000])
    saved = BlockFiles(tmp_path / "sealed", IDENTITY, lambda: 10**9)
    for number in range(3):
        some = slice(number * BLOCK, (number + 1) * BLOCK)
        saved.write(number, seal(far[some], VECTORS[some]))
    cache = VectorCache(ROOM, block=BLOCK, saved=saved)
    last = np.arange(2 * BLOCK, ROWS)
    compared = cache.compare(
        far[last], QUERY, lambda at: (VECTORS[last[at]], np.ones(len(at), bool)), rough=True, chunks=ROWS
    )
    np.testing.assert_allclose(compared.closer(np.arange(len(last))), VECTORS[last] @ QUERY, atol=0.02)
    assert compared.rough is not None and not compared.rough.any(), "the blocks before it were taken over"


def test_many_sealed_blocks_are_taken_over_in_their_order(tmp_path: Path) -> None:
    count, rows = 2 * TOGETHER + 3, 8
    vectors = np.random.default_rng(6).standard_normal((count * rows, DIMENSION)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    ids = np.arange(1, len(vectors) + 1)
    saved = BlockFiles(tmp_path / "sealed", IDENTITY, lambda: len(vectors))
    for number in range(count):
        some = slice(number * rows, (number + 1) * rows)
        saved.write(number, seal(ids[some], vectors[some]))
    cache = VectorCache(bytes_of_sealed(len(vectors) + rows, DIMENSION) + 4 * DIMENSION * rows, block=rows, saved=saved)
    for _ in range(2):
        compared = cache.compare(ids, vectors[9], lambda at: pytest.fail("all are saved"), rough=True)
        assert compared.rough is not None and compared.rough.all()
        np.testing.assert_allclose(compared.closer(ids - 1), vectors @ vectors[9], atol=0.02)


def test_a_sealed_block_that_cannot_be_prepared_leaves_an_empty_cache(tmp_path: Path) -> None:
    Opened(tmp_path).compare()
    made = iter(range(100))

    def make(packed: Uint8s, scales: Floats, dimension: int) -> Compare:
        if next(made) == 1:
            raise MemoryError
        return compare_with_numpy(packed, scales, dimension)

    opened = Opened(tmp_path)
    opened.cache = VectorCache(ROOM, make, BLOCK, BlockFiles(tmp_path / "sealed", IDENTITY, lambda: 2 * ROWS))
    with pytest.raises(MemoryError):
        opened.compare()
    np.testing.assert_allclose(opened.compare().closer(np.arange(ROWS)), VECTORS @ QUERY, atol=0.02)
    assert opened.read == ROWS


def test_vectors_are_read_without_a_comparison(tmp_path: Path) -> None:
    first, read = Opened(tmp_path, room=ALL_EXACT), Opened(tmp_path, room=ALL_EXACT)
    first.compare()
    read.hold()
    assert read.read == ROWS - 3 * BLOCK
    np.testing.assert_array_equal(read.compare().products, first.compare().products)
    assert read.read == ROWS - 3 * BLOCK


def test_less_than_a_block_is_not_saved(tmp_path: Path) -> None:
    opened = Opened(tmp_path, room=ALL_EXACT, block=4 * (ROWS + 1))
    opened.save()
    opened.compare()
    assert opened.read == ROWS and files_of(tmp_path) == []


@pytest.mark.parametrize("damaged", [0, 2])
def test_what_stands_in_a_damaged_exact_block_and_after_it_is_read_again(tmp_path: Path, damaged: int) -> None:
    Opened(tmp_path, room=ALL_EXACT).compare()
    path = tmp_path / f"sealed/exact-{damaged}"
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    again = Opened(tmp_path, room=ALL_EXACT)
    np.testing.assert_allclose(again.compare().products, VECTORS @ QUERY, atol=1e-6)
    assert again.read == ROWS - damaged * EXACT
    assert path.read_bytes() == content, "it was made again"


@pytest.mark.parametrize("opened", [{"identity": {**IDENTITY, "model": "m@2"}}, {"highest": 2 * EXACT - 1}])
def test_exact_blocks_of_another_model_or_of_ids_that_were_never_given_are_not_believed(
    tmp_path: Path, opened: dict[str, object]
) -> None:
    Opened(tmp_path, room=ALL_EXACT).compare()
    other = Opened(tmp_path, room=ALL_EXACT, **opened)  # type: ignore[arg-type]
    other.compare()
    assert other.read == ROWS


def test_exact_blocks_of_which_most_chunks_no_longer_exist_are_made_anew(tmp_path: Path) -> None:
    """Otherwise an index that changes for months would compare what is gone, at every search and after every start."""
    Opened(tmp_path, room=ALL_EXACT).compare()
    left = np.arange(2 * BLOCK, ROWS)
    half = Opened(tmp_path, room=ALL_EXACT, chunks=3 * BLOCK // 2)
    half.compare()
    assert half.read == ROWS - 3 * BLOCK
    fewer, again = (Opened(tmp_path, room=ALL_EXACT, chunks=len(left)) for _ in range(2))
    assert fewer.compare(left).found.all()
    assert fewer.read == len(left)
    assert files_of(tmp_path) == exact_files(4)
    assert again.compare(left).found.all()
    assert again.read == len(left) % EXACT


def test_an_index_that_outgrows_its_room_replaces_its_exact_blocks_by_sealed_ones(tmp_path: Path) -> None:
    Opened(tmp_path, room=ALL_EXACT).compare()
    Opened(tmp_path).compare()
    assert files_of(tmp_path) == ["0", "1", "2"]


def test_saving_that_stops_early_leaves_what_can_be_read(tmp_path: Path) -> None:
    stopped, opened = Opened(tmp_path), Opened(tmp_path)
    stopped.most = BLOCK
    with pytest.raises(InterruptedError):
        stopped.save()
    opened.compare()
    assert opened.read == ROWS - BLOCK
