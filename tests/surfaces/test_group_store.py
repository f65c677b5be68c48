"""A server for a group in front of a real Chroma server: several workspaces whose vectors do not fit into memory,
callers with tokens, and a Chroma server or a workspace that is away."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sidecar.engine.search.vector_search import EXACT
from tests.chroma_server import Listener, RealServer, listening, passed_on, real_server
from tests.engine.test_store_on_a_server import PER_FILE, task
from tests.patience import until
from tests.surfaces.group_server import GroupServer

pytestmark = pytest.mark.process

CALLERS = {
    "both": ("--workspace", "api", "--workspace", "web"),
    "writer": ("--workspace", "*", "--tools", "all"),
    "api-only": ("--workspace", "api"),
}
OWN = {
    "api": ("ledger.py", "def forget_debts(accounts):\n    '''Write off overdue invoices.'''\n    cut()\n"),
    "web": ("garden.py", "def tend(plants):\n    '''Water the tomatoes in the greenhouse.'''\n    pour()\n"),
}
QUESTIONS = {"api": "how are overdue invoices written off", "web": "who waters the tomatoes"}


def fill(root: Path, name: str) -> None:
    """More chunks than are compared without the store, and one that answers this workspace's question."""
    root.mkdir()
    for file in range(EXACT // PER_FILE + 5):
        text = "".join(task(file, number) for number in range(PER_FILE))
        (root / f"{name}_{file}.py").write_text(text.replace("task_", f"{name}_"))
    path, text = OWN[name]
    (root / path).write_text(text)


class Group(NamedTuple):
    server: GroupServer
    chroma: RealServer
    wire: Listener

    def search(self, caller: str, query: str, **more: Any) -> dict[str, Any]:
        reply = self.server.call(caller, "search_code", {"query": query, **more})
        assert reply.status == 200, reply.body
        return dict(reply.json)

    def asked(self) -> list[str]:
        """Returns the path of each search that the Chroma server was asked for, which names the collection."""
        return [path for _, path, _, _ in list(self.wire.heard) if path.endswith("/query")]

    def uses_the_store(self, name: str) -> bool:
        """Whether a search of this workspace makes a search of the Chroma server."""
        before = len(self.asked())
        self.search("both", QUESTIONS[name], workspaces=[name], mode="vector")
        return len(self.asked()) > before


@pytest.fixture(scope="module")
def group(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Group]:
    place = tmp_path_factory.mktemp("group")
    for name in OWN:
        fill(place / name, name)
    with real_server(place / "chroma") as chroma, listening(passed_on(chroma.url)) as wire:
        variables = {"SIDECAR_VECTOR_STORE": wire.url, "SIDECAR_VECTOR_MEMORY_MEGABYTES": "0"}
        with GroupServer(place, CALLERS, **variables) as server:
            for name in OWN:
                assert server.agree("writer", "create_index", {"workspace": name}).json["status"] == "created"
            made = Group(server, chroma, wire)
            for name in OWN:
                until(lambda name=name: made.uses_the_store(name))  # type: ignore[misc]
            yield made
            assert server.end()[0] == 0


def test_one_chroma_server_answers_for_all_workspaces_each_from_its_own_collection(group: Group) -> None:
    for name, question in QUESTIONS.items():
        answer = group.search("both", question)
        assert (answer["results"][0]["workspace"], answer["results"][0]["path"]) == (name, OWN[name][0])
        assert "notice" not in answer
    assert len(set(group.asked())) == 2


def test_a_caller_of_one_workspace_finds_nothing_of_the_others_on_the_same_chroma_server(group: Group) -> None:
    for mode in ("hybrid", "vector"):
        answer = group.search("api-only", QUESTIONS["web"], mode=mode)
        assert {hit["workspace"] for hit in answer["results"]} <= {"api"}
        assert b"tomato" not in str(answer["results"]).encode()
    refused = group.server.call("api-only", "search_code", {"query": QUESTIONS["web"], "workspaces": ["web"]})
    assert refused.status != 200


def test_the_chroma_server_gets_no_text_no_path_and_no_token(group: Group) -> None:
    tokens = [token.encode() for token in group.server.tokens.values()]
    for text in (b"invoices", b"tomato", b"ledger", b"garden", b"api_", b"web_", b"def ", b"Bearer", *tokens):
        assert text not in group.wire.sent, text


def test_while_the_chroma_server_is_away_both_are_found_by_word_and_the_notice_names_each(group: Group) -> None:
    group.chroma.kill()
    for name, question in QUESTIONS.items():
        answer = group.search("both", question)
        assert answer["results"][0]["path"] == OWN[name][0]
        for workspace in OWN:
            assert f'"{workspace}": Searched by word only: The Chroma server at' in answer["notice"]
    group.chroma.start()
    until(lambda: "notice" not in group.search("both", QUESTIONS["web"]))
    assert group.uses_the_store("api")


def test_a_workspace_that_is_away_is_named_and_the_other_answers_from_the_store(group: Group) -> None:
    web = group.server.place / "web"
    aside = web.with_name("aside")
    shutil.move(web, aside)
    try:
        answer = group.search("both", QUESTIONS["api"])
        assert answer["results"][0]["path"] == OWN["api"][0]
        assert '"web"' in answer["notice"]
        assert str(group.server.place) not in answer["notice"]
        assert group.uses_the_store("api")
    finally:
        shutil.move(aside, web)
    until(lambda: "notice" not in group.search("both", QUESTIONS["web"]))
