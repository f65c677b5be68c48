"""The behaviour of every vector store, tested with the same assertions for Chroma and the in-memory one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from sidecar.engine.ports import VectorStore
from sidecar.errors import StoreFailed
from sidecar.parts.vectors.chroma import ChromaStore
from sidecar.parts.vectors.in_memory import InMemoryStore
from tests.parts.random_vectors import DIMENSION, ids, random_vectors


@pytest.fixture(params=[pytest.param("chroma", marks=pytest.mark.process), "in memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[VectorStore]:
    in_folder = request.param == "chroma"
    made: VectorStore = ChromaStore(tmp_path / "store", DIMENSION, "model") if in_folder else InMemoryStore(DIMENSION)
    yield made
    made.close()


def test_what_is_added_is_found_overwritten_and_removed_in_its_own_collection(store: VectorStore) -> None:
    vectors = random_vectors(50)
    big = 2**62
    store.add("code", np.concatenate([np.arange(49), ids(big)]), vectors)
    store.add("docs", ids(7), vectors[3:4])
    found, similarities = store.query("code", vectors[49], 3)
    assert found[0] == big
    assert similarities[0] == pytest.approx(1.0, abs=1e-5)
    assert list(similarities) == sorted(similarities, reverse=True)
    assert similarities[1] == pytest.approx(float(vectors[int(found[1])] @ vectors[49]), abs=1e-5)
    assert (store.count("code"), store.count("docs")) == (50, 1)

    store.add("code", ids(0), vectors[49:50])
    store.remove("code", ids(big, 12345))
    assert store.count("code") == 49
    assert store.query("code", vectors[49], 1)[0].tolist() == [0]
    assert store.query("docs", vectors[3], 10)[0].tolist() == [7]


def test_all_ids_are_listed_in_ascending_order_by_collection(store: VectorStore) -> None:
    store.add("code", ids(5, 3, 900, 1), random_vectors(4))
    store.add("docs", ids(4), random_vectors(1))
    store.remove("code", ids(3))
    store.add("code", ids(2), random_vectors(1))
    assert store.ids("code").tolist() == [1, 2, 5, 900]
    assert store.ids("docs").tolist() == [4]


def test_similarities_are_cosines_even_of_vectors_that_are_not_of_length_1(store: VectorStore) -> None:
    vectors = random_vectors(2)
    store.add("code", ids(0, 1), vectors * np.array([[3.0], [0.25]], np.float32))
    found, similarities = store.query("code", vectors[1] * 7, 2)
    assert found.tolist() == [1, 0]
    assert similarities == pytest.approx([1.0, float(vectors[0] @ vectors[1])], abs=1e-5)


def test_an_empty_collection_and_a_limit_of_nothing_answer_nothing(store: VectorStore) -> None:
    vector = random_vectors(1)[0]
    for limit in (0, 5):
        found, similarities = store.query("docs", vector, limit)
        assert (found.shape, similarities.shape) == ((0,), (0,))
    assert store.ids("docs").shape == (0,)
    store.add("docs", ids(), np.empty((0, DIMENSION), np.float32))
    store.remove("docs", ids())
    store.add("docs", ids(1), vector[None])
    assert store.query("docs", vector, 0)[0].shape == (0,)
    assert store.query("docs", vector, 100)[0].tolist() == [1]


def test_a_wrong_dimension_is_refused_and_harms_nothing(store: VectorStore) -> None:
    store.add("code", ids(1), random_vectors(1))
    with pytest.raises(StoreFailed, match="dimension 16"):
        store.add("code", ids(2), random_vectors(1, dimension=8))
    with pytest.raises(StoreFailed, match="dimension 16"):
        store.query("code", random_vectors(1, dimension=8)[0], 1)
    assert store.count("code") == 1


def test_a_store_is_fresh_until_it_is_filled_and_again_once_it_is_discarded(store: VectorStore) -> None:
    assert store.is_fresh()
    store.add("code", ids(1, 2), random_vectors(2))
    assert not store.is_fresh()
    store.discard()
    assert store.is_fresh()
    assert (store.count("code"), store.ids("code").tolist()) == (0, [])
    store.add("code", ids(3), random_vectors(1))
    assert not store.is_fresh()
    assert store.query("code", random_vectors(1)[0], 5)[0].tolist() == [3]


def test_a_closed_store_says_so_and_may_be_closed_again(store: VectorStore) -> None:
    store.add("code", ids(1), random_vectors(1))
    store.close()
    calls: tuple[Callable[[], object], ...] = (
        lambda: store.count("code"),
        lambda: store.ids("code"),
        lambda: store.add("code", ids(2), random_vectors(1)),
        lambda: store.remove("code", ids(1)),
        lambda: store.query("code", random_vectors(1)[0], 1),
    )
    for call in calls:
        with pytest.raises(StoreFailed, match="closed"):
            call()
    store.close()


def test_threads_may_add_remove_and_ask_at_the_same_time(store: VectorStore) -> None:
    vectors = random_vectors(400)
    failures: list[Exception] = []

    def work(part: range) -> None:
        try:
            for start in part:
                rows = np.arange(start * 20, start * 20 + 20)
                store.add("code", rows, vectors[rows])
                store.remove("code", rows[:5])
                assert store.query("code", vectors[rows[7]], 1)[0].tolist() == [rows[7]]
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(range(n, 20, 4),)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert store.ids("code").tolist() == [i for i in range(400) if i % 20 >= 5]


@pytest.mark.process
def test_a_folder_in_place_of_the_stores_lock_makes_way_for_one(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    store = ChromaStore(folder, DIMENSION, "model")
    store.add("code", ids(3), random_vectors(1))
    store.close()
    (lock,) = folder.rglob("worker.lock")
    lock.unlink()
    lock.mkdir()
    again = ChromaStore(folder, DIMENSION, "model")
    assert again.ids("code").tolist() == [3]
    again.close()
