"""Finds out which files and chunks of a segment still exist, and how many: an id is alive if its table has it."""

from __future__ import annotations

import sqlite3

import numpy as np
from numpy.typing import NDArray

from sidecar.model.terms import Ids

_ASKED = 500
_FEW_CHUNKS = 1000
_DENSE = 8
"""Reading all rows of a range takes less time than looking some up if these are at least an eighth of them."""


def still_in(connection: sqlite3.Connection, table: str, ids: Ids) -> Ids:
    """Returns those of these ids, which must ascend, that the table has. Of a table with many more rows between the
    first and the last of them, only these rows are read."""
    return still_with(connection, table, "id", ids)[0]


def still_with(connection: sqlite3.Connection, table: str, column: str, ids: Ids) -> tuple[Ids, Ids]:
    """Returns the same as `still_in`, and for each id what it has in this column, which must be a number."""
    found: list[tuple[int, int]] = []
    for start in range(0, len(ids), _ASKED):
        some = ids[start : start + _ASKED].tolist()
        if some[-1] - some[0] < _DENSE * len(some):
            found += connection.execute(
                f"SELECT id, {column} FROM {table} WHERE id BETWEEN ? AND ? ORDER BY id", (some[0], some[-1])
            )
        else:
            marks = ",".join("?" * len(some))
            found += connection.execute(f"SELECT id, {column} FROM {table} WHERE id IN ({marks}) ORDER BY id", some)
    rows = np.array(found, np.int64).reshape(-1, 2)
    wanted = contains(ids, rows[:, 0])
    return rows[wanted, 0], rows[wanted, 1]


def mostly_dead(connection: sqlite3.Connection, alive: int | None) -> bool:
    """Whether more than half of the chunks in the index are dead, and more than a few. `alive` is the number of those
    that are alive; if that is None, they are counted."""
    indexed = indexed_chunks(connection)
    if alive is None:
        (alive,) = connection.execute("SELECT count(*) FROM chunks").fetchone()
    return bool(indexed - alive > max(indexed // 2, _FEW_CHUNKS))


def indexed_chunks(connection: sqlite3.Connection) -> int:
    """Returns the number of chunks that the segments have, dead or alive."""
    (indexed,) = connection.execute("SELECT coalesce(sum(length(chunk_ids)), 0) / 8 FROM lexical_segments").fetchone()
    return int(indexed)


def contains(sorted_ids: Ids, ids: Ids) -> NDArray[np.bool_]:
    """Returns a mask, shape [ids]: which of `ids` are in `sorted_ids`."""
    if not len(sorted_ids):
        return np.zeros(len(ids), bool)
    at = np.minimum(np.searchsorted(sorted_ids, ids), len(sorted_ids) - 1)
    return np.asarray(sorted_ids[at] == ids)
