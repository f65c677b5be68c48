"""Tests which folders a watcher watches, and that listing them costs the same for each, however deep it is."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from sidecar.parts.walk import DiskWalker
from sidecar.parts.watched_folders import FolderTree, JudgedFolder
from tests.circumstances import as_somebody

DEEP = 60


@dataclass
class Counting:
    """Ignores nothing, and records which folders are judged from the root and which from the folder above."""

    from_root: list[str]
    from_above: list[str]
    ignored: bool = False

    def judge(self, folder: str) -> JudgedFolder:
        self.from_root.append(folder)
        return self

    def inside(self, path: str) -> JudgedFolder:
        self.from_above.append(path)
        return self


def chain(root: Path, depth: int) -> list[str]:
    """Makes folders inside one another. Returns their relative paths."""
    (root / "/".join(["d"] * depth)).mkdir(parents=True)
    return ["/".join(["d"] * number) for number in range(1, depth + 1)]


def listed(tree: FolderTree) -> set[str]:
    return {tree.relative(folder) for folder in tree.list()}


def test_each_folder_is_judged_once_and_from_the_folder_above(tmp_path: Path) -> None:
    folders, judging = chain(tmp_path, DEEP), Counting([], [])
    tree = FolderTree(str(tmp_path), judging.judge)
    assert listed(tree) == {"", *folders}
    assert (judging.from_root, judging.from_above) == ([""], folders)
    assert listed(tree) == {"", *folders}
    assert len(judging.from_above) == DEEP


def test_only_new_folders_are_judged_later_the_first_from_the_root(tmp_path: Path) -> None:
    folders, judging = chain(tmp_path, DEEP), Counting([], [])
    tree = FolderTree(str(tmp_path), judging.judge)
    tree.list()
    judging.from_root.clear()
    judging.from_above.clear()
    new = [f"{folders[-1]}/{inner}" for inner in chain(tmp_path / folders[-1], DEEP)]
    assert listed(tree) == {"", *folders, *new}
    assert (judging.from_root, judging.from_above) == (folders[-1:], new)


def calls(work: Callable[[], object]) -> int:
    """Counts the calls of Python functions: an amount of work that is the same on every machine."""
    made = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal made
        made += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return made


@pytest.mark.parametrize("rules", ["none", "in every folder"])
def test_folders_three_times_as_deep_are_three_times_the_work(tmp_path: Path, rules: str) -> None:
    made = []
    for depth in (DEEP, 3 * DEEP):
        root = tmp_path / str(depth)
        folders = chain(root, depth)
        for folder in folders if rules != "none" else ():
            (root / folder / ".gitignore").write_text("*.log\n")
        tree = FolderTree(str(root), DiskWalker(str(root)).judged)
        tree.list()  # compiles the patterns
        tree = FolderTree(str(root), DiskWalker(str(root)).judged)
        made.append(calls(tree.list))
    # A folder with rules is compared with all rules above it, which is the work of a walk too.
    assert made[1] < made[0] * (4 if rules == "none" else 9)


def files(root: Path, texts: dict[str, str]) -> None:
    for name, text in texts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


MIXED = {
    ".gitignore": "/out/\nlogs/\n",
    ".sidecarignore": "!kept/dist/\nprivate/\n",
    "src/a/b.py": "",
    "src/.gitignore": "gen/\n!keep/gen/\n",
    "src/gen/c.py": "",
    "src/keep/gen/d.py": "",
    "out/e.py": "",
    "a/logs/f.py": "",
    "kept/dist/inner/g.py": "",
    "private/deep/h.py": "",
    "env/pyvenv.cfg": "",
    "env/lib/i.py": "",
    "node_modules/x/j.py": "",
    "sub/.git/HEAD": "",
    "sub/k/l.py": "",
    "cafe\u0301/m/n.py": "",
}


def test_a_folder_is_judged_from_the_one_above_as_it_is_judged_alone(tmp_path: Path) -> None:
    files(tmp_path, MIXED)
    alone = DiskWalker(str(tmp_path))
    everything = [path for path in tmp_path.rglob("*") if path.is_dir() and ".git" not in path.parts]
    tree = FolderTree(str(tmp_path), DiskWalker(str(tmp_path)).judged)
    found = listed(tree)
    for path in everything:
        relative = tree.relative(str(path))
        assert (relative in found) == alone.decide(relative).indexed, relative
        assert tree.is_ignored(relative) == (relative not in found)
    assert {"src/keep/gen", "caf\u00e9/m", "sub/k"} <= found
    assert found.isdisjoint({"out", "a/logs", "private/deep", "env", "src/gen", "node_modules", "sub/.git"})


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are different there")
def test_a_folder_that_cannot_be_read_is_named_as_a_folder_whoever_asks() -> None:
    with tempfile.TemporaryDirectory() as place:  # pytest's own folders are closed to others
        root = Path(place)
        root.chmod(0o755)
        files(root, {"closed/inner/a.py": "", "closed/b.py": ""})
        (root / "closed").chmod(0)
        walker = DiskWalker(place)
        with as_somebody():
            whole, part = walker.walk(), walker.subtree("closed")
        (root / "closed").chmod(0o755)
    assert [skipped.path for skipped in whole.skipped] == [skipped.path for skipped in part.skipped] == ["closed/"]
    assert whole.unread == part.unread == {"closed"}


def test_changed_rules_hold_once_the_tree_has_forgotten_the_old_ones(tmp_path: Path) -> None:
    files(tmp_path, {".gitignore": "one/\n", "one/in/a.py": "", "two/in/b.py": ""})
    tree = FolderTree(str(tmp_path), DiskWalker(str(tmp_path)).judged)
    assert listed(tree) == {"", "two", "two/in"}
    files(tmp_path, {".gitignore": "two/ \n"})
    tree.forget({""})
    assert listed(tree) == {"", "one", "one/in"}
