"""Specification 001 on every door."""

from __future__ import annotations

from collections.abc import Iterator
from math import log
from typing import Any

import pytest

from tests.spec.conftest import DOORS, Drive
from tests.spec.doors import ToolFailed
from tests.spec.families import open_drive
from tests.spec.requirements import VARIANT, requires

TEXTS = ["Rate limiting protects APIs", "Authentication guide", "API rate limits"]


@pytest.fixture(scope="module", params=DOORS)
def drive(request: pytest.FixtureRequest, repository: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drive]:
    yield from open_drive(request, repository, tmp_path_factory, "inline")


@requires(
    "001.general.tf-idf",
    "001.search_documents.returns",
    "001.search_documents.result",
    "001.search_documents.idempotent",
)
def test_texts_are_searched(drive: Drive) -> None:
    answer = drive("search_documents", query="rate limiting API", documents=TEXTS, top_k=3)
    score = pytest.approx(1 + log(3 / 2) + 1, abs=1e-5)
    assert answer == {
        "status": "ok",
        "query": "rate limiting API",
        "results": [
            {"doc_id": "0", "score": score, "snippet": TEXTS[0], "highlights": [f"...{TEXTS[0]}..."]},
            {"doc_id": "2", "score": score, "snippet": TEXTS[2], "highlights": [f"...{TEXTS[2]}..."]},
        ],
    }
    assert drive("search_documents", query="rate limiting API", documents=TEXTS, top_k=3) == answer


@requires("001.general.names")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("search_documents", {"query": "rate", "documents": TEXTS}),
        pytest.param("search_index_query", {"query": "rate", "documents": TEXTS}, marks=VARIANT),
        pytest.param("search_fuzzy", {"query": "pythn", "candidates": ["python"]}, marks=VARIANT),
    ],
)
def test_the_dotted_name_answers_like_the_plain_one(drive: Drive, tool: str, arguments: dict[str, Any]) -> None:
    answer = drive(tool, **arguments)
    assert answer["status"] == "ok"
    assert drive(f"codomyrmex.{tool}", **arguments) == answer


@requires(
    "001.search_index_query.combines",
    "001.search_index_query.returns",
    "001.search_index_query.index_size",
    "001.search_index_query.temporary",
    "001.general.in-memory",
)
def test_texts_are_indexed_and_searched_in_one_call_and_forgotten(drive: Drive) -> None:
    answer = drive("search_index_query", query="deployment guide", documents=["Deployment steps", "x", "A guide"])
    assert list(answer) == ["status", "query", "index_size", "results"]
    assert answer["index_size"] == 3
    assert [result["doc_id"] for result in answer["results"]] == ["0", "2"]
    assert drive("search_index_query", query="deployment", documents=["x"])["results"] == []


@requires("001.search_index_query.result", "001.search_documents.top_k", "001.search_index_query.top_k")
def test_both_give_the_same_results_and_as_many_as_are_asked_for(drive: Drive) -> None:
    one, other = (
        drive(tool, query="rate API", documents=TEXTS, top_k=1) for tool in ("search_documents", "search_index_query")
    )
    assert one["results"] == other["results"]
    assert len(one["results"]) == 1


@requires("001.search_index_query.example", "001.search_fuzzy.example")
def test_the_examples_of_the_specification_answer(drive: Drive) -> None:
    texts = ["Production deployment steps", "Development setup guide", "Deployment best practices"]
    answer = drive("search_index_query", query="deployment guide", documents=texts, top_k=2)
    assert (answer["status"], answer["index_size"], len(answer["results"])) == ("ok", 3, 2)
    words = ["containerization", "configuration", "compilation"]
    answer = drive("search_fuzzy", query="contanerization", candidates=words, threshold=0.7)
    assert answer["best_match"] == "containerization"
    assert [match["candidate"] for match in answer["matches"]] == ["containerization"]


@requires("001.search_fuzzy.not-persisted", "001.general.in-memory", "001.search_index_query.temporary")
def test_nothing_of_what_was_sent_is_on_disk(drive: Drive) -> None:
    drive("search_fuzzy", query="hippopotamos", candidates=["hippopotamus"])
    drive("search_index_query", query="hippopotamus", documents=["a hippopotamus"])
    assert not [file for file in drive.home.rglob("*") if file.is_file() and b"hippopotam" in file.read_bytes()]


