"""Stores in the manifest what the walk left out and why, including paths that could not be read and are tried again.

The functions that write must be called inside a transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable

from sidecar.errors import PermissionDenied
from sidecar.model.files import Rule, SkippedPath
from sidecar.parts.paths import storable

_TRIED_AGAIN = (Rule.NOT_READ.value, Rule.UNREADABLE.value)


def put_left_out(
    connection: sqlite3.Connection, skipped: Iterable[SkippedPath], unread: Collection[str], folder: str = ""
) -> None:
    """Records what a walk of `folder` left out ("" for the root) in place of what was recorded before.

    Earlier records of the `unread` paths, and of paths below them, stay.
    """
    inside = f"{folder}/"
    known = [path for (path,) in connection.execute("SELECT path FROM left_out")]
    within = [path for path in known if not folder or path == folder or path.startswith(inside)]
    gone = [(path,) for path in within if not is_at_or_below(path.rstrip("/"), unread)]
    connection.executemany("DELETE FROM left_out WHERE path = ?", gone)
    _put(connection, skipped)


def put_looked_at(connection: sqlite3.Connection, paths: Iterable[str], unread: Iterable[SkippedPath]) -> None:
    """Records that these paths were tried again. `unread` are those that still could not be read."""
    rows = [(name, *_TRIED_AGAIN) for path in paths for name in (path, f"{path}/")]
    connection.executemany("DELETE FROM left_out WHERE path = ? AND rule IN (?, ?)", rows)
    _put(connection, unread)


def _put(connection: sqlite3.Connection, skipped: Iterable[SkippedPath]) -> None:
    connection.executemany(
        "INSERT OR REPLACE INTO left_out VALUES(?, ?, ?)",
        [(storable(s.path), s.decision.rule.value, storable(s.decision.detail)) for s in skipped],
    )


def read_unread(connection: sqlite3.Connection) -> list[tuple[str, str]]:
    """Returns (path, reason) of everything that could not be read at the last attempt. Folders end in `/`; the root is
    `/`."""
    return connection.execute(
        "SELECT path, detail FROM left_out WHERE rule = ? ORDER BY path", (Rule.NOT_READ.value,)
    ).fetchall()


def read_failed_reads(connection: sqlite3.Connection) -> list[str]:
    """Returns the files that the walk found but that could not be read."""
    said = PermissionDenied.user_message
    rows = connection.execute("SELECT path FROM failures WHERE substr(message, 1, ?) = ?", (len(said), said))
    return [path for (path,) in rows]


def is_at_or_below(path: str, folders: Collection[str]) -> bool:
    """Whether a path is one of these paths or below one; "" is the root, which contains all."""
    if not folders:
        return False
    while path:
        if path in folders:
            return True
        path = path.rpartition("/")[0]
    return "" in folders
