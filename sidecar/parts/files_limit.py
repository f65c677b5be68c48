"""Which files the limit on their number leaves out: those that matter least, by the order in which files are read."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sidecar.model.files import Decision, FoundFile, Rule, SkippedPath
from sidecar.parts.reading_order import Worth, lately_changed, reading_order, worth_of


class FilesLimit:
    """At most `most` files are kept.

    A whole walk decides once (`share`). Between two whole walks, single files are judged as that walk would have done:
    by the first place in the order that it left out.
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
        """The files of a whole walk that are kept, those that are left out, and the first of these in the order; None
        if the limit leaves out none. `files` are in path order, and so are the results."""
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
        """Judges as an earlier whole walk did that left out `first` and what comes after it, except the paths that
        `is_kept`. None if that walk left out nothing."""
        self._first = None if first is None else _place(first)
        self._is_kept = is_kept or _never

    def leaves_out(self, found: FoundFile) -> bool:
        """Whether a file is left out."""
        return self._first is not None and _place(found) >= self._first and not self._is_kept(found.path)


def _place(found: FoundFile) -> tuple[Worth, int, str]:
    return worth_of(found), found.path.count("/"), found.path


def _never(_path: str) -> bool:
    return False
