"""The three tools of one-shot search: shapes, names, everything a caller may get wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from math import log
from typing import Any

import pytest

from sidecar.errors import SidecarError
from sidecar.tools.dialect import INLINE
from sidecar.tools.inline import FuzzyMatches
from sidecar.tools.registry import tools_of
from sidecar.tools.service import Done, Service
from tests.fakes import FakeWorkspace, FakeWorkspaces

ROOT = "/fake/workspace"
TEXTS = ["Rate limiting protects APIs", "Authentication guide", "API rate limits"]


class Tools:
    """Calls tools by name. A failure is returned in the tool family's form."""

    def __init__(self) -> None:
        self.service = Service(FakeWorkspaces(FakeWorkspace({}, root=ROOT)), tools=tools_of("inline"))

    def __call__(self, tool: str, /, **arguments: object) -> dict[str, Any]:
        try:
            done = self.service.call(tool, arguments, workspace=ROOT)
        except SidecarError as error:
            return INLINE.shape_error(error)
        assert isinstance(done, Done)
        return done.value


@pytest.fixture
def tools() -> Iterator[Tools]:
    tools = Tools()
    yield tools
    tools.service.close()


@pytest.mark.parametrize("prefix", ["", "codomyrmex."])
def test_texts_are_searched_under_either_name(tools: Tools, prefix: str) -> None:
    found = tools(f"{prefix}search_documents", query="rate limiting API", documents=TEXTS, top_k=3)
    rate, other = 1.0, log(3 / 2) + 1
    assert found == {
        "status": "ok",
        "query": "rate limiting API",
        "results": [
            {
                "doc_id": "0",
                "score": round(rate + other, 6),
                "snippet": "Rate limiting protects APIs",
                "highlights": ["...Rate limiting protects APIs..."],
            },
            {
                "doc_id": "2",
                "score": round(rate + other, 6),
                "snippet": "API rate limits",
                "highlights": ["...API rate limits..."],
            },
        ],
    }


@pytest.mark.parametrize("prefix", ["", "codomyrmex."])
def test_an_index_of_texts_tells_its_size(tools: Tools, prefix: str) -> None:
    found = tools(f"{prefix}search_index_query", query="deployment guide", documents=["Production deployment", "x"])
    assert list(found) == ["status", "query", "index_size", "results"]
    assert found["index_size"] == 2
    assert [result["doc_id"] for result in found["results"]] == ["0"]


@pytest.mark.parametrize("tool", ["search_documents", "search_index_query"])
@pytest.mark.parametrize(
    ("query", "documents", "said"),
    [
        ("java", [], "The call brings no texts to search."),
        ("?!", TEXTS, "The query has no word to look for."),
        ("a", TEXTS, "Words of fewer than 2 characters are not looked for."),
        ("java Beans", TEXTS, "None of the 3 texts has any of these words: java, beans."),
        ("java", TEXTS[:1], "The only text has none of these words: java."),
    ],
)
def test_texts_without_a_result_say_why(tools: Tools, tool: str, query: str, documents: list[str], said: str) -> None:
    found = tools(tool, query=query, documents=documents)
    assert (found["results"], found["reason"]) == ([], said)


@pytest.mark.parametrize(
    ("candidates", "said"),
    [
        ([], "The call brings no candidates to compare."),
        (["java", "pit"], 'The closest candidate, "pit", has a similarity of 0.4, below the threshold 0.6.'),
        (["xxx"], "No candidate has anything in common with the query."),
    ],
)
def test_a_spelling_without_a_match_says_how_close_the_closest_is(
    tools: Tools, candidates: list[str], said: str
) -> None:
    found = tools("search_fuzzy", query="pythn", candidates=candidates)
    assert (found["best_match"], found["matches"], found["reason"]) == (None, [], said)


@pytest.mark.parametrize("prefix", ["", "codomyrmex."])
def test_the_nearest_spelling_is_found(tools: Tools, prefix: str) -> None:
    candidates = ["java", "python", "PYTHON2", "rust"]
    assert tools(f"{prefix}search_fuzzy", query="Pythn", candidates=candidates) == {
        "status": "ok",
        "query": "Pythn",
        "best_match": "python",
        "matches": [{"candidate": "python", "score": 0.833333}, {"candidate": "PYTHON2", "score": 0.714286}],
    }


def test_the_names_are_listed_without_a_dot() -> None:
    names = [tool.name for tool in tools_of("inline")]
    assert names == ["search_documents", "search_index_query", "search_fuzzy"]


