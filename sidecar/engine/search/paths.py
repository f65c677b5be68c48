"""Finds indexed paths by a glob."""

from __future__ import annotations

from sidecar.engine.search.nothing import why_no_paths
from sidecar.engine.search.source import SearchedSnapshot
from sidecar.model import PathsAnswer
from sidecar.parts.globs import compile_glob


def find_paths(snapshot: SearchedSnapshot, pattern: str, limit: int) -> PathsAnswer:
    """At most `limit` indexed paths that match a glob, sorted, and how many match. Raises InvalidPattern."""
    matches = compile_glob(pattern)
    found = sorted(path for path in snapshot.paths if matches(path))
    reason = "" if found else why_no_paths(snapshot, pattern)
    return PathsAnswer(tuple(found[:limit]), len(found), reason=reason)
