"""Files that git knows to be unmodified are not read again after a checkout; whatever git's index says, none is stale.

The tests use real git. A git index that was written in the same moment as a file is not trusted, so most tests make it
younger.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.engine.projects import Project, image, index

pytestmark = pytest.mark.process

FILES = 60
_LATER_NS = 10_000_000_000


def name_of(number: int) -> str:
    return f"src/part{number % 7}/file{number}.py"


def text_of(number: int, word: str = "first") -> str:
    return f"def function{number}():\n    return '{word}{number:04}'\n"


@pytest.fixture
def checkout(project: Project) -> Project:
    """An indexed repository with 60 more files, all committed, whose files are then all touched."""
    for number in range(FILES):
        project.write(name_of(number), text_of(number))
    make_old(project, 9 * 10**17)  # git compares seconds, so a file that is touched later has to differ in them
    project.git("init", "-b", "main")
    project.git("add", ".")
    project.git("commit", "-m", "one")
    reads_of(project)
    touch_all(project)
    return project


def touch_all(project: Project) -> None:
    """Gives every file new times, as after a checkout that wrote it anew, without git's knowledge."""
    for path in project.root.rglob("*"):
        if path.is_file() and ".git" not in path.parts:
            content = path.read_bytes()
            path.unlink()
            path.write_bytes(content)


def make_old(project: Project, at_ns: int = 10**18) -> None:
    """Gives every file another time, old enough to be trusted."""
    for path in project.root.rglob("*.*"):
        if path.is_file() and ".git" not in path.parts:
            os.utime(path, ns=(at_ns, at_ns))


def let_git_look(project: Project) -> None:
    """Has git compare all files and write its index, which is then younger than all of them."""
    project.git("update-index", "-q", "--refresh")
    make_younger(project)


def make_younger(project: Project) -> None:
    place = project.root / ".git" / "index"
    now = place.stat().st_mtime_ns
    os.utime(place, ns=(now, now + _LATER_NS))


def reads_of(project: Project) -> list[str]:
    """Brings the index up to date in an engine as of a new process. Returns the paths of the files that were read."""
    read: list[str] = []
    project.before_reading = read.append
    index(project.open())
    project.close()
    return read


def differences(project: Project) -> dict[str, bytes]:
    """Returns the files that differ between index and disk, by path with the SHA-256 in the index. Git's own files do
    not count."""
    (place,) = project.home.glob("indexes/*/generations/*/manifest.sqlite")
    with sqlite3.connect(place) as connection:
        stored = set(connection.execute("SELECT path, sha256 FROM files WHERE path NOT LIKE '%.git%'"))
    files = (path for path in project.root.rglob("*.*") if path.is_file() and ".git" not in str(path))
    return dict(
        stored
        ^ {(path.relative_to(project.root).as_posix(), hashlib.sha256(path.read_bytes()).digest()) for path in files}
    )


def test_files_that_git_knows_to_be_unmodified_are_not_read(checkout: Project) -> None:
    let_git_look(checkout)
    assert reads_of(checkout) == []
    before = image(checkout.open())
    checkout.close()
    shutil.rmtree(checkout.home / "indexes")
    reads_of(checkout)
    assert image(checkout.open()) == before


def test_the_new_times_are_noted_so_that_git_is_not_asked_again(checkout: Project) -> None:
    let_git_look(checkout)
    make_old(checkout)
    let_git_look(checkout)
    assert reads_of(checkout) == []
    (checkout.root / ".git" / "index").unlink()
    assert reads_of(checkout) == []


def test_files_that_git_has_not_looked_at_are_read(checkout: Project) -> None:
    assert len(reads_of(checkout)) >= FILES


def test_a_branch_and_back_reads_nothing_but_what_differs(checkout: Project) -> None:
    reads_of(checkout)
    checkout.git("checkout", "-b", "other")
    for number in range(FILES):
        checkout.write(name_of(number), text_of(number, "other"))
    checkout.git("commit", "-am", "two")
    checkout.git("checkout", "main")
    checkout.write(name_of(3), text_of(3, "dirty"))
    make_younger(checkout)
    assert reads_of(checkout) == [name_of(3)]
    assert not differences(checkout)


def test_a_folder_of_a_repository_and_a_worktree_are_recognised_too(checkout: Project, tmp_path: Path) -> None:
    checkout.git("worktree", "add", str(tmp_path / "beside"), "-b", "beside")
    checkout.root = tmp_path / "beside" / "src"
    assert len(reads_of(checkout)) >= FILES
    make_old(checkout)
    checkout.git("update-index", "-q", "--refresh")
    (place,) = (tmp_path / "work" / ".git" / "worktrees").glob("*/index")
    os.utime(place, ns=(place.stat().st_mtime_ns, place.stat().st_mtime_ns + _LATER_NS))
    assert reads_of(checkout) == []


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_every_version_of_an_index_is_read(checkout: Project, version: str) -> None:
    if version == "3":  # these need a second pair of flags
        checkout.write("later.py", "x = 1\n")
        checkout.git("add", "--intent-to-add", "later.py")
    else:
        checkout.git("update-index", "--index-version", version)
    let_git_look(checkout)
    assert (checkout.root / ".git" / "index").read_bytes()[7] == int(version)
    assert reads_of(checkout) == (["later.py"] if version == "3" else [])
    assert not differences(checkout)


