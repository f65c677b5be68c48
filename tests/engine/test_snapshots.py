"""Snapshots made from the former revision equal those made from nothing, whatever happened in between."""

from __future__ import annotations

import random
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.engine.index.arrays import Kept
from sidecar.engine.index.snapshot import Snapshot, Snapshots
from sidecar.engine.search.rank import index_columns
from sidecar.engine.search.rank.index_columns import ChunkNorms, IndexColumns, RowTable, aligned, columns_of
from tests.engine.search_index import PATH_WEIGHT, SmallIndex, small_index
from tests.examples import examples

PLAIN = ("file_ids", "paths", "languages", "file_collection", "file_vector", "chunk_ids", "chunk_file", "chunk_start",
         "chunk_end", "chunk_slot", "chunk_vector", "revision")  # fmt: skip


def text_of(chance: random.Random) -> str:
    names = [f"name_{chance.randrange(50)}" for _ in range(chance.randrange(6))]
    return "\n\n".join(f"def {name}(value):\n    return other_{name}(value)\n" for name in names)


def change(index: SmallIndex, chance: random.Random, present: set[str]) -> None:
    """One commit: files added, changed or removed, segments merged, or missing vectors filled in."""
    kind = chance.choice(("put", "put", "put", "bare", "remove", "merge", "vectors"))
    paths = {f"{chance.choice('ab')}/{chance.randrange(30)}.{chance.choice(('py', 'md', 'go'))}" for _ in range(3)}
    if kind in ("put", "bare"):
        index.put({path: text_of(chance) for path in paths}, embed=kind == "put")
        present |= paths
    elif kind == "remove":
        index.remove(*(paths & present or sorted(present)[:1]))
        present -= paths
    elif kind == "merge":
        with index.manifest.transaction() as connection:
            index.lexical.merge_segments(connection, force=chance.random() < 0.5)
    else:
        missing = index.manifest.without_vector(5)
        with index.manifest.transaction():
            index.manifest.set_vectors([(m.chunk_id, 7) for m in missing], [(m.file_id, 8) for m in missing])


def assert_same(snapshot: Snapshot, fresh: Snapshot) -> None:
    for name in PLAIN:
        left, right = getattr(snapshot, name), getattr(fresh, name)
        assert type(left) is type(right)
        assert getattr(left, "dtype", None) == getattr(right, "dtype", None)
        assert np.array_equal(left, right), name
    assert [snapshot.kinds[k] for k in snapshot.chunk_kind] == [fresh.kinds[k] for k in fresh.chunk_kind]
    ids = np.arange(-2, 500, dtype=np.int64)
    for collection in (0, 1):
        left_columns, right_columns = columns_of(snapshot, collection), columns_of(fresh, collection)
        for field in fields(IndexColumns):
            ours, others = getattr(left_columns, field.name), getattr(right_columns, field.name)
            if isinstance(ours, RowTable):
                ours, others = ours.rows(ids), others.rows(ids)
            if isinstance(ours, ChunkNorms):
                ours = ours[np.flatnonzero(left_columns.in_collection).astype(np.int32)]
                others = others[np.flatnonzero(right_columns.in_collection).astype(np.int32)]
            assert np.array_equal(ours, others), field.name
        assert np.array_equal(snapshot.embedded_rows(collection), fresh.embedded_rows(collection))


