"""One search over several workspaces gives one order for all results, and names workspaces that cannot answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from sidecar.errors import IndexCorrupt, InvalidParams, SidecarError
from sidecar.model.workspace import Workspace
from sidecar.tools.code_search import SEARCH_CODE
from sidecar.tools.group import Veil
from sidecar.tools.service import Done, Service
from tests.fakes import FakeWorkspace

ROOT = "/srv/group"


class Many:
    """Implements `sidecar.tools.context.Workspaces` over some fakes."""

    def __init__(self, **workspaces: FakeWorkspace) -> None:
        self._workspaces = {f"{ROOT}/{name}": workspace for name, workspace in workspaces.items()}

    def get(self, root: str) -> Workspace:
        return self._workspaces[root]

    def problems(self, root: str) -> None:
        return None

    def close(self) -> None:
        pass


def workspace(
    files: dict[str, str], confidence: float | None = None, notice: str = "", indexed: bool = True
) -> FakeWorkspace:
    made = FakeWorkspace(files, confidence=confidence, notice=notice)
    if indexed:
        made.create(lambda done, total, message: None, lambda: False)
    return made


@pytest.fixture
def services() -> Iterator[list[Service]]:
    made: list[Service] = []
    yield made
    for service in made:
        service.close()


def search(services: list[Service], many: Many, names: tuple[str, ...], **arguments: Any) -> dict[str, Any]:
    whole = Service(many)
    own = whole.for_caller([SEARCH_CODE], {name: f"{ROOT}/{name}" for name in names}, ())
    services += [whole, own]
    done = own.call("search_code", {"query": "line header", **arguments}, workspace="")
    assert isinstance(done, Done)
    return done.value


LIKELY = {"a.py": "line header\n", "b.py": "line\n"}
UNLIKELY = {"c.py": "line header\n"}


def test_a_good_match_where_nothing_answers_stands_behind_what_answers(services: list[Service]) -> None:
    many = Many(api=workspace(UNLIKELY, 0.05), web=workspace(LIKELY, 0.9))
    answer = search(services, many, ("api", "web"))
    rows = [(hit["workspace"], hit["path"], hit["score"]) for hit in answer["results"]]
    assert rows == [("web", "a.py", 0.9), ("web", "b.py", 0.45), ("api", "c.py", 0.05)]
    assert answer["totalResults"] == 3


def test_where_a_probability_is_not_known_scores_count_and_equal_ones_keep_the_order(services: list[Service]) -> None:
    many = Many(api=workspace(UNLIKELY), web=workspace(LIKELY, 0.9))
    for names in (("api", "web"), ("web", "api")):
        rows = search(services, many, names)["results"]
        assert [hit["workspace"] for hit in rows[:2]] == list(names)


def test_pages_follow_one_another_through_the_merged_list(services: list[Service]) -> None:
    many = Many(api=workspace(UNLIKELY, 0.5), web=workspace(LIKELY, 0.9))
    whole = search(services, many, ("api", "web"))["results"]
    pages = [search(services, many, ("api", "web"), offset=n, top_k=1)["results"] for n in range(3)]
    assert [page[0] for page in pages] == whole
    beyond = search(services, many, ("api", "web"), offset=9)
    assert beyond["results"] == []
    assert "offset 9 is past the end" in beyond["reason"]


def test_a_workspace_without_an_answer_is_named_and_the_others_answer(services: list[Service]) -> None:
    broken = FakeWorkspace({}, broken=IndexCorrupt("/srv/group/old/index.sqlite is damaged."))
    many = Many(
        new=workspace({}, indexed=False), old=broken, web=workspace(LIKELY, 0.9, notice="The index is unfinished.")
    )
    answer = search(services, many, ("new", "old", "web"))
    assert {hit["workspace"] for hit in answer["results"]} == {"web"}
    assert '"new": not searched, no index.' in answer["notice"]
    assert '"old": not searched, the index is corrupted or invalid.' in answer["notice"]
    assert '"web": The index is unfinished.' in answer["notice"]


def test_if_none_answers_the_first_ones_error_is_raised_without_its_place(services: list[Service]) -> None:
    broken = FakeWorkspace({}, broken=IndexCorrupt("/srv/group/old/index.sqlite is damaged."))
    with pytest.raises(IndexCorrupt) as raised:
        search(services, Many(old=broken), ("old",))
    assert "/srv" not in raised.value.message


def test_what_is_wrong_with_the_question_is_wrong_everywhere(services: list[Service]) -> None:
    many = Many(api=workspace(UNLIKELY), web=workspace(LIKELY))
    with pytest.raises(InvalidParams):
        search(services, many, ("api", "web"), query=" ")
    with pytest.raises(InvalidParams) as raised:
        search(services, many, ("api",), workspaces=["web"])
    said = 'There is no workspace "web". There are: "api". Whoever runs the server can give you another.'
    assert raised.value.detail == said


def test_the_tokens_of_a_call_are_for_all_workspaces_together(services: list[Service]) -> None:
    long = {"long.py": "line header\n" * 9}
    many = Many(api=workspace(long, 0.9), web=workspace(long, 0.8))
    answer = search(services, many, ("api", "web"), max_tokens=20)
    assert sum(len(hit["content"]) for hit in answer["results"]) <= 80
    assert answer["results"][0]["workspace"] == "api"


@pytest.mark.parametrize(
    ("said", "seen"),
    [
        ("The folder /srv/group/api is gone.", "The folder api is gone."),
        ('"/srv/group/api/a.py" is gone.', '"api/a.py" is gone.'),
        ('"/etc/sidecar.toml" has a wrong value.', '"…" has a wrong value.'),
        ("[Errno 13] Permission denied: '/var/lib/x'", "[Errno 13] Permission denied: '…'"),
        ("It lies in /home/me/.local/share/sidecar/x.", "It lies in …/x."),
        ("3/4 of it", "3/4 of it"),
    ],
)
def test_a_place_of_the_server_is_a_name_or_left_out(said: str, seen: str) -> None:
    veil = Veil({"api": "/srv/group/api", "group": "/srv/group"}, ("/home/me/.local/share/sidecar", "/home/me"))
    assert veil.sentence(said) == seen


def test_a_path_of_the_server_is_below_a_name_or_left_out() -> None:
    veil = Veil({"api": "/srv/group/api"}, ("/var/lib/sidecar",))
    seen = [veil.place(path) for path in ("/srv/group/api", "/srv/group/api/x", "/opt/y", "a/b", "api")]
    assert seen == ["api", "api/x", "…", "a/b", "api"]


def test_an_error_of_the_server_itself_says_no_more_than_what_kind_it_is() -> None:
    error: SidecarError = Veil({}).error(IndexCorrupt("/var/lib/x is torn.", indexPath="/var/lib/x"))
    assert (error.code, error.facts, "/var" in error.message) == ("INDEX_CORRUPT", {}, False)
