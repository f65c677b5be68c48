"""The embedding cache returns the vectors that were put in, across models, processes and failures."""

import hashlib
import os
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from sidecar.errors import DiskFull, IndexCorrupt, PermissionDenied
from sidecar.model.terms import Vectors
from sidecar.parts.embed.cache import EmbeddingCacheFile
from sidecar.parts.embed.shared import SharedEmbeddingCaches

DIMENSION = 64


def hashes(first: int, count: int) -> list[bytes]:
    return [hashlib.sha256(str(number).encode()).digest()[:16] for number in range(first, first + count)]


def vectors(count: int, seed: int = 0) -> Vectors:
    rows = np.random.default_rng(seed).normal(size=(count, DIMENSION)).astype(np.float32)
    normalised: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return normalised


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "vectors.sqlite"


@pytest.fixture
def kept(path: Path) -> Iterator[EmbeddingCacheFile]:
    store = EmbeddingCacheFile.open(path, "model@1", DIMENSION)
    yield store
    store.close()


def test_vectors_come_back_in_the_order_asked_within_half_precision(kept: EmbeddingCacheFile) -> None:
    rows = vectors(10)
    ids = kept.add(hashes(0, 10), rows)
    asked = np.array([ids[7], ids[2], ids[7]])
    found, there = kept.get(asked)
    assert there.all()
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, rows[[7, 2, 7]], atol=5e-4)


def test_a_missing_id_is_a_row_of_zeros_and_marked(kept: EmbeddingCacheFile) -> None:
    ids = kept.add(hashes(0, 2), vectors(2))
    found, there = kept.get(np.array([99, ids[1], -1]))
    assert there.tolist() == [False, True, False]
    assert not found[[0, 2]].any()
    assert found[1].any()


def test_asking_for_nothing_gives_no_rows(kept: EmbeddingCacheFile) -> None:
    found, there = kept.get(np.array([], dtype=np.int64))
    assert found.shape == (0, DIMENSION)
    assert there.shape == (0,)
    assert kept.find([]) == {}
    assert kept.add([], vectors(0)) == []


def test_only_known_hashes_are_found(kept: EmbeddingCacheFile) -> None:
    ids = kept.add(hashes(0, 3), vectors(3))
    assert kept.find(hashes(2, 3)) == {hashes(2, 1)[0]: ids[2]}


def test_a_hash_kept_before_keeps_its_id_and_vector(kept: EmbeddingCacheFile) -> None:
    first = kept.add(hashes(0, 3), vectors(3))
    second = kept.add(hashes(1, 3), vectors(3, seed=1))
    assert second[:2] == first[1:]
    np.testing.assert_allclose(kept.get(np.array(first))[0], vectors(3), atol=5e-4)
    assert kept.count() == 4


def test_the_same_hash_twice_in_one_batch_is_kept_once(kept: EmbeddingCacheFile) -> None:
    (key,) = hashes(0, 1)
    ids = kept.add([key, key], vectors(2))
    assert ids[0] == ids[1]
    assert kept.count() == 1


def test_more_rows_than_one_statement_takes_come_back_whole(kept: EmbeddingCacheFile) -> None:
    keys, rows = hashes(0, 9000), vectors(9000)
    ids = kept.add(keys, rows)
    assert kept.find(keys) == dict(zip(keys, ids, strict=True))
    found, there = kept.get(np.array(ids))
    assert there.all()
    np.testing.assert_allclose(found, rows, atol=5e-4)


def test_vectors_of_another_model_are_not_seen_and_not_lost(kept: EmbeddingCacheFile, path: Path) -> None:
    ids = kept.add(hashes(0, 3), vectors(3))
    other = EmbeddingCacheFile.open(path, "model@2", DIMENSION)
    assert other.find(hashes(0, 3)) == {}
    assert not other.get(np.array(ids))[1].any()
    other.add(hashes(0, 3), vectors(3, seed=1))
    other.close()
    assert kept.count() == 3
    np.testing.assert_allclose(kept.get(np.array(ids))[0], vectors(3), atol=5e-4)


