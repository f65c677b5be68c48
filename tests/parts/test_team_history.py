"""The nearest snapshot is found by the commits between it and HEAD, whatever the clocks of those who committed said."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from sidecar.parts.team.history import History

pytestmark = pytest.mark.process

FUTURE, PAST = "2099-01-01T00:00:00+00:00", "1971-01-01T00:00:00+00:00"


class Repository:
    """A repository on the branch `main`, whose commits are made at times that the test names."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir()
        self._hour = 0
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str, date: str = "") -> str:
        who = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        env = {**os.environ, **who, "HOME": "/", "GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        done = subprocess.run(["git", *arguments], cwd=self.root, env=env, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, *, date: str = "") -> str:
        """Makes an empty commit, an hour after the last one unless the date is given, and returns it."""
        return self._made("commit", "-q", "--allow-empty", "-m", "x", date=date)

    def merge(self, other: str, *, date: str = "") -> str:
        return self._made("merge", "-q", "--no-ff", "-s", "ours", "-m", "x", other, date=date)

    def _made(self, *words: str, date: str) -> str:
        self._hour += 1
        self.git(*words, date=date or f"2026-03-{1 + self._hour // 24:02}T{self._hour % 24:02}:00:00+00:00")
        return self.git("rev-parse", "HEAD")

    def nearest_of(self, *commits: str) -> tuple[str, int]:
        return History(str(self.root)).nearest_of(set(commits))


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "repository")


@pytest.mark.parametrize("date", [FUTURE, PAST])
def test_on_one_line_the_last_is_the_nearest_whatever_their_dates_are(repository: Repository, date: str) -> None:
    one, two = repository.commit(date=date), repository.commit()
    three = repository.commit(date=date)
    assert repository.nearest_of(one, two) == (two, 1)
    assert repository.nearest_of(one, two, three) == (three, 0)
    assert repository.nearest_of("0" * 40) == ("", 0)


def test_an_old_branch_from_a_clock_that_was_ahead_is_not_nearer_than_main(repository: Repository) -> None:
    repository.commit()
    repository.git("checkout", "-q", "-b", "old")
    old = repository.commit(date=FUTURE)
    repository.git("checkout", "-q", "main")
    for _ in range(5):
        newest = repository.commit()
    repository.merge("old")
    assert repository.nearest_of(old, newest) == (newest, 2)


def test_main_is_nearer_than_what_lies_before_a_branch_although_its_last_commit_has_an_old_date(
    repository: Repository,
) -> None:
    old = repository.commit()
    repository.git("checkout", "-q", "-b", "topic")
    repository.commit()
    repository.git("checkout", "-q", "main")
    newest = repository.commit()
    repository.commit(date=PAST)
    repository.merge("topic")
    assert repository.nearest_of(old, newest) == (newest, 3)


def test_main_is_nearer_although_it_was_merged_into_a_branch_and_its_last_commit_has_an_old_date(
    repository: Repository,
) -> None:
    old = repository.commit()
    repository.git("checkout", "-q", "-b", "topic")
    repository.git("checkout", "-q", "main")
    for _ in range(5):
        newest = repository.commit()
    repository.commit(date=PAST)
    repository.git("checkout", "-q", "topic")
    repository.commit()
    repository.merge("main")
    assert repository.nearest_of(old, newest) == (newest, 3)


def test_a_commit_with_an_old_date_does_not_put_main_out_of_reach_behind_a_long_history(repository: Repository) -> None:
    for _ in range(20):
        repository.commit()
    repository.git("checkout", "-q", "-b", "topic")
    repository.commit()
    repository.git("checkout", "-q", "main")
    newest = repository.commit()
    repository.commit(date=PAST)
    repository.merge("topic")
    assert History(str(repository.root), most=10).nearest_of({newest}) == (newest, 3)


def test_where_a_branch_was_merged_from_is_nearer_than_what_lies_before_a_long_branch(repository: Repository) -> None:
    old = repository.commit()
    newer = repository.commit()
    repository.git("checkout", "-q", "-b", "topic", old)
    for _ in range(4):
        repository.commit()
    repository.merge("main")
    repository.commit()
    assert repository.nearest_of(old, newer) == (newer, 6)


