"""A pasted issue finds the code that it is about: by its title, by the files and names in it, not by its noise."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidecar.engine.search.query import understand
from sidecar.engine.search.rank.features import FEATURES
from sidecar.engine.search.rank.paths import name_under_test, path_facts
from sidecar.engine.search.rank.scorer import WeightedSum, learned
from sidecar.engine.search.searcher import Searcher
from sidecar.model.answers import SearchRequest
from sidecar.model.terms import never_cancelled
from tests.engine.search_index import SmallIndex, small_index

NOISE = (
    "\n\nDescription\n\nI run the newest version on a new machine. The documentation has an example "
    "that works, and the tests of the project pass here too, so it may be the environment. Thank you for your work. "
)
SHOP = {
    "shop/cart.py": "class Cart:\n    def add_article(self, article):\n        self.lines.append(article)\n",
    "shop/orders.py": "def place_order(cart, address):\n    return ship(cart, address)\n",
    "shop/stock/store.py": "class Store:\n    def take(self, article):\n        self.left[article] -= 1\n",
    "shop/stock/codes.py": "def decode(code):\n    return code.split('-')\n",
    "shop/machine.py": "def install(environment):\n    return environment.machine.newest\n",
    "tests/test_orders.py": "def test_place_order():\n    assert place_order(cart, address)\n",
}
TRACE = """
Traceback (most recent call last):
  File "/usr/lib/python3/site-packages/shop/cart.py", line 12, in add_article
    self.store.take(article)
  File "/usr/lib/python3/site-packages/shop/stock/codes.py", line 2, in decode
    return code.split('-')
