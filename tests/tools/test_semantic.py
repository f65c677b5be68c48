"""Indexing by patterns and search by meaning alone, on a real workspace."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sidecar.errors import InvalidParams, InvalidPattern, InvalidQuery, PathTraversal
from sidecar.tools.semantic import NO_PATTERNS, chunk_type
from tests.tools.conftest import RealTools


@pytest.fixture
def tools(real_tools: Callable[..., RealTools]) -> RealTools:
    return real_tools("semantic,code", confirm="never")


def counts(result: dict[str, object]) -> tuple[object, ...]:
    return tuple(result[name] for name in ("indexed_files", "skipped_files", "failed_files"))


@pytest.mark.process
def test_patterns_index_what_they_match_and_no_more_is_claimed(tools: RealTools) -> None:
    result = tools("search_index", patterns=["**/*.py", "src/parse.ts"])
    assert result["message"] == "Successfully indexed 3 files"
    assert counts(result) == (3, 0, 0)
    assert result["total_chunks"] >= 3
    assert isinstance(result["execution_time_ms"], int)
    status = tools("get_index_status")
    assert (status["status"], status["patterns"]) == ("ready", ["**/*.py", "src/parse.ts"])


@pytest.mark.process
def test_what_has_not_changed_is_skipped_unless_forced(tools: RealTools) -> None:
    tools("search_index", patterns=["src/**"])
    assert counts(tools("search_index", patterns=["**/*.py"])) == (0, 2, 0)
    assert counts(tools("search_index", patterns=["**/*.py"], force=True)) == (2, 0, 0)
    tools.project.write("src/retry.py", "def again():\n    return 1\n")
    assert counts(tools("search_index", patterns=["**/*.py"])) == (1, 1, 0)
    assert tools("search_symbols", name="again")["symbols"][0]["path"] == "src/retry.py"


@pytest.mark.process
def test_a_file_that_two_patterns_match_counts_twice(tools: RealTools) -> None:
    assert counts(tools("search_index", patterns=["src/*.py", "**/*.py"])) == (2, 2, 0)
    assert counts(tools("search_index", patterns=["src/*.py", "**/*.py"], force=True)) == (4, 0, 0)


@pytest.mark.process
def test_files_folders_and_absolute_paths_are_patterns_too(tools: RealTools) -> None:
    root = tools.project.root
    patterns = ["src/http", str(root / "src" / "retry.py"), f"{root}/docs/*.md", "./README.md"]
    assert counts(tools("search_index", patterns=patterns)) == (4, 0, 0)


@pytest.mark.process
def test_a_file_whose_name_looks_like_a_glob_is_a_file(tools: RealTools) -> None:
    tools.project.write("app/[id].ts", "export function page() {\n  return 1\n}\n")
    assert counts(tools("search_index", patterns=["app/[id].ts"])) == (1, 0, 0)


@pytest.mark.process
def test_what_cannot_be_indexed_is_counted_and_named(tools: RealTools) -> None:
    tools.project.write(".gitignore", "secret/\n")
    tools.project.write("secret/a.py", "x = 1\n")
    tools.project.git("init", "-q")
    result = tools("search_index", patterns=["src/*.py", "gone.py", "secret/a.py", "nothing/**"])
    assert counts(result) == (2, 0, 2)
    assert result["message"] == "Successfully indexed 2 files; 2 files could not be indexed"
    reasons = {failure["path"]: failure["error"] for failure in result["errors"]}
    assert reasons["gone.py"] == "There is no such file."
    assert "gitignore" in reasons["secret/a.py"]


def test_patterns_without_a_match_make_no_index(tools: RealTools) -> None:
    assert tools("search_index", patterns=["**/*.nothing"])["message"] == "Successfully indexed 0 files"
    assert tools("get_index_status")["status"] == "not_found"


def test_no_patterns_is_refused_in_the_original_s_words(tools: RealTools) -> None:
    with pytest.raises(InvalidParams) as refused:
        tools("search_index", patterns=[])
    assert NO_PATTERNS in refused.value.message
    with pytest.raises(InvalidParams, match="patterns: is required"):
        tools("search_index")
    with pytest.raises(InvalidParams):
        tools("search_index", patterns=[""])


@pytest.mark.parametrize("pattern", ["../other.py", "../*.py", "/etc/passwd", "/etc/*", "src/../../x/*.py"])
def test_a_pattern_that_leaves_the_workspace_is_refused_and_nothing_is_indexed(tools: RealTools, pattern: str) -> None:
    with pytest.raises(PathTraversal):
        tools("search_index", patterns=["**/*.py", pattern])
    assert tools("get_index_status")["status"] == "not_found"


def test_a_malformed_glob_is_refused(tools: RealTools) -> None:
    with pytest.raises(InvalidPattern):
        tools("search_index", patterns=["src/[a"])
    with pytest.raises(InvalidPattern):
        tools("search_index", patterns=["{a,b"])


@pytest.mark.process
def test_a_query_returns_the_specified_fields_best_first(tools: RealTools) -> None:
    tools("search_index", patterns=["**/*"])
    result = tools("search_query", query="call again with growing pauses", limit=3)
    assert result["query"] == "call again with growing pauses"
    assert result["total_results"] == len(result["results"]) <= 3
    first = result["results"][0]
    assert set(first) == {
        *("file_path", "chunk_text", "line_start", "line_end"),
        *("similarity_score", "language", "chunk_type", "excerpt"),
    }
    assert first["file_path"] == "src/retry.py"
    assert (first["language"], first["chunk_type"]) == ("python", "Function")
    assert first["chunk_text"].splitlines()[0] == '"""Retries of calls."""'
    scores = [hit["similarity_score"] for hit in result["results"]]
    assert scores == sorted(scores, reverse=True)
    assert all(0.5 <= score <= 1 for score in scores)


@pytest.mark.process
def test_a_query_finds_documentation_too(tools: RealTools) -> None:
    tools("search_index", patterns=["**/*"])
    paths = [hit["file_path"] for hit in tools("search_query", query="how to install")["results"]]
    assert "README.md" in paths


@pytest.mark.process
def test_the_threshold_cuts_off_what_is_less_similar(tools: RealTools) -> None:
    tools("search_index", patterns=["**/*"])
    every = tools("search_query", query="cookies", threshold=0)["results"]
    bar = every[1]["similarity_score"]
    few = tools("search_query", query="cookies", threshold=bar - 0.0001)["results"]
    assert len(few) < len(every)
    assert all(hit["similarity_score"] >= bar for hit in few)
    assert tools("search_query", query="cookies", threshold=1)["results"] == []


def test_an_empty_index_is_an_empty_answer_and_no_error(tools: RealTools) -> None:
    result = tools("search_query", query="anything")
    assert (result["results"], result["total_results"]) == ([], 0)
    assert "search_index" in result["notice"]


def test_an_empty_query_and_a_wrong_limit_are_refused(tools: RealTools) -> None:
    with pytest.raises(InvalidQuery, match=r"Search query cannot be empty") as refused:
        tools("search_query", query="  ")
    assert "Search query cannot be empty." in refused.value.message
    for limit in (0, -1, 101, "ten", 1.5):
        with pytest.raises(InvalidParams, match="limit"):
            tools("search_query", query="x", limit=limit)


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("function", "def f(): ...", "Function"),
        ("method", "", "Function"),
        ("class", "", "Class"),
        ("namespace", "", "Module"),
        ("code", "import os\nfrom sys import path\n", "Import"),
        ("code", "use std::fmt;\n", "Import"),
        ("code", "import os\nos.run()\n", "Module"),
        ("section", "# Title", "PlainText"),
        ("text", "import nothing", "PlainText"),
    ],
)
def test_a_chunk_s_type_is_one_of_five(kind: str, text: str, expected: str) -> None:
    assert chunk_type(kind, text) == expected
