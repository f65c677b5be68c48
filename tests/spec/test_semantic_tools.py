"""Specification 004 on every door. The tests of one door share its workspace and run in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sidecar.tools.registry import tools_of
from sidecar.tools.semantic import NO_PATTERNS
from tests.spec.conftest import DOORS, FILES, Drive
from tests.spec.doors import ToolFailed
from tests.spec.families import open_drive
from tests.spec.requirements import requires

LANGUAGES = {
    "many/a.rs": "use std::fmt;\n\npub fn checksum_rust(data: &[u8]) -> u32 {\n    data.len() as u32\n}\n",
    "many/b.py": "def checksum_python(data):\n    return len(data)\n",
    "many/c.ts": "export function checksumTypescript(data: string): number {\n  return data.length\n}\n",
    "many/d.js": "function checksumJavascript(data) {\n  return data.length\n}\n",
    "many/e.dart": "int checksumDart(String data) {\n  return data.length;\n}\n",
}
BROKEN = "def ((((\n    ]] class unparsable gibberish about walruses\n"


@pytest.fixture(scope="module", params=DOORS)
def drive(
    request: pytest.FixtureRequest, repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Drive]:
    yield from open_drive(request, repository, tmp_path_factory, "semantic")


@pytest.fixture(scope="module")
def ask(drive: Drive) -> Drive:
    """A door whose files are indexed. They include files in many languages and a broken one."""
    for path, text in {**LANGUAGES, "many/broken.py": BROKEN}.items():
        drive.write(path, text)
    drive("search_index", patterns=["**/*"])
    return drive


def counts(result: dict[str, Any]) -> tuple[int, int, int]:
    return result["indexed_files"], result["skipped_files"], result["failed_files"]


@requires(
    "004.search_index.globs",
    "004.search_index.files",
    "004.search_index.several",
    "004.search_index.returns",
    "004.search_index.message",
    "004.search_index.time",
    "004.registration.both",
)
def test_patterns_and_files_are_indexed_and_counted(drive: Drive) -> None:
    result = drive("search_index", patterns=["src/**/*.py", "tools/report.py", "src/matrix.ts"])
    assert counts(result) == (4, 0, 0)
    assert result["message"] == "Successfully indexed 4 files"
    assert result["total_chunks"] >= 4
    assert isinstance(result["execution_time_ms"], int)


@requires("004.search_index.force", "004.search_index.force-default")
def test_unchanged_files_are_skipped_unless_forced(drive: Drive) -> None:
    drive("search_index", patterns=["src/**/*.py"])
    assert counts(drive("search_index", patterns=["src/**/*.py"])) == (0, 2, 0)
    assert counts(drive("search_index", patterns=["src/**/*.py"], force=True)) == (2, 0, 0)


@requires("004.search_index.invalid", "004.search_index.failures")
def test_a_pattern_that_cannot_be_used_says_why(drive: Drive) -> None:
    for pattern, code in (("src/[ab", "INVALID_PATTERN"), ("../*.py", "PATH_TRAVERSAL"), ("/etc/*", "PATH_TRAVERSAL")):
        with pytest.raises(ToolFailed) as failed:
            drive("search_index", patterns=[pattern])
        assert failed.value.code == code
        assert failed.value.body["code"] == code
    result = drive("search_index", patterns=["src/nowhere.py", "ignored/skipped.py"])
    assert counts(result) == (0, 0, 2)
    assert [failure["path"] for failure in result["errors"]] == ["src/nowhere.py", "ignored/skipped.py"]
    assert "There is no such file" in result["errors"][0]["error"]
    assert "gitignore" in result["errors"][1]["error"]


@requires("004.search_index.empty", "004.search_index.patterns-required")
def test_without_patterns_it_says_what_to_send(drive: Drive) -> None:
    with pytest.raises(ToolFailed, match="INVALID_PARAMS") as failed:
        drive("search_index", patterns=[])
    assert NO_PATTERNS in failed.value.message
    # An editor has all tools, also the other `search_index`.
    with pytest.raises(ToolFailed, match="or patterns .*required" if drive.name == "lsp" else "patterns: is required"):
        drive("search_index", force=True)


@requires(
    "004.search_query.semantic",
    "004.search_query.ranked",
    "004.search_query.returns",
    "004.search_query.result",
    "004.search_query.language",
    "004.search_query.chunk_type",
    "004.search_query.limit-default",
)
def test_a_question_in_words_finds_the_code_with_its_lines(ask: Drive) -> None:
    answer = ask("search_query", query="connecting to a server again after failures")
    assert {"results", "query", "total_results", "execution_time_ms"} <= set(answer)
    assert answer["query"] == "connecting to a server again after failures"
    assert answer["total_results"] == len(answer["results"]) <= 10
    first = answer["results"][0]
    assert (first["file_path"], first["language"], first["chunk_type"]) == ("src/network.py", "python", "Function")
    lines = FILES["src/network.py"].splitlines()[first["line_start"] - 1 : first["line_end"]]
    assert first["chunk_text"].splitlines() == lines
    scores = [hit["similarity_score"] for hit in answer["results"]]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


@requires("004.search_query.prerequisite")
def test_before_anything_is_indexed_the_answer_is_empty_and_says_what_to_do(another: Callable[..., Drive]) -> None:
    answer = another(env={"SIDECAR_TOOLSETS": "semantic"})("search_query", query="anything")
    assert (answer["results"], answer["total_results"]) == ([], 0)
    assert "search_index" in answer["notice"].replace("`sidecar search index`", "search_index")


@requires("004.registration.same")
def test_every_door_gives_the_same_results(ask: Drive) -> None:
    direct = Drive("direct", ask.workspace, ask.home, {"SIDECAR_TOOLSETS": "semantic"})
    try:
        asked: dict[str, Any] = {"query": "settings of the program", "limit": 3}
        assert ask("search_query", **asked)["results"] == direct("search_query", **asked)["results"]
    finally:
        direct.close()


@requires("004.search_query.excerpt", "004.search_query.limit", "004.search_query.threshold")
def test_results_are_limited_and_excerpts_mark_the_query(ask: Drive) -> None:
    (hit,) = ask("search_query", query="CSV", limit=1, threshold=0.51)["results"]
    assert hit["file_path"] == "tools/report.py"
    assert "<mark>CSV</mark>" in hit["excerpt"]
    assert ask("search_query", query="CSV", threshold=1)["results"] == []


@requires("004.search_query.query-required", "004.search_query.limit")
def test_a_query_without_words_or_with_limit_0_is_refused(ask: Drive) -> None:
    with pytest.raises(ToolFailed, match="Search query cannot be empty"):
        ask("search_query", query=" ")
    with pytest.raises(ToolFailed, match="query: is required"):
        ask("search_query")
    with pytest.raises(ToolFailed, match="limit: must be a whole number from 1"):
        ask("search_query", query="x", limit=0)


@requires("004.search_index.languages", "004.search_index.plain-text")
def test_the_languages_are_cut_at_functions_and_what_does_not_parse_is_text(ask: Drive) -> None:
    hits = ask("search_query", query="checksum of data", limit=50)["results"]
    functions = {hit["file_path"] for hit in hits if hit["chunk_type"] == "Function"}
    assert set(LANGUAGES) <= functions
    hits = ask("search_query", query="gibberish about walruses", limit=3)["results"]
    assert "many/broken.py" in {hit["file_path"] for hit in hits}


@requires("004.registration.descriptions")
def test_each_tool_has_a_description_with_an_example() -> None:
    for tool in tools_of("semantic"):
        assert len(tool.description) > 100
        assert "Example: {" in tool.description
