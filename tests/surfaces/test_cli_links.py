"""Links in a terminal: which terminals get them, where they lead, and that no file name can end one early."""

from __future__ import annotations

import re
import socket
from urllib.parse import unquote_to_bytes, urlsplit

import pytest

from sidecar.surfaces.cli.links import Links
from sidecar.surfaces.cli.terminal import Style
from sidecar.tools.lines import ASIDE, file_place
from tests.fakes import FakeWorkspace
from tests.surfaces.test_cli import Shell

LINK = re.compile(r"\x1b\]8;;([^\x1b]*)\x1b\\(.*?)\x1b\]8;;\x1b\\")
KITTY = {"TERM": "xterm-kitty"}
HOSTILE = (
    "a\x1b]8;;\x1b\\b.py",
    "a\x1b\\\x07b.py",
    "a\x9c\x9db.py",
    "a;b c#d?e%41.py",
    "line\nbreak.py",
    "\u202eyp.exe",
    "caf\xe9/\u6587.py",
    "undecodable\udcff.py",
)


@pytest.mark.parametrize(
    "env",
    [
        KITTY,
        {"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"},
        {"TERM": "xterm-256color", "TERM_PROGRAM": "vscode"},
        {"TERM": "xterm-256color", "VTE_VERSION": "7402"},
        {"TERM": "xterm-256color", "KONSOLE_VERSION": "230804"},
        {"TERM": "xterm-256color", "WT_SESSION": "1"},
        {"TERM": "alacritty"},
        {"TERM": "xterm-256color", "ALACRITTY_WINDOW_ID": "6291463"},  # where the system has no entry for `alacritty`
        {"TERM": "foot-extra"},
    ],
)
def test_terminals_that_are_known_to_show_links_get_them(env: dict[str, str]) -> None:
    assert Links.of(env, "/work") is not None


@pytest.mark.parametrize(
    "env",
    [
        {},
        {"TERM": "xterm-256color"},
        {"TERM": "linux"},
        {"TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"},
        {"TERM": "xterm-256color", "VTE_VERSION": "4800"},
        {"TERM": "xterm-256color", "VTE_VERSION": "new"},
        {"TERM": "xterm-256color", "KONSOLE_VERSION": "200800"},
        {"TERM": "tmux-256color", "VTE_VERSION": "7402", "TMUX": "/tmp/tmux-1/default,1,0"},
        {"TERM": "screen", "KITTY_WINDOW_ID": "1", "STY": "1.tty"},
    ],
)
def test_no_other_terminal_gets_links_and_none_behind_a_multiplexer(env: dict[str, str]) -> None:
    assert Links.of(env, "/work") is None


def test_a_link_names_this_machine_and_the_file_and_the_line_only_where_the_terminal_expects_one() -> None:
    def address(env: dict[str, str], path: str = "src/a.py") -> str:
        links = Links.of(env, "/work")
        assert links is not None
        return LINK.fullmatch(links.around("shown", path, 7))[1]  # type: ignore[index]

    assert address(KITTY) == f"file://{socket.gethostname()}/work/src/a.py#7"
    assert address({"TERM_PROGRAM": "WezTerm"}) == f"file://{socket.gethostname()}/work/src/a.py"
    assert address({"TERM_PROGRAM": "vscode"}) == "file:///work/src/a.py#7"
    assert address({"TERM_PROGRAM": "vscode"}, "/elsewhere/b.py") == "file:///elsewhere/b.py#7"


@pytest.mark.parametrize("path", HOSTILE)
def test_no_name_of_a_file_ends_a_link_early_or_changes_where_it_leads(path: str) -> None:
    printed = Style(True, Links("/work", "host", lines=True)).printed([file_place(path, 3, 4), (ASIDE, " after")])
    link = LINK.match(printed)
    assert link is not None
    address = urlsplit(link[1])
    assert re.fullmatch(r"[!-~]*", link[1]), "printable ASCII and no space"
    assert unquote_to_bytes(address.path) == b"/work/" + path.encode("utf-8", "surrogateescape")
    assert (address.netloc, address.query, address.fragment) == ("host", "", "3")
    seen = re.sub(r"\x1b\[[\d;]*m", "", link[2] + printed[link.end() :])
    assert re.fullmatch(r"[^\x00-\x1f\x7f-\x9f\u202e]+:3-4 after", seen), "every other escape sequence is a colour"


def test_a_name_that_no_address_can_hold_is_shown_without_a_link() -> None:
    assert Links("/work", "host", lines=True).around("shown", "half\ud800.py", 3) == "shown"


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A shell in a terminal that shows links."""
    for name in ("TMUX", "STY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM_PROGRAM", "vscode")
    shell = Shell(FakeWorkspace({"src/a b.py": "def alpha():\n    return 1\n"}))
    assert shell("index") == 0
    return shell


@pytest.mark.parametrize(
    "words",
    [("search", "alpha"), ("search", "--compact", "alpha"), ("symbols", "alpha"), ("similar", "src/a b.py:1")],
)
def test_every_hit_is_a_link_at_a_terminal(shell: Shell, words: tuple[str, ...]) -> None:
    assert shell(*words, tty=True) == 0
    assert [one[1] for one in LINK.finditer(shell.out)] == ["file:///fake/workspace/src/a%20b.py#1"]
    assert '"src/a b.py":1-' in LINK.search(shell.out)[2]  # type: ignore[index]


def test_every_path_is_a_link_at_a_terminal(shell: Shell) -> None:
    assert shell("paths", "**/*.py", tty=True) == 0
    assert [one.groups() for one in LINK.finditer(shell.out)] == [("file:///fake/workspace/src/a%20b.py", "src/a b.py")]


def test_there_are_no_links_in_a_pipe_in_json_and_where_colours_are_unwanted(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    for words, tty in ((("search", "alpha"), False), (("search", "alpha", "--json"), True)):
        assert shell(*words, tty=tty) == 0
        assert "\x1b" not in shell.out
    assert shell("--no-color", "search", "alpha", tty=True) == 0
    assert "\x1b" not in shell.out
    monkeypatch.setenv("NO_COLOR", "1")
    assert shell("search", "alpha", tty=True) == 0
    assert "\x1b" not in shell.out
