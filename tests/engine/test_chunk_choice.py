"""Which passages of a file are shown, and how they are ranked among those of other files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sidecar.engine.search.rank.chunk_choice import FEATURES, WEIGHTS, features_of
from sidecar.engine.search.searcher import RankingInput
from sidecar.model.answers import SearchRequest
from sidecar.model.terms import Mode, never_cancelled
from tests.engine.search_index import SmallIndex, small_index


def body(word: str, lines: int = 14) -> str:
    return "".join(f"        self.{word}_{n} = {word}({n})\n" for n in range(lines))


CACHE = (
    '"""Cache of parsed pages: evicts, expires, parses, stores and loads the pages of the cache."""\n\n'
    "import cache, pages, expire, evict\nfrom pages import evict_page, expire_page, parse_page\n\n\n"
    "class PageCache:\n    def store(self, page):\n"
    + body("entry")
    + "\n    def evict_oldest_page(self, limit):\n        # the oldest page goes first\n"
    + body("oldest")
    + "\n    def parse(self, text):\n"
    + body("token")
)
FILES = {
    "web/cache.py": CACHE,
    "web/routes.py": "def route(page):\n    return table[page]\n",
    "web/views.py": "def view(request):\n    return render(request)\n",
}


def seen(index: SmallIndex, query: str, mode: Mode = "hybrid") -> RankingInput:
    with index.source() as source:
        return index.searcher.examine(source, SearchRequest(query, mode=mode), never_cancelled)


def test_every_feature_of_a_passage_has_a_weight() -> None:
    assert set(WEIGHTS) == set(FEATURES)
    assert len(set(FEATURES)) == len(FEATURES)


def test_the_function_that_does_it_is_shown_and_not_the_head_that_lists_everything(tmp_path: Path) -> None:
    with small_index(tmp_path, FILES) as index:
        first = index.search("how is the oldest page evicted from the cache").hits[0]
    assert first.path == "web/cache.py"
    assert "def evict_oldest_page" in first.content


@pytest.mark.parametrize("mode", ["hybrid", "fts", "vector"])
def test_the_best_passage_of_each_file_has_one_and_unsupported_ones_nothing(tmp_path: Path, mode: Mode) -> None:
    with small_index(tmp_path, FILES) as index:
        found = seen(index, "evict the oldest page", mode)
    assert found.groups.best(found.shown) == pytest.approx(1)
    assert np.all((found.shown >= 0) & (found.shown <= 1))
    assert features_of(found.signals).shape == (len(found.shown), len(FEATURES))
    if mode == "fts":
        wordless = found.signals.passages.words == 0
        assert not found.shown[wordless & (found.signals.passages.plain == 0)].any()


def test_a_search_that_finds_nothing_has_no_passages(tmp_path: Path) -> None:
    with small_index(tmp_path, FILES) as index:
        assert seen(index, "zebra", "fts").shown.shape == (0,)


def test_a_passage_that_a_filter_excludes_is_never_shown(tmp_path: Path) -> None:
    with small_index(tmp_path, FILES) as index:
        hits = index.search("evict the oldest page", kinds=("function",)).hits
    assert {hit.kind for hit in hits} == {"function"}


def test_a_second_good_passage_of_a_file_comes_before_files_that_hardly_match(tmp_path: Path) -> None:
    evicts = (
        CACHE + "\n    def evict_expired_page(self, now):\n        # an expired page of the cache\n" + body("expired")
    )
    files = {**FILES, "web/cache.py": evicts} | {
        f"web/other_{n}.py": f"def page_{n}(x):\n    return x\n" for n in range(4)
    }
    with small_index(tmp_path, files) as index:
        hits = index.search("evict a page from the cache").hits
    assert [hit.path for hit in hits[:2]] == ["web/cache.py", "web/cache.py"]
