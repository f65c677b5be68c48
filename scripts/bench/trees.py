"""Puts the files of a commit into a folder, from a bare mirror that may lack blobs.

Unlike `git archive` it leaves out blobs that the mirror lacks and names their files, and it includes files that the
repository excludes from archives. A folder can be moved from commit to commit: only files that differ are written.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_FILES_AT_ONCE = 400
_REGULAR, _LINK = "100", "120000"


@dataclass(frozen=True)
class Entry:
    """A file or link of a tree. `mode` is git's, in octal digits."""

    path: str
    mode: str
    object_id: str


class Mirror:
    """A bare repository, read with git and never checked out; nothing is fetched."""

    def __init__(self, git_dir: Path) -> None:
        self._git = ["git", f"--git-dir={git_dir}", "-c", "core.quotePath=false"]
        self._env = {**os.environ, "GIT_NO_LAZY_FETCH": "1"}

    def text(self, *arguments: str) -> str:
        """Returns what a git command prints. Raises CalledProcessError."""
        run = subprocess.run([*self._git, *arguments], capture_output=True, check=True, env=self._env)
        return run.stdout.decode("utf-8", "surrogateescape")

    def entries(self, revision: str, folder: str | None = None) -> list[Entry]:
        """Files and links of a commit; only those below `folder` if it is given."""
        rows = self.text("ls-tree", "-r", "-z", "--full-tree", revision, *(["--", folder] if folder else []))
        return [Entry(path, *_mode_and_id(meta)) for meta, _, path in (row.partition("\t") for row in _split(rows))]

    def difference(self, before: str, after: str) -> tuple[list[str], list[Entry]]:
        """Paths to be removed from the tree of `before`, and then entries to be written, for that of `after`."""
        fields = _split(self.text("diff-tree", "-r", "-z", "--no-renames", "--full-index", before, after))
        removed, written = [], []
        for meta, path in zip(fields[::2], fields[1::2], strict=True):
            _, mode, _, object_id, letter = meta.split()
            if letter != "A":
                removed.append(path)
            if letter != "D":
                written.append(Entry(path, mode, object_id))
        return removed, written

    def contents(self, entries: Sequence[Entry]) -> Iterator[tuple[Entry, bytes | None]]:
        """The content of each entry; None where the mirror lacks it."""
        for first in range(0, len(entries), _FILES_AT_ONCE):
            some = entries[first : first + _FILES_AT_ONCE]
            asked = "".join(f"{entry.object_id}\n" for entry in some).encode()
            command = [*self._git, "cat-file", "--batch"]
            got = subprocess.run(command, input=asked, stdout=subprocess.PIPE, env=self._env, check=True).stdout
            at = 0
            for entry in some:
                end = got.index(b"\n", at)
                header, at = got[at:end].split(), end + 1
                if header[-1] == b"missing":
                    yield entry, None
                    continue
                size = int(header[2])
                yield entry, got[at : at + size]
                at += size + 1


def find_git_dir(url: str, mirrors: Path) -> Path:
    """The git directory of `https://…/owner/name(.git)` or `owner/name` in a folder of mirrors `owner+name`. Raises
    OSError."""
    owner, name = url.removesuffix(".git").rsplit("/", 2)[-2:]
    base = mirrors / f"{owner}+{name}"
    for candidate in (base / "repo/.git", base / "repo", base / ".git", base):
        if (candidate / "HEAD").is_file():
            return candidate
    raise OSError(f"no mirror of {owner}/{name} under {mirrors}")


def extract(mirror: Mirror, revision: str, folder: str | None, root: Path) -> list[str]:
    """Writes the files of a commit (below `folder` if it is given) and returns the paths that the mirror lacks."""
    return _write(mirror, mirror.entries(revision, folder), root)


class Tree:
    """A folder that holds the files of one commit at a time. Which one is noted beside it."""

    def __init__(self, mirror: Mirror, root: Path) -> None:
        self._mirror, self.root = mirror, root
        self._mark = root.with_name(f"{root.name}.revision")

    def revision(self) -> str:
        """The commit whose files the folder holds; empty if it is none."""
        return self._mark.read_text().strip() if self._mark.is_file() else ""

    def move(self, revision: str) -> list[str]:
        """Makes the folder equal to the commit, and returns the paths that should have been written but that the mirror
        lacks."""
        now = self.revision()
        if now == revision:
            return []
        self._mark.unlink(missing_ok=True)  # so that an interrupted move starts again from nothing
        if now:
            removed, written = self._mirror.difference(now, revision)
        else:
            removed, written = _everything_below(self.root), self._mirror.entries(revision)
        for path in removed:
            self._remove(path)
        lacking = _write(self._mirror, written, self.root)
        self._mark.write_text(f"{revision}\n")
        return lacking

    def _remove(self, path: str) -> None:
        file = self.root / path
        file.unlink(missing_ok=True)
        for folder in file.parents:
            if folder == self.root or not folder.is_dir() or any(folder.iterdir()):
                break
            folder.rmdir()


def _everything_below(root: Path) -> list[str]:
    return [str(path.relative_to(root)) for path in root.rglob("*") if path.is_symlink() or path.is_file()]


def _write(mirror: Mirror, entries: Iterable[Entry], root: Path) -> list[str]:
    lacking = []
    root.mkdir(parents=True, exist_ok=True)
    wanted = [entry for entry in entries if entry.mode == _LINK or entry.mode.startswith(_REGULAR)]
    for entry, content in mirror.contents(wanted):
        if content is None:
            lacking.append(entry.path)
            continue
        file = root / entry.path
        file.parent.mkdir(parents=True, exist_ok=True)
        if entry.mode != _LINK:
            file.write_bytes(content)
        elif _stays_below(file, os.fsdecode(content), root):
            file.symlink_to(os.fsdecode(content))
    return lacking


def _stays_below(link: Path, target: str, root: Path) -> bool:
    """Returns whether a link leads to a place in the tree. Other links are left out."""
    # Joining an absolute target gives that target.
    return Path(os.path.normpath(link.parent / target)).is_relative_to(root)


def _mode_and_id(meta: str) -> tuple[str, str]:
    mode, _, object_id = meta.split()
    return mode, object_id


def _split(rows: str) -> list[str]:
    return rows.split("\0")[:-1]