@requires("001.search_documents.top_k-default", "001.search_index_query.top_k-default")
@pytest.mark.parametrize(("tool", "default"), [("search_documents", 5), ("search_index_query", 10)])
def test_the_defaults_are_five_and_ten(drive: Drive, tool: str, default: int) -> None:
    answer = drive(tool, query="same", documents=["same text"] * 12)
    assert [result["doc_id"] for result in answer["results"]] == [str(place) for place in range(default)]


@requires("001.search_documents.snippet")
def test_a_snippet_is_the_first_200_characters(drive: Drive) -> None:
    answer = drive("search_documents", query="needle", documents=["é" * 300 + " needle"])
    assert answer["results"][0]["snippet"] == "é" * 200


@requires("001.search_documents.no-injection")
@pytest.mark.parametrize(
    "query", ["'; DROP TABLE x; --\"+-*/", *(pytest.param(text, marks=VARIANT) for text in ('"', "+-*/", ""))]
)
def test_any_text_is_a_query(drive: Drive, query: str) -> None:
    assert drive("search_documents", query=query, documents=["a text"])["results"] == []


@requires("001.general.levenshtein", "001.search_fuzzy.best", "001.search_fuzzy.returns", "001.search_fuzzy.sorted")
def test_the_nearest_spelling_is_found(drive: Drive) -> None:
    answer = drive("search_fuzzy", query="pythn", candidates=["java", "pythons", "python", "rust"])
    assert list(answer) == ["status", "query", "best_match", "matches"]
    assert answer["best_match"] == "python"
    assert [match["candidate"] for match in answer["matches"]] == ["python", "pythons"]
    assert [match["score"] for match in answer["matches"]] == pytest.approx([5 / 6, 5 / 7], abs=1e-5)


@requires(
    "001.search_fuzzy.threshold-default",
    "001.search_fuzzy.threshold",
    "001.search_fuzzy.null",
    "001.search_fuzzy.deterministic",
)
def test_the_threshold_decides_and_ties_keep_their_order(drive: Drive) -> None:
    usual = drive("search_fuzzy", query="abcde", candidates=["abcxy", "abxyz", "abcyx"])
    assert [match["candidate"] for match in usual["matches"]] == ["abcxy", "abcyx"]
    none = drive("search_fuzzy", query="abcde", candidates=["abxyz"])
    assert (none["best_match"], none["matches"]) == (None, [])
    assert len(drive("search_fuzzy", query="a", candidates=["b", "A"], threshold=0)["matches"]) == 2
    assert drive("search_fuzzy", query="a", candidates=["b", "A"], threshold=1)["best_match"] == "A"


@requires(
    "001.search_documents.query-required",
    "001.search_documents.documents-required",
    "001.search_documents.error",
    "001.search_documents.top_k",
    "001.search_index_query.query-required",
    "001.search_index_query.documents-required",
    "001.search_index_query.top_k",
    "001.search_index_query.error",
    "001.search_fuzzy.query-required",
    "001.search_fuzzy.candidates-required",
    "001.search_fuzzy.threshold",
    "001.search_fuzzy.error",
)
@pytest.mark.parametrize(
    ("tool", "arguments", "name"),
    [
        ("search_documents", {"documents": TEXTS}, "query"),
        ("search_documents", {"query": "x"}, "documents"),
        ("search_documents", {"query": "x", "documents": ["a", 1]}, "documents"),
        ("search_documents", {"query": "x", "documents": TEXTS, "top_k": 0}, "top_k"),
        ("search_index_query", {"query": "x", "documents": TEXTS, "top_k": 0}, "top_k"),
        ("search_index_query", {"documents": TEXTS}, "query"),
        ("search_index_query", {"query": "x"}, "documents"),
        ("search_fuzzy", {"candidates": ["x"]}, "query"),
        ("search_fuzzy", {"query": "x"}, "candidates"),
        ("search_fuzzy", {"query": "x", "candidates": ["x"], "threshold": 2}, "threshold"),
    ],
)
def test_a_failure_says_why(drive: Drive, tool: str, arguments: dict[str, Any], name: str) -> None:
    with pytest.raises(ToolFailed) as failed:
        drive(tool, **arguments)
    assert f"{name}: " in failed.value.message
    assert failed.value.body | {"status": "error", "error": failed.value.message} == failed.value.body
