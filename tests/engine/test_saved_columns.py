"""The arrays of a large index are read from a file, which is used only as far as the manifest confirms it."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from sidecar.engine.index.array_file import ArrayFile, read_arrays, write_arrays
from sidecar.engine.index.snapshot import Snapshot, Snapshots
from tests.engine.search_index import PATH_WEIGHT, SmallIndex, small_index
from tests.engine.test_snapshots import assert_same, change

FILES = {f"{name}.py": f"def {name}():\n    return 1\n\n\nclass C:\n    pass\n" for name in ("one", "two", "three")}


@pytest.fixture
def index(tmp_path: Path) -> Iterator[SmallIndex]:
    with small_index(tmp_path, FILES) as index:
        yield index


def opened(index: SmallIndex) -> Snapshots:
    return Snapshots(index.manifest.path, lambda: index.kept, PATH_WEIGHT, saved_from=1)


def save(index: SmallIndex) -> Path:
    snapshots = opened(index)
    with snapshots.open():
        pass
    snapshots.close(keep=True)
    return index.manifest.path.with_name("columns")


@contextmanager
def same_as_from_nothing(index: SmallIndex) -> Iterator[Snapshot]:
    saved, nothing = opened(index), Snapshots(index.manifest.path, lambda: index.kept, PATH_WEIGHT)
    with saved.open() as snapshot, nothing.open() as fresh:
        assert_same(snapshot, fresh)
        yield snapshot
    saved.close()
    nothing.close()


def forget_lines(index: SmallIndex) -> None:
    """Changes rows without a commit of ours, so only a process that reads them again can notice."""
    with sqlite3.connect(index.manifest.path) as connection:
        connection.execute("UPDATE chunks SET start_line = 77")
    connection.close()


def test_an_index_is_opened_from_its_file_without_reading_its_rows(index: SmallIndex) -> None:
    save(index)
    forget_lines(index)
    snapshots = opened(index)
    with snapshots.open() as snapshot:
        assert 77 not in snapshot.chunk_start.tolist()
        assert sorted(snapshot.paths) == sorted(FILES)
    snapshots.close()


@pytest.mark.parametrize("seed", range(4))
def test_what_was_written_since_is_read_from_the_manifest(index: SmallIndex, seed: int) -> None:
    chance, present = random.Random(seed), set(FILES)
    for _ in range(8):
        save(index)
        for _ in range(chance.randrange(4)):
            change(index, chance, present)
        with same_as_from_nothing(index):
            pass


def test_a_search_finds_a_file_that_was_saved_after_the_arrays_were(index: SmallIndex) -> None:
    save(index)
    index.put({"four.py": "def four():\n    return 4\n"})
    assert index.paths("four")[0] == "four.py"


@pytest.mark.parametrize("damage", ["a bit", "the end", "the beginning", "all", "more"])
def test_a_damaged_file_is_not_believed_and_is_written_anew(index: SmallIndex, damage: str) -> None:
    path = save(index)
    whole = path.read_bytes()
    at = random.Random(damage).randrange(200, len(whole))
    damaged = {
        "a bit": whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :],
        "the end": whole[:at],
        "the beginning": whole[at:],
        "all": b"",
        "more": whole + b"\0",
    }
    path.write_bytes(damaged[damage])
    with same_as_from_nothing(index):
        pass
    assert path.read_bytes() == whole


def test_a_file_of_another_manifest_or_another_embedding_cache_is_not_believed(index: SmallIndex) -> None:
    path = save(index)
    for key in ("kept_uuid", "kept_releases", "file_id", "created"):
        with index.manifest.transaction():
            index.manifest.set_meta(**{key: "another"})
        forget_lines(index)
        with same_as_from_nothing(index) as snapshot:
            assert set(snapshot.chunk_start.tolist()) == {77}
        assert path.exists()


def test_a_file_of_a_later_state_than_the_manifests_is_not_believed(index: SmallIndex) -> None:
    path = save(index)
    before = path.read_bytes()
    with sqlite3.connect(index.manifest.path) as connection:
        connection.execute("UPDATE meta SET value = value - 1 WHERE key = 'revision'")
        connection.execute("UPDATE chunks SET start_line = 77")
    connection.close()
    with same_as_from_nothing(index) as snapshot:
        assert set(snapshot.chunk_start.tolist()) == {77}
    assert path.read_bytes() != before


def test_vectors_that_were_given_up_and_made_again_are_seen_by_who_has_the_index_open(index: SmallIndex) -> None:
    with index.snapshot() as before:
        old = before.chunk_vector.copy()
    with index.manifest.transaction() as connection:
        index.manifest.forget_vectors(np.unique(old))
        index.manifest.set_meta(kept_releases=1)
        connection.execute("UPDATE chunks SET vector_id = id + 1000")
    with index.snapshot() as after:
        assert (after.chunk_vector == after.chunk_ids + 1000).all()


def test_a_small_index_has_no_file(index: SmallIndex) -> None:
    snapshots = Snapshots(index.manifest.path, lambda: index.kept, PATH_WEIGHT)
    with snapshots.open():
        pass
    snapshots.close(keep=True)
    assert not index.manifest.path.with_name("columns").exists()


def test_arrays_come_back_from_a_file_as_they_were(tmp_path: Path) -> None:
    arrays: dict[str, NDArray[Any]] = {
        "letters": np.arange(3, dtype=np.uint8),
        "numbers": np.arange(6, dtype=np.int64),
        "matrix": np.arange(6, dtype=np.float32).reshape(2, 3),
        "empty": np.zeros((0, 4), np.int8),
    }
    assert write_arrays(tmp_path / "file", ArrayFile({"paths": ["a\nb"]}, arrays))
    found = read_arrays(tmp_path / "file")
    assert found is not None
    assert found.facts == {"paths": ["a\nb"]}
    for name, array in arrays.items():
        assert found.arrays[name].dtype == array.dtype
        assert np.array_equal(found.arrays[name], array)
        assert found.arrays[name].flags.aligned and not found.arrays[name].flags.writeable
        assert found.arrays[name].base is None, "it can outlive the others"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_an_array_of_the_same_kind_and_shape_is_read_into_the_given_memory(tmp_path: Path) -> None:
    matrix = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert write_arrays(tmp_path / "file", ArrayFile({}, {"first": np.arange(3), "matrix": matrix}))
    memory = np.zeros((4, 3), np.float32)
    found = read_arrays(tmp_path / "file", {"matrix": memory[1:3], "other": memory})
    assert found is not None and found.arrays["matrix"].base is memory
    assert np.array_equal(memory, [[0, 0, 0], [0, 1, 2], [3, 4, 5], [0, 0, 0]])
    for other in (np.zeros((1, 3), np.float32), np.zeros((2, 3))):
        found = read_arrays(tmp_path / "file", {"matrix": other})
        assert found is not None and np.array_equal(found.arrays["matrix"], matrix)
        assert not np.may_share_memory(found.arrays["matrix"], other) and not other.any()
    content = (tmp_path / "file").read_bytes()
    for place in (0, 70, len(content) - 45, len(content) - 1):
        (tmp_path / "file").write_bytes(content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :])
        assert read_arrays(tmp_path / "file", {"matrix": memory[1:3]}) is None
    (tmp_path / "file").write_bytes(content[:-1])
    assert read_arrays(tmp_path / "file") is None


def test_a_file_that_cannot_be_written_is_left_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    assert not write_arrays(tmp_path / "folder", ArrayFile({}, {}))
    assert not write_arrays(tmp_path / "missing" / "file", ArrayFile({}, {}))
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
