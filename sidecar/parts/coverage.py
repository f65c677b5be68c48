"""How much of a workspace an index holds, as the manifest stores it: how many files are indexed, how many are missing,
and why.

The functions that write must be called inside a transaction.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence

from sidecar import shown
from sidecar.model.answers import Coverage, Lack
from sidecar.model.files import Rule

AWAITED_TABLE = "CREATE TABLE IF NOT EXISTS awaited(path TEXT PRIMARY KEY) WITHOUT ROWID"
"""The files that a pass has found and has not read yet. Manifests of earlier versions get the table when they are
opened for writing."""

CANCELLED = "cancelled"
"""The key in the manifest's meta table that is set if a person has cancelled the building of the index."""

_REASONS: dict[Rule, Lack] = {
    Rule.TOO_MANY: "maxFiles",
    Rule.TOO_LARGE: "maxFileSize",
    Rule.SECRET_NAME: "secrets",
    Rule.SECRET_CONTENT: "secrets",
    Rule.NOT_READ: "unreadable",
    Rule.UNREADABLE: "unreadable",
    Rule.TOO_MANY_RULES: "unreadable",
}
_WRITTEN_BY_USERS = frozenset({Rule.GITIGNORE, Rule.SIDECARIGNORE, Rule.CONFIG_EXCLUDE})


def put_awaited(connection: sqlite3.Connection, paths: Iterable[str], *, all_of_them: bool) -> None:
    """Records files that are going to be read for the first time. `all_of_them`: these replace all recorded before."""
    if all_of_them:
        connection.execute("DELETE FROM awaited")
    connection.executemany("INSERT OR IGNORE INTO awaited VALUES(?)", [(path,) for path in paths])


def settle_awaited(connection: sqlite3.Connection, paths: Iterable[str]) -> None:
    """Records that these files were read or are gone."""
    connection.executemany("DELETE FROM awaited WHERE path = ?", [(path,) for path in paths])


def read_coverage(connection: sqlite3.Connection) -> Coverage:
    """Returns what the index holds and lacks at this commit, in files. The files in a folder that was left out are
    not counted, because their number is unknown."""
    counts: dict[Lack, int] = {"not-read-yet": count_awaited(connection)}
    left_out = connection.execute(
        "SELECT rule, count(*) FROM (SELECT path, rule FROM skipped UNION ALL SELECT path, rule FROM left_out)"
        f" WHERE rule IN ({', '.join('?' * len(_REASONS))}) AND substr(path, -1) <> '/'"
        " AND path NOT IN (SELECT path FROM files) GROUP BY rule",
        [rule.value for rule in _REASONS],
    )
    for rule, count in left_out:
        reason = _REASONS[Rule(rule)]
        counts[reason] = counts.get(reason, 0) + count
    counts["unreadable"] = counts.get("unreadable", 0) + _failed(connection)
    (indexed,) = connection.execute("SELECT count(*) FROM files").fetchone()
    complete = _is_set(connection, "complete")
    missing = tuple((reason, count) for reason, count in counts.items() if count)
    whole = complete or bool(counts["not-read-yet"])
    return Coverage(indexed, missing, whole, complete, is_cancelled(connection), _unread_folders(connection))


def is_cancelled(connection: sqlite3.Connection) -> bool:
    """See `Coverage.cancelled`."""
    return _is_set(connection, CANCELLED) and not _is_set(connection, "complete")


def is_reading(connection: sqlite3.Connection) -> bool:
    """Whether files are going to be read for the first time, so that names may come which the index lacks so far."""
    return _has_awaited(connection) and not is_cancelled(connection)


def _is_set(connection: sqlite3.Connection, key: str) -> bool:
    (value,) = connection.execute("SELECT coalesce(max(value), 0) FROM meta WHERE key = ?", (key,)).fetchone()
    return bool(value)


def why_no_files(connection: sqlite3.Connection) -> str:
    """Returns the reason why a complete index has no files: everything is left out, or the workspace is empty."""
    left_out = connection.execute(
        "SELECT rule, detail FROM skipped UNION ALL SELECT rule, detail FROM left_out"
        " UNION ALL SELECT 'could-not-be-indexed', '' FROM failures"
    ).fetchall()
    if not left_out:
        return "Nothing is indexed: the workspace has no files."
    rules = Counter(rule for rule, _ in left_out)
    by = ", ".join(f"{rule} {number:,}{_mostly_by(rule, left_out)}" for rule, number in rules.most_common())
    return (
        f"Nothing is indexed: everything is left out ({by}). `get_index_status` counts it, and `explain_path` says why"
        " for each path."
    )


def _mostly_by(rule: str, left_out: Sequence[tuple[str, str]]) -> str:
    """Returns which of the user's lines or patterns leaves out most of what this rule leaves out; empty for sidecar's
    own rules."""
    if rule not in _WRITTEN_BY_USERS:
        return ""
    (line, _), *others = Counter(detail for other, detail in left_out if other == rule).most_common()
    return f", {'most ' if others else ''}by {shown.quoted(line)}"


def count_awaited(connection: sqlite3.Connection) -> int:
    """Returns how many files are going to be read for the first time."""
    known = _notes_awaited(connection)
    return int(connection.execute("SELECT count(*) FROM awaited").fetchone()[0]) if known else 0


def _has_awaited(connection: sqlite3.Connection) -> bool:
    return _notes_awaited(connection) and bool(connection.execute("SELECT 1 FROM awaited LIMIT 1").fetchone())


def _notes_awaited(connection: sqlite3.Connection) -> bool:
    """Whether the manifest has this table: earlier versions made none."""
    return bool(connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'awaited'").fetchone())


def _unread_folders(connection: sqlite3.Connection) -> int:
    """Returns how many folders could not be read, without those of which an earlier state is kept: they have a notice
    of their own (`read_unread`)."""
    (count,) = connection.execute(
        "SELECT count(*) FROM left_out WHERE rule IN (?, ?) AND substr(path, -1) = '/'",
        (Rule.UNREADABLE.value, Rule.TOO_MANY_RULES.value),
    ).fetchone()
    return int(count)


def _failed(connection: sqlite3.Connection) -> int:
    (count,) = connection.execute(
        "SELECT count(*) FROM failures WHERE path NOT IN (SELECT path FROM files)"
        " AND path NOT IN (SELECT path FROM left_out)"
    ).fetchone()
    return int(count)
