"""Lines of ignore files, and where git keeps the other ones."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.model.files import Decision, Rule
from sidecar.parts.git_places import user_ignore_file
from sidecar.parts.ignore import IgnoreRules, Pattern, RuleFile, git_verdict, parse_patterns, regex_of
from tests.examples import examples


def verdict(root: Path, path: str, is_folder: bool = False, **options: Any) -> Decision | None:
    rules = IgnoreRules(str(root), **{"global_ignore": "", **options})
    level = rules.level("", str(root), rules.outermost())
    return git_verdict(level, path, is_folder)


def test_a_bad_line_loses_no_other_line() -> None:
    rules = RuleFile("", "", parse_patterns("a\n[bad\nb\\\n\n# c\n/\n!\nd\n"))
    found = {
        name: match.line
        for name in ("a", "bad", "[bad", "b", "b\\", "c", "# c", "d", "!")
        if (match := rules.last_match(name, False))
    }
    assert found == {"a": 1, "d": 8}


def test_a_mark_carriage_returns_and_odd_separators_do_no_harm() -> None:
    patterns = parse_patterns("\ufeffa\r\nb\x0bc\r\n")
    assert [pattern.text for pattern in patterns] == ["a", "b\x0bc"]


@pytest.mark.parametrize(
    ("line", "path"),
    [
        ("*a" * 60 + "b", "a" * 4000),
        ("*" * 200 + "b", "a" * 4000),
        ("**/a" * 60 + "/b", "a/" * 1500 + "a"),
        ("x/" + "**/a/*a/" * 40 + "b", "x/" + "a/" * 1500 + "a"),
        ("x*" + "[!b]*" * 20 + "[!b]c[!c]", "x" + "a" * 4000 + "cc"),
    ],
)
def test_a_hostile_pattern_does_not_backtrack(line: str, path: str) -> None:
    rules = RuleFile("", "", parse_patterns(line))
    assert rules.patterns
    assert rules.last_match(path, False) is None


LINES = r"""
a/**
a/**/
/**/b/**
**/a/**/b
a**c
[[:alpha:]]x
[^[:digit:]b]x
[[:punct:][:space:]]x
a[!b]c
*[!b]*c
[!b]*[!]x]*[!b]
*[!a]*[]x]*[!a]*
[[&&|~]x
*
*/
**/*/
/**
foo/
/*.c
\#a
"""
FILES = "a/b/c ab/b a/x/b x/a/b/c bx 1x x/bx .x &x [x abc a.c a/a.c a/c #a foo/b x/foo/c x/y/foo !x ax/x b/b d".split()


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree")
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    for path in FILES:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("x")
    return root


@pytest.mark.process
@pytest.mark.parametrize("line", LINES.split())
def test_one_line_says_of_every_path_what_git_says(tree: Path, line: str) -> None:
    (tree / ".gitignore").write_text(f"{line}\n")
    rules = RuleFile("", "", parse_patterns(line))
    folders = {folder.as_posix() for path in FILES for folder in list(Path(path).parents)[:-1]}
    asked = [*FILES, *sorted(folders)]
    command = ["git", "-c", "core.excludesFile=", "check-ignore", "--no-index", "-z", "--stdin"]
    said = subprocess.run(command, cwd=tree, input="\0".join(asked).encode(), capture_output=True, check=False).stdout
    expected = set(said.decode().split("\0")) - {""}
    assert {path for path in asked if ignored_with_folders(rules, path, path in folders)} == expected


def ignored_with_folders(rules: RuleFile, path: str, is_folder: bool) -> bool:
    above = [path[:at] for at, char in enumerate(path) if char == "/"]
    return any(rules.last_match(folder, True) for folder in above) or bool(rules.last_match(path, is_folder))


def test_a_folder_taken_back_says_nothing_of_what_is_in_it(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*.log\n!kept/\n")
    found = verdict(tmp_path, "kept", is_folder=True)
    assert found == Decision(Rule.INDEXED, ".gitignore:2: !kept/")
    assert verdict(tmp_path, "kept/a.log") == Decision(Rule.GITIGNORE, ".gitignore:1: *.log")
    assert verdict(tmp_path, "kept/a.c") is None


def test_the_last_line_that_matches_decides(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*.c\n!a.c\nb.c\n")
    assert verdict(tmp_path, "a.c") == Decision(Rule.INDEXED, ".gitignore:2: !a.c")
    assert verdict(tmp_path, "b.c") == Decision(Rule.GITIGNORE, ".gitignore:3: b.c")
    assert verdict(tmp_path, "a.h") is None


def test_a_gitignore_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_text("*\n")
    (tmp_path / ".gitignore").symlink_to(tmp_path / "elsewhere")
    assert verdict(tmp_path, "a.c") is None


def test_a_gitignore_in_latin_1_or_a_folder_of_that_name_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_bytes(b"\xe9\xff\n*.c\n")
    assert verdict(tmp_path, "a.c")
    (tmp_path / ".gitignore").unlink()
    (tmp_path / ".gitignore").mkdir()
    assert verdict(tmp_path, "a.c") is None


def test_info_exclude_is_read_through_the_pointer_of_a_worktree(tmp_path: Path) -> None:
    own = tmp_path / "main/.git/worktrees/w"
    own.mkdir(parents=True)
    (own / "commondir").write_text("../..\n")
    (tmp_path / "main/.git/info").mkdir()
    (tmp_path / "main/.git/info/exclude").write_text("*.x\n")
    tree = tmp_path / "w"
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {own}\n")
    assert verdict(tree, "a.x") == Decision(Rule.GITIGNORE, ".git/info/exclude:1: *.x")


def test_the_global_file_counts_least(tmp_path: Path) -> None:
    (tmp_path / "global").write_text("*.x\n*.y\n")
    root = tmp_path / "root"
    root.mkdir()
    (root / ".gitignore").write_text("!a.y\n")
    given: dict[str, Any] = {"global_ignore": str(tmp_path / "global")}
    assert verdict(root, "a.x", **given) == Decision(Rule.GITIGNORE, "global ignore file:1: *.x")
    found = verdict(root, "a.y", **given)
    assert found is not None and found.indexed
    assert verdict(root, "a.x", respect_gitignore=False, **given) is None


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ("", "{home}/.config/git/ignore"),
        ("[user]\n excludesFile = no\n[core]\n\texcludesfile = ~/mine\n", "{home}/mine"),
        ('[core] excludesFile = "/etc/ignore all"\n', "/etc/ignore all"),
        ("[core]\nexcludesFile = /a\n[core]\nexcludesFile = /b\n", "/b"),
    ],
)
def test_the_users_ignore_file_is_found_as_git_finds_it(tmp_path: Path, config: str, expected: str) -> None:
    (tmp_path / ".gitconfig").write_text(config)
    environment = {"HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}
    assert user_ignore_file(environment) == expected.format(home=tmp_path)


def test_without_a_home_there_is_no_global_file() -> None:
    assert user_ignore_file({"GIT_CONFIG_NOSYSTEM": "1"}) == ""


_NAMES = st.text(st.sampled_from("ab.o"), min_size=1, max_size=5).filter(lambda name: name.strip("."))
_WILD_NAMES = st.text(st.sampled_from("ab.o*?"), min_size=1, max_size=5)
_LINES = st.builds(
    lambda kept, anchored, segments, folder: f"{kept}{anchored}{'/'.join(segments)}{folder}",
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "", "/"]),
    st.lists(
        st.one_of(_NAMES, _WILD_NAMES, st.sampled_from(["[ab]o", "a[.o]b", "**", "*", "?"])), min_size=1, max_size=3
    ),
    st.sampled_from(["", "", "/"]),
)


@settings(max_examples=examples(400), deadline=None)
@given(
    st.lists(_LINES, min_size=1, max_size=40),
    st.lists(st.lists(_NAMES, min_size=1, max_size=3).map("/".join), min_size=1, max_size=20),
    st.booleans(),
)
def test_the_last_of_many_patterns_is_the_one_that_is_found_by_trying_each(
    lines: list[str], paths: list[str], is_folder: bool
) -> None:
    patterns = parse_patterns("\n".join(lines))

    def matches(pattern: Pattern, path: str) -> bool:
        try:
            return re.compile(regex_of(pattern.text), re.DOTALL).match(path) is not None
        except ValueError:
            return False

    for path in paths:
        asked = f"{path}/" if is_folder else path
        wanted = next((one for one in reversed(patterns) if matches(one, asked)), None)
        assert patterns.last_match(path, is_folder) == wanted, path
