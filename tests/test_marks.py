"""Tests that start a process have the mark `process`. `make check` leaves them out; without the mark, such a test
fails."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TESTS = """
import subprocess, sys, pytest

def start():
    subprocess.run([sys.executable, "-c", ""], check=True)

@pytest.fixture(scope="module")
def program():
    start()

def test_starts_one():
    start()

def test_has_a_modules_fixture_start_one(program):
    pass

@pytest.fixture(scope="module")
def served():
    start()

@pytest.mark.process
def test_with_the_mark():
    start()

def test_with_a_fixture_that_is_known_to_start_one(served):
    pass

def test_without_one():
    pass
"""


@pytest.mark.process
def test_a_process_without_the_mark_fails_the_test_whether_it_or_a_fixture_starts_it(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(TESTS)
    line = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-c", os.devnull, "--rootdir", str(tmp_path)]
    line += ["-rA", "--tb=line", str(tmp_path)]
    printed = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    lines = [one.split(" ") for one in printed.splitlines()]
    outcomes = {words[1]: words[0] for words in lines if words[0] in OUTCOMES}
    assert {name.rpartition("::")[2]: outcome for name, outcome in outcomes.items()} == {
        "test_starts_one": "FAILED",
        "test_has_a_modules_fixture_start_one": "ERROR",
        "test_with_the_mark": "PASSED",
        "test_with_a_fixture_that_is_known_to_start_one": "PASSED",
        "test_without_one": "PASSED",
    }, printed


@pytest.mark.process
@pytest.mark.parametrize(
    ("mark", "imported"),
    [
        ("pytest.mark.process", False),
        ("[pytest.mark.e2e, pytest.mark.process]", False),
        ("[\n    pytest.mark.process,\n    pytest.mark.skipif(False, reason='')]", False),
        ("pytest.mark.slow", True),
    ],
)
def test_make_check_does_not_import_a_file_whose_tests_all_start_a_process(
    tmp_path: Path, mark: str, imported: bool
) -> None:
    (tmp_path / "test_some.py").write_text(f"import pytest\n\npytestmark = {mark}\nraise RuntimeError('imported')\n")
    line = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-c", os.devnull, "--rootdir", str(tmp_path)]
    line += ["-m", "not process", str(tmp_path)]
    printed = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    assert ("RuntimeError: imported" in printed) is imported, printed


OUTCOMES = {"PASSED", "FAILED", "ERROR"}
