"""Where git's HEAD of a working tree stands, and in which folders something happens when it moves."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from sidecar.parts.git_places import git_folder, read_note, stamp_of

_GIT_PARTS = ("", "logs", "reftable")


class GitHead:
    """Where git's HEAD of this working tree stands. `watched`: the folders that are being watched for it."""

    def __init__(self, root: str) -> None:
        self._root = Path(root)
        self._state: tuple[object, ...] = ()
        self.watched: frozenset[str] = frozenset()

    def folders(self) -> frozenset[str]:
        """Folders in which something happens when HEAD moves; none where there is no repository."""
        git = self._git_folder()
        if git is None:
            return frozenset()
        return frozenset(str(git / part) for part in _GIT_PARTS if (git / part).is_dir())

    def moved(self) -> bool:
        """Whether HEAD has moved since this was asked last."""
        before, self._state = self._state, self._read()
        return before != self._state

    def _read(self) -> tuple[object, ...]:
        """HEAD's text and commit; its log and reference table tell where the commit is not in a file of its own."""
        git = self._git_folder()
        if git is None:
            return ()
        head = _text(git / "HEAD")
        common = git / (_text(git / "commondir") or ".")
        commit = _text(common / head.removeprefix("ref: ")) if head.startswith("ref: ") else ""
        return head, commit, stamp_of(git / "logs" / "HEAD"), stamp_of(git / "reftable" / "tables.list")

    def _git_folder(self) -> Path | None:
        """`.git` of the root or the nearest folder above; that of a worktree or submodule is a file that names it."""
        for folder in (self._root, *self._root.parents):
            with contextlib.suppress(OSError):
                git = git_folder(folder)
                if git is not None and (git / "HEAD").is_file():
                    return Path(os.path.realpath(git))
        return None


def _text(path: Path) -> str:
    """The one line of a file of git's; empty when it cannot be read."""
    with contextlib.suppress(OSError):
        return read_note(path)
    return ""
