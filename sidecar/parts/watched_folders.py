"""Lists the folders under a root that are to be watched: those that no rule ignores."""

from __future__ import annotations

import contextlib
import os
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeAlias

from sidecar.parts.paths import storable


class JudgedFolder(Protocol):
    """What the rules say about one folder."""

    @property
    def ignored(self) -> bool:
        """Whether a rule ignores it."""

    def inside(self, path: str) -> JudgedFolder:
        """Judges a folder in this one, which is not ignored, by a path relative to the root. Costs the same at every
        depth; the rules of this folder are read once, at the first call."""


JudgeFolder: TypeAlias = Callable[[str], JudgedFolder]
"""Judges any folder under the root, by its relative path, together with all folders above it."""


class FolderTree:
    """The folders under the root that are not ignored.

    `listed` has the folders of the last `list()`, `known` those of every `list()` so far. `missed`: whether the last
    `list()` failed to read a folder.
    """

    def __init__(self, root: str, judge: JudgeFolder) -> None:
        self._root = root
        self._judge = judge
        self.listed: frozenset[str] = frozenset()
        self.known: set[str] = set()
        self.missed = False
        self._ignored: dict[str, bool] = {}

    def list(self) -> list[str]:
        """Returns the absolute paths of the folders, the root first.

        Links are not followed; folders that permissions forbid to read are left out.
        """
        found, self.missed = list[str](), False
        pending: list[tuple[str, JudgedFolder | None]] = [(self._root, None)]
        while pending:
            folder, judged = pending.pop()
            found.append(folder)
            pending += self._kept_in(folder, judged)
        self.listed = frozenset(found)
        self.known.update(found)
        return found

    def _kept_in(self, folder: str, judged: JudgedFolder | None) -> Iterator[tuple[str, JudgedFolder | None]]:
        """Yields the folders in `folder` that are not ignored, each with its judgement unless it was made earlier.

        `judged` is the judgement on `folder`; None if it was made earlier, and is then made again if it is needed.
        """
        for entry in self._subfolders(folder):
            relative, inner = self.relative(entry), None
            if relative not in self._ignored and not _is_git(relative):
                judged = judged or self._judge(self.relative(folder))
                inner = judged.inside(relative)
                self._ignored[relative] = inner.ignored
            if not self.is_ignored(relative):
                yield entry, inner

    def covers(self, folder: str) -> bool:
        """Whether a folder is inside the root without links, and neither it nor a folder above it is ignored."""
        if folder in self.listed or folder == self._root:
            return True
        if not folder.startswith(self._root + os.sep) or not _is_real(folder):
            return False
        return not any(self.is_ignored(above) for above in lineage(self.relative(folder)) if above)

    def is_ignored(self, relative: str) -> bool:
        """Whether a folder, as a relative path, is `.git` or ignored by a rule."""
        # Cached: deciding reads ignore files, and for each new folder all folders are asked about.
        if relative not in self._ignored:
            self._ignored[relative] = _is_git(relative) or self._judge(relative).ignored
        return self._ignored[relative]

    def forget(self, folders: set[str]) -> None:
        """Makes `is_ignored` ask again about these relative folders and everything below them."""
        for known in [path for path in self._ignored if not folders.isdisjoint(lineage(path))]:
            del self._ignored[known]

    def relative(self, path: str) -> str:
        """Returns an absolute path relative to the root, `/`-separated and in Unicode's composed form (NFC)."""
        inner = path[len(self._root) :].strip(os.sep).replace(os.sep, "/")
        return unicodedata.normalize("NFC", inner)

    def _subfolders(self, folder: str) -> Sequence[str]:
        try:
            with os.scandir(folder) as entries:
                inside = [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
            # The walk leaves out a name that is not valid Unicode, and such a folder cannot be watched.
            usable = [entry.path for entry in inside if entry.name == storable(entry.name)]
            return [path for path in usable if os.access(path, os.R_OK)]
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            return []
        except OSError:  # for example because no descriptors are left; the folder need not be empty
            self.missed = True
            return [known for known in self.listed if os.path.dirname(known) == folder != known]  # noqa: PTH120


def _is_git(relative: str) -> bool:
    return relative.rpartition("/")[2] == ".git"


def _is_real(folder: str) -> bool:
    """Whether the path contains no links. False when it cannot be resolved."""
    with contextlib.suppress(OSError):
        return os.path.realpath(folder) == folder
    return False


def lineage(path: str) -> Iterator[str]:
    """Yields the path itself and every folder above it, to the root, which is ""."""
    while path:
        yield path
        path = path.rpartition("/")[0]
    yield ""
