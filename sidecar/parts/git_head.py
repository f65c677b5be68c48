"""Tells which commit git's HEAD of a working tree points to, and which folders to watch in order to notice that it
moves."""

from __future__ import annotations

import contextlib
import hashlib
import os
from functools import lru_cache
from pathlib import Path

from sidecar.model.files import Checkout
from sidecar.parts.git_places import git_folder_at, read_note, stamp_of

_GIT_PARTS = ("", "logs", "reftable")


def read_checkout(root: str) -> Checkout:
    """Returns the present state of the checkout that contains `root`. `head` is empty outside of a repository."""
    head = GitHead(root)
    git = head.git_folder()
    if git is None:
        return Checkout("", 0.0)
    stamp = stamp_of(git / "index")
    return Checkout(hashlib.sha256(repr(_state_of(git)).encode()).hexdigest()[:16], stamp[1] / 1e9 if stamp else 0.0)


class GitHead:
    """Detects that git's HEAD of a working tree has moved. `watched` belongs to the caller: the folders that it
    watches."""

    def __init__(self, root: str) -> None:
        self._folders = _and_above(root)
        self._state: tuple[object, ...] = ()
        self.watched: frozenset[str] = frozenset()

    def folders(self) -> frozenset[str]:
        """Returns the folders in which something changes when HEAD moves; empty when the root is in no repository."""
        git = self.git_folder()
        if git is None:
            return frozenset()
        return frozenset(str(git / part) for part in _GIT_PARTS if (git / part).is_dir())

    def moved(self) -> bool:
        """Whether HEAD has moved since the last call. The first call answers True in a repository."""
        git = self.git_folder()
        before, self._state = self._state, () if git is None else _state_of(git)
        return before != self._state

    def git_folder(self) -> Path | None:
        """Returns the git folder of the root or of the nearest folder above that has one, with links resolved; None if
        there is none."""
        for folder, marker in self._folders:
            try:
                git = git_folder_at(folder, marker)
                if git is not None and (git / "HEAD").is_file():
                    return Path(os.path.realpath(git))
            except OSError:
                continue
        return None


@lru_cache(maxsize=64)
def _and_above(root: str) -> tuple[tuple[Path, str], ...]:
    """Returns the folder and all above it, nearest first, each with the path of its `.git`."""
    return tuple((folder, str(folder / ".git")) for folder in (Path(root), *Path(root).parents))


def _state_of(git: Path) -> tuple[object, ...]:
    """Returns the text of HEAD in a git folder, and its commit.

    The result includes stamps of its log and reference table, because the commit may not be in a file of its own.
    """
    head = _text(git / "HEAD")
    common = git / (_text(git / "commondir") or ".")
    commit = _text(common / head.removeprefix("ref: ")) if head.startswith("ref: ") else ""
    return head, commit, stamp_of(git / "logs" / "HEAD"), stamp_of(git / "reftable" / "tables.list")


def _text(path: Path) -> str:
    """Returns the text of one of git's one-line files; empty when it cannot be read."""
    with contextlib.suppress(OSError):
        return read_note(path)
    return ""
