"""Decides which files the limit on the number of files leaves out: the last ones in the order in which files are
read."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sidecar.model.files import Decision, FoundFile, Rule, SkippedPath
from sidecar.parts.reading_order import Worth, lately_changed, reading_order, worth_of


class FilesLimit:
    """Keeps at most `most` files.

    A walk of the whole workspace decides once (`share`). Between two such walks, single files are judged as the last
    walk would have judged them: by the place in the order of the first file that it left out.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._first: tuple[Worth, int, str] | None = None
        self._is_kept: Callable[[str], bool] = _never

    @property
    def decision(self) -> Decision:
        """The decision on a file that the limit leaves out."""
        return Decision(
            Rule.TOO_MANY,
            f"the setting maxFiles allows {self._most:,}, which are code before texts, data and translations, then what"
            " changed lately, then what is near the root; raise it, or leave out other files with the setting exclude",
        )

    def share(self, files: Sequence[FoundFile]) -> tuple[list[FoundFile], list[SkippedPath], FoundFile | None]:
        """Divides the files of a whole walk. Returns those that are kept, those that are left out, and the first of the
        latter in the order; None if none is left out. `files` are in path order, and so are the results."""
        if len(files) <= self._most:
            self.leave_out_from(None)
            return list(files), [], None
        kept = frozenset(found.path for found in reading_order(files, recent=lately_changed(files))[: self._most])
        beyond = [found for found in files if found.path not in kept]
        first = min(beyond, key=_place)
        self.leave_out_from(first, kept.__contains__)
        skipped = [SkippedPath(found.path, self.decision) for found in beyond]
        return [found for found in files if found.path in kept], skipped, first

    def leave_out_from(self, first: FoundFile | None, is_kept: Callable[[str], bool] | None = None) -> None:
        """Makes `leaves_out` judge as an earlier whole walk did, which left out `first` and all later files except
        those that `is_kept`. `first` is None if that walk left out nothing."""
        self._first = None if first is None else _place(first)
        self._is_kept = is_kept or _never

    def leaves_out(self, found: FoundFile) -> bool:
        """Whether a file is left out."""
        return self._first is not None and _place(found) >= self._first and not self._is_kept(found.path)


def _place(found: FoundFile) -> tuple[Worth, int, str]:
    return worth_of(found), found.path.count("/"), found.path


def _never(_path: str) -> bool:
    return False
