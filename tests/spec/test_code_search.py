"""Specification 002, the tools that look things up, on every door. One index serves the whole file."""

from __future__ import annotations

from typing import Any

import pytest

from tests.spec.conftest import FILES, Drive
from tests.spec.doors import ToolFailed
from tests.spec.requirements import VARIANT, requires

SEARCHES = ("search_code", "search_docs")


@pytest.fixture(scope="module")
def ask(drive: Drive) -> Drive:
    """A door whose workspace is indexed."""
    return drive.with_index()


def refused(drive: Drive, tool: str, **arguments: Any) -> ToolFailed:
    with pytest.raises(ToolFailed) as failed:
        drive(tool, **arguments)
    return failed.value


def places(result: dict[str, Any]) -> list[tuple[str, int]]:
    return [(hit["path"], hit["startLine"]) for hit in result["results"]]


@requires(
    "002.search_code.semantic",
    "002.search_code.mode-default",
    "002.search_code.search-mode",
    "002.search_code.returns",
    "002.search_code.score",
    "002.search_code.lines",
    "002.search_code.top_k-default",
    "002.search_code.compact-default",
)
def test_a_question_in_words_finds_the_code_with_its_lines(ask: Drive) -> None:
    answer = ask("search_code", query="connecting to a server again after failures")
    assert {"results", "query", "totalResults", "searchTimeMs", "searchMode"} <= set(answer)
    assert answer["query"] == "connecting to a server again after failures"
    assert answer["searchMode"] == "hybrid"
    assert 1 <= len(answer["results"]) <= 10
    assert answer["totalResults"] == len(answer["results"])
    assert answer["searchTimeMs"] > 0
    assert answer["results"][0]["path"] == "src/network.py"
    scores = [hit["score"] for hit in answer["results"]]
    assert all(0 <= score <= 1 for score in scores)
    assert scores == sorted(scores, reverse=True)
    for hit in answer["results"]:
        lines = FILES[hit["path"]].splitlines()[hit["startLine"] - 1 : hit["endLine"]]
        assert hit["content"].splitlines() == lines


@requires("002.search_code.semantic")
def test_a_text_as_long_as_an_issue_is_searched_and_found_by_what_stands_at_its_end(ask: Drive) -> None:
    log = "".join(f"line {n} of the log: unrelated-{n} was {n} ms late, see entry_{n}\n" for n in range(400))[:19_960]
    answer = ask("search_code", query=log + "\nFailed in parse_settings_file")
    assert answer["results"][0]["path"] == "src/parser.py"


@requires("002.search_code.fts", "002.search_code.modes")
def test_words_find_an_identifier_by_its_exact_name(ask: Drive) -> None:
    answer = ask("search_code", query="parse_settings_file", mode="fts")
    assert answer["searchMode"] == "fts"
    assert answer["results"][0]["path"] == "src/parser.py"
    assert refused(ask, "search_code", query="x", mode="fuzzy").code == "INVALID_PARAMS"


@requires("002.search_code.hybrid", "002.search_code.alpha-default")
def test_hybrid_finds_what_either_search_finds_first(ask: Drive) -> None:
    query = "settings dictionary"
    hybrid = ask("search_code", query=query)
    for mode in ("vector", "fts"):
        assert places(ask("search_code", query=query, mode=mode))[0] in places(hybrid)
    assert places(ask("search_code", query=query, alpha=0.5)) == places(hybrid)


@requires("002.search_code.alpha-one", "002.search_code.alpha-range")
def test_alpha_one_is_vector_search(ask: Drive) -> None:
    vector = ask("search_code", query="settings dictionary", mode="vector")
    assert vector["searchMode"] == "vector"
    assert places(ask("search_code", query="settings dictionary", alpha=1)) == places(vector)


@requires("002.search_code.alpha-zero", "002.search_code.alpha-range")
def test_alpha_zero_is_keyword_search(ask: Drive) -> None:
    keyword = ask("search_code", query="settings dictionary", mode="fts")
    assert places(ask("search_code", query="settings dictionary", alpha=0)) == places(keyword)


@requires("002.search_code.compact", "002.search_docs.compact")
@pytest.mark.parametrize("tool", SEARCHES)
def test_the_compact_form_has_short_names(ask: Drive, tool: str) -> None:
    answer = ask(tool, query="level of messages and settings", compact=True)
    assert set(answer) - {"notice", "weak"} == {"r", "n", "ms"}
    assert answer["n"] == len(answer["r"]) >= 1
    for hit in answer["r"]:
        path, _, lines = hit["l"].rpartition(":")
        start, end = map(int, lines.split("-"))
        assert start <= hit["a"] <= end
        assert hit["t"] == FILES[path].splitlines()[hit["a"] - 1].strip()
        assert hit["s"] == round(hit["s"], 2)