AttributeError: 'int' object has no attribute 'split'
"""


def how_surely_named(index: SmallIndex, query: str, path: str) -> float:
    """The feature `named_in_text` of a file; 0 for one that is no candidate."""
    with index.source() as source:
        seen = index.searcher.examine(source, SearchRequest(query), never_cancelled)
        paths = [source.snapshot.paths[file] for file in seen.groups.files.tolist()]
    column = [feature.name for feature in FEATURES].index("named_in_text")
    return float(seen.features[paths.index(path), column]) if path in paths else 0.0


def test_the_title_counts_more_than_the_text_below_it(tmp_path: Path) -> None:
    with small_index(tmp_path, SHOP) as index:
        assert index.paths("Placing an order ships it to nobody" + NOISE)[0] == "shop/orders.py"


def test_a_file_that_the_text_names_comes_before_others_that_have_its_words(tmp_path: Path) -> None:
    with small_index(tmp_path, SHOP) as index:
        text = "It breaks on a new machine" + NOISE
        assert index.paths(text)[0] == "shop/machine.py"
        sure = {
            mention: how_surely_named(index, f"{text} See {mention}.", "shop/stock/codes.py")
            for mention in ("shop/stock/codes.py", "codes.py", "shop.stock.codes", "shop.stock.codes.decode", "c.py")
        }
        assert list(sure.values()) == pytest.approx([1, 0.6, 0.5, 0.5, 0])
        assert index.paths(f"{text} See shop/stock/codes.py.")[:2] == ["shop/machine.py", "shop/stock/codes.py"]


def test_of_a_traceback_the_place_of_the_failure_counts_most(tmp_path: Path) -> None:
    """Frames of an installed copy are those of the tree; the frame that failed comes before its callers."""
    with small_index(tmp_path, SHOP) as index:
        text = "It breaks on a new machine" + NOISE + TRACE
        failed, called, other = (
            how_surely_named(index, text, f"shop/{name}.py") for name in ("stock/codes", "cart", "orders")
        )
        assert failed == 1 > called > other == 0
        assert "shop/stock/codes.py" in index.paths(text)[:3]


def test_a_long_question_asks_for_no_kind_of_file(tmp_path: Path) -> None:
    """The text contains "tests", "example" and "documentation", as every issue form does."""
    with small_index(tmp_path, SHOP) as index:
        found = index.paths("Placing an order ships it to nobody" + NOISE)
        assert found.index("shop/orders.py") < found.index("tests/test_orders.py")


def test_names_below_the_title_count_half() -> None:
    """The title says what a text is about; the rest also names many things that are only related."""
    query = understand("place_order ships twice" + NOISE + "Both `Cart.add_article` and Store.take are called.")
    assert set(query.names) >= {"placeorder", "addarticle", "take"}
    assert "placeorder" not in query.aside
    assert {"addarticle", "take"} <= query.aside
    assert "description" not in query.names


def test_what_is_embedded_of_a_long_question_is_its_prose() -> None:
    query = understand("Placing an order fails" + NOISE + TRACE)
    assert "Placing an order fails" in query.meaning
    assert "site-packages" not in query.meaning
    assert understand("place order").meaning == "place order"
    code = "```\n" + "x = 1\n" * 60 + "```"
    assert understand(code).meaning


@pytest.mark.parametrize(
    "path",
    [
        "locale/de/LC_MESSAGES/app.po",
        "src/lang/de.php",
        "web/i18n/pt-BR.json",
        "app/translations/messages.fr.yml",
        "CHANGES",
        "HISTORY.rst",
        "docs/release-notes-2.1.adoc",
        "changelog.d/12.txt",
        "poetry.lock",
        "web/package-lock.json",
        "go.sum",
        "tests/fixtures/cart.py",
        "core/testdata/input.go",
        "ui/__snapshots__/cart.tsx.snap",
    ],
)
def test_catalogues_lists_of_changes_fixtures_and_locks_are_records(path: str) -> None:
    assert path_facts(path).record == 1


@pytest.mark.parametrize(
    "path",
    ["src/i18n/index.ts", "src/history.py", "lib/changes.rb", "src/lang/parser.py", "app/news.go", "src/lock.rs"],
)
def test_code_about_them_is_none(path: str) -> None:
    assert path_facts(path).record == 0


def test_records_stand_behind_code_unless_they_are_asked_for(tmp_path: Path) -> None:
    files = {
        "src/orders.py": "def place_order(cart):\n    raise EmptyCart('The order has no articles')\n",
        "src/cart.py": "class Cart:\n    articles = ()\n",
        "locale/de.po": 'msgid "The order has no articles"\nmsgstr "Die Bestellung hat keine Artikel"\n' * 9,
        "HISTORY.rst": "2.0\n---\n\n* The order has no articles: fixed.\n* The order of articles: kept.\n",
    }
    with small_index(tmp_path, files) as index:
        assert index.paths("The order has no articles")[0] == "src/orders.py"
        assert index.paths("locale de.po: The order has no articles")[0] == "locale/de.po"


@pytest.mark.parametrize("path", ["a/cart.py", "t/test_cart.py", "CartTests.cs", "web/cart.spec.ts", "cart_test.go"])
def test_a_test_is_named_after_what_it_tests(path: str) -> None:
    assert name_under_test(path) == "cart"


def test_the_test_of_a_likely_file_comes_before_other_tests_and_after_the_file(tmp_path: Path) -> None:
    """The code comes first, and its test is found too."""
    files = {
        "src/parcel.py": "def weigh(parcel):\n    return parcel.scale.weight\n",
        "tests/test_parcel.py": "def test_weigh():\n    assert weigh(parcel) == 2\n",
        "tests/test_all.py": "def test_weigh_parcel_scale():\n    assert weigh(parcel) == 2\n",
    }
    with small_index(tmp_path, files) as index:
        found = index.paths("weigh a parcel")
        assert found[:2] == ["src/parcel.py", "tests/test_parcel.py"]


def test_only_a_long_question_is_ranked_by_the_weights_for_long_ones(tmp_path: Path) -> None:
    shortest, longest = WeightedSum({"length": -1.0}), WeightedSum({"length": 1.0})
    files = {"a.py": "def place(order):\n    pass\n", "b.py": "def place(order):\n    pass\n" + "x = place\n" * 20}
    with small_index(tmp_path, files) as index:
        index.searcher = Searcher(WeightedSum(shortest.weights, long=longest))
        assert index.paths("place an order")[0] == "a.py"
        assert index.paths("place an order" + NOISE)[0] == "b.py"
        index.searcher = Searcher(shortest)
        assert index.paths("place an order" + NOISE)[0] == "a.py"


def test_the_shipped_ranking_has_weights_of_its_own_for_long_questions() -> None:
    assert learned().suited_to(long=False) == learned()
    assert learned().suited_to(long=True).weights != learned().weights
