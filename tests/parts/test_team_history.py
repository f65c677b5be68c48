"""The nearest snapshot is found by the commits between it and HEAD, whatever the clocks of those who committed said."""

from __future__ import annotations

import os
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


def test_without_a_repository_there_is_none(tmp_path: Path) -> None:
    assert History(str(tmp_path)).nearest_of({"0" * 40}) == ("", 0)