@pytest.mark.parametrize(("tool", "default"), [("search_documents", 5), ("search_index_query", 10)])
def test_the_defaults_are_five_and_ten_and_ties_keep_their_order(tools: Tools, tool: str, default: int) -> None:
    found = tools(tool, query="same", documents=["same text"] * 12)
    assert [result["doc_id"] for result in found["results"]] == [str(place) for place in range(default)]


def test_operators_mean_nothing_here(tools: Tools) -> None:
    found = tools("search_documents", query='-rate +absent "no such phrase"', documents=TEXTS)
    assert [result["doc_id"] for result in found["results"]] == ["0", "2"]


def test_a_snippet_is_the_first_200_characters(tools: Tools) -> None:
    (result,) = tools("search_documents", query="needle", documents=["x" * 300 + " needle"])["results"]
    assert result["snippet"] == "x" * 200
    assert result["highlights"] == ["..." + "x" * 29 + " needle..."]


@pytest.mark.parametrize("query", ["", "  ", "a", "!?"])
def test_a_query_without_words_finds_nothing(tools: Tools, query: str) -> None:
    assert tools("search_documents", query=query, documents=["a text"])["results"] == []


def test_nothing_to_search_is_no_error(tools: Tools) -> None:
    assert tools("search_documents", query="x", documents=[])["results"] == []
    assert tools("search_index_query", query="x", documents=["", " "])["index_size"] == 2
    assert tools("search_fuzzy", query="x", candidates=[])["best_match"] is None


def test_exactly_at_the_threshold_is_a_match_and_the_best_one(tools: Tools) -> None:
    found = tools("search_fuzzy", query="abcd", candidates=["abxy", "abcx"], threshold=0.75)
    assert found["best_match"] == "abcx"
    assert found["matches"] == [{"candidate": "abcx", "score": 0.75}]


def test_below_the_threshold_there_is_no_best_match_and_the_field_is_null(tools: Tools) -> None:
    found = tools("search_fuzzy", query="abcd", candidates=["wxyz", ""])
    assert found["best_match"] is None
    assert found["matches"] == []


def test_a_shell_prints_the_null_too() -> None:
    printed = "\n".join(map(str, FuzzyMatches(status="ok", query="x", best_match=None, matches=[]).as_lines()))
    assert json.loads(printed) == {"status": "ok", "query": "x", "best_match": None, "matches": []}


def test_thresholds_of_zero_and_one_are_taken(tools: Tools) -> None:
    assert len(tools("search_fuzzy", query="a", candidates=["b", "", "A"], threshold=0)["matches"]) == 3
    assert tools("search_fuzzy", query="a", candidates=["b", "A"], threshold=1)["best_match"] == "A"
    assert tools("search_fuzzy", query="", candidates=["", "a"])["matches"] == []


def test_equal_spellings_keep_their_order(tools: Tools) -> None:
    found = tools("search_fuzzy", query="abc", candidates=["abx", "ABC", "abc", "aby"])
    assert [match["candidate"] for match in found["matches"]] == ["ABC", "abc", "abx", "aby"]


@pytest.mark.parametrize(
    ("tool", "arguments", "reason"),
    [
        ("search_documents", {"documents": ["a"]}, "query: is required"),
        ("search_documents", {"query": "a"}, "documents: is required"),
        ("search_documents", {"query": "a", "documents": "a"}, "documents: must be a list"),
        ("search_documents", {"query": "a", "documents": ["a", 5]}, "documents: must be a list"),
        ("search_documents", {"query": "a", "documents": [None]}, "documents: must be a list"),
        ("search_documents", {"query": "a", "documents": ["a"], "top_k": 0}, "top_k: must be a whole number from 1"),
        ("search_index_query", {"query": "a", "documents": ["a"], "top_k": "5"}, "top_k: must be a whole number"),
        (
            "search_fuzzy",
            {"query": "a", "candidates": ["a"], "threshold": 1.5},
            "threshold: must be a number from 0 to 1",
        ),
        ("search_fuzzy", {"query": "a", "candidates": ["a"], "threshold": float("nan")}, "threshold: must be a number"),
        ("search_fuzzy", {"query": "a", "candidates": {"a": 1}}, "candidates: must be a list"),
        ("search_fuzzy", {"query": "a"}, "candidates: is required"),
    ],
)
def test_a_failure_has_the_status_error_and_says_why(
    tools: Tools, tool: str, arguments: dict[str, Any], reason: str
) -> None:
    answer = tools(tool, **arguments)
    assert list(answer) == ["status", "error"]
    assert answer["status"] == "error"
    assert reason in answer["error"]
