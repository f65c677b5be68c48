"""Reads all rows of a query in one step of SQLite, and writes many in few steps.

Python's module releases the interpreter for each row, and beside a thread that computes it gets the interpreter back
only after a turn of that thread. So 241 vectors took 59 ms in place of 1 beside such a thread. Here SQLite
packs the rows into one: as JSON, and what would take long as JSON one after the other. What is written takes one step
for as many rows as a statement has values for.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice
from json.scanner import make_scanner
from typing import Any

import numpy as np

from sidecar.model.terms import Ids

# `loads` also looks for spaces around the value, which takes longer. The stub asks for another type of context.
_unpacked = make_scanner(json.JSONDecoder())  # type: ignore[arg-type]
_VALUES = 999
"""As many as a statement may have in every build of SQLite."""
_SMALLER = 4
TOGETHER = 4096
"""Rows of a whole table that are read together."""


def rows_in_one_step(
    connection: sqlite3.Connection, columns: str, source: str, values: Sequence[object] = ()
) -> list[list[Any]]:
    """Returns the rows of `SELECT columns source`, where `source` begins with FROM. In a certain order only if `source`
    is a subquery in that order.

    Columns are whole numbers, texts or NULL; blobs are read by `hex`. Raises sqlite3.Error like the query itself.
    """
    (packed,) = connection.execute(f"SELECT json_group_array(json_array({columns})) {source}", values).fetchone()
    rows: list[list[Any]] = _unpacked(packed, 0)[0]
    return rows


def rows_with_text_in_one_step(
    connection: sqlite3.Connection, columns: str, text: str, source: str, values: Sequence[object] = ()
) -> list[list[Any]]:
    """Returns the same as `rows_in_one_step`, with another column at the end, whose texts may be long. Bytes of it that
    are not UTF-8, which only a damaged file has, are replaced."""
    packed, joined = connection.execute(
        # SQLite's length of a text ends at a zero character.
        f"SELECT json_group_array(json_array({columns}, length(CAST({text} AS BLOB)))),"
        f" CAST(group_concat({text}, '') AS BLOB) {source}",
        values,
    ).fetchone()
    rows: list[list[Any]] = _unpacked(packed, 0)[0]
    start = 0
    for row in rows:
        end = start + row[-1]
        row[-1] = joined[start:end].decode("utf-8", "replace")
        start = end
    return rows


def values_in_one_step(
    connection: sqlite3.Connection, value: str, source: str, values: Sequence[object] = ()
) -> list[Any]:
    """Returns the values of `SELECT value source`. See `rows_in_one_step`."""
    (packed,) = connection.execute(f"SELECT json_group_array({value}) {source}", values).fetchone()
    return unpacked(packed)


def numbers_in_one_step(
    connection: sqlite3.Connection, columns: Sequence[str], source: str, values: Sequence[object] = ()
) -> list[Ids]:
    """Returns columns of whole numbers, each of shape [rows]. See `rows_in_one_step`."""
    select = ", ".join([f"group_concat({column})" for column in columns])
    return list(map(as_numbers, connection.execute(f"SELECT {select} {source}", values).fetchone()))


def packed_by_id(
    connection: sqlite3.Connection, packed: str, columns: str, table: str, after: int = 0
) -> Iterator[list[Any]]:
    """Yields, for each `TOGETHER` rows of a table with an id above `after`, ascending, what `packed` makes of their
    `columns`; the id must be one of these. All rows at once would take several times their memory.

    Raises sqlite3.DatabaseError if ids do not ascend, which only a damaged file has.
    """
    source = f"FROM (SELECT {columns} FROM {table} WHERE id > ? ORDER BY id LIMIT {TOGETHER})"
    count = TOGETHER
    while count == TOGETHER:
        count, last, *found = connection.execute(f"SELECT count(*), max(id), {packed} {source}", (after,)).fetchone()
        if not count:
            return
        if last <= after:
            raise sqlite3.DatabaseError(f"the ids of {table} are not in order")
        yield found
        after = last


def insert_in_few_steps(
    connection: sqlite3.Connection, into: str, rows: Iterable[Sequence[object]], columns: int, conflict: str = ""
) -> None:
    """Writes rows of so many columns by `INTO VALUES(...) CONFLICT`, where `into` begins with INSERT. Rows may be made
    while they are written. Takes two thirds of the time of `executemany`, also alone."""
    together = _VALUES // columns
    rows = iter(rows)
    while some := list(islice(rows, together)):
        size, at = together, 0
        while at < len(some):
            if size <= len(some) - at:
                values = list(chain.from_iterable(some[at : at + size]))
                connection.execute(_insertion(into, columns, size, conflict), values)
                at += size
            else:
                # Few sizes, so that the module finds their statements among the last ones.
                size = max(1, size // _SMALLER)


@lru_cache(maxsize=64)
def _insertion(into: str, columns: int, rows: int, conflict: str) -> str:
    row = f"({','.join('?' * columns)})"
    return f"{into} VALUES {','.join([row] * rows)} {conflict}"


def unpacked(packed: str) -> list[Any]:
    """Returns the values that SQLite's `json_group_array` has packed."""
    found: list[Any] = _unpacked(packed, 0)[0]
    return found


def as_numbers(packed: str | None) -> Ids:
    """Returns the numbers that SQLite's `group_concat` has packed; None stands for none."""
    return np.fromstring(packed or "", np.int64, sep=",")