@requires("002.search_code.top_k-range", "002.search_docs.top_k-range")
@pytest.mark.parametrize("tool", SEARCHES)
def test_top_k_is_1_to_50(ask: Drive, tool: str) -> None:
    assert len(ask(tool, query="return a value", top_k=1)["results"]) <= 1
    assert ask(tool, query="return a value", top_k=50)["query"] == "return a value"
    for wrong in (0, 51):
        failed = refused(ask, tool, query="x", top_k=wrong)
        assert failed.code == "INVALID_PARAMS"
        assert "top_k" in failed.message
        assert "1 to 50" in failed.message


@requires("002.search_code.alpha-range", "002.search_docs.alpha-range")
@pytest.mark.parametrize("tool", SEARCHES)
@pytest.mark.parametrize("alpha", [-1, pytest.param(2, marks=VARIANT)])
def test_alpha_is_0_to_1(ask: Drive, tool: str, alpha: float) -> None:
    failed = refused(ask, tool, query="x", alpha=alpha)
    assert failed.code == "INVALID_PARAMS"
    assert "alpha" in failed.message


@requires("002.search_code.query-required", "002.search_docs.query-required")
@pytest.mark.parametrize("tool", SEARCHES)
def test_a_query_is_required(ask: Drive, tool: str) -> None:
    failed = refused(ask, tool, top_k=5)
    assert failed.code == "INVALID_QUERY"
    assert "query" in failed.message


@requires("002.search_code.invalid-query", "002.search_docs.invalid-query")
@pytest.mark.parametrize("tool", SEARCHES)
@pytest.mark.parametrize("query", ["", pytest.param("   ", marks=VARIANT)])
def test_an_empty_query_is_invalid(ask: Drive, tool: str, query: str) -> None:
    failed = refused(ask, tool, query=query)
    assert failed.code == "INVALID_QUERY"
    assert "Search query is required." in failed.message


@requires(
    "002.search_docs.documentation",
    "002.search_docs.modes",
    "002.search_docs.mode-default",
    "002.search_docs.top_k-default",
    "002.search_docs.compact-default",
    "002.search_docs.returns",
)
def test_documentation_is_searched_in_all_three_modes(ask: Drive) -> None:
    answer = ask("search_docs", query="where do log messages go")
    assert {"results", "query", "totalResults", "searchTimeMs", "searchMode"} <= set(answer)
    assert answer["searchMode"] == "vector"
    assert 1 <= len(answer["results"]) <= 10
    assert answer["results"][0]["path"] == "docs/logging.md"
    for mode in ("hybrid", "fts"):
        found = ask("search_docs", query="release checklist", mode=mode)
        assert found["searchMode"] == mode
        assert found["results"][0]["path"] == "notes.txt"
        assert {hit["path"] for hit in found["results"]} <= {"notes.txt", "docs/logging.md"}


@requires("002.search_by_path.glob", "002.search_by_path.returns", "002.search_by_path.indexed")
def test_paths_are_found_by_glob(ask: Drive) -> None:
    deep = ask("search_by_path", pattern="**/*.py")
    assert deep == {
        "matches": ["src/network.py", "src/parser.py", "tools/report.py"],
        "pattern": "**/*.py",
        "totalMatches": 3,
    }
    assert ask("search_by_path", pattern="src/*.py")["matches"] == ["src/network.py", "src/parser.py"]
    assert (ask.workspace / "ignored/skipped.py").is_file()
    assert ask("search_by_path", pattern="ignored/*")["totalMatches"] == 0


@requires("002.search_by_path.limit-range", "002.search_by_path.limit-default")
def test_limit_is_1_to_100(ask: Drive) -> None:
    one = ask("search_by_path", pattern="**/*", limit=1)
    assert len(one["matches"]) == 1
    assert one["totalMatches"] >= 6
    assert ask("search_by_path", pattern="**/*", limit=100)["totalMatches"] == one["totalMatches"]
    for wrong in (0, 101):
        failed = refused(ask, "search_by_path", pattern="*", limit=wrong)
        assert failed.code == "INVALID_PARAMS"
        assert "1 to 100" in failed.message


@requires("002.search_by_path.pattern-required")
def test_a_pattern_is_required(ask: Drive) -> None:
    failed = refused(ask, "search_by_path")
    assert failed.code == "INVALID_PATTERN"
    assert "pattern" in failed.message


@requires("002.search_by_path.invalid-pattern")
@pytest.mark.parametrize("pattern", ["src/[ab", pytest.param("src/{a,b", marks=VARIANT)])
def test_an_unbalanced_glob_is_invalid(ask: Drive, pattern: str) -> None:
    failed = refused(ask, "search_by_path", pattern=pattern)
    assert failed.code == "INVALID_PATTERN"
    assert "Invalid glob pattern." in failed.message
