"""Specification 000 on every door. The documents are in SQLite, because every call from the shell is a new process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import log
from typing import Any

import pytest

from tests.spec.conftest import DOORS, Drive
from tests.spec.doors import ToolFailed
from tests.spec.families import open_drive
from tests.spec.requirements import VARIANT, requires

TEXTS = {
    "intro": "Python rate limiting with token buckets",
    "ml": "Machine learning in Python: a machine, some learning.",
    "driving": "Learning to drive a machine, with Python",
    "java": "Java rate limits",
}
DOCUMENTS = {"SIDECAR_TOOLSETS": "documents"}
METADATA = {"class": "guide", "a-b": {"nested": [1, None, {"deep": True}]}, "year": 2026, "null": None}


@pytest.fixture(scope="module", params=DOORS)
def drive(request: pytest.FixtureRequest, repository: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Drive]:
    yield from open_drive(request, repository, tmp_path_factory, DOCUMENTS["SIDECAR_TOOLSETS"])


@pytest.fixture(scope="module")
def docs(drive: Drive) -> Drive:
    """A door with an index called docs."""
    drive("search_create_index", index_name="docs", backend="sqlite")
    for doc_id, text in TEXTS.items():
        drive("search_add_document", doc_id=doc_id, content=text, metadata={"of": doc_id}, index_name="docs")
    return drive


def found(drive: Drive, query: str, **arguments: Any) -> list[str]:
    answer = drive("search_index", query=query, **{"index_name": "docs", **arguments})
    return [result["doc_id"] for result in answer["results"]]


def refused(drive: Drive, tool: str, **arguments: Any) -> str:
    with pytest.raises(ToolFailed) as failed:
        drive(tool, **arguments)
    assert failed.value.body["error"] == failed.value.message
    return failed.value.message


@requires(
    "000.search_index.ranked",
    "000.search_index.returns",
    "000.search_index.result",
    "000.search_index.query_parsed",
    "000.search_index.total_matches",
    "000.search_index.k",
    "000.search_index.index_name",
    "000.search_index.read-only",
    "000.general.highlights",
    "000.general.tf-idf",
)
def test_a_search_is_ranked_and_tells_how_it_was_read(docs: Drive) -> None:
    query = '+python rate "token buckets" -java'
    answer = docs("search_index", query=query, index_name="docs")
    assert answer["query_parsed"] == {
        "terms": ["rate"],
        "must": ["python"],
        "must_not": ["java"],
        "phrases": ["token buckets"],
    }
    (result,) = answer["results"]
    idf = {holding: log(4 / (holding + 1)) + 1 for holding in (1, 2, 3)}
    assert result["score"] == pytest.approx(idf[3] + idf[2] + 2 * idf[1], abs=1e-5)
    assert result["highlights"][0] == "...Python rate limiting with token buck..."
    assert result["metadata"] == {"of": "intro"}
    assert docs("search_index", query=query, index_name="docs") == answer
    ranked = docs("search_index", query="machine learning", k=1, index_name="docs")
    assert (len(ranked["results"]), ranked["total_matches"]) == (1, 2)
    scores = [r["score"] for r in docs("search_index", query="machine rate", index_name="docs")["results"]]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == 4


@requires("000.general.must", "000.general.must-not", "000.general.phrase")
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("+machine buckets", {"ml", "driving"}),
        ("python -machine", {"intro"}),
        ('"machine learning"', {"ml"}),
        pytest.param('python -"machine learning"', {"intro", "driving"}, marks=VARIANT),
        pytest.param('"unclosed machine', {"ml", "driving"}, marks=VARIANT),
    ],
)
def test_operators_decide_what_matches(docs: Drive, query: str, expected: set[str]) -> None:
    assert set(found(docs, query)) == expected


@requires("000.search_index.empty-query")
@pytest.mark.parametrize("query", ["", pytest.param('+ - ""', marks=VARIANT)])
def test_an_empty_query_finds_nothing_and_has_every_field_of_an_answer(docs: Drive, query: str) -> None:
    assert docs("search_index", query=query, index_name="docs") == {
        "results": [],
        "total_matches": 0,
        "query_parsed": {"terms": [], "must": [], "must_not": [], "phrases": []},
    }


@requires("000.search_index.highlights-max")
def test_there_are_at_most_three_highlights(docs: Drive) -> None:
    answer = docs("search_index", query="python limiting token buckets rate", index_name="docs")
    assert len(answer["results"][0]["highlights"]) == 3


@requires("000.search_index.no-injection")
@pytest.mark.parametrize("query", ["'; DROP TABLE documents; -- NEAR(nothing)* %_\\\") OR 1=1"])
def test_any_text_is_a_query(docs: Drive, query: str) -> None:
    assert found(docs, query) == []


@requires(
    "000.search_index.k-default",
    "000.search_add_document.adds",
    "000.search_add_document.returns",
    "000.search_add_document.token_count",
    "000.search_add_document.index_name",
    "000.search_create_index.creates",
    "000.general.named",
)
def test_documents_go_into_the_index_that_is_named(docs: Drive) -> None:
    docs("search_create_index", index_name="other", backend="sqlite")
    for number in range(11):
        added = docs("search_add_document", doc_id=f"d{number}", content=TEXTS["intro"], index_name="other")
        assert added == {"status": "indexed", "doc_id": f"d{number}", "token_count": 6}
    assert found(docs, "python", index_name="other") == [f"d{number}" for number in range(10)]
    assert "d0" not in found(docs, "python")


@requires("000.general.default", "000.search_create_index.backend", "000.search_create_index.returns")
def test_without_a_name_it_is_the_default_index_in_memory(docs: Drive) -> None:
    assert docs("search_add_document", doc_id="m", content="kept in memory")["status"] == "indexed"
    in_memory = {"status": "created", "index_name": "plain", "backend": "memory"}
    assert docs("search_create_index", index_name="plain") == in_memory
    assert [r["doc_id"] for r in docs("search_index", query="memory")["results"]] == ["m"]
    assert docs("search_index", query="memory", index_name="plain")["total_matches"] == 0


@requires("000.general.in-memory")
def test_what_is_in_memory_ends_with_the_process(another: Callable[..., Drive]) -> None:
    first = another(env=DOCUMENTS)
    first("search_add_document", doc_id="secret", content="hippopotamus")
    kept = [file.read_bytes() for file in first.home.rglob("*") if file.is_file()]
    assert not any(b"hippopotamus" in content for content in kept)
    first.close()
    assert found(another(env=DOCUMENTS, like=first), "hippopotamus", index_name="default") == []


@requires("000.search_create_index.safe-names")
def test_a_name_is_no_path(docs: Drive) -> None:
    before = {path for path in docs.home.parent.rglob("*") if not path.is_relative_to(docs.home)}
    for name in ("../../up", "/etc/x", "a b", "x\ty", "é"):
        said = refused(docs, "search_create_index", index_name=name, backend="sqlite")
        assert "letters, digits, hyphens and underscores" in said
    assert {path for path in docs.home.parent.rglob("*") if not path.is_relative_to(docs.home)} == before


@requires(
    "000.search_add_document.re-indexes",
    "000.search_add_document.idempotent",
    "000.search_add_document.metadata",
    "000.search_add_document.as-is",
)
def test_the_same_id_is_re_indexed(docs: Drive) -> None:
    docs("search_create_index", index_name="again", backend="sqlite")
    first: dict[str, Any] = {"doc_id": "a", "content": "old words", "index_name": "again"}
    assert docs("search_add_document", **first)["status"] == "indexed"
    second: dict[str, Any] = {"doc_id": "a", "content": "new words", "metadata": METADATA, "index_name": "again"}
    answers = []
    for _ in range(2):
        assert docs("search_add_document", **second)["status"] == "re-indexed"
        answers.append(docs("search_index", query="words", index_name="again"))
    assert answers[0] == answers[1]
    assert answers[0]["results"][0]["metadata"] == METADATA
    assert found(docs, "old", index_name="again") == []


@requires("000.search_create_index.lowercase", "000.search_create_index.min_length")
def test_the_tokenizer_can_be_set(docs: Drive) -> None:
    exact: dict[str, Any] = {"lowercase": False, "min_length": 4}
    for name, settings, tokens in (("exact", exact, 1), ("usual", {}, 3)):
        docs("search_create_index", index_name=name, backend="sqlite", tokenizer_config=settings)
        added = docs("search_add_document", doc_id="a", content="The Tokens a is", index_name=name)
        assert added["token_count"] == tokens
    assert found(docs, "tokens", index_name="exact") == []
    assert found(docs, "Tokens", index_name="exact") == found(docs, "tOKENS", index_name="usual") == ["a"]


@requires(
    "000.search_index.index-not-found",
    "000.search_add_document.blank-content",
    "000.search_add_document.index-not-found",
    "000.search_create_index.exists",
    "000.search_create_index.not-idempotent",
    "000.search_create_index.unknown-backend",
)
@pytest.mark.parametrize(
    ("tool", "arguments", "sentence"),
    [
        ("search_index", {"query": "x", "index_name": "nope"}, "Index not found: nope"),
        ("search_add_document", {"doc_id": "a", "content": "x", "index_name": "nope"}, "Index not found: nope"),
        ("search_add_document", {"doc_id": "a", "content": " "}, "Content must be a non-empty string"),
        ("search_add_document", {"doc_id": "a"}, "Content must be a non-empty string"),
        ("search_create_index", {"index_name": "docs"}, "Index already exists: docs"),
        ("search_create_index", {"index_name": "x", "backend": "redis"}, "Unknown backend: redis"),
    ],
)
def test_every_error_has_its_sentence(docs: Drive, tool: str, arguments: dict[str, Any], sentence: str) -> None:
    assert refused(docs, tool, **arguments) == sentence


@requires(
    "000.search_index.query-required",
    "000.search_add_document.doc_id-required",
    "000.search_create_index.index_name-required",
    "000.search_index.k",
    "000.search_add_document.metadata",
)
@pytest.mark.parametrize(
    ("tool", "arguments", "name"),
    [
        ("search_index", {}, "query"),
        ("search_index", {"query": "x", "k": 0}, "k"),
        ("search_add_document", {"content": "x"}, "doc_id"),
        ("search_add_document", {"doc_id": "a", "content": "x", "metadata": ["no object"]}, "metadata"),
        ("search_create_index", {}, "index_name"),
    ],
)
def test_a_wrong_parameter_is_named(docs: Drive, tool: str, arguments: dict[str, Any], name: str) -> None:
    # An editor has all tools, also the other `search_index`.
    said = f"Send either {name} " if docs.name == "lsp" and name == "query" else f"{name}: "
    assert said in refused(docs, tool, **arguments)
