"""The command line over a fake workspace: output, exit status, questions, and what goes to which stream."""

from __future__ import annotations

import io
import json
import os
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sidecar.errors import IndexLocked
from sidecar.model.answers import StatusAnswer, UpgradeProgress
from sidecar.shown import so_far_in_megabytes
from sidecar.surfaces.cli.main import Doors, main
from sidecar.surfaces.cli.options import COMMANDS
from sidecar.surfaces.cli.terminal import ProgressBar
from sidecar.tools.service import Service
from tests.fakes import FakeWorkspace, FakeWorkspaces

FILES = {"src/a.py": "def alpha():\n    return 1\n", "b.py": "def beta():\n    return alpha\n", "guide.md": "alpha\n"}


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


class Shell:
    """Runs command lines on one fake workspace, and keeps the output of the last one."""

    def __init__(self, workspace: FakeWorkspace | None = None) -> None:
        self.workspace = workspace or FakeWorkspace(FILES)
        self.out = self.err = ""

    def __call__(self, *argv: str, stdin: str | None = None, tty: bool = False) -> int:
        """`stdin` is typed at a terminal; without it there is no terminal."""
        out: io.StringIO = Terminal() if tty else io.StringIO()
        err = io.StringIO()
        status = main(
            ["-w", self.workspace.root, *argv],
            service=Service(FakeWorkspaces(self.workspace)),
            stdin=io.StringIO() if stdin is None else Terminal(stdin),
            stdout=out,
            stderr=err,
        )
        self.out, self.err = out.getvalue(), err.getvalue()
        return status

    def json(self, *argv: str) -> dict[str, Any]:
        assert self(*argv, "--json") == 0
        value: dict[str, Any] = json.loads(self.out)
        return value


@pytest.fixture
def shell() -> Shell:
    shell = Shell()
    assert shell("index") == 0
    return shell


def test_index_prints_the_counts_and_says_the_second_time_what_was_unchanged() -> None:
    shell = Shell()
    assert shell("index") == 0
    assert "3 files, 3 chunks (1 file of documentation)" in shell.out
    assert "3 chunks embedded, 0 files unchanged" in shell.out
    assert shell("index") == 0
    assert "0 chunks embedded (the index was up to date), 3 files unchanged" in shell.out


def test_progress_goes_to_standard_error_and_quiet_silences_it() -> None:
    shell = Shell()
    shell("index")
    assert "Indexing: 3 of 3 files" in shell.err
    shell("index", "--quiet")
    assert shell.err == ""


def test_with_json_standard_error_is_kept_for_an_error(shell: Shell) -> None:
    shell("index", "--json")
    assert json.loads(shell.out)["files"] == 3
    assert shell.err == ""


def test_search_prints_place_score_and_numbered_lines(shell: Shell) -> None:
    assert shell("search", "alpha") == 0
    assert "src/a.py:1-2  1.000\n1 | def alpha():\n2 |     return 1\n" in shell.out
    assert shell.err == ""


def test_options_may_stand_before_and_after_the_command(shell: Shell) -> None:
    assert shell("--json", "search", "alpha") == shell("search", "alpha", "--json") == 0
    assert json.loads(shell.out)["query"] == "alpha"


def test_every_search_option_reaches_the_engine(shell: Shell) -> None:
    words = "search -k 3 -m fts -a 0.25 -p src/** -p lib/** -l Python --kind function --offset 1 --max-tokens 9 one two"
    assert shell(*words.split(), "--explain") == 0
    asked = shell.workspace.requests[-1]
    assert (asked.query, asked.top_k, asked.mode, asked.alpha) == ("one two", 3, "fts", 0.25)
    assert (asked.paths, asked.languages, asked.kinds) == (("src/**", "lib/**"), ("python",), ("function",))
    assert (asked.offset, asked.token_budget, asked.explain) == (1, 9, True)


def test_the_compact_form_is_one_line_per_result(shell: Shell) -> None:
    assert shell("search", "--compact", "alpha") == 0
    assert shell.out.splitlines()[1] == "src/a.py:1-2  1.00  def alpha():"
    assert shell.json("search", "--compact", "alpha")["n"] == 2


