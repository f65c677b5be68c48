"""A client of specification 003 in its REST wording, unchanged: `GET /search` and `GET /fulltext` of the memories.

It knows only that wording: `q`, `keywords`, `operator`, `limit`, `offset`; results with key, summary and relevance;
excerpts with highlighted keywords; an error with a descriptive message. The connection, not the client, adds the token
to each request.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.patience import PATIENCE_S
from tests.surfaces.http_client import Served, environment

MEMORIES = {
    "build/how-to": ("How the project is built", "Run make all in the root folder. It needs clang 17 and ninja."),
    "build/cache": (
        "Where compiled objects are kept",
        "The compiler cache lives in .cache; delete it after an upgrade.",
    ),
    "deploy/steps": (
        "How a release goes out",
        "Tag the commit, then the pipeline uploads the wheel and the container.",
    ),
    "people/review": ("Who reviews what", "Parser changes are reviewed by the language team."),
}


class MemoryClient:
    """The client. It knows nothing of tools."""

    def __init__(self, base: str, token: str) -> None:
        self._base = base
        self._token = token

    def search(self, query: str, **page: int) -> dict[str, Any]:
        return self.get("/search", q=query, **page)

    def fulltext(self, keywords: str, **options: Any) -> dict[str, Any]:
        return self.get("/fulltext", keywords=keywords, **options)

    def get(self, path: str, **query: Any) -> dict[str, Any]:
        url = f"{self._base}{path}?{urllib.parse.urlencode(query)}"
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {self._token}"})
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
                body: dict[str, Any] = json.load(answer)
        except urllib.error.HTTPError as refused:
            body = json.load(refused) | {"status": refused.code}
        return body


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("client003")
    (folder / "work").mkdir()
    with Served(folder / "work", environment(folder / "home", SIDECAR_TOOLSETS="code,memory")) as served:
        for key, (summary, text) in MEMORIES.items():
            assert served.post("memory_save", {"key": key, "summary": summary, "text": text}).status == 200
        yield served


@pytest.fixture(scope="module")
def client(served: Served) -> MemoryClient:
    return MemoryClient(served.url, served.token)


def test_search_returns_key_summary_and_relevance_best_first(client: MemoryClient) -> None:
    answer = client.search("how do I compile the project")
    assert answer["success"] is True
    results = answer["data"]["results"]
    assert results[0]["key"] == "build/how-to"
    assert results[0]["summary"] == "How the project is built"
    relevances = [result["relevance"] for result in results]
    assert relevances == sorted(relevances, reverse=True)
    assert all(0 <= relevance <= 1 for relevance in relevances)


def test_limit_and_offset_page_through_the_same_results(client: MemoryClient) -> None:
    whole = client.search("project", limit=4)["data"]["results"]
    pages = [client.search("project", limit=1, offset=at)["data"] for at in range(len(whole))]
    assert [page["results"][0]["key"] for page in pages] == [result["key"] for result in whole]
    assert [page["pagination"]["offset"] for page in pages] == list(range(len(whole)))
    assert {page["pagination"]["limit"] for page in pages} == {1}


def test_fulltext_combines_keywords_by_or_and_by_and(client: MemoryClient) -> None:
    either = client.fulltext("clang,pipeline", operator="OR")["data"]["results"]
    both = client.fulltext("clang,pipeline", operator="AND")["data"]["results"]
    assert {result["key"] for result in either} == {"build/how-to", "deploy/steps"}
    assert both == []
    together = client.fulltext("clang,ninja", operator="AND")["data"]["results"]
    assert [result["key"] for result in together] == ["build/how-to"]


def test_fulltext_highlights_the_keywords_in_an_excerpt(client: MemoryClient) -> None:
    [found] = client.fulltext("clang")["data"]["results"]
    assert "<mark>clang</mark>" in found["excerpt"]


@pytest.mark.parametrize(
    ("path", "query", "named"),
    [
        ("/search", {}, "query"),
        ("/search", {"q": ""}, "query"),
        ("/search", {"q": "x", "limit": 0}, "limit"),
        ("/search", {"q": "x", "limit": 101}, "limit"),
        ("/search", {"q": "x", "limit": "ten"}, "limit"),
        ("/search", {"q": "x", "offset": -1}, "offset"),
        ("/fulltext", {}, "keywords"),
        ("/fulltext", {"keywords": " , "}, "keyword"),
        ("/fulltext", {"keywords": "x", "operator": "XOR"}, "operator"),
    ],
)
def test_wrong_parameters_are_400_with_a_message_that_names_them(
    client: MemoryClient, path: str, query: dict[str, Any], named: str
) -> None:
    answer = client.get(path, **query)
    assert answer["status"] == 400
    assert answer["success"] is False
    assert named in answer["message"].lower()


def test_the_results_are_those_of_the_tools(served: Served, client: MemoryClient) -> None:
    searched = served.post("memory_search", {"query": "how do I compile the project", "limit": 3}).json
    assert client.search("how do I compile the project", limit=3) == searched
    found = served.post("memory_fulltext_search", {"keywords": ["clang", "tag"], "operator": "OR"}).json
    assert client.fulltext("clang,tag", operator="OR") == found


def test_the_code_search_stays_where_it_always_is(served: Served, tmp_path: Path) -> None:
    assert served.get("/code/search", q="x").json["code"] == "INDEX_NOT_FOUND"
