"""A mistyped name finds what was meant, by name and by search."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.engine.search.symbols import find_symbols
from sidecar.parts.coverage import CANCELLED, put_awaited
from tests.engine.search_index import SmallIndex, small_index

FILES = {
    "src/routing.py": "class APIRouter:\n    def include_router(self, router):\n        self.routes += router.routes\n",
    "src/oauth.py": "class OAuth2PasswordBearer:\n    def __call__(self, request):\n        return request.token\n",
    "src/basic.py": "class HTTPBasic:\n    def __call__(self, request):\n        return request.user\n",
    "src/api.py": "def api_route(path):\n    return path\n\ndef readable(path):\n    return open(path)\n",
    "src/use.py": "from .oauth import get_curent_user\n\ndef get_current_user(token):\n    return token\n",
}
TYPOS = [
    ("APIRoutr", "APIRouter", "src/routing.py"),
    ("APIRuoter", "APIRouter", "src/routing.py"),
    ("OAuth2PaswordBearer", "OAuth2PasswordBearer", "src/oauth.py"),
    ("OAuth2PasswordBaerrer", "OAuth2PasswordBearer", "src/oauth.py"),
    ("inclde_router", "include_router", "src/routing.py"),
    ("HTTPBassic", "HTTPBasic", "src/basic.py"),
]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SmallIndex]:
    with small_index(tmp_path_factory.mktemp("typos"), FILES) as made:
        yield made


def found(index: SmallIndex, name: str) -> list[tuple[str, str]]:
    with index.snapshot() as snapshot:
        return [(hit.name, hit.match) for hit in find_symbols(snapshot, name, [], 10).symbols]


@pytest.mark.parametrize(("typed", "meant", "path"), TYPOS)
def test_a_mistyped_name_finds_the_definition_first(index: SmallIndex, typed: str, meant: str, path: str) -> None:
    assert found(index, typed)[0] == (meant, "typo")
    answer = index.search(typed)
    assert answer.hits[0].path == path
    assert answer.notice == f"Nothing is called {typed}; searched for {meant}."


def test_a_mistyped_name_inside_a_question_is_searched_as_it_was_meant(index: SmallIndex) -> None:
    answer = index.search("where does OAuth2PaswordBearer read the token")
    assert answer.hits[0].path == "src/oauth.py"
    assert answer.notice == "Nothing is called OAuth2PaswordBearer; searched for OAuth2PasswordBearer."


@pytest.mark.parametrize(
    "typed", ["APIRouter", "include_router", "readable", "router", "get_curent_user", "token", "xyz"]
)
def test_what_occurs_in_the_index_or_is_like_nothing_is_searched_as_it_was_typed(index: SmallIndex, typed: str) -> None:
    assert index.search(typed).notice == ""


def test_a_name_that_begins_or_is_like_this_one_comes_before_typos(index: SmallIndex) -> None:
    assert found(index, "APIRou") == [("api_route", "prefix"), ("APIRouter", "prefix")]
    assert {match for _, match in found(index, "APIRouter")} == {"exact"}


def test_a_short_name_has_no_typos_and_a_longer_one_as_many_as_two(index: SmallIndex) -> None:
    assert found(index, "abi") == []
    assert found(index, "redaablr") == [("readable", "typo")]
    assert found(index, "rdaablr") == []


def test_names_follow_the_index_as_files_come_change_and_go(tmp_path: Path) -> None:
    with small_index(tmp_path, FILES) as index:
        assert found(index, "APIRoutr")[0] == ("APIRouter", "typo")
        index.put({"src/later.py": "def invalidate_session(user):\n    return user\n"})
        assert found(index, "invalidate_sesion")[0] == ("invalidate_session", "typo")
        index.put({"src/routing.py": "class APIRunner:\n    pass\n"})
        assert ("APIRouter", "typo") not in found(index, "APIRoutr")
        index.remove("src/later.py")
        assert found(index, "invalidate_sesion") == []
        assert index.search("invalidate_sesion").notice == ""


def test_a_name_that_only_many_changes_ago_was_known_is_not_offered(tmp_path: Path) -> None:
    with small_index(tmp_path, FILES) as index:
        for number in range(3):
            names = "".join(f"def step{number}_{i:05}(value):\n    return value\n" for i in range(5_000))
            index.put({"src/steps.py": names})
            assert found(index, f"step{number}_x0007")[0][1] == "typo"
        assert ("step0_00070", "typo") not in found(index, "step0_x0070")


def test_no_other_name_is_searched_while_files_are_read_for_the_first_time(tmp_path: Path) -> None:
    with small_index(tmp_path, FILES) as index:
        with index.manifest.transaction() as connection:
            put_awaited(connection, ["src/later.py"], all_of_them=True)
        assert ("include_router", "typo") not in found(index, "include_routers")
        assert index.search("include_routers").notice == ""
        index.put({"src/later.py": "def include_routers(app):\n    return app\n"})
        assert found(index, "include_routers")[0] == ("include_routers", "exact")
        assert found(index, "inclde_router")[0] == ("include_router", "typo")


def test_names_are_corrected_in_an_index_whose_building_was_cancelled(tmp_path: Path) -> None:
    with small_index(tmp_path, FILES) as index:
        with index.manifest.transaction() as connection:
            put_awaited(connection, ["src/later.py"], all_of_them=True)
            index.manifest.set_meta(**{CANCELLED: 1})
        assert found(index, "inclde_router")[0] == ("include_router", "typo")