def test_documentation_has_a_command_of_its_own(shell: Shell) -> None:
    assert shell("docs", "alpha") == 0
    assert shell.out.startswith("guide.md:1-1")


def test_nothing_found_is_no_error_and_is_said_on_standard_error(shell: Shell) -> None:
    assert shell("search", "zebra") == 0
    assert (shell.out, shell.err) == ("", "Nothing found.\n")


def test_a_notice_goes_to_standard_error() -> None:
    shell = Shell(FakeWorkspace(FILES, notice="Half of it is embedded."))
    shell("index")
    shell("search", "alpha")
    assert shell.err == "Half of it is embedded.\n"
    shell("search", "alpha", "--quiet")
    assert shell.err == ""


def test_a_file_cannot_command_the_terminal() -> None:
    shell = Shell(FakeWorkspace({"a.py": "alpha = '\x1b]0;owned\x07'\r\n"}))
    shell("index")
    shell("search", "alpha", tty=True)
    assert "\x1b]" not in shell.out
    assert "\x07" not in shell.out
    assert "\x1b[" in shell.out


def test_a_file_name_with_a_line_break_stays_on_one_line() -> None:
    shell = Shell(FakeWorkspace({"a.py:1-1  0.999\nb.py": "def alpha():\n    return 1\n"}))
    assert shell("index") == 0
    for words in (["search", "alpha"], ["search", "alpha", "--compact"], ["paths", "**"]):
        assert shell(*words) == 0
        assert "b.py" in shell.out.splitlines()[0]


def test_advice_names_the_commands_of_the_shell() -> None:
    shell = Shell()
    assert shell("search", "alpha") == 3
    assert "create_index" not in shell.err
    assert "`sidecar index`" in shell.err


def test_colours_are_for_terminals_and_can_be_refused(shell: Shell) -> None:
    shell("search", "alpha")
    assert "\x1b" not in shell.out
    shell("search", "alpha", "--no-color", tty=True)
    assert "\x1b" not in shell.out


def test_only_the_words_that_count_are_highlighted() -> None:
    shell = Shell(FakeWorkspace({"a.py": "for the retries, Do it\n"}))
    shell("index")
    assert shell("search", "where do the retry for it", tty=True) == 0
    assert shell.out.splitlines()[1].endswith("for the \x1b[1;33mretries\x1b[0m, Do it")


def test_paths_are_listed_and_the_rest_is_counted_on_standard_error(shell: Shell) -> None:
    assert shell("paths", "*", "-n", "2") == 0
    assert shell.out == "b.py\nguide.md\n"
    assert shell.err == "1 more; raise --limit\n"


def test_status_config_and_explain_speak_to_a_person(shell: Shell) -> None:
    assert shell("status") == 0
    assert "files      3 (1 of documentation)" in shell.out
    assert "withheld .env: secret-by-name named like a secret" in shell.out
    assert shell("config") == 0
    assert '"maxFileSize": "1MB"' in shell.out
    assert shell("explain", "b.py") == 0
    assert shell.out.startswith("b.py belongs in the index\n")


def test_status_says_how_far_the_model_is_that_takes_over() -> None:
    stage = UpgradeProgress("slow@0123456789ab", 4408, 10_252, 61.2, "The disk is full.")
    shell = Shell(FakeWorkspace(FILES, status_override=lambda answer: replace(answer, model_upgrade=stage)))
    assert shell("index") == 0
    assert shell("status") == 0
    assert "model      fake@0 on cpu answers meanwhile\n" in shell.out
    assert "upgrade    slow: 42 % of 10,252 chunks, about 62 s left (The disk is full.)\n" in shell.out


def test_a_model_that_searches_do_not_use_is_not_said_to_answer() -> None:
    stage, why = UpgradeProgress("nonsense", note="There is no model 'nonsense'."), "There is no model 'nonsense'."

    def fails(answer: StatusAnswer) -> StatusAnswer:
        return replace(answer, status="incomplete", model_upgrade=stage, words_only=True, warning=why)

    shell = Shell(FakeWorkspace(FILES, status_override=fails))
    assert shell("index") == 0
    assert shell("status") == 0
    assert "status     incomplete: searches find words only, not meaning\n" in shell.out
    assert "model      fake@0 on cpu, not used: searches find words only\n" in shell.out
    assert "answers meanwhile" not in shell.out and "0 chunks" not in shell.out
    assert shell.out.count(why) == 1


