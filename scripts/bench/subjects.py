"""Questions that people wrote, and no language model: subjects of commits, with the changed code files as answers.

For each repository of commit-subjects.txt (none is in the training data or in another benchmark of this project) they
come from the newest commits with a meaningful subject and one to five changed code files. They are asked of the tree as
it was before the oldest of these commits; only files that exist there are answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scripts.bench.trees import Mirror
from scripts.train.prose import query_from_subject
from sidecar.parts.languages import language_of

LIST = Path(__file__).with_name("commit-subjects.txt")
MOST_FILES = 5
COMMITS = 25
"""Most questions of a repository."""
NO_CODE = frozenset("text json yaml toml markdown rst csv ini xml html css gitignore requirements diff".split())


@dataclass(frozen=True)
class Commit:
    """A commit whose subject is asked. `files` are the changed code files, its answers, tests included."""

    sha: str
    query: str
    files: tuple[str, ...]


def listed() -> Iterator[tuple[str, str]]:
    """URL and revision of each repository."""
    for line in LIST.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            url, revision, *_ = line.split()
            yield url, revision


def chosen_commits(mirror: Mirror, revision: str) -> tuple[str, list[Commit]]:
    """At most `COMMITS` commits, newest first, and the commit before the oldest of them, where each of their files
    exists."""
    log = mirror.text("log", "--no-merges", "--first-parent", "-n", "1500", "--diff-filter=AMR", "--no-renames",
                      "--name-status", "--format=%x01%H %s", revision)  # fmt: skip
    commits = list(_commits(log))[:COMMITS]
    while commits:
        before = mirror.text("rev-parse", f"{commits[-1].sha}^").strip()
        there = {entry.path for entry in mirror.entries(before)}
        kept = [Commit(c.sha, c.query, tuple(f for f in c.files if f in there)) for c in commits]
        if kept[-1].files:
            return before, [c for c in kept if c.files]
        commits.pop()
    return "", []


def _commits(log: str) -> Iterator[Commit]:
    seen: set[str] = set()
    for part in log.split("\x01")[1:]:
        head, *rows = part.splitlines()
        sha, _, subject = head.partition(" ")
        query = query_from_subject(subject)
        files = tuple(f for f in re.findall(r"(?m)^[AM]\t(.+)$", "\n".join(rows)) if is_code(f))
        if query and query not in seen and 0 < len(files) <= MOST_FILES:
            seen.add(query)
            yield Commit(sha, query, files)


def is_code(path: str) -> bool:
    """Whether the path's language is a programming language."""
    return language_of(path) not in NO_CODE
