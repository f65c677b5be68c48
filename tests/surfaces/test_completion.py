"""A shell completes the grammar's words, the manual page shows them, and `--version` says what is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from sidecar import __version__
from sidecar.surfaces.cli.options import COMMANDS, COMPLETED, build_parser
from sidecar.surfaces.cli.tool_options import shell_facts
from sidecar.surfaces.cli.version import version_text

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "sidecar" / "surfaces" / "cli" / "completion"
BASH = shutil.which("bash")


def completed(*words: str) -> set[str]:
    """Returns what bash offers for the last of these words."""
    script = f"""
source {SCRIPTS}/sidecar.bash
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
_shtab_sidecar
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(
        [BASH or "", "-c", script, "bash", "sidecar", *words], capture_output=True, text=True, check=True
    )
    return {word.strip() for word in done.stdout.split("\n")} - {""}


@pytest.mark.process
@pytest.mark.skipif(BASH is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["sym"], {"symbols"}),
        (["mem"], {"memory"}),
        (["memory", "ge"], {"get"}),
        (["documents", "d"], {"delete", "drop"}),
        (["search", "--top"], {"--top-k"}),
        (["daemon", "sta"], {"start", "status"}),
        (["completion", ""], set(COMPLETED)),
        (["install", "cline"], {"cline", "cline-vscode"}),
        (["search", "-m", ""], {"hybrid", "vector", "fts"}),
        (["memory", "words", "--operator", "A"], {"AND"}),
        (["index", "--device", "c"], {"cpu", "cuda"}),
        (["models", "show", "static"], {"static-code-256"}),
        (["--model", "static"], {"static-code-256"}),
        (["call", "search_c"], {"search_code", "search_create_index"}),
        (["serve", "tok"], {"token"}),
        (["serve", "token", "re"], {"remove"}),
    ],
)
def test_bash_completes_commands_words_of_two_and_options(words: list[str], offered: set[str]) -> None:
    assert completed(*words) == offered


@pytest.mark.parametrize("shell", COMPLETED)
def test_every_command_can_be_completed_in_every_shell(shell: str) -> None:
    script = (SCRIPTS / f"sidecar.{shell}").read_text("utf-8")
    for command in COMMANDS:
        first, _, second = command.partition(" ")
        assert first in script
        assert first in COMMANDS or second in script


def test_the_manual_page_has_every_command_and_names_no_day() -> None:
    page = (ROOT / "docs" / "sidecar.1").read_text("utf-8")
    assert all(command.replace("-", "\\-") in page for command in COMMANDS)
    assert not re.search(r"\d{4}\\-\d\d\\-\d\d", page)


def test_the_manual_page_says_after_the_name_what_the_program_is_for_so_that_it_can_be_searched_for() -> None:
    lines = (ROOT / "docs" / "sidecar.1").read_text("utf-8").splitlines()
    assert lines[lines.index(".SH NAME") + 1] == r"sidecar \- search a codebase by meaning and by word, on this machine"


def test_no_line_of_the_manual_page_is_taken_for_a_request_and_lost() -> None:
    lines = (ROOT / "docs" / "sidecar.1").read_text("utf-8").splitlines()
    requests = {line.split()[0] for line in lines if line[:1] in {".", "'"}}
    assert requests <= {".TH", ".SH", ".SS", ".TP", ".PP", ".B", ".I"}
    assert [line for line in lines if ".git, package.json, pyproject.toml" in line]


def test_the_version_names_the_commit_of_a_wheel_and_the_models(tmp_path: Path) -> None:
    facts = {"models": ["a (default)", "b"]}
    assert version_text(facts, tmp_path) == f"sidecar {__version__}\nmodels: a (default), b"
    (tmp_path / "_commit").write_text("0123456789ab\n")
    assert version_text(facts, tmp_path) == f"sidecar {__version__} (commit 0123456789ab)\nmodels: a (default), b"
    assert any("(default)" in name for name in shell_facts()["models"])


@pytest.mark.process
def test_the_version_is_data_and_goes_to_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        build_parser().parse_args(["--version"])
    printed = capsys.readouterr()
    assert printed.out.startswith(f"sidecar {__version__}")
    assert printed.err == ""
    assert not ended.value.code