def test_status_without_an_index_says_so() -> None:
    shell = Shell()
    assert shell("status") == 0
    assert "not_found" in shell.out
    assert "sidecar index makes the index" in shell.out


@pytest.mark.parametrize(
    ("argv", "status", "code"),
    [
        (["search", "alpha", "-k", "0"], 2, "INVALID_PARAMS"),
        (["search", "alpha", "-k", "many"], 2, "INVALID_PARAMS"),
        (["search"], 2, "INVALID_QUERY"),
        (["search", " "], 2, "INVALID_QUERY"),
        (["paths", "[a"], 2, "INVALID_PATTERN"),
        (["reindex", "../x"], 2, "PATH_TRAVERSAL"),
        (["reindex", "gone.py"], 3, "FILE_NOT_FOUND"),
        (["reindex", "secret.py"], 5, "FILE_EXCLUDED"),
        (["call", "create_index"], 4, "INDEX_EXISTS"),
        (["call", "serch_code"], 2, "UNKNOWN_TOOL"),
        (["call", "search_code", "{"], 2, "INVALID_PARAMS"),
        (["call", "search_code", "[1]"], 2, "INVALID_PARAMS"),
    ],
)
def test_an_error_has_its_exit_status_and_leaves_standard_output_empty(argv: list[str], status: int, code: str) -> None:
    shell = Shell(FakeWorkspace(FILES, excluded=("secret.py",)))
    shell("index")
    assert shell(*argv) == status
    assert shell.out == ""
    assert shell.err.startswith("sidecar: ")
    assert shell.err.endswith(f"[{code}]\n")
    assert shell(*argv, "--json") == status
    assert shell.out == ""
    assert json.loads(shell.err)["error"]["code"] == code


def test_without_an_index_the_exit_status_is_3_and_with_a_locked_one_4() -> None:
    shell = Shell()
    assert shell("search", "alpha") == 3
    assert Shell(FakeWorkspace(broken=IndexLocked("Process 7 has it.")))("status") == 4


@pytest.mark.parametrize(("typed", "status"), [("n\n", 9), ("\n", 9), ("", 9), ("what\n", 9), ("y\n", 0), ("YES\n", 0)])
def test_delete_asks_at_the_terminal_and_takes_only_a_yes(shell: Shell, typed: str, status: int) -> None:
    assert shell("delete", stdin=typed) == status
    assert "Delete index? [y/N]" in shell.err
    assert shell.workspace.root in shell.err
    assert shell.out.startswith("deleted" if status == 0 else "cancelled")
    assert (shell.workspace.status().status == "not_found") is (status == 0)


def test_without_a_terminal_delete_needs_yes(shell: Shell) -> None:
    assert shell("delete") == 9
    assert "Nobody could be asked." in shell.out
    assert shell("delete", "--yes") == 0
    assert shell.workspace.status().status == "not_found"


def test_reindex_without_a_file_rebuilds_everything(shell: Shell) -> None:
    assert shell("reindex") == 0
    assert shell.out.startswith("reindexed: 3 files, 3 chunks (1 file of documentation)")
    assert shell("reindex", stdin="n\n") == 9


def test_reindex_takes_several_files(shell: Shell) -> None:
    assert shell("reindex", "b.py", "src/a.py") == 0
    assert shell.out == "reindexed b.py: 1 chunk\nreindexed src/a.py: 1 chunk\n"


def test_a_single_dash_searches_for_the_text_on_standard_input(shell: Shell) -> None:
    for command in (("search", "-"), ("docs", "-"), ("search", "-k", "1", "-")):
        assert shell(*command, "--json", stdin="alpha\n") == 0
        assert json.loads(shell.out)["query"] == "alpha\n"
    assert shell("search", "-", stdin=" \n") == 2
    assert shell.err.endswith("[INVALID_QUERY]\n")
    assert shell.json("search", "alpha", "-")["query"] == "alpha -"


