"""Every tool that a person may want has a command with readable output: symbols, similar code, memories and
documents."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from sidecar.surfaces.cli.main import main
from sidecar.surfaces.cli.options import parse
from sidecar.tools.registry import ALL_TOOLS
from sidecar.tools.service import Service
from tests.fakes import FakeWorkspace, FakeWorkspaces

FILES = {"a.py": "def parse_config(a):\n    return a\n", "b.py": "def parse_settings(b):\n    return b\n"}


class Shell:
    """Runs commands in one shell, and returns exit status, standard output and standard error."""

    def __init__(self, root: Path) -> None:
        workspace = FakeWorkspace(FILES, root=str(root))
        self.service = Service(FakeWorkspaces(workspace), tools=ALL_TOOLS)

    def __call__(self, *words: str, stdin: str = "") -> tuple[int, str, str]:
        out, err = io.StringIO(), io.StringIO()
        status = main(words, service=self.service, stdin=io.StringIO(stdin), stdout=out, stderr=err)
        return status, out.getvalue(), err.getvalue()


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    shell = Shell(tmp_path)
    assert shell("index", "-q")[0] == 0
    return shell


def test_definitions_are_found_by_name(shell: Shell) -> None:
    status, out, _ = shell("symbols", "parse_config")
    assert status == 0
    assert out.split("\n")[0] == "a.py:1-1  function parse_config"
    assert out.split("\n")[1] == "1 | def parse_config(a):"
    assert "1 definition more" in shell("symbols", "parse", "-n", "1")[2]
    assert shell("symbols", "nothing_like_it")[2].startswith("Nothing found.")


@pytest.mark.parametrize("words", [["a.py:1"], ["a.py:1-2"], ["a.py:1:"], ["a.py", "--line", "1"]])
def test_code_like_the_code_at_a_place_that_was_typed_as_results_print_it(shell: Shell, words: list[str]) -> None:
    status, out, err = shell("similar", *words)
    assert status == 0, err
    assert "b.py:1-2  0." in out


def test_a_place_without_a_line_is_refused_with_an_example(shell: Shell) -> None:
    status, _, err = shell("similar", "a.py")
    assert status == 2
    assert "sidecar similar a.py:42" in err
    assert "sidecar similar a.py:42" in shell("similar", "a.py:x")[2]


def test_a_memory_is_saved_read_listed_found_and_kept_without_a_yes(shell: Shell) -> None:
    assert shell("memory", "save", "build/how", "Run", "make", "--tag", "b")[1] == "created\nbuild/how  b\n  Run make\n"
    assert shell("memory", "save", "build/how", "-", stdin="Run make all\n")[1].startswith("updated\n")
    assert shell("memory", "get", "build/how")[1].endswith("  | Run make all\n  | \n")
    assert "build/how" in shell("memory", "list")[1]
    assert "build/how" in shell("memory", "words", "make")[1]
    assert shell("memory", "delete", "build/how")[0] == 9
    assert "build/how" in shell("memory", "list", "--namespace", "build/")[1]
    none = 'No memory has a key that begins with "nope".\n'
    assert (
        shell("memory", "list", "--namespace", "nope")[2]
        == shell("memory", "search", "x", "--namespace", "nope")[2]
        == none
    )
    assert shell("memory", "list", "--tag", "nope")[2] == "No memory has all these tags.\n"


def test_documents_are_added_found_listed_and_kept_without_a_yes(shell: Shell) -> None:
    assert shell("documents", "create", "notes", "--backend", "sqlite")[1] == 'created "notes" (sqlite)\n'
    added = shell("documents", "add", "-i", "notes", "d1", "-", "--metadata", '{"by": "me"}', stdin="rate limits\n")
    assert added[1] == 'indexed "d1": 2 words\n'
    assert shell("documents", "list", "-i", "notes")[1] == "d1  12 characters\n"
    assert "notes  sqlite  1 document\n" in shell("documents", "indexes")[1]
    assert shell("documents", "search", "-i", "notes", "rate")[1].startswith("d1  ")
    shell("documents", "add", "-i", "notes", "d1", "rate limits\nand\ta\n")
    assert shell("documents", "search", "-i", "notes", "limits")[1].endswith("  ...rate limits and a ...\n")
    assert shell("documents", "delete", "-i", "notes", "d1")[0] == 9
    assert shell("documents", "drop", "notes")[0] == 9
    assert shell("documents", "list", "-i", "notes")[1] == "d1  18 characters\n"


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_the_help_of_a_group_lists_its_commands(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(["documents", option])
    assert ended.value.code == 0
    assert "  drop     delete a named document index with its documents\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["memory"], "sidecar memory needs one of: save, get, list, search, words, delete"),
        (["memory", "gett", "x"], "did you mean get?"),
        (["documents", "drop"], "sidecar documents drop needs NAME, for example: sidecar documents drop notes"),
        (["memory", "get"], "sidecar memory get needs KEY"),
        (["documents", "add", "x", "y", "--metadata", "nonsense"], "metadata"),
        (["memory", "get", "nope"], "There is no memory with this key."),
    ],
)
def test_half_a_command_says_what_it_needs(shell: Shell, words: list[str], says: str) -> None:
    status, _, err = shell(*words)
    assert status != 0
    assert says in err
