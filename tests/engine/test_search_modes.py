"""Search over a small real index: modes, alpha, scores, order, words and symbols."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.engine.search.rank.index_columns import columns_of
from sidecar.engine.search.rank.lexical_scores import match_terms
from sidecar.errors import Cancelled, InvalidQuery, ModelLoadFailed
from sidecar.model.answers import SearchRequest
from sidecar.model.terms import Embedder, never_cancelled
from sidecar.parts.lexical.analyse import Field
from sidecar.parts.lexical.tokens import query_terms
from tests.engine.search_index import SmallIndex, no_store, shipped_model, small_index

FILES = {
    "net/retry.py": "class RetryPolicy:\n    '''Waits longer after each failed attempt.'''\n\n"
    "    def delay(self, attempt):\n        return 2 ** attempt\n",
    "net/client.py": "from net.retry import RetryPolicy\n\n\ndef fetch(url, policy=None):\n"
    "    '''Downloads a page over HTTP.'''\n    policy = policy or RetryPolicy()\n    return open(url, policy)\n",
    "store/cache.py": "class LruCache:\n    def evict(self):\n        '''Drops the least recently used entry.'''\n"
    "        self.entries.popitem(last=False)\n",
    "tests/test_retry.py": "from net.retry import RetryPolicy\n\n\ndef test_retry_policy_delay():\n"
    "    retry_policy = RetryPolicy()\n    assert retry_policy.delay(3) == 8\n",
    "i18n/search.py": "def 检索():\n    '''全文搜索引擎的倒排索引'''\n    return None\n",
    "guide.md": "# Retrying\n\nA failed download is retried with a growing delay.\n\n# Caching\n\nPages are cached.\n",
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallIndex]:
    with small_index(tmp_path_factory.mktemp("index"), FILES) as index:
        yield index


def test_a_symbol_is_found_where_it_is_defined_before_its_uses_and_tests(index: SmallIndex) -> None:
    assert index.paths("RetryPolicy")[0] == "net/retry.py"
    assert index.paths("retry_policy", mode="fts")[0] == "net/retry.py"


def test_a_question_in_words_finds_the_code_that_answers_it(index: SmallIndex) -> None:
    assert index.paths("how is the least recently used entry removed")[0] == "store/cache.py"
    assert index.paths("download a web page")[0] == "net/client.py"


def test_tests_come_first_when_they_are_asked_for(index: SmallIndex) -> None:
    assert index.paths("test of the retry policy delay")[0] == "tests/test_retry.py"


def test_chinese_is_found_by_word(index: SmallIndex) -> None:
    assert index.paths("倒排索引", mode="fts") == ["i18n/search.py"]


@pytest.mark.parametrize("query", ["RetryPolicy", "drops old entries", "policy"])
def test_alpha_one_is_vector_search_and_alpha_zero_is_lexical_search(index: SmallIndex, query: str) -> None:
    for alpha, mode in ((1.0, "vector"), (0.0, "fts")):
        by_alpha, by_mode = index.search(query, alpha=alpha), index.search(query, mode=mode)
        assert by_alpha.hits == by_mode.hits
        assert by_alpha.mode == by_mode.mode == mode
    assert index.search(query).mode == "hybrid"


def test_lexical_search_returns_nothing_for_words_that_are_nowhere(index: SmallIndex) -> None:
    answer = index.search("xylophone", mode="fts")
    assert (answer.hits, answer.total) == ((), 0)


def test_code_and_documents_are_searched_apart_in_every_mode(index: SmallIndex) -> None:
    for mode in ("hybrid", "vector", "fts"):
        assert set(index.paths("retry delay", mode=mode, collection="docs")) == {"guide.md"}
        assert "guide.md" not in index.paths("retry delay", mode=mode)


def test_scores_lie_between_zero_and_one_and_never_rise(index: SmallIndex) -> None:
    for mode in ("hybrid", "vector", "fts"):
        scores = [hit.score for hit in index.search("retry policy delay", mode=mode).hits]
        assert scores == sorted(scores, reverse=True)
        assert all(0 < score <= 1 for score in scores)


def test_a_hit_says_where_it_stands_and_what_it_defines(index: SmallIndex) -> None:
    (hit, *_) = index.search("LruCache").hits
    assert (hit.path, hit.language, hit.start_line) == ("store/cache.py", "python", 1)
    assert "LruCache" in hit.names
    assert hit.content.startswith("class LruCache")
    assert hit.parts == {}


def test_explaining_names_the_contributions_which_add_up_to_the_score(index: SmallIndex) -> None:
    (hit, *_) = index.search("LruCache", explain=True).hits
    assert hit.parts["defines_symbol"] > 0
    assert sum(hit.parts.values()) == pytest.approx(hit.score, abs=0.002)
    assert hit.shares["definition"] == max(hit.shares.values())
    assert sum(hit.shares.values()) == 100
    assert hit.why[0] == f"it defines what the query names ({hit.shares['definition']} %)"


def test_explaining_shows_the_lines_with_the_words_of_the_query(index: SmallIndex) -> None:
    (hit, *_) = index.search("LruCache", explain=True).hits
    assert hit.excerpt[0].line == hit.start_line
    assert hit.excerpt[0].pieces[:2] == ("class ", "LruCache")
    assert index.search("LruCache").hits[0].excerpt == ()


def test_every_stage_is_timed(index: SmallIndex) -> None:
    answer = index.search("retry")
    assert set(answer.stages_ms) == {"tokenise", "lexical", "embed", "vector", "rank", "fetch"}
    assert answer.took_ms >= max(answer.stages_ms.values())


def test_a_blank_query_is_refused(index: SmallIndex) -> None:
    with pytest.raises(InvalidQuery):
        index.search("  \n")


@pytest.mark.parametrize("query", ["?!", "the", "\0", "(", "a" * 5000, "retry " * 3000, "👍", "x-1/2"])
def test_odd_queries_are_answered(index: SmallIndex, query: str) -> None:
    for mode in ("hybrid", "fts"):
        answer = index.search(query, mode=mode)
        assert answer.mode == mode
        assert len(answer.hits) == min(answer.total, SearchRequest(query).top_k)


def test_a_cancelled_search_ends(index: SmallIndex) -> None:
    with index.source() as source, pytest.raises(Cancelled):
        index.searcher.search(source, SearchRequest("retry"), lambda: True)


def broken_model() -> Embedder:
    raise ModelLoadFailed("The model's file is missing.")


def test_without_a_model_hybrid_searches_by_word_and_says_so(index: SmallIndex) -> None:
    broken = index.with_parts(broken_model, no_store)
    answer = broken.search("RetryPolicy")
    assert answer.mode == "fts"
    assert "by word only" in answer.notice
    assert answer.hits == index.search("RetryPolicy", mode="fts").hits
    with pytest.raises(ModelLoadFailed):
        broken.search("RetryPolicy", mode="vector")


def test_lexical_search_asks_no_model(index: SmallIndex) -> None:
    assert index.with_parts(broken_model, no_store).paths("retry", mode="fts")


def test_bodies_score_as_bm25_says(tmp_path: Path) -> None:
    """Two chunks of equal length, the word in one: idf(2, 1) * 2 * 2.5 / (2 + 1.5)."""
    files = {"a.py": "zebra = zebra\n", "b.py": "horse = horse\n"}
    with small_index(tmp_path, files) as index, index.snapshot() as snapshot:
        match = match_terms(snapshot, columns_of(snapshot, 0), query_terms("zebra"))
        assert match.chunks.tolist() == pytest.approx([math.log(2) * 2 * 2.5 / 3.5, 0])
        assert match.fields[Field.HEAD].tolist() == [1.0, 0.0]
        assert match.fields[Field.STEM].tolist() == [0.0, 0.0]


def test_searching_twice_gives_the_same_answer(index: SmallIndex) -> None:
    assert index.search("retry policy").hits == index.search("retry policy").hits
    with index.source() as source:
        once = index.searcher.search(source, SearchRequest("retry policy"), never_cancelled)
    assert once.hits == index.search("retry policy").hits
    assert shipped_model() is shipped_model()