def test_call_prints_what_an_agent_would_get(shell: Shell) -> None:
    assert shell("call", "search_code", '{"query": "alpha", "top_k": 1}') == 0
    assert [hit["path"] for hit in json.loads(shell.out)["results"]] == ["b.py"]


def test_no_command_prints_the_manual_and_exits_2() -> None:
    out = io.StringIO()
    assert main([], stdout=out) == 2
    assert "exit status:" in out.getvalue()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_manual_has_examples_and_the_exit_statuses(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main([*command.split(), "--help"])
    assert left.value.code == 0
    manual = capsys.readouterr().out
    assert f"    sidecar {command}" in manual
    assert "130  interrupted" in manual


@pytest.mark.parametrize(
    ("argv", "served"),
    [
        (["--stdio"], "stdio"),
        (["--stdio", "--clientProcessId", "7"], "stdio"),
        (["--tcp", "127.0.0.1:7777"], "tcp 127.0.0.1 7777 "),
        (["--tcp", "127.0.0.1:7777", "--token-file", "/t"], "tcp 127.0.0.1 7777 /t"),
        (["--tcp", "[::1]:7"], "tcp ::1 7 "),
        (["mcp"], "mcp None"),
        (["mcp", "-w", "/x"], "mcp /x"),
        (["--workspace", "/x", "mcp"], "mcp /x"),
        (["serve", "-w", "/x"], "serve 127.0.0.1 0"),
        (["serve", "-w", "/x", "--host", "::1", "--port", "7777"], "serve ::1 7777"),
    ],
)
def test_the_serving_options_open_the_other_doors(argv: list[str], served: str) -> None:
    seen: list[str] = []

    def note(*parts: object) -> int:
        seen.append(" ".join(map(str, parts)))
        return 17

    doors = Doors(
        lambda source: note("stdio"),
        lambda source, host, port, token_file: note("tcp", host, port, token_file),
        lambda service, workspace: note("mcp", workspace),
        lambda service, serving: note("serve", serving.host, serving.port),
    )
    assert main(argv, service=Service(FakeWorkspaces()), doors=doors) == 17
    assert seen == [served]


@pytest.mark.parametrize("address", ["7777", "host:", "host:99999", "host:port"])
def test_a_wrong_address_is_refused(address: str) -> None:
    err = io.StringIO()
    doors = Doors(
        lambda source: 0,
        lambda source, host, port, token_file: 0,
        lambda service, workspace: 0,
        lambda service, serving: 0,
    )
    assert main(["--tcp", address], service=Service(FakeWorkspaces()), doors=doors, stderr=err) == 2
    assert "HOST:PORT" in err.getvalue()


def test_a_wrong_device_is_refused_and_named(tmp_path: Path) -> None:
    err = io.StringIO()
    assert main(["status", "--device", "abacus", "-w", str(tmp_path)], stderr=err) == 2
    assert "auto, cpu, cuda" in err.getvalue()


def test_a_terminal_that_has_no_width_shows_progress_too() -> None:
    person, there = os.openpty()  # as many programs make one: of no columns
    os.set_blocking(person, False)
    drawn = b""
    try:
        with open(there, "w", encoding="utf-8", closefd=False) as terminal, ProgressBar(terminal, quiet=False) as bar:
            bar(3, 10, "Reading files: 3 of 10 files")
        with suppress(BlockingIOError):  # nothing more was drawn
            while piece := os.read(person, 4096):
                drawn += piece
    finally:
        os.close(person)
        os.close(there)
    assert "Reading files: 3 of 10 files" in drawn.decode()


class TerminalText(io.StringIO):
    """A terminal to print to."""

    def isatty(self) -> bool:
        return True


def test_on_a_terminal_progress_is_a_bar_with_what_is_being_done_and_how_far_it_is_and_goes_at_the_end() -> None:
    terminal = TerminalText()
    with ProgressBar(terminal, quiet=False) as bar:
        bar(3, 10, "Reading {files}: 3 of 10")
        bar(0, 4_000_000, so_far_in_megabytes("Downloading", 0, 4_000_000))
    drawn = terminal.getvalue()
    assert "30 %" in drawn
    assert "Reading {files}: 3 of 10" in drawn
    assert "Downloading: 0.0 of 4.0 MB" in drawn
    assert drawn.endswith(" \r")
