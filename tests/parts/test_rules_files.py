"""Files of rules from strangers: pipes, devices, far too many lines. None delays the walk, and each that is not read is
reported."""

from __future__ import annotations

import contextlib
import gc
import os
import re
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.model.files import Rule, WalkResult
from sidecar.parts.classify import MAX_ATTRIBUTE_LINES, Classifier
from sidecar.parts.ignore import MAX_KEPT_BYTES, ParsedPatterns, Patterns, parse_patterns, regex_of
from sidecar.parts.pattern_index import (
    MAX_ALIKE,
    MAX_ALIKE_CHARS,
    MAX_PATTERNS,
    MAX_RULES_BYTES,
    Glob,
    PatternIndex,
    TooManyRules,
    piece_of,
)
from sidecar.parts.walk import DiskWalker, WalkOptions
from sidecar.parts.watch import Watcher
from sidecar.settings.load import load_settings
from tests.judged_folders import IGNORES_NOTHING
from tests.patience import PATIENCE_S


def ended(call: Callable[[], Any]) -> Any:
    """Returns the result of a call, and fails if it does not end."""
    given_back: list[Any] = []
    thread = threading.Thread(target=lambda: given_back.append(call()), daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    assert given_back, "it waits"
    return given_back[0]


def pipe(place: Path) -> None:
    os.mkfifo(place)


def endless(place: Path) -> None:
    place.symlink_to("/dev/zero")


def listening(place: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        here = Path.cwd()
        os.chdir(place.parent)  # a socket's name must be short
        try:
            made.bind(place.name)
        finally:
            os.chdir(here)


def circle(place: Path) -> None:
    place.symlink_to(place.name)


ODD = [pipe, endless, listening, circle, Path.mkdir]
PLACES = [".git", ".git/HEAD", ".git/info/exclude", ".gitignore", ".sidecarignore", ".gitattributes", "sub/.git"]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("make", ODD)
def test_an_odd_file_of_rules_holds_nothing_up(tmp_path: Path, place: str, make: Callable[[Path], None]) -> None:
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "sub").mkdir(exist_ok=True)
    (tmp_path / "sub/a.py").write_text("x = 1\n")
    make(tmp_path / place)
    walked: WalkResult = ended(lambda: DiskWalker(str(tmp_path), WalkOptions(global_ignore="")).walk())
    assert "sub/a.py" in [found.path for found in walked.files]
    assert ended(lambda: Classifier(str(tmp_path)).decide("sub/a.py", "x = 1\n")).indexed


@pytest.mark.parametrize("make", ODD)
def test_an_odd_git_does_not_hold_up_the_watching(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / ".git")
    watcher = Watcher(str(tmp_path), IGNORES_NOTHING, str(tmp_path.parent / "mark"))
    ended(lambda: watcher.start() or True)  # type: ignore[func-returns-value]
    assert watcher.active
    watcher.stop()


@pytest.mark.parametrize("place", [".gitconfig", ".config/git/config", ".config/git/ignore"])
@pytest.mark.parametrize("make", ODD)
def test_an_odd_file_of_the_users_holds_nothing_up(tmp_path: Path, place: str, make: Callable[[Path], None]) -> None:
    from sidecar.parts.ignore import IgnoreRules

    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    make(tmp_path / place)
    root = tmp_path / "root"
    root.mkdir()
    rules = IgnoreRules(str(root), environment={"HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"})
    assert ended(rules.outermost).git == ()


@pytest.mark.parametrize("make", [pipe, endless, Path.mkdir])
def test_settings_are_read_from_regular_files_only(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "config.json")
    settings = ended(lambda: load_settings(tmp_path / "config.json", None, {}, {}, {}))
    assert "not a regular file" in settings.problems[0]


# ---------------------------------------------------------------- many lines


ALIKE = "".join(f"?{number}?\n" for number in range(10)) * (MAX_ALIKE // 10) + "?x?\n" * (MAX_ALIKE + 1)


LONG = "".join(f"{'[a-z]*' * 600}?{'?' * number}\n" for number in range(50))
"""Few lines, of which each takes as long as a thousand: 50 of them held the walk up for 2 s, 500 for 20 s."""
MANY = "".join(f"secret-{number}.txt\n" for number in range(MAX_PATTERNS + 1))
LONG_APART = "".join(f"{'[a-z]*' * 600}q{number}\n" for number in range(500))


@pytest.mark.parametrize(
    "text", [ALIKE, LONG, LONG_APART, MANY, "a" * 1000 + "\n" + "secret.txt\n" * (MAX_RULES_BYTES // 11)]
)
@pytest.mark.parametrize("name", [".gitignore", ".sidecarignore"])
def test_a_folder_with_more_rules_than_are_applied_is_left_out_and_reported(
    tmp_path: Path, name: str, text: str
) -> None:
    for path in ("a.py", "sub/secret.txt", "sub/b.py", "sub/inner/c.py"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x = 1\n")
    (tmp_path / "sub" / name).write_text(text)
    judge = DiskWalker(str(tmp_path), WalkOptions(global_ignore=""))
    walked = judge.walk()
    assert [found.path for found in walked.files] == ["a.py"]
    assert [(item.path, item.decision.rule) for item in walked.skipped] == [("sub/", Rule.TOO_MANY_RULES)]
    assert walked.skipped[0].decision.detail.startswith(f"sub/{name} is not applied: ")
    assert walked.unread == frozenset()
    assert judge.decide("sub/inner/c.py").rule is Rule.TOO_MANY_RULES
    assert judge.subtree("sub").files == ()


def test_a_file_has_no_more_rules_than_its_time_allows(tmp_path: Path) -> None:
    """Reading 100,000 and indexing them as text took 4.3 s of the processor, in place of 2."""
    some = MANY.splitlines(keepends=True)[:30_000]
    (tmp_path / ".gitignore").write_text("".join(some))
    judge = DiskWalker(str(tmp_path), WalkOptions(global_ignore=""))
    assert judge.decide("secret-29999.txt").rule is Rule.GITIGNORE
    (tmp_path / ".gitignore").write_text("".join([*some, "one-more\n"]))
    told = judge.decide("secret-29999.txt")
    assert told.rule is Rule.TOO_MANY_RULES
    assert told.detail == ".gitignore is not applied: it has more than 30,000 patterns"


def test_attributes_beyond_the_bound_are_told_where_the_file_is(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/.gitattributes").write_text("?x? linguist-generated\n" * (MAX_ALIKE + 1))
    (tmp_path / ".gitattributes").write_text("*.gen linguist-generated\n")
    judge = Classifier(str(tmp_path))
    assert judge.decide("sub/.gitattributes", "text").rule is Rule.TOO_MANY_RULES
    assert judge.decide("sub/a.gen", "text").rule is Rule.GENERATED
    assert judge.decide(".gitattributes", "text").indexed
    large = tmp_path / "large"
    large.mkdir()
    (large / ".gitattributes").write_text("#" * (MAX_RULES_BYTES + 1))
    walked = DiskWalker(str(tmp_path), WalkOptions(global_ignore="")).walk()
    assert [(item.path, item.decision.rule) for item in walked.skipped] == [
        ("large/.gitattributes", Rule.TOO_MANY_RULES)
    ]


def test_more_attribute_lines_than_a_file_has_time_for_are_told_and_not_applied(tmp_path: Path) -> None:
    """Parsing all rules is part of judging the first file: with 100,000 rules its process was ended because it took too
    long."""
    lines = [f"secret-{number}.txt linguist-generated\n" for number in range(MAX_ATTRIBUTE_LINES)]
    others = "*.bin filter=lfs\n" * 20_000
    (tmp_path / ".gitattributes").write_text(others + "".join(lines))
    assert Classifier(str(tmp_path)).decide("secret-7.txt", "text").rule is Rule.GENERATED
    (tmp_path / ".gitattributes").write_text("".join([*lines, "one-more linguist-vendored\n"]))
    judge = Classifier(str(tmp_path))
    assert judge.decide("secret-7.txt", "text").indexed
    told = judge.decide(".gitattributes", "text")
    assert told.rule is Rule.TOO_MANY_RULES
    assert told.detail == "its lines are not applied: more than 20,000 of them name linguist attributes"


@pytest.mark.parametrize("unit", ["[a-z]*", "**/", "?", "a*", "[!a]", "**/[a-z]*x/"])
@pytest.mark.parametrize("end", ["?", "x{}*", "*.x{}"])
def test_of_the_longest_lines_a_path_has_few_characters_tried(unit: str, end: str) -> None:
    lines = [unit * (4000 // len(unit)) + end.format(number % 10) + "?" * (number % 7) for number in range(1000)]
    asked: list[str] = []

    def regex(text: str) -> str:
        asked.append(text)
        return "(?!)"

    held: list[Glob] = []
    for line in lines:
        with contextlib.suppress(TooManyRules):
            PatternIndex([*held, Glob(piece_of(line), False, line)], regex)
            held.append(Glob(piece_of(line), False, line))
            continue
        break
    index = PatternIndex(held, regex)
    index.last_match("src/axe.x1", False)
    assert sum(map(len, asked)) <= 3 * MAX_ALIKE_CHARS
    with pytest.raises(TooManyRules):
        PatternIndex([Glob(piece_of(line), False, line) for line in lines], regex)


@pytest.mark.parametrize("name", [".gitignore", ".sidecarignore"])
def test_whoever_searches_gets_the_interpreter_again_and_again_while_many_lines_are_read(
    tmp_path: Path, name: str
) -> None:
    """No thread is interrupted here, so other threads run only when this one yields."""
    (tmp_path / name).write_text("".join(f"secret-{number}.txt\n" for number in range(20_000)))
    reading = threading.Thread(target=DiskWalker(str(tmp_path), WalkOptions(global_ignore="")).walk)
    turns, usual = 0, sys.getswitchinterval()
    sys.setswitchinterval(PATIENCE_S)
    try:
        reading.start()
        while reading.is_alive():
            reading.join(0.0001)
            turns += 1
    finally:
        sys.setswitchinterval(usual)
    assert turns > 30


FORMS = ["secret-{}.txt", "/dir{}/x", "*.x{}", "pre{}*", "d/*.x{}", "**/x{}/*", "a{}*b", "*w{}v*", "x{}/**", "[a-f]x{}"]


@pytest.mark.parametrize("form", FORMS)
def test_of_twenty_thousand_lines_only_those_are_tried_that_may_match(form: str) -> None:
    asked: list[str] = []

    def regex(text: str) -> str:
        asked.append(text)
        return "(?!)"

    lines = [form.format(number) for number in range(20_000)]
    index = PatternIndex([Glob(piece_of(line), False, line) for line in lines], regex)
    for number in range(300):
        index.last_match(f"src/module/file_{number}.py", False)
        index.last_match(f"d/x{number}/name", True)
    assert len(asked) <= 600


@pytest.mark.parametrize("form", [*FORMS, "[a-f]{}y", "!d/x{}/"])
def test_thousands_of_lines_give_the_garbage_collector_nothing_to_go_through(form: str) -> None:
    """All threads wait for the garbage collector: 70 ms for the objects of 100,000 lines, each of which takes
    memory."""
    text = "".join(f"{form.format(number)}\n" for number in range(5_000))
    gc.collect()
    before = len(gc.get_objects())
    patterns = parse_patterns(text)
    gc.collect()
    assert len(patterns) == 5_000
    assert len(gc.get_objects()) - before < 200


def test_walkers_that_share_what_they_parse_read_each_text_of_rules_once(tmp_path: Path) -> None:
    parsed: list[str] = []

    def parse(text: str) -> Patterns:
        parsed.append(text)
        return parse_patterns(text)

    shared = ParsedPatterns(parse)
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / ".gitignore").write_text("*.dat\n")
        (tmp_path / folder / "x.dat").write_text("x")
    (tmp_path / ".sidecarignore").write_text("/b\n")
    for _ in range(3):
        walker = DiskWalker(str(tmp_path), WalkOptions(global_ignore=""), patterns=shared)
        walked = walker.walk()
        assert walker.decide("a/x.dat").detail == "a/.gitignore:1: *.dat"
        assert [item.path for item in walked.skipped] == ["a/x.dat", "b/"]
    assert sorted(parsed) == ["*.dat\n", "/b\n"]
    (tmp_path / "a/.gitignore").write_text("*.txt\n")
    walker = DiskWalker(str(tmp_path), WalkOptions(global_ignore=""), patterns=shared)
    assert walker.decide("a/x.dat").indexed
    assert sorted(parsed) == ["*.dat\n", "*.txt\n", "/b\n"]


def test_threads_that_meet_the_same_rules_at_the_same_time_wait_for_one_of_them() -> None:
    parsed: list[str] = []
    begun, go_on = threading.Event(), threading.Event()

    def parse(text: str) -> Patterns:
        parsed.append(text)
        begun.set()
        assert go_on.wait(PATIENCE_S)
        return parse_patterns(text)

    shared = ParsedPatterns(parse)
    found: list[Patterns] = []
    threads = [threading.Thread(target=lambda: found.append(shared.of(b"*.dat\n")), daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    assert begun.wait(PATIENCE_S)
    go_on.set()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert len(found) == 3
    assert len(parsed) == 1


def test_a_refused_text_of_rules_is_refused_again_and_not_parsed_again() -> None:
    parsed: list[str] = []

    def parse(text: str) -> Patterns:
        parsed.append(text)
        return parse_patterns(text)

    shared = ParsedPatterns(parse)
    for _ in range(3):
        with pytest.raises(TooManyRules, match="have the same wildcards"):
            shared.of(ALIKE.encode())
    assert len(parsed) == 1


def test_of_the_parsed_rules_only_those_that_were_asked_for_last_are_kept() -> None:
    parsed: list[str] = []

    def parse(text: str) -> Patterns:
        parsed.append(text[:1])
        return parse_patterns("")

    shared = ParsedPatterns(parse)
    half = MAX_KEPT_BYTES // 2 - 2_000
    for letter in (b"a", b"b", b"a", b"c", b"a", b"b"):
        shared.of(letter * half)
    assert parsed == ["a", "b", "c", "b"]


PIECES = st.sampled_from(["a", "b", "ab", "*", "**", "?", "[ab]", "[!a]", "\\*", "/", "/", "ba", "]", "[", "\\", " "])
LINES = st.lists(PIECES, min_size=1, max_size=7).map("".join)
PATHS = st.lists(st.sampled_from(["a", "b", "ab", "ba", "aab", "*", "a]", " "]), min_size=1, max_size=4).map("/".join)


@given(st.lists(LINES, max_size=12), st.lists(PATHS, min_size=1, max_size=8), st.booleans())
def test_the_last_match_is_the_one_that_trying_all_would_find(
    lines: list[str], paths: list[str], is_folder: bool
) -> None:
    patterns = parse_patterns("\n".join(lines))
    for path in paths:
        tried = [pattern for pattern in patterns if matches(pattern.text, path, is_folder)]
        assert patterns.last_match(path, is_folder) == (tried[-1] if tried else None)


def matches(line: str, path: str, is_folder: bool) -> bool:
    try:
        return re.compile(regex_of(line), re.DOTALL).match(path + "/" * is_folder) is not None
    except (ValueError, re.error):
        return False