def test_releasing_drops_what_no_text_needs_and_never_reuses_an_id(path: Path) -> None:
    kept = EmbeddingCacheFile.open(path, "model@1", DIMENSION)
    ids = kept.add(hashes(0, 100), vectors(100))
    assert kept.releases() == 0
    assert kept.release(lambda: hashes(0, 10)) == 90
    assert kept.releases() == 1
    assert kept.lost(np.array(ids)).tolist() == ids[10:]
    assert kept.count() == 10
    assert kept.get(np.array(ids[:12]))[1].sum() == 10
    assert min(kept.add(hashes(500, 1), vectors(1))) > max(ids)
    kept.close()


def test_releasing_gives_the_space_back(path: Path) -> None:
    kept = EmbeddingCacheFile.open(path, "model@1", DIMENSION)
    kept.add(hashes(0, 5000), vectors(5000))
    kept.close()
    full = path.stat().st_size
    again = EmbeddingCacheFile.open(path, "model@1", DIMENSION)
    assert again.release(list) == 5000
    again.close()
    assert path.stat().st_size < full / 2


def test_a_reopened_file_has_the_same_uuid_ids_and_vectors(kept: EmbeddingCacheFile, path: Path) -> None:
    ids = kept.add(hashes(0, 5), vectors(5))
    kept.close()
    again = EmbeddingCacheFile.open(path, "model@1", DIMENSION)
    assert again.store_uuid == kept.store_uuid
    assert again.find(hashes(0, 5)) == dict(zip(hashes(0, 5), ids, strict=True))
    again.close()


def test_a_replaced_file_has_another_uuid(kept: EmbeddingCacheFile, path: Path) -> None:
    kept.close()
    path.unlink()
    again = EmbeddingCacheFile.open(path, "model@1", DIMENSION)
    assert again.store_uuid != kept.store_uuid
    again.close()


def test_readers_see_whole_batches_while_a_writer_adds(kept: EmbeddingCacheFile) -> None:
    def read(_: int) -> int:
        return len(kept.find(hashes(0, 400)))

    with ThreadPoolExecutor(4) as pool:
        writing = pool.submit(lambda: [kept.add(hashes(start, 50), vectors(50)) for start in range(0, 400, 50)])
        seen = list(pool.map(read, range(60)))
        writing.result()
    assert all(count % 50 == 0 for count in seen)
    assert kept.count() == 400


def test_a_full_disk_loses_only_the_batch_and_the_store_lives_on(path: Path) -> None:
    store = EmbeddingCacheFile(path, "model@1", DIMENSION, max_bytes=100_000)
    store.add(hashes(0, 10), vectors(10))
    with pytest.raises(DiskFull, match="Free some space"):
        store.add(hashes(10, 5000), vectors(5000))
    assert store.count() == 10
    assert len(store.add(hashes(10, 10), vectors(10))) == 10
    store.close()


def test_a_file_that_is_no_database_is_corrupt(path: Path) -> None:
    path.write_bytes(b"this is no database, whatever it says" * 100)
    with pytest.raises(IndexCorrupt, match=r"vectors\.sqlite\" cannot be read"):
        EmbeddingCacheFile.open(path, "model@1", DIMENSION)


def test_a_damaged_database_is_corrupt_not_a_crash(kept: EmbeddingCacheFile, path: Path) -> None:
    ids = kept.add(hashes(0, 2000), vectors(2000))
    kept.close()
    content = bytearray(path.read_bytes())
    content[8192:] = b"\x55" * (len(content) - 8192)
    path.write_bytes(content)
    with pytest.raises(IndexCorrupt):
        EmbeddingCacheFile.open(path, "model@1", DIMENSION).get(np.array(ids))


def test_a_model_id_with_another_dimension_is_refused(kept: EmbeddingCacheFile, path: Path) -> None:
    with pytest.raises(IndexCorrupt, match="vectors of 64 numbers for model@1, not of 32"):
        EmbeddingCacheFile.open(path, "model@1", 32)
    assert kept.count() == 0


def test_a_folder_that_is_not_there_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(PermissionDenied, match="cannot be written"):
        EmbeddingCacheFile.open(tmp_path / "missing" / "vectors.sqlite", "model@1", DIMENSION)


def test_vectors_of_the_wrong_shape_are_a_programming_error(kept: EmbeddingCacheFile) -> None:
    with pytest.raises(ValueError, match="3 hashes"):
        kept.add(hashes(0, 3), vectors(2))
    assert kept.count() == 0


# ---------------------------------------------------------------- shared, bounded

DAY = 86_400.0


