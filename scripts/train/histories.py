"""Makes examples for the ranking from histories: the newer half of each repository's questions, asked of the tree
before them.

A folder of questions has a file `<owner>+<name>.jsonl` for each repository, a question on each line: `{revision, title,
question, files, tests}`. `revision` is the commit before the change, `files` and `tests` are the paths that it changed.
Each question is asked twice: whole, with the files as answers, and its title as a subject, with the tests as answers
too.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .prose import query_from_subject

_MOST_BYTES = 1_000_000


@dataclass(frozen=True)
class Asked:
    """A question about a tree, the paths that answer it, and changed tests that do not count as answers.
    `commit` made the change."""

    kind: str
    text: str
    answers: tuple[str, ...]
    tests: tuple[str, ...]
    commit: str


@dataclass(frozen=True)
class History:
    """The questions of one repository, all about one revision."""

    name: str
    revision: str
    questions: tuple[Asked, ...]


def read_histories(folder: Path, mirrors: Path) -> Iterator[History]:
    """The repositories of the folder that have a bare mirror `<owner>+<name>/repo`. Of each, the newer half of the
    questions, and of these the ones with an answer in the tree before the oldest."""
    for file in sorted(folder.glob("*.jsonl")):
        git = mirrors / file.stem / "repo"
        if git.is_dir():
            rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
            rows.sort(key=lambda row: int(_git(git, "show", "-s", "--format=%ct", row["revision"])))
            rows = rows[len(rows) // 2 :]
            there = set(_git(git, "ls-tree", "-r", "--name-only", rows[0]["revision"]).splitlines())
            yield History(file.stem, rows[0]["revision"], tuple(q for row in rows for q in _asked(row, there)))


def _asked(row: dict[str, Any], there: set[str]) -> Iterator[Asked]:
    files, tests = ([path for path in row[kind] if path in there] for kind in ("files", "tests"))
    if files:
        yield Asked("long", row["question"], tuple(files), tuple(tests), row["commit"])
        subject = query_from_subject(row["title"])
        if subject:
            yield Asked("subject", subject, (*files, *tests), (), row["commit"])


def unpack_tree(git: Path, revision: str, into: Path) -> None:
    """Writes the revision's files into a new folder, except those that the mirror lacks or of over a megabyte."""
    into.mkdir(parents=True)
    rows = [row.partition("\t") for row in _git(git, "ls-tree", "-r", "-z", revision).split("\0") if row]
    blobs = [(head.split()[2], path) for head, _, path in rows if head.startswith("100")]
    sizes = _git(git, "cat-file", "--batch-check", given="\n".join(blob for blob, _ in blobs)).splitlines()
    for (blob, path), answer in zip(blobs, sizes, strict=True):
        if answer.split()[1] == "blob" and int(answer.split()[2]) <= _MOST_BYTES:
            target = into / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(_run(git, ("cat-file", "blob", blob)))


def _git(git: Path, *arguments: str, given: str = "") -> str:
    return _run(git, arguments, given).decode("utf-8", "replace")


def _run(git: Path, arguments: Sequence[str], given: str = "") -> bytes:
    command = ["git", f"--git-dir={git}", "-c", "core.quotePath=false", *arguments]
    return subprocess.run(command, input=given.encode(), stdout=subprocess.PIPE, check=True).stdout