def _of_another_kind(project: Project) -> None:
    project.git("update-index", "--split-index")


def _torn(project: Project) -> None:
    place = project.root / ".git" / "index"
    place.write_bytes(place.read_bytes()[:-500])


def _flipped(project: Project) -> None:
    place = project.root / ".git" / "index"
    raw = bytearray(place.read_bytes())
    raw[len(raw) // 2] ^= 0x41
    place.write_bytes(raw)


def _assumed(project: Project) -> None:
    project.git("update-index", "--assume-unchanged", *(name_of(number) for number in range(FILES)))


def _not_checked_out(project: Project) -> None:
    project.git("update-index", "--skip-worktree", *(name_of(number) for number in range(FILES)))


def _as_old_as_the_files(project: Project) -> None:
    place = project.root / ".git" / "index"
    oldest = min(path.stat().st_mtime_ns for path in project.root.rglob("*.py"))
    os.utime(place, ns=(oldest, oldest))


def _filtered(project: Project) -> None:
    project.write(".gitattributes", "*.py filter=secret\n")


def _filtered_beside(project: Project) -> None:
    for number in range(7):
        project.write(f"src/part{number}/.gitattributes", "*.py working-tree-encoding=UTF-16\n")


def _filtered_by_a_macro(project: Project) -> None:
    project.write(".git/info/attributes", "[attr]large filter=lfs\n")


@pytest.mark.parametrize(
    "spoil",
    [
        *(_of_another_kind, _torn, _flipped, _assumed, _not_checked_out, _as_old_as_the_files),
        *(_filtered, _filtered_beside, _filtered_by_a_macro),
    ],
)
def test_what_git_does_not_vouch_for_is_read(checkout: Project, spoil: Callable[[Project], None]) -> None:
    let_git_look(checkout)
    spoil(checkout)
    assert len(reads_of(checkout)) >= FILES


def test_files_that_no_filter_is_for_are_still_recognised(checkout: Project) -> None:
    checkout.write(".gitattributes", "# *.py filter=no\n*.psd filter=lfs -text\n*.py text\n")
    let_git_look(checkout)
    assert reads_of(checkout) == [".gitattributes"]


def test_a_file_with_other_ends_of_lines_than_git_has_is_read(checkout: Project) -> None:
    checkout.git("config", "core.autocrlf", "true")
    for number in range(FILES):
        (checkout.root / name_of(number)).write_bytes(text_of(number).replace("\n", "\r\n").encode())
    checkout.git("add", ".")
    make_younger(checkout)
    assert len(reads_of(checkout)) >= FILES
    assert not differences(checkout)


def test_an_index_of_another_checkout_says_nothing(checkout: Project, tmp_path: Path) -> None:
    """All ids and sizes are right, but the content differs."""
    shutil.copytree(checkout.root, tmp_path / "other")
    for number in range(FILES):
        checkout.write(name_of(number), text_of(number, "wrong"))
    shutil.copyfile(tmp_path / "other" / ".git" / "index", checkout.root / ".git" / "index")
    make_younger(checkout)
    assert len(reads_of(checkout)) >= FILES
    assert not differences(checkout)


class Doings:
    """Does something at random to a checkout."""

    def __init__(self, project: Project, seed: int) -> None:
        self._project = project
        self._chance = random.Random(seed)

    def happen(self, times: int) -> None:
        simple: list[Callable[[], None]] = [
            *(lambda: touch_all(self._project), lambda: make_younger(self._project)),
            *(lambda: self._project.git("reset", "--hard"), lambda: self._project.git("stash")),
            lambda: self._project.git("update-index", "-q", "--really-refresh", "--ignore-missing"),
        ]
        deeds = [self._commit, self._switch, self._write, self._remove, self._filter, *simple]
        for deed in self._chance.choices(deeds, k=times):
            deed()

    def _commit(self) -> None:
        self._project.git("add", ".")
        self._project.git("commit", "--allow-empty", "-m", "more")

    def _switch(self) -> None:
        self._commit()
        self._project.git(
            "checkout", "-b", f"b{self._chance.random()}", self._chance.choice(["HEAD", "HEAD~1", "main"])
        )

    def _write(self) -> None:
        for number in self._chance.sample(range(FILES), self._chance.choice([1, 20, FILES])):
            self._project.write(name_of(number), text_of(number, self._chance.choice(["first", "other", "third"])))

    def _remove(self) -> None:
        (self._project.root / name_of(self._chance.randrange(FILES))).unlink(missing_ok=True)

    def _filter(self) -> None:
        """Uses a filter by which files with different content, of the same size, are equal for git."""
        self._project.git("config", "filter.fixed.clean", "sed s/other/first/")
        self._project.write(".gitattributes", self._chance.choice(["*.py filter=fixed\n", "*.py text=auto\n", ""]))


@pytest.mark.parametrize("seed", range(4))
def test_whatever_happens_to_the_files_and_to_git_nothing_is_stale(checkout: Project, seed: int) -> None:
    doings = Doings(checkout, seed)
    for _ in range(6):
        doings.happen(4)
        reads_of(checkout)
        assert not differences(checkout)
    before = image(checkout.open())
    checkout.close()
    shutil.rmtree(checkout.home / "indexes")
    reads_of(checkout)
    assert image(checkout.open()) == before
