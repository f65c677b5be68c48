"""Roots, relative paths and globs."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar import errors
from sidecar.parts.globs import compile_glob
from sidecar.parts.paths import (
    disk_path,
    find_project_root,
    index_id,
    normalise_root,
    relative_path,
)


def test_aliases_of_a_folder_share_one_index(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to(tmp_path / "real")
    spellings = {f"{tmp_path}/{name}" for name in ("real", "real/", "alias", "./real", "alias/../real")}
    assert {normalise_root(path) for path in spellings} == {str((tmp_path / "real").resolve())}
    assert {index_id(path) for path in spellings} == {
        hashlib.sha256(str((tmp_path / "real").resolve()).encode()).hexdigest()[:32]
    }


@pytest.mark.parametrize("path", ["", "a\0b"])
def test_a_root_that_cannot_be_is_refused(path: str) -> None:
    with pytest.raises(errors.WorkspaceNotFound):
        normalise_root(path)


@pytest.mark.parametrize("marker", [".git", "package.json", "pyproject.toml", "Cargo.toml", "go.mod"])
def test_the_project_root_is_the_nearest_marked_folder(tmp_path: Path, marker: str) -> None:
    (tmp_path / "go.mod").touch()
    inner = tmp_path / "inner"
    (inner / "a/b").mkdir(parents=True)
    (inner / marker).touch()
    assert find_project_root(str(inner / "a/b")) == str(inner.resolve())


def test_above_a_folder_that_cannot_be_looked_into_the_root_is_still_found(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir()
    (tmp_path / "go.mod").touch()
    closed.chmod(0)
    if os.access(closed, os.X_OK):
        pytest.skip("the superuser reads everything")
    assert find_project_root(str(closed)) == str(tmp_path.resolve())


@pytest.mark.parametrize(
    ("given_path", "expected"),
    [
        ("a/b.py", "a/b.py"),
        ("./a//b.py", "a/b.py"),
        ("a/../b.py", "b.py"),
        ("a/b/", "a/b"),
        (".", ""),
        ("cafe\u0301.py", "caf\u00e9.py"),
        ("a\u200b/\u202eb.py", "a/b.py"),
        ("...", "..."),
        ("..a/b", "..a/b"),
    ],
)
def test_a_relative_path_gets_its_one_spelling(tmp_path: Path, given_path: str, expected: str) -> None:
    assert relative_path(str(tmp_path), given_path) == expected


def test_an_absolute_path_inside_the_root_is_taken(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "alias").symlink_to(tmp_path / "root")
    root = str(tmp_path / "root")
    assert relative_path(root, f"{root}/a/b.py") == "a/b.py"
    assert relative_path(root, f"{tmp_path}/alias/b.py") == "b.py"
    assert relative_path(root, root) == ""


@pytest.mark.parametrize(
    "path",
    [
        "../x",
        "a/../../x",
        "a/../..",
        "/etc/passwd",
        "a\0b",
        "C:\\x",
        "c:/x",
        "C:x",
        "\\\\server\\x",
        "..\\x",
        "a\\..\\..\\x",
        "\u200b../x",
        ".\u200b./x",
    ],
)
def test_a_path_that_leaves_the_root_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(errors.PathTraversal):
        relative_path(str(tmp_path), path)


def test_a_sibling_with_the_same_beginning_is_outside(tmp_path: Path) -> None:
    with pytest.raises(errors.PathTraversal):
        relative_path(str(tmp_path / "root"), f"{tmp_path}/root-other/x")


def test_an_empty_path_is_a_wrong_parameter(tmp_path: Path) -> None:
    with pytest.raises(errors.InvalidParams):
        relative_path(str(tmp_path), "\u200b")


@given(st.text(max_size=40))
def test_no_text_gets_out_of_the_root(path: str) -> None:
    try:
        relative = relative_path("/srv/root", path)
    except errors.SidecarError:
        return
    parts = relative.split("/")
    assert ".." not in parts and not relative.startswith("/") and "\0" not in relative


def test_a_name_on_disk_is_found_by_its_normal_form(tmp_path: Path) -> None:
    (tmp_path / "e\u0301").mkdir()
    (tmp_path / "e\u0301/u\u0308.py").touch()
    assert disk_path(str(tmp_path), "\u00e9/\u00fc.py") == f"{tmp_path}/e\u0301/u\u0308.py"
    assert disk_path(str(tmp_path), "\u00e9/none") == f"{tmp_path}/\u00e9/none"


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("*.py", ["a.py", ".py", ".a.py"], ["a/b.py", "a.pyc", "A.PY"]),
        ("**/*.py", ["a.py", "a/b.py", "a/b/c.py"], ["a.pyc"]),
        ("src/**", ["src/a", "src/a/b"], ["src", "srcs/a"]),
        ("src/", ["src/a", "src/a/b"], ["src"]),
        ("**", ["a", "a/b"], []),
        ("a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["ab", "a/xb", "x/a/b"]),
        ("**/a/**/b/**/c", ["a/b/c", "x/a/y/b/z/c"], ["a/c", "b/a/c"]),
        ("a?c", ["abc"], ["ac", "a/c"]),
        ("a**c", ["ac", "abbc"], ["a/c"]),
        ("[a-c]x", ["ax", "cx"], ["dx", "x"]),
        ("[!a]x", ["bx"], ["ax", "/x"]),
        ("[]]x", ["]x"], ["x"]),
        ("{a,b{c,d}}.ts", ["a.ts", "bc.ts", "bd.ts"], ["b.ts", "{a}.ts"]),
        ("{src,test}/**/*.{js,ts}", ["src/a.js", "test/x/y.ts"], ["lib/a.js", "src/a.py"]),
        ("a{,b}", ["a", "ab"], ["b"]),
        ("*a*b*c", ["abc", "xaxbxc", "aabbcc"], ["acb"]),
        ("\\*", ["*"], ["a"]),
        ("./a", ["a"], ["./a"]),
        ("a.c", ["a.c"], ["abc"]),
        ("(a|b)+", ["(a|b)+"], ["a"]),
    ],
)
def test_globs(pattern: str, matching: list[str], other: list[str]) -> None:
    matches = compile_glob(pattern)
    assert [path for path in matching if not matches(path)] == []
    assert [path for path in other if matches(path)] == []


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("", "1 to 200"),
        ("a" * 201, "1 to 200"),
        ("a[", "brackets"),
        ("a]", "brackets"),
        ("[]", "brackets"),
        ("{a", "braces"),
        ("a}", "braces"),
        ("a\0", "NUL"),
        ("../a", "`..`"),
        ("a/../b", "`..`"),
        ("/a", "leading slash"),
        ("C:/a", "drive"),
        ("a\\", "backslash"),
        ("*a" * 11, "10 wildcards"),
        ("{a}{b}{c}{d}{e}{f}", "5 brace groups"),
        ("{" + "a," * 20 + "a}", "20 items"),
        ("{a,b,c,d,e}" * 5, "1000 patterns"),
    ],
)
def test_a_malformed_glob_is_refused_with_the_reason(pattern: str, reason: str) -> None:
    with pytest.raises(errors.InvalidPattern) as raised:
        compile_glob(pattern)
    assert reason in raised.value.detail


def test_a_hostile_glob_does_not_backtrack() -> None:
    # For either pattern, a backtracking matcher would need more steps than there are atoms.
    assert not compile_glob("*a" * 10 + "b")("a" * 5000)
    assert not compile_glob("**/a/" * 9 + "b")("a/" * 2000 + "c")


@given(st.text("ab*?[]{},!-/\\.", min_size=1, max_size=20), st.text("ab/.", max_size=20))
def test_any_glob_either_compiles_or_says_what_is_wrong(pattern: str, path: str) -> None:
    try:
        matches = compile_glob(pattern)
    except errors.InvalidPattern as error:
        assert error.detail
    else:
        assert matches(path) in (True, False)