@pytest.mark.parametrize("seed", range(6))
def test_a_snapshot_from_the_former_one_equals_one_from_nothing(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    present: set[str] = set()
    with small_index(tmp_path, {}) as index:
        for _ in range(25):
            for _ in range(chance.randrange(1, 9)):
                change(index, chance, present)
            if chance.random() < 0.3:
                with index.snapshot():  # a reader that asks for no lengths
                    continue
            nothing_known = Snapshots(index.manifest.path, lambda: None, PATH_WEIGHT)
            with index.snapshot() as snapshot, nothing_known.open() as fresh:
                assert_same(snapshot, fresh)
                assert index.manifest.count_chunks() == len(fresh.chunk_ids)
            nothing_known.close()


def test_an_older_snapshot_still_finds_its_lengths_after_a_newer_one_was_read(tmp_path: Path) -> None:
    chance = random.Random(1)
    with small_index(tmp_path, {"a/1.py": text_of(chance) + "x = 1\n", "b/2.py": "y = 2\n"}) as index:
        nothing_known = Snapshots(index.manifest.path, lambda: None, PATH_WEIGHT)
        with index.snapshot() as old, nothing_known.open() as fresh:
            index.remove("a/1.py")
            index.put({"b/3.py": "z = 3\n"})
            with index.snapshot() as new:
                columns_of(new, 0)
            assert_same(old, fresh)
        nothing_known.close()


def test_an_older_snapshot_has_columns_of_its_own_after_its_newest_file_was_saved_again(tmp_path: Path) -> None:
    chance = random.Random(2)
    texts = {f"a/{number}.py": text_of(chance) + "x = 1\n" for number in range(9)}
    with small_index(tmp_path, texts) as index:
        index.put({"a/8.py": text_of(chance) + "y = 2\n"})
        nothing_known = Snapshots(index.manifest.path, lambda: None, PATH_WEIGHT)
        with index.snapshot() as old, nothing_known.open() as fresh:
            for collection in (0, 1):
                columns_of(fresh, collection)
            index.put({"a/8.py": text_of(chance) + "z = 3\n" + text_of(chance)})
            with index.snapshot() as new:
                for collection in (0, 1):
                    columns_of(new, collection)
            assert_same(old, fresh)
        nothing_known.close()


@pytest.mark.parametrize("files", [20, 400])
def test_new_files_cost_no_copy_of_the_arrays_however_many_files_there_are(tmp_path: Path, files: int) -> None:
    chance = random.Random(files)
    with small_index(tmp_path, {f"a/{number}.py": text_of(chance) + "x = 1\n" for number in range(files)}) as index:
        with index.snapshot() as before:
            copied = before.rooms.copied
        for number in range(5):
            index.put({f"b/{number}.py": text_of(chance) + "x = 1\n"})
            with index.snapshot() as snapshot:
                assert snapshot.rooms.copied == copied
        assert np.shares_memory(snapshot.chunk_ids, before.chunk_ids)
        nothing_known = Snapshots(index.manifest.path, lambda: None, PATH_WEIGHT)
        with nothing_known.open() as fresh:
            assert_same(snapshot, fresh)
        nothing_known.close()


def test_columns_of_a_revision_with_only_new_files_continue_those_of_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(3)
    with small_index(tmp_path, {f"a/{number}.py": text_of(chance) + "x = 1\n" for number in range(9)}) as index:
        index.put({"a/1.md": "# words\n"})
        for number in range(2):  # the first change makes room
            index.put({f"b/{number}.py": text_of(chance) + "x = 1\n"})
            with index.snapshot() as snapshot:
                former = [columns_of(snapshot, collection) for collection in (0, 1)]
        nothing_known = Snapshots(index.manifest.path, lambda: None, PATH_WEIGHT)
        index.put({"c/1.py": text_of(chance) + "y = 1\n", "c/1.md": "# more words\n"})
        with nothing_known.open() as fresh:
            for collection in (0, 1):
                columns_of(fresh, collection)
            with monkeypatch.context() as patched, index.snapshot() as snapshot:
                patched.setattr(index_columns, "_made_anew", None)
                patched.setattr(index_columns, "read_lengths", None)
                assert_same(snapshot, fresh)
            assert [columns.chunks.rows(np.array([10**6])).tolist() for columns in former] == [[-1], [-1]]
        nothing_known.close()


def test_columns_of_a_revision_with_changed_and_removed_files_are_moved_and_not_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(4)
    texts = {f"a/{number}.{'md' if number % 4 == 1 else 'py'}": text_of(chance) + "x = 1\n" for number in range(30)}
    with small_index(tmp_path, texts) as index:
        index.put({"a/1.py": "", "a/5.md": "# words\n"})
        with index.snapshot() as snapshot:
            former = [columns_of(snapshot, collection) for collection in (0, 1)]
        steps: list[dict[str, str]] = [
            {"a/0.py": "y = 1\n"},
            {"a/12.py": "z = 1\n", "a/13.md": "# more\n"},
            {},
            {"b.py": ""},
        ]
        for put in steps:
            index.put(put) if put else index.remove("a/20.py", "a/21.md")
            nothing_known = Snapshots(index.manifest.path, lambda: None, PATH_WEIGHT)
            with nothing_known.open() as fresh:
                for collection in (0, 1):
                    columns_of(fresh, collection)
                with monkeypatch.context() as patched, index.snapshot() as snapshot:
                    patched.setattr(index_columns, "_made_anew", None)
                    assert_same(snapshot, fresh)
            nothing_known.close()
        assert [columns.chunks.rows(columns.chunk_ids).max() for columns in former] == [
            np.flatnonzero(columns.in_collection)[-1] for columns in former
        ]


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(1, 700), st.sampled_from([0.002, 0.05, 0.5]), st.sampled_from([1, 3]), st.integers(0, 2**32))
def test_rows_are_found_in_a_table_that_was_moved(size: int, share: float, apart: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    known = np.cumsum(chance.integers(1, apart + 1, size)).astype(np.int64)
    ids = known[chance.random(size) >= share]
    ours = np.flatnonzero(chance.random(size) < 0.6).astype(np.int32)
    shared = aligned(ids, known)
    moved = RowTable(known[ours], ours).moved(known, shared or [])
    if moved is None:
        assert not shared or len(ids) < size
        return
    mine = set(known[ours].tolist())
    rows = {one: row for row, one in enumerate(ids.tolist()) if one in mine}
    asked = np.arange(-2, int(known[-1]) + 3)
    assert moved.rows(asked).tolist() == [rows.get(one, -1) for one in asked.tolist()]


def test_missing_vectors_are_filled_in_without_changing_what_a_former_snapshot_sees(tmp_path: Path) -> None:
    with small_index(tmp_path, {"a/1.py": "x = 1\n"}) as index:
        index.put({"a/2.py": "y = 2\n"}, embed=False)
        with index.snapshot() as former:
            missing = index.manifest.without_vector(5)
            with index.manifest.transaction():
                index.manifest.set_vectors([(m.chunk_id, 7) for m in missing], [(m.file_id, 8) for m in missing])
            with index.snapshot() as snapshot:
                assert snapshot.chunk_vector.tolist()[1:] == [7]
            assert former.chunk_vector.tolist()[1:] == [0]


def test_a_vector_that_is_missing_among_many_is_looked_up_without_reading_those_between(tmp_path: Path) -> None:
    with small_index(tmp_path, {}) as index:
        index.put({"a/first.py": "x = 1\n"}, embed=False)
        index.put({f"a/{number}.py": "x = 1\n" for number in range(60)})
        index.put({"a/last.py": "x = 1\n"}, embed=False)
        with index.snapshot() as known:
            asked: list[str] = []
            known.connection.set_trace_callback(asked.append)
            reader = known.connection
        with index.manifest.transaction() as connection:
            connection.execute("UPDATE chunks SET vector_id = 9 WHERE vector_id = 0")
            connection.execute("UPDATE files SET path_vector = 9 WHERE path_vector = 0")
        with index.snapshot() as snapshot:
            assert snapshot.connection is reader
            assert [snapshot.chunk_vector[0], snapshot.chunk_vector[-1]] == [9, 9]
        reader.set_trace_callback(None)
        assert not any("BETWEEN" in one for one in asked)
        assert sum("vector" in one and "IN (1,62)" in one for one in asked) == 2


def test_rows_are_found_by_scattered_ids_in_any_order() -> None:
    ids = np.array([9_000_000, 5, 77, 40_000], np.int64)
    assert RowTable(ids).rows(np.array([5, 6, 40_000, 9_000_000, 77, 9_000_001])).tolist() == [1, -1, 3, 0, 2, -1]
    assert RowTable(ids[1:3]).rows(np.array([4, 5, 77, 78])).tolist() == [-1, 0, 1, -1]
    assert RowTable(ids[:0]).rows(np.array([0, 5])).tolist() == [-1, -1]


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(0, 700), st.sampled_from([0.0, 0.002, 0.05, 0.5, 1.0]), st.integers(0, 2**32))
def test_rows_that_stay_are_copied_alike_whether_few_or_many_are_gone(size: int, share: float, seed: int) -> None:
    chance = np.random.default_rng(seed)
    mask, values = chance.random(size) >= share, chance.integers(0, 99, size)
    added = np.array([100, 101])
    kept = Kept(np.flatnonzero(~mask), size)
    assert np.array_equal(kept.followed_by("any", values, added), np.concatenate([values[mask], added]))
    listed = kept.listed([str(value) for value in values], map(str, added))
    assert listed == [*map(str, values[mask]), *map(str, added)]


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(0, 700), st.sampled_from([0.0, 0.002, 0.05, 0.5, 1.0]), st.integers(0, 2**32))
def test_stretches_that_two_lists_of_ids_share_are_all_of_what_they_share(size: int, share: float, seed: int) -> None:
    chance = np.random.default_rng(seed)
    every = np.cumsum(chance.integers(1, 3, size)).astype(np.int64)
    ids, known = every[chance.random(size) >= share], every[chance.random(size) >= share]
    found = aligned(ids, known)
    if found is None:
        assert share > 0
        return
    common = np.intersect1d(ids, known)
    assert np.array_equal(np.concatenate([np.zeros(0), *(ids[at : at + n] for at, _, n in found)]), common)
    assert np.array_equal(np.concatenate([np.zeros(0), *(known[at : at + n] for _, at, n in found)]), common)


@settings(max_examples=examples(100), deadline=None)
@given(st.integers(1, 700), st.sampled_from([1, 2, 9]), st.integers(0, 2**32))
def test_rows_are_found_whether_ids_lie_side_by_side_or_apart(size: int, apart: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    ids = np.cumsum(chance.integers(1, apart + 1, size)).astype(np.int64)
    order = chance.permutation(size).astype(np.int32) if chance.random() < 0.5 else np.arange(size, dtype=np.int32)
    asked = np.arange(-2, int(ids[-1]) + 3)
    rows = dict(zip(ids.tolist(), order.tolist(), strict=True))
    assert RowTable(ids, order).rows(asked).tolist() == [rows.get(one, -1) for one in asked.tolist()]
