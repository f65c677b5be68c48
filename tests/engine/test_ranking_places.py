"""Ranking in cases that are easily forgotten: documentation, filters, odd workspaces, questions that are not in
English."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sidecar.engine.search.rank.scorer import WeightedSum
from sidecar.engine.search.searcher import Searcher
from sidecar.model.answers import SearchRequest
from sidecar.model.terms import Collection, never_cancelled
from tests.engine.languages_text import TEXTS, code_files, documents
from tests.engine.search_index import SmallIndex, small_index

BM25 = WeightedSum({"best_chunk": 1.0})
"""One chunk per file, ranked by words alone."""

SHOP = {
    "shop/cart.py": '"""The basket of a visitor."""\n\n\nclass Cart:\n    def add(self, article, count):\n'
    "        self.lines.append((article, count))\n\n    def total(self):\n"
    "        return sum(a.price * n for a, n in self.lines)\n",
    "shop/checkout.py": '"""Turns a basket into an order."""\n\nfrom shop.cart import Cart\n\n\n'
    "def place_order(cart: Cart, address):\n    charge(cart.total())\n    return ship(cart, address)\n",
    "shop/tax.go": "package shop\n\n// Rate gives the tax of a country.\n"
    "func Rate(country string) float64 {\n\treturn rates[country]\n}\n",
    "tests/test_cart.py": "from shop.cart import Cart\n\n\ndef test_the_total_of_a_cart_adds_up():\n"
    "    cart = Cart()\n    cart.add(article, 2)\n    assert cart.total() == 20\n",
    "examples/basket.py": "from shop.cart import Cart\n\ncart = Cart()\ncart.add(article, 1)\nprint(cart.total())\n",
    "docs/cart.md": "# The cart\n\nA cart holds articles until the order is placed.\n\n"
    "## Totals\n\nTotals are without tax.\n",
    "docs/tutorial/first-order.md": "# Your first order\n\nPut an article into the cart, then place the order.\n",
    "docs/examples/tax.md": "# Tax rates\n\nEach country has its own rate of tax.\n",
}


def paths_by_bm25(index: SmallIndex, query: str, collection: Collection = "code") -> list[str]:
    searcher = Searcher(BM25)
    with index.source() as source:
        request = SearchRequest(query, collection, mode="fts")
        return [hit.path for hit in searcher.search(source, request, never_cancelled).hits]


def test_documentation_is_ranked_by_the_same_means_and_tutorials_are_not_held_against_it(tmp_path: Path) -> None:
    with small_index(tmp_path, SHOP) as index:
        assert index.paths("totals without tax", collection="docs")[0] == "docs/cart.md"
        assert index.paths("rate of tax of a country", collection="docs")[0] == "docs/examples/tax.md"
        assert index.paths("how to place your first order", collection="docs")[0] == "docs/tutorial/first-order.md"
        assert not any(path.endswith(".md") for path in index.paths("cart"))


def test_code_comes_before_tests_and_examples_unless_they_are_asked_for(tmp_path: Path) -> None:
    with small_index(tmp_path, SHOP) as index:
        assert index.paths("total of a cart")[0] == "shop/cart.py"
        assert index.paths("test of the total of a cart")[0] == "tests/test_cart.py"
        assert index.paths("example of a basket")[0] == "examples/basket.py"


def test_code_comes_before_manuals_and_settings_that_have_its_words(tmp_path: Path) -> None:
    manual = "The cart\n========\n\nThe total of a cart adds up the articles of the cart.\n"
    with small_index(tmp_path, {**SHOP, "cart.rst": manual, "cart.yml": "cart:\n  total: of the articles\n"}) as index:
        paths = index.paths("total of the articles in a cart")
        assert paths[0] == "shop/cart.py"
        assert {"cart.rst", "cart.yml"} < set(paths)


def test_a_filter_leaves_the_order_of_what_it_lets_through(tmp_path: Path) -> None:
    with small_index(tmp_path, SHOP) as index:
        everything = index.paths("total of a cart")
        python = index.paths("total of a cart", languages=("python",))
        assert python == [path for path in everything if path.endswith(".py")]
        assert index.paths("total of a cart", paths=("shop/**",))[0] == "shop/cart.py"
        assert set(index.paths("cart", paths=("tests/**", "examples/**"))) == {
            "tests/test_cart.py",
            "examples/basket.py",
        }
        methods = index.search("total of a cart", kinds=("method", "function", "class"))
        assert methods.hits
        assert {hit.kind for hit in methods.hits} <= {"method", "function", "class"}


def test_nothing_passes_a_filter_that_fits_nothing(tmp_path: Path) -> None:
    with small_index(tmp_path, SHOP) as index:
        assert index.paths("total of a cart", languages=("haskell",)) == []
        assert index.paths("total of a cart", paths=("nowhere/**",)) == []


def test_a_workspace_of_nothing_but_tests_is_ranked_as_any_other(tmp_path: Path) -> None:
    files = {
        "tests/test_login.py": "def test_a_wrong_password_is_refused():\n    assert login('ann', 'wrong') is None\n",
        "tests/test_orders.py": "def test_an_order_is_shipped_once():\n    assert ship(order) and not ship(order)\n",
        "tests/test_search.py": "def test_words_are_found_in_any_order():\n    assert search('b a') == search('a b')\n",
    }
    with small_index(tmp_path, files) as index:
        assert index.paths("refuse a wrong password")[0] == "tests/test_login.py"
        assert index.paths("ship an order")[0] == "tests/test_orders.py"
        first, second, *_ = index.search("words found in any order").hits
        assert first.path == "tests/test_search.py"
        assert first.score > second.score


def test_in_a_workspace_of_one_huge_file_the_right_passage_comes_first(tmp_path: Path) -> None:
    functions = [
        f"def step_{number}(items):\n    total = 0\n    for item in items:\n"
        f"        total += item * {number}\n    return total\n"
        for number in range(1500)
    ]
    functions[900] = (
        "def evict_oldest(cache):\n    # The entry that was used longest ago makes room.\n"
        "    key = min(cache, key=cache.last_used)\n    del cache[key]\n"
    )
    with small_index(tmp_path, {"everything.py": "\n\n".join(functions)}) as index:
        for query in ("which cache entry makes room", "evict_oldest"):
            hit = index.search(query).hits[0]
            assert "evict_oldest" in hit.content


@pytest.mark.parametrize("language", sorted(TEXTS))
@pytest.mark.parametrize("collection", ["code", "docs"])
def test_questions_in_other_languages_are_answered_at_least_as_well_as_by_bm25(
    tmp_path: Path, language: str, collection: Collection
) -> None:
    files = code_files(language) if collection == "code" else documents(language)
    with small_index(tmp_path, files) as index:
        ours = theirs = 0.0
        for path, (_, question) in zip(files, TEXTS[language], strict=True):
            ours += reciprocal_rank(index.paths(question, collection=collection), path)
            theirs += reciprocal_rank(paths_by_bm25(index, question, collection), path)
        assert ours >= theirs
        assert ours >= 5.0  # of six


def test_questions_about_everything_at_once_keep_to_their_language(tmp_path: Path) -> None:
    files = {
        path.replace("src/", f"src/{language}/"): text
        for language in TEXTS
        for path, text in code_files(language).items()
    }
    with small_index(tmp_path, files) as index:
        ours = theirs = 0.0
        for language, texts in TEXTS.items():
            for number, (_, question) in enumerate(texts):
                wanted = f"src/{language}/part{number}.py"
                ours += reciprocal_rank(index.paths(question), wanted)
                theirs += reciprocal_rank(paths_by_bm25(index, question), wanted)
        assert ours >= theirs


def reciprocal_rank(paths: list[str], wanted: str) -> float:
    return 1 / (paths.index(wanted) + 1) if wanted in paths else 0.0


def test_a_hit_says_in_words_what_each_part_contributed(tmp_path: Path) -> None:
    with small_index(tmp_path, SHOP) as index:
        hit = index.search("how is the total of a cart computed", explain=True).hits[0]
        assert hit.path == "shop/cart.py"
        assert hit.why
        shares = [int(share) for text in hit.why for share in re.findall(r"\((\d+) %\)$", text)]
        assert len(shares) == len(hit.why) and shares == sorted(shares, reverse=True)
        assert sum(shares) == 100
        assert "its name or a folder's contains the query's words" in " ".join(hit.why)
        assert abs(sum(hit.parts.values()) - hit.score) < 0.05
        assert index.search("how is the total of a cart computed").hits[0].why == ()


def test_a_test_says_that_being_one_counts_against_it(tmp_path: Path) -> None:
    with small_index(tmp_path, SHOP) as index:
        hits = index.search("total of a cart", explain=True).hits
        (test,) = [hit for hit in hits if hit.path == "tests/test_cart.py"]
        assert test.parts["is_test"] < 0
        assert test.why[-1] == "it is a test (counts against it)"
        assert sum(test.shares.values()) == 100


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("src/routing/mod.rs", "routing"),
        ("web/router/index.ts", "router"),
        ("billing/__init__.py", "billing"),
        ("pkg/session/main.go", "session"),
    ],
)
def test_a_file_whose_name_says_nothing_bears_its_folders_name(tmp_path: Path, path: str, query: str) -> None:
    files = {path: "x = 1\n", "src/other.rs": "fn other() {}\n", "web/pages/index.ts": "export const y = 2\n"}
    with small_index(tmp_path, files) as index:
        assert index.paths(query)[0] == path