class CountedGit:
    """The first `git` on the path: notes its arguments and runs the real one, but fails for arguments that contain
    `fails_at`."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, fails_at: str = "nothing") -> None:
        folder.mkdir()
        self._noted = folder / "noted"
        program = folder / "git"
        program.write_text(
            f'''#!/bin/sh
echo "$*" >> "{self._noted}"
case "$*" in *"{fails_at}"*) exit 128; esac
exec "{shutil.which("git")}" "$@"
'''
        )
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def calls(self) -> list[str]:
        return self._noted.read_text().splitlines()


@pytest.fixture
def merged(repository: Repository) -> tuple[Repository, str, list[str]]:
    """Returns a repository whose main has merged a long-lived branch, the last commit of that branch, which is the
    newest by date, and the commits of main since it began."""
    repository.commit()
    repository.git("branch", "topic")
    line = [repository.commit() for _ in range(20)]
    repository.git("checkout", "-q", "topic")
    newest = repository.commit()
    repository.git("checkout", "-q", "main")
    repository.merge("topic")
    return repository, newest, line


def test_git_is_asked_once_however_many_commits_have_a_snapshot(
    merged: tuple[Repository, str, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository, newest, line = merged
    git = CountedGit(tmp_path / "bin", monkeypatch)
    assert repository.nearest_of(newest, *line) == (line[-1], 2)
    assert len(git.calls()) == 1


def test_if_git_fails_no_commit_is_near(
    merged: tuple[Repository, str, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository, newest, line = merged
    CountedGit(tmp_path / "bin", monkeypatch, fails_at="rev-list")
    assert repository.nearest_of(newest, *line) == ("", 0)


def random_history(root: Path, seed: int) -> dict[str, set[str]]:
    """Makes 60 commits, a third of them merges and a tenth at a wrong time, and returns each with its ancestors and
    itself."""
    chance = random.Random(seed)
    parents = {1: list[int]()}
    for number in range(2, 61):
        merged = chance.choices(range(1, number), k=chance.random() < 1 / 3)
        parents[number] = list(dict.fromkeys([max(1, number - chance.choice((1, 1, 1, 4, 8))), *merged]))
    stream = ""
    for number, before in parents.items():
        seconds = chance.randrange(4 * 10**9) if chance.random() < 0.1 else 1_700_000_000 + number * 3600
        stream += f"commit refs/heads/main\nmark :{number}\ncommitter a <a@b> {seconds} +0000\ndata 0\n"
        stream += "".join(f"{word} :{one}\n" for word, one in zip(("from", "merge"), before, strict=False))
    line = ["git", "fast-import", "--quiet", "--export-marks=marks"]
    subprocess.run(line, cwd=root, input=stream, check=True, text=True)
    named = {int(mark[1:]): commit for mark, commit in map(str.split, (root / "marks").read_text().splitlines())}
    found: dict[int, set[int]] = {}
    for number, before in parents.items():
        found[number] = {number}.union(*(found[one] for one in before))
    return {named[number]: {named[one] for one in ancestors} for number, ancestors in found.items()}


@pytest.mark.parametrize("seed", [1, 2, 12, 25, 57])
def test_no_commit_is_nearer_in_a_history_with_merges_and_wrong_dates(repository: Repository, seed: int) -> None:
    """In the last three, `git rev-list COMMIT..HEAD` lists ancestors of the commit too."""
    ancestors = random_history(repository.root, seed)
    head = ancestors[repository.git("rev-parse", "HEAD")]
    chance = random.Random(seed)
    for number in (1, 3, 10, 20):
        asked = chance.sample(sorted(ancestors), number)
        counted = {commit: len(head - ancestors[commit]) for commit in asked if commit in head}
        found, ahead = repository.nearest_of(*asked)
        assert ahead == min(counted.values(), default=0)
        assert counted.get(found) == (ahead if counted else None)


def test_without_a_repository_there_is_none(tmp_path: Path) -> None:
    assert History(str(tmp_path)).nearest_of({"0" * 40}) == ("", 0)
