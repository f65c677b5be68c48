"""Rows that SQLite packs into one are the rows that it would give one by one, and rows written together are the rows
that are written one by one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sidecar.parts.one_step import (
    as_numbers,
    insert_in_few_steps,
    numbers_in_one_step,
    rows_in_one_step,
    rows_with_text_in_one_step,
    values_in_one_step,
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NUMBERS = st.integers(-(2**63), 2**63 - 1)


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE things(id INTEGER PRIMARY KEY, number INTEGER, word TEXT, digest BLOB, body TEXT)")
    yield connection
    connection.close()


def fill(connection: sqlite3.Connection, rows: list[tuple[int | None, str | None, bytes, str]]) -> None:
    connection.execute("DELETE FROM things")
    connection.executemany("INSERT INTO things(number, word, digest, body) VALUES(?, ?, ?, ?)", rows)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(NUMBERS | st.none(), TEXTS | st.none(), st.binary(max_size=8), TEXTS), max_size=12))
def test_all_rows_come_as_they_are_stored(
    connection: sqlite3.Connection, rows: list[tuple[int | None, str | None, bytes, str]]
) -> None:
    """Zero characters, quotes, line ends and every plane of Unicode included."""
    fill(connection, rows)
    source = "FROM (SELECT * FROM things ORDER BY id)"
    found = rows_in_one_step(connection, "number, word, hex(digest), body", source)
    assert [(n, word, bytes.fromhex(digest), body) for n, word, digest, body in found] == rows
    found = rows_with_text_in_one_step(connection, "number, word", "body", source)
    assert [tuple(row) for row in found] == [(n, word, body) for n, word, _, body in rows]
    assert values_in_one_step(connection, "word", source) == [word for _, word, _, _ in rows]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(NUMBERS, max_size=12))
def test_columns_of_numbers_come_as_arrays(connection: sqlite3.Connection, numbers: list[int]) -> None:
    fill(connection, [(number, "", b"", "") for number in numbers])
    ids, found = numbers_in_one_step(connection, ("id", "number"), "FROM (SELECT * FROM things ORDER BY id)")
    assert found.tolist() == numbers
    assert len(ids) == len(numbers)
    assert ids.dtype == found.dtype == np.int64


def test_rows_come_in_the_order_of_the_subquery_and_only_so_many(connection: sqlite3.Connection) -> None:
    fill(connection, [(number, str(number), b"", "") for number in (3, 1, 4, 2)])
    source = "FROM (SELECT word FROM things WHERE number > ? ORDER BY number DESC LIMIT ?)"
    assert values_in_one_step(connection, "word", source, (1, 2)) == ["4", "3"]


def test_one_row_is_fetched_however_many_there_are(connection: sqlite3.Connection) -> None:
    """Python's module gives up the interpreter for each, and waits for it while another thread computes."""
    fill(connection, [(number, "word", b"digest", "body") for number in range(100)])
    fetched: list[object] = []

    def noted(_: sqlite3.Cursor, row: tuple[object, ...]) -> tuple[object, ...]:
        fetched.append(row)
        return row

    connection.row_factory = noted
    assert len(rows_in_one_step(connection, "number, word", "FROM things")) == 100
    assert len(rows_with_text_in_one_step(connection, "number", "body", "FROM things")) == 100
    assert len(values_in_one_step(connection, "word", "FROM things")) == 100
    assert len(numbers_in_one_step(connection, ("number",), "FROM things")[0]) == 100
    assert len(fetched) == 4


def test_bytes_of_a_damaged_text_are_replaced(connection: sqlite3.Connection) -> None:
    """What is shown is compared with a hash, which says that it has been changed."""
    fill(connection, [(1, "", b"", ""), (2, "", b"", "next")])
    connection.execute("UPDATE things SET body = CAST(x'61ff62' AS TEXT) WHERE number = 1")
    source = "FROM (SELECT * FROM things ORDER BY id)"
    assert rows_with_text_in_one_step(connection, "number", "body", source) == [[1, "a\ufffdb"], [2, "next"]]


def test_nothing_packed_is_no_number() -> None:
    assert as_numbers(None).tolist() == []
    assert as_numbers("7").tolist() == [7]


@pytest.mark.parametrize("count", [0, 1, 248, 249, 250, 498, 1000])
def test_rows_written_together_are_those_written_one_by_one(connection: sqlite3.Connection, count: int) -> None:
    rows = [(number, None if number % 3 else "w\x00rd'", bytes([number % 256]), "") for number in range(count)]
    into = "INSERT INTO things(number, word, digest, body)"
    insert_in_few_steps(connection, into, iter(rows), columns=4)
    assert connection.execute("SELECT number, word, digest, body FROM things ORDER BY id").fetchall() == rows


def test_rows_that_are_there_are_left_alone_within_one_step_too(connection: sqlite3.Connection) -> None:
    rows = [(number // 2, f"{number}") for number in range(1200)]
    insert_in_few_steps(connection, "INSERT INTO things(id, word)", rows, columns=2, conflict="ON CONFLICT DO NOTHING")
    assert connection.execute("SELECT id, word FROM things").fetchall() == rows[::2]


def test_a_row_that_cannot_be_written_raises_and_the_transaction_can_be_rolled_back(
    connection: sqlite3.Connection,
) -> None:
    connection.isolation_level = None
    connection.execute("BEGIN")
    with pytest.raises(sqlite3.IntegrityError):
        insert_in_few_steps(connection, "INSERT INTO things(id, word)", [(7, ""), *((7, "") for _ in range(600))], 2)
    connection.execute("ROLLBACK")
    assert connection.execute("SELECT count(*) FROM things").fetchone() == (0,)
