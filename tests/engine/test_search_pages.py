"""Search over a small real index: filters, pages, budgets, merged chunks, changes, the vector store and its absence."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from sidecar.engine.index.vector_cache import VectorCache
from sidecar.engine.search.budget import within_budget
from sidecar.engine.search.source import NearestChunks
from sidecar.engine.search.vector_search import EXACT
from sidecar.errors import Cancelled, InvalidPattern, StoreFailed
from sidecar.model.answers import Hit, SearchRequest
from sidecar.model.terms import Collection, Ids, Vectors
from sidecar.parts.vectors.four_bits import FourBitProducts
from tests.engine.search_index import ListedStore, SmallIndex, shipped_model, small_index
from tests.patience import PATIENCE_S


def module(number: int) -> str:
    return (
        f"class Worker{number}:\n    '''Runs queue number {number}.'''\n\n"
        f"    def run_queue(self, job):\n        return job.execute({number})\n"
    )


LITTLE_BYTES = 100_000

FILES = {
    **{f"workers/worker{i}.py": module(i) for i in range(30)},
    "web/app.ts": "export function runQueue(job: Job) {\n  return job.execute();\n}\n",
    "lib/queue.go": "package lib\n\nfunc RunQueue(job Job) error {\n\treturn job.Execute()\n}\n",
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallIndex]:
    with small_index(tmp_path_factory.mktemp("index"), FILES) as index:
        yield index


def by_line(hit: Hit) -> int:
    return hit.start_line


MODES = ("hybrid", "vector", "fts")


@pytest.mark.parametrize("mode", MODES)
def test_filters_hold_in_every_mode(index: SmallIndex, mode: str) -> None:
    assert set(index.paths("run queue", mode=mode, paths=("web/**", "lib/*.go"))) == {"web/app.ts", "lib/queue.go"}
    assert index.paths("run queue", mode=mode, languages=("Go",)) == ["lib/queue.go"]
    kinds = {hit.kind for hit in index.search("run queue", mode=mode, kinds=("class",)).hits}
    assert kinds == {"class"}
    assert index.paths("run queue", mode=mode, exact=("func RunQueue(",)) == ["lib/queue.go"]
    assert index.paths("run queue", mode=mode, exact=("job.execute()", "export function")) == ["web/app.ts"]
    assert index.paths("run queue", mode=mode, exact=("func runqueue(",)) == []
    nothing = index.search("run queue", mode=mode, paths=("nowhere/**",))
    assert (nothing.hits, nothing.total, nothing.notice) == ((), 0, "")


def test_a_filter_is_settled_before_ranking_so_that_nothing_is_crowded_out(index: SmallIndex) -> None:
    assert index.paths("run queue", top_k=1, paths=("lib/**",)) == ["lib/queue.go"]


def test_a_malformed_glob_is_refused(index: SmallIndex) -> None:
    with pytest.raises(InvalidPattern):
        index.search("queue", paths=("{a,b",))


@pytest.mark.parametrize("mode", MODES)
def test_pages_laid_end_to_end_are_the_whole_list(index: SmallIndex, mode: str) -> None:
    whole = index.search("run queue", mode=mode, top_k=1000)
    assert whole.total == len(whole.hits)
    pages = [
        hit for at in range(0, whole.total, 7) for hit in index.search("run queue", mode=mode, top_k=7, offset=at).hits
    ]
    assert tuple(pages) == whole.hits
    spans = [(hit.path, hit.start_line) for hit in whole.hits]
    assert len(set(spans)) == len(spans)
    assert index.search("run queue", mode=mode, offset=whole.total).hits == ()


def test_equal_scores_are_ordered_by_path_then_line(tmp_path: Path) -> None:
    same = "def halt():\n    return stop_engine()\n"
    with small_index(tmp_path, {f"{name}/one.py": same for name in "dbca"}) as index:
        hits = index.search("stop engine", mode="fts").hits
        assert len({hit.score for hit in hits}) == 1
        assert [hit.path for hit in hits] == ["a/one.py", "b/one.py", "c/one.py", "d/one.py"]


def test_a_token_budget_is_kept_but_one_hit_always_comes(index: SmallIndex) -> None:
    whole = index.search("run queue", top_k=10).hits
    some = index.search("run queue", top_k=10, token_budget=100).hits
    assert some[:-1] == whole[: len(some) - 1]
    assert some[-1].content in whole[len(some) - 1].content
    assert sum(len(hit.content) for hit in some) <= 400 < sum(len(hit.content) for hit in whole[: len(some) + 1])
    assert len(index.search("run queue", token_budget=1).hits) == 1


def test_a_budget_of_nothing_means_no_budget() -> None:
    hits = [Hit("a", 1, 2, "x" * 4000, 0.5, "python", "code")] * 3
    assert len(within_budget(hits, 0, lambda hit: [])) == 3
    assert len(within_budget(hits, 2000, lambda hit: [])) == 2


def long_function(name: str, lines: int) -> str:
    return f"def {name}(engine):\n" + "".join(f"    engine.ignite(stage_{i}_{name}, {i})\n" for i in range(lines))


def test_chunks_that_touch_come_as_one_hit(tmp_path: Path) -> None:
    with small_index(tmp_path, {"rocket.py": long_function("launch", 60)}) as index:
        with index.snapshot() as snapshot:
            assert len(snapshot.chunk_ids) > 1
        hits = index.search("ignite engine").hits
        covered = [line for hit in hits for line in range(hit.start_line, hit.end_line + 1)]
        assert len(covered) == len(set(covered))
        assert all(one.end_line + 1 < other.start_line for one, other in pairwise(sorted(hits, key=by_line)))


def test_a_chunk_that_repeats_another_of_its_file_is_shown_once(tmp_path: Path) -> None:
    body = "".join(f"    total = combine(total, weigh(sample_{i}), scale_{i})\n" for i in range(25))
    text = "\n\n".join(f"def measure(samples):\n{body}    return total\n\n\nx{i} = {i}\n" for i in range(2))
    with small_index(tmp_path, {"twice.py": text}) as index:
        assert sum("def measure" in hit.content for hit in index.search("combine weigh sample").hits) == 1


def test_a_merged_hit_holds_the_lines_of_its_span_once(tmp_path: Path) -> None:
    text = "".join(
        f"def step_{i}(engine):\n    engine.ignite_rocket({i})\n    engine.wait({i})\n\n\n" for i in range(60)
    )
    lines = text.split("\n")
    with small_index(tmp_path, {"rocket.py": text}) as index:
        for hit in index.search("ignite rocket").hits:
            assert hit.content.rstrip("\n") == "\n".join(lines[hit.start_line - 1 : hit.end_line]).rstrip("\n")


def test_one_huge_file_gives_its_best_places_and_not_itself(tmp_path: Path) -> None:
    text = "".join(f"def handler_{i}(request):\n    return reply(request, {i})\n\n\n" for i in range(2000))
    with small_index(tmp_path, {"huge.py": text}) as index:
        answer = index.search("handler_1234")
        assert 1 <= len(answer.hits) <= 3
        assert "def handler_1234(" in answer.hits[0].content
        assert all(hit.end_line - hit.start_line < 200 for hit in answer.hits)


def test_a_workspace_of_tests_alone_is_ranked_all_the_same(tmp_path: Path) -> None:
    files = {
        f"tests/test_{n}.py": f"def test_{n}():\n    assert {n}() == 1\n" for n in ("parsing", "printing", "loading")
    }
    with small_index(tmp_path, files) as index:
        assert index.paths("printing")[0] == "tests/test_printing.py"
        assert index.search("printing").hits[0].score > 0.5


def test_documents_under_docs_are_not_held_for_examples(tmp_path: Path) -> None:
    files = {"docs/caching.md": "# Caching pages\n\nHow pages are cached.\n", "NEWS.md": "# News\n\nPages, caching.\n"}
    with small_index(tmp_path, files) as index:
        assert index.paths("caching pages", collection="docs")[0] == "docs/caching.md"


def test_an_empty_index_answers_with_nothing(tmp_path: Path) -> None:
    with small_index(tmp_path, {}) as index:
        for mode in MODES:
            assert index.search("anything", mode=mode).total == 0


def test_a_changed_file_is_found_by_its_new_words_only(tmp_path: Path) -> None:
    with small_index(tmp_path, {"a.py": "def old_name():\n    pass\n", "b.py": "def other():\n    pass\n"}) as index:
        index.put({"a.py": "def fresh_name():\n    pass\n"})
        assert index.paths("old_name", mode="fts") == ["a.py"]  # by the part `name`
        assert index.paths("fresh", mode="fts") == ["a.py"]
        assert index.paths("old", mode="fts") == []
        index.remove("a.py")
        assert index.paths("fresh", mode="fts") == []
        before = index.search("other").hits
        index.merge()
        assert index.search("other").hits == before


def test_answers_do_not_depend_on_the_order_in_which_files_were_indexed(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    with small_index(tmp_path / "one", FILES) as one, small_index(tmp_path / "other", {}) as other:
        for path in sorted(FILES, reverse=True):
            other.put({path: "def draft():\n    return 'queue'\n"})
            other.put({path: FILES[path]})
        for mode in MODES:
            for query in ("run queue", "Worker7", "job execute"):
                assert other.search(query, mode=mode, top_k=50).hits == one.search(query, mode=mode, top_k=50).hits


def test_chunks_without_vectors_are_found_by_word_and_the_answer_says_it_is_partial(tmp_path: Path) -> None:
    with small_index(tmp_path, {"a.py": "def first():\n    pass\n"}) as index:
        index.put({"b.py": "def second():\n    pass\n"}, embed=False)
        answer = index.search("second")
        assert answer.hits[0].path == "b.py"
        assert answer.notice == "Partial: 1 of 2 chunks have a vector so far; the others are found by word only."
        assert index.search("second", mode="fts").notice == ""
        by_vector = index.search("second", mode="vector")
        assert [hit.path for hit in by_vector.hits] == ["a.py"]
        assert by_vector.notice.endswith("the others are not searched yet.")


class FailingStore(ListedStore):
    def query(self, collection: Collection, vector: Vectors, limit: int) -> tuple[Ids, Vectors]:
        raise StoreFailed("The store's process ended.")


def many(count: int) -> dict[str, str]:
    return {f"m{i // 40}/f{i}.py": f"def task_{i}():\n    return {i}\n" for i in range(count)}


@pytest.fixture(scope="module")
def big(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SmallIndex, np.ndarray, np.ndarray]]:
    """Yields an index with more chunks than fit into memory, so that the store is asked; with the store's slots and
    vectors."""
    with small_index(tmp_path_factory.mktemp("big"), many(EXACT + 300)) as whole:
        index = whole.with_room(LITTLE_BYTES)
        with index.manifest.transaction() as connection:
            connection.execute("DELETE FROM pending_slots")
        with index.snapshot() as snapshot:
            vectors, _ = snapshot.vectors(np.arange(len(snapshot.chunk_ids), dtype=np.int32))
            yield index, snapshot.chunk_slot, vectors


def with_store(index: SmallIndex, store: NearestChunks | None) -> SmallIndex:
    return index.with_parts(shipped_model, lambda: store)


def test_the_store_gives_the_same_answer_as_the_kept_vectors(big: tuple[SmallIndex, np.ndarray, np.ndarray]) -> None:
    index, slots, vectors = big
    store = ListedStore(slots, vectors)
    for mode in ("vector", "hybrid"):
        by_store = with_store(index, store).search("task_777", mode=mode)
        exactly = with_store(index, None).search("task_777", mode=mode)
        failed = with_store(index, FailingStore(slots, vectors)).search("task_777", mode=mode)
        assert by_store.hits == exactly.hits == failed.hits
        assert by_store.notice == failed.notice == ""
    assert store.limits


def test_while_memory_has_room_for_all_vectors_they_are_compared_and_the_store_is_not_asked(
    big: tuple[SmallIndex, np.ndarray, np.ndarray],
) -> None:
    index, slots, vectors = big
    store = ListedStore(slots, vectors)
    roomy = with_store(index.with_room(5 * vectors.size), store)
    for mode in ("vector", "hybrid"):
        assert roomy.search("task_777", mode=mode).hits == with_store(index, store).search("task_777", mode=mode).hits
    assert len(store.limits) == 2
    unused = roomy.with_parts(shipped_model, lambda: pytest.fail("the store is not even looked up"))
    assert unused.search("task_778").hits


@pytest.mark.parametrize("query", ["task_777", "return 5", "how is a task made", "zzz", "def"])
def test_vectors_that_fit_only_as_integers_give_the_same_answers_without_the_store(
    big: tuple[SmallIndex, np.ndarray, np.ndarray], query: str
) -> None:
    index, _, vectors = big
    exact = with_store(index, None)
    expected = {mode: exact.search(query, mode=mode, top_k=30).hits for mode in ("vector", "hybrid")}
    for block in (1024, 500):
        room = 4 * vectors.shape[1] * block + (vectors.shape[1] + 8) * len(vectors)
        assert room < vectors.nbytes / 2
        cache = VectorCache(room, FourBitProducts, block)
        rough = index.with_cache(cache).with_parts(shipped_model, lambda: pytest.fail("the store is not asked"))
        for mode in 2 * list(expected):
            assert rough.search(query, mode=mode, top_k=30).hits == expected[mode]
        compared = cache.compare(np.array([1]), vectors[0], lambda at: pytest.fail("it is in memory"), rough=True)
        assert compared.rough is not None and compared.rough.all()


def test_a_search_is_cancelled_while_vectors_are_read(big: tuple[SmallIndex, np.ndarray, np.ndarray]) -> None:
    index, _, vectors = big
    asked = 0

    def cancelled() -> bool:  # by the second block at the latest
        nonlocal asked
        asked += 1
        return asked > 1

    with index.with_room(5 * vectors.size).source() as source, pytest.raises(Cancelled):
        index.searcher.search(source, SearchRequest("task_777", mode="vector"), cancelled)


def test_vectors_that_are_not_whole_yet_are_compared_too_but_not_remembered(tmp_path: Path) -> None:
    with small_index(tmp_path, {"a.py": "def first():\n    pass\n", "b.py": "def second():\n    pass\n"}) as index:
        with index.manifest.transaction() as connection:
            connection.execute("UPDATE files SET path_vector = 0 WHERE path = 'b.py'")
            connection.execute("UPDATE meta SET value = value + 1 WHERE key = 'revision'")
        vector = shipped_model().embed_query("second")
        rows = np.arange(2, dtype=np.int32)
        with index.snapshot() as snapshot:
            first = snapshot.cosines(rows, vector, lambda: None)
            vectors, _ = snapshot.vectors(rows)
            read: list[int] = []
            again = snapshot.cosines(rows, vector, lambda: read.append(1))
        assert first.found.all()
        np.testing.assert_allclose(first.products, vectors @ vector, atol=1e-6)
        np.testing.assert_allclose(again.products, first.products, atol=1e-6)
        assert read == [1]


class AwaitedStore(ListedStore):
    """Answers once `words_are_found`."""

    def __init__(self, slots: Ids, vectors: Vectors) -> None:
        super().__init__(slots, vectors)
        self.words_are_found = threading.Event()

    def query(self, collection: Collection, vector: Vectors, limit: int) -> tuple[Ids, Vectors]:
        assert self.words_are_found.wait(PATIENCE_S)
        return super().query(collection, vector, limit)


def test_words_are_looked_up_while_the_store_answers(big: tuple[SmallIndex, np.ndarray, np.ndarray]) -> None:
    index, slots, vectors = big
    store = AwaitedStore(slots, vectors)
    waiting = with_store(index, store)

    def cancelled() -> bool:  # is asked between words and vectors
        store.words_are_found.set()
        return False

    with waiting.source() as source:
        answer = waiting.searcher.search(source, SearchRequest("task_777"), cancelled)
    assert answer.hits == with_store(index, None).search("task_777").hits


def test_a_selective_filter_scores_its_chunks_exactly(big: tuple[SmallIndex, np.ndarray, np.ndarray]) -> None:
    index, slots, vectors = big
    store = ListedStore(slots, vectors)
    hits = with_store(index, store).search("task_5", mode="vector", paths=("m3/**",)).hits
    assert len(hits) == 10
    assert store.limits == []


def test_slots_of_gone_chunks_are_passed_over(big: tuple[SmallIndex, np.ndarray, np.ndarray]) -> None:
    index, slots, vectors = big
    ghosts = np.concatenate([slots, slots[-5:] + 1_000_000])
    store = ListedStore(ghosts, np.concatenate([vectors, vectors[-5:]]))
    assert (
        with_store(index, store).search("task_1799", mode="vector").hits
        == with_store(index, None).search("task_1799", mode="vector").hits
    )
