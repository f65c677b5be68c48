"""A script that was written only from the shell wording of specification 004, and runs against the real program.

search index PATTERNS... [--force]        search query QUERY [--limit N] [--format FORMAT]
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]
FILES = {
    "src/main.rs": (
        "use std::io;\n\nfn handle_error(error: io::Error) -> Result<(), String> {\n"
        "    // Report the failure and go on.\n    Err(error.to_string())\n}\n"
    ),
    "src/lib.rs": "pub async fn fetch_page(url: &str) -> String {\n    String::new()\n}\n",
    "src/tool.py": "def sort_numbers(values):\n    return sorted(values)\n",
    "notes.md": "# Notes\n\nNothing of interest.\n",
}
RESULT = {
    *("file_path", "chunk_text", "line_start", "line_end", "similarity_score", "language"),
    *("chunk_type", "excerpt"),
}

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """`run("search", "index", "**/*.rs", cwd="src")` in a fresh project with an index of its own."""
    project = tmp_path / "project"
    for path, text in FILES.items():
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text(text, encoding="utf-8")
    (project / "Cargo.toml").write_text("[package]\nname = 'x'\n", encoding="utf-8")
    env = {**os.environ, "SIDECAR_HOME": str(tmp_path / "home"), "PYTHONPATH": str(ROOT)}

    def run_it(*words: str, cwd: str = ".") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "sidecar", *words],
            cwd=project / cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    return run_it


def ok(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stderr
    return done.stdout


def as_json(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(ok(done))
    return value


def test_index_and_query_as_the_specification_has_them(run: Run) -> None:
    assert "Successfully indexed 2 files" in ok(run("search", "index", "**/*.rs"))
    assert "2 skipped" in ok(run("search", "index", "**/*.rs"))
    assert "Successfully indexed 2 files" in ok(run("search", "index", "**/*.rs", "--force"))
    assert "Successfully indexed 2 files" in ok(run("search", "index", "src/main.rs", "src/lib.rs", "--force"))

    answer = as_json(run("search", "query", "error handling", "--limit", "5", "--format", "json"))
    assert {"results", "query", "total_results", "execution_time_ms"} <= set(answer)
    assert answer["query"] == "error handling"
    assert answer["total_results"] == len(answer["results"]) <= 5
    best = answer["results"][0]
    assert set(best) == RESULT
    assert (best["file_path"], best["language"], best["chunk_type"]) == ("src/main.rs", "rust", "Function")
    assert 0 < best["similarity_score"] <= 1
    table = ok(run("search", "query", "error handling", "--limit", "1", "--format", "table"))
    assert f"src/main.rs:{best['line_start']}-{best['line_end']}" in table
    assert ok(run("search", "query", "error handling", "--limit", "1")).startswith("src/main.rs:")


def test_yaml_says_the_same_as_json(run: Run) -> None:
    as_one = as_json(run("search", "index", "**/*.rs", "--format", "json"))
    lines = ok(run("search", "index", "**/*.rs", "--force", "--format", "yaml")).splitlines()
    as_other = {key: json.loads(value) for key, _, value in (line.partition(": ") for line in lines)}
    assert {name: as_other[name] for name in ("message", "indexed_files", "failed_files", "errors")} == {
        name: as_one[name] for name in ("message", "indexed_files", "failed_files", "errors")
    }
    lines = ok(run("search", "query", "async function", "--limit", "1", "--format", "yaml")).splitlines()
    assert lines[0] == "results:"
    assert lines[1] == '  - file_path: "src/lib.rs"'


def test_patterns_start_at_the_current_folder(run: Run) -> None:
    assert "Successfully indexed 1 files" in ok(run("search", "index", "*.py", cwd="src"))


def test_what_is_wrong_is_said_with_an_exit_status(run: Run) -> None:
    nothing = run("search", "index")
    assert nothing.returncode == 2
    assert "No patterns or files provided for indexing." in nothing.stderr
    blank = run("search", "query", " ")
    assert blank.returncode == 2
    assert "Search query cannot be empty" in blank.stderr
    outside = run("search", "index", "../../*.rs")
    assert outside.returncode == 2
    assert "PATH_TRAVERSAL" in outside.stderr
    assert run("search", "query", "x", "--format", "xml").returncode == 2
    missing = run("search", "index", "gone.rs")
    assert missing.returncode == 3
    assert "gone.rs: There is no such file." in missing.stdout


def test_the_words_index_and_query_can_still_be_searched_for(run: Run) -> None:
    ok(run("search", "index", "**/*"))
    for words in (("--", "query", "numbers"), ("-k", "3", "index", "numbers"), ("index numbers",)):
        assert "src/tool.py" in ok(run("search", *words))
