"""Finds indexed paths by a glob or by letters."""

from __future__ import annotations

from sidecar import shown
from sidecar.engine.search.absent import why_nothing_is_indexed
from sidecar.engine.search.letters import best_fits
from sidecar.engine.search.nothing import why_no_paths
from sidecar.engine.search.source import SearchedSnapshot
from sidecar.model.answers import PathsAnswer
from sidecar.parts.globs import compile_glob


def find_paths(snapshot: SearchedSnapshot, pattern: str, limit: int) -> PathsAnswer:
    """Returns at most `limit` indexed paths that match a glob, sorted, and how many match. Raises InvalidPattern."""
    matches = compile_glob(pattern)
    found = sorted(path for path in snapshot.paths if matches(path))
    reason = "" if found else why_no_paths(snapshot, pattern)
    return PathsAnswer(tuple(found[:limit]), len(found), reason=reason)


def find_paths_by_letters(snapshot: SearchedSnapshot, letters: str, limit: int) -> PathsAnswer:
    """Returns at most `limit` indexed paths that contain the letters in this order, best first, and how many do."""
    best, total = best_fits(snapshot.paths, letters, limit)
    reason = "" if total else _why_no_letters(snapshot, letters)
    return PathsAnswer(tuple(fit.path for fit in best), total, reason=reason, scores=tuple(fit.score for fit in best))


def _why_no_letters(snapshot: SearchedSnapshot, letters: str) -> str:
    if not snapshot.paths:
        return why_nothing_is_indexed(snapshot)
    number = len(snapshot.paths)
    none = "The only indexed path does not have"
    if number > 1:
        none = f"None of the {shown.count(number, 'indexed path')} has"
    return f"{none} the letters {shown.quoted(letters)} in this order."