class Clock:
    def __init__(self) -> None:
        self.seconds = 100 * DAY

    def __call__(self) -> float:
        return self.seconds


def test_trimming_drops_what_was_asked_for_longest_ago_and_never_what_an_index_names(path: Path) -> None:
    clock = Clock()
    store = EmbeddingCacheFile(path, "model@1", DIMENSION, now=clock)
    old = store.add(hashes(0, 6000), vectors(6000))
    clock.seconds += 3 * DAY
    store.add(hashes(6000, 3000), vectors(3000))
    store.find(hashes(0, 1000))  # these are requested again
    clock.seconds += 3 * DAY
    before = store.size()
    named = np.array(old[1000:1500])
    assert store.trim(before, lambda: named) == 0
    assert store.trim(before * 2 // 3, lambda: named) > 0
    assert store.size() < before * 0.7
    assert store.get(named)[1].all()
    left = store.find(hashes(0, 9000))
    assert all(key in left for key in hashes(0, 1000))
    assert all(key in left for key in hashes(6000, 3000))
    store.close()


def test_what_somebody_has_asked_for_just_now_is_not_trimmed(path: Path) -> None:
    clock = Clock()
    store = EmbeddingCacheFile(path, "model@1", DIMENSION, now=clock)
    ids = np.array(store.add(hashes(0, 500), vectors(500)))
    assert store.trim(1, lambda: np.zeros(0, np.int64)) == 0
    clock.seconds += 3 * DAY
    store.find(hashes(0, 100))
    assert store.trim(1, lambda: np.zeros(0, np.int64)) == 400
    assert store.get(ids)[1].sum() == 100
    store.close()


def test_what_was_used_while_the_clock_was_far_ahead_is_trimmed_last_but_not_kept_for_ever(path: Path) -> None:
    clock = Clock()
    store = EmbeddingCacheFile(path, "model@1", DIMENSION, now=clock)
    store.add(hashes(0, 100), vectors(100))
    clock.seconds += 400 * DAY
    store.add(hashes(100, 100), vectors(100))
    clock.seconds -= 399 * DAY
    store.add(hashes(200, 100), vectors(100))
    nothing = np.zeros(0, np.int64)
    assert store.trim(1, lambda: nothing) == 100
    assert not store.find(hashes(100, 100))
    clock.seconds += 2 * DAY
    assert store.trim(1, lambda: nothing) == 200
    store.close()


def test_a_clock_that_goes_back_a_day_drops_nothing_that_somebody_has_just_asked_for(path: Path) -> None:
    clock = Clock()
    store = EmbeddingCacheFile(path, "model@1", DIMENSION, now=clock)
    store.add(hashes(0, 100), vectors(100))
    clock.seconds -= DAY
    assert store.trim(1, lambda: np.zeros(0, np.int64)) == 0
    store.close()


def test_a_file_found_damaged_is_begun_anew_when_it_is_next_opened(path: Path) -> None:
    store = EmbeddingCacheFile.open(path, "model@1", DIMENSION)
    ids = np.array(store.add(hashes(0, 5000), vectors(5000)))
    store.close()
    whole = path.read_bytes()
    path.write_bytes(whole[: 8 * 4096] + b"\xff" * (len(whole) - 8 * 4096))
    store = EmbeddingCacheFile.open(path, "model@1", DIMENSION)
    with pytest.raises(IndexCorrupt):
        store.get(ids)
    assert store.damaged
    store.close()
    again = EmbeddingCacheFile.open(path, "model@1", DIMENSION)
    assert again.count() == 0
    again.close()


def spoil_in_place(path: Path, pages: range) -> None:
    """Damages the file as a failing disk does: a process that has it open continues with the same file."""
    with path.open("r+b") as file:
        for page in pages:
            file.seek(page * 4096)
            file.write(bytes(4096))


def written_back(store: EmbeddingCacheFile, path: Path) -> None:
    store.close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def test_of_a_damaged_file_every_vector_that_can_be_read_is_taken_over(path: Path) -> None:
    other = EmbeddingCacheFile.open(path, "model@2", 32)
    other.add(hashes(0, 10), np.full((10, 32), 32**-0.5, np.float32))
    store = EmbeddingCacheFile.open(path, "model@1", DIMENSION)
    rows = vectors(3000)
    ids = np.array(store.add(hashes(0, 3000), rows))
    other.close()
    written_back(store, path)
    middle = path.stat().st_size // 4096 // 2
    spoil_in_place(path, range(middle, middle + 3))
    store = EmbeddingCacheFile.open(path, "model@1", DIMENSION)
    with pytest.raises(IndexCorrupt):
        store.get(ids)
    store.close()
    again = EmbeddingCacheFile.open(path, "model@1", DIMENSION)
    found = again.find(hashes(0, 3000))
    assert 2800 < len(found) < 3000
    numbers = [n for n, key in enumerate(hashes(0, 3000)) if key in found]
    held, there = again.get(np.array([found[hashes(n, 1)[0]] for n in numbers]))
    assert there.all()
    np.testing.assert_allclose(held, rows[numbers], atol=5e-4)
    assert again.trim(1, lambda: np.zeros(0, np.int64)) == 0, "they count as used today"
    assert again.store_uuid != store.store_uuid
    again.close()
    other = EmbeddingCacheFile.open(path, "model@2", 32)
    assert other.count() == 10
    other.close()
    assert sorted(p.name for p in path.parent.iterdir()) == ["vectors.sqlite"]


def test_a_vector_of_which_only_a_part_is_left_is_not_taken_over(path: Path) -> None:
    store = EmbeddingCacheFile.open(path, "model@1", DIMENSION)
    rows = vectors(2000)
    store.add(hashes(0, 2000), rows)
    written_back(store, path)
    with sqlite3.connect(path) as connection:
        tenth = connection.execute("SELECT vector, id FROM vectors WHERE id % 10 = 0").fetchall()
        cut = [(blob[:60] + bytes(len(blob) - 60), number) for blob, number in tenth]
        connection.executemany("UPDATE vectors SET vector = ? WHERE id = ?", cut)
    connection.close()
    path.with_suffix(".damaged").touch()
    again = EmbeddingCacheFile.open(path, "model@1", DIMENSION)
    assert again.count() == 1800
    again.close()


def test_whoever_still_has_the_damaged_file_open_does_no_harm_to_the_new_one(path: Path) -> None:
    store = EmbeddingCacheFile.open(path, "model@1", DIMENSION)
    ids = np.array(store.add(hashes(0, 5000), vectors(5000)))
    written_back(store, path)
    one, two = (EmbeddingCacheFile.open(path, "model@1", DIMENSION) for _ in range(2))
    middle = path.stat().st_size // 4096 // 2
    spoil_in_place(path, range(middle, middle + 3))
    with pytest.raises(IndexCorrupt):
        one.get(ids)
    one.close()
    new = EmbeddingCacheFile.open(path, "model@1", DIMENSION)
    new.add(hashes(0, 5000), vectors(5000))
    with pytest.raises(IndexCorrupt):
        two.get(ids)
    assert two.damaged
    assert not new.damaged
    two.close()
    new.close()
    last = EmbeddingCacheFile.open(path, "model@1", DIMENSION)
    assert (last.store_uuid, last.count()) == (new.store_uuid, 5000)
    last.close()


def test_one_file_is_opened_once_per_process_and_closed_by_its_last_user(tmp_path: Path) -> None:
    shared = SharedEmbeddingCaches()
    path = tmp_path / "vectors" / "vectors.sqlite"
    one, two = shared.open(path, "model@1", DIMENSION), shared.open(path, "model@1", DIMENSION)
    ids = np.array(one.add(hashes(0, 3), vectors(3)))
    one.close()
    one.close()
    assert two.get(ids)[1].all()
    two.close()
    three = shared.open(path, "model@1", DIMENSION)
    assert three.find(hashes(0, 3)).keys() == set(hashes(0, 3))
    three.close()
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_where_nothing_can_be_written_vectors_are_read_all_the_same(path: Path) -> None:
    store = EmbeddingCacheFile.open(path, "model@1", DIMENSION)
    ids = np.array(store.add(hashes(0, 3), vectors(3)))
    store.close()
    path.chmod(0o400)
    path.parent.chmod(0o500)
    try:
        if os.access(path, os.W_OK):
            pytest.skip("this user may write everywhere")
        reading = EmbeddingCacheFile.open(path, "model@1", DIMENSION)
        assert reading.get(ids)[1].all()
        assert len(reading.find(hashes(0, 3))) == 3
        reading.close()
    finally:
        path.parent.chmod(0o700)
