"""A first look at a workspace: what it says of languages, builds, starts, settings, tests and central files."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sidecar.engine.search.overview import overview_of
from sidecar.model.answers import OverviewAnswer
from tests.engine.search_index import SmallIndex, small_index

LONG = "".join(f"    total += step_{number}(order)\n" for number in range(30))
FILES = {
    "Makefile": "test:\n\tpytest\n",
    "examples/Makefile": "all:\n\techo example\n",
    ".github/workflows/ci.yml": "jobs:\n  test:\n    run: make test\n",
    "shop/__main__.py": "from shop.ledger import Ledger\n\ndef main():\n    Ledger().close()\n",
    "shop/ledger.py": f"class Ledger:\n    def close(self):\n        pass\n\ndef total(order):\n    total = 0\n{LONG}",
    "shop/orders.py": f"from shop.ledger import Ledger\n\ndef take(order):\n    total = Ledger()\n{LONG}",
    "shop/prices.py": "from shop.ledger import Ledger\n\ndef price(item):\n    return Ledger().of(item)\n",
    "shop/settings.py": "def load(path):\n    return path.read_text()\n",
    "shop/quiet.py": f"def unused(order):\n    total = 0\n{LONG}",
    "tests/conftest.py": "def ledger():\n    return None\n",
    "tests/test_ledger.py": "def test_it():\n    assert Ledger()\n",
    "examples/main.py": "def main():\n    print('example')\n",
    "README.md": "# Shop\n\nRun make.\n",
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallIndex]:
    with small_index(tmp_path_factory.mktemp("overview"), FILES) as made:
        yield made


@pytest.fixture(scope="module")
def seen(index: SmallIndex) -> OverviewAnswer:
    with index.snapshot() as snapshot:
        return overview_of(snapshot, 20)


def test_what_builds_and_tests_the_workspace_is_named_but_not_what_builds_an_example(seen: OverviewAnswer) -> None:
    assert seen.build == ("Makefile", ".github/workflows/ci.yml")


def test_a_program_starts_in_a_file_called_so_that_defines_main_and_an_example_is_not_it(seen: OverviewAnswer) -> None:
    assert seen.starts == ("shop/__main__.py",)


def test_settings_are_where_a_name_says_so(seen: OverviewAnswer) -> None:
    assert seen.settings == ("shop/settings.py",)


def test_tests_are_counted_by_folder_and_what_they_share_is_named(seen: OverviewAnswer) -> None:
    assert seen.test_folders == (("tests", 2),)
    assert seen.test_support == ("tests/conftest.py",)


def test_a_long_file_that_many_name_is_central_and_one_that_nobody_names_comes_last(seen: OverviewAnswer) -> None:
    paths = [file.path for file in seen.central]
    assert paths[0] == "shop/ledger.py"
    assert paths.index("shop/quiet.py") > paths.index("shop/ledger.py")
    assert seen.central[0].named_by == 5
    assert not [path for path in paths if path.startswith(("tests/", "examples/")) or path.endswith(".md")]


def test_a_central_file_shows_the_type_that_it_is_most_about(seen: OverviewAnswer) -> None:
    assert seen.central[0].name == "Ledger"


def test_languages_have_their_lines_and_all_files_are_counted(seen: OverviewAnswer) -> None:
    assert seen.languages[0][0] == "python"
    assert seen.files == len(FILES)
    assert 0 < seen.code_files < seen.files


def test_no_more_central_files_are_named_than_were_asked_for(index: SmallIndex) -> None:
    with index.snapshot() as snapshot:
        assert len(overview_of(snapshot, 2).central) == 2


def test_an_index_without_files_says_why_there_is_nothing(tmp_path_factory: pytest.TempPathFactory) -> None:
    with small_index(tmp_path_factory.mktemp("empty"), {}) as empty, empty.snapshot() as snapshot:
        seen = overview_of(snapshot, 20)
    assert seen.reason
    assert seen.paths() == ()


def test_long_paths_leave_room_for_no_more_than_an_overview_may_cost(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = "/".join(["a_folder_with_quite_a_long_name"] * 6)
    files = {f"{folder}/module_{number}.py": f"def call_{number}(x):\n    return x\n" for number in range(60)}
    with small_index(tmp_path_factory.mktemp("long"), files) as made, made.snapshot() as snapshot:
        seen = overview_of(snapshot, 40)
    assert 0 < len(seen.central) < 40
    assert sum(len(path) for path in seen.paths()) <= 3_600
