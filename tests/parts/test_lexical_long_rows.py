"""Long postings, which are in a table of their own: that they are read, merged and deleted like others, and that tables
of an earlier version, which have none, are read and updated."""

from __future__ import annotations

import sqlite3

import numpy as np
import pytest

from sidecar.parts.lexical.postings import merge_segments, read_postings
from sidecar.parts.lexical.segments import has_long_rows, update_tables
from sidecar.parts.lexical.stepped_merge import SteppedMerge
from sidecar.parts.lexical.telling import TermCounts, most_telling
from sidecar.parts.lexical.transfer import take_out
from tests.parts.lexical_tables import alive_content, make_earlier, remove, write

MANY = 700
"""Postings of one term that take more room than a short row has."""


def long_rows(connection: sqlite3.Connection) -> list[str]:
    """The terms that have long postings, one for each segment; all rows of the table must belong to one."""
    (count,) = connection.execute("SELECT count(*) FROM lexical_long").fetchone()
    found = connection.execute(
        "SELECT term FROM lexical_postings JOIN lexical_long ON id = long ORDER BY term"
    ).fetchall()
    assert len(found) == count
    return [term for (term,) in found]


def filled(connection: sqlite3.Connection) -> None:
    write(connection, *["alpha"] * MANY, "beta gamma")
    write(connection, *["alpha beta"] * MANY)


def test_only_long_postings_are_in_the_table_of_their_own(connection: sqlite3.Connection) -> None:
    filled(connection)
    assert {"alpha", "beta"} <= set(long_rows(connection))
    assert "gamma" not in long_rows(connection)
    ids = [i for i, _ in alive_content(connection, "alpha")["alpha"][0]]
    assert ids == [*range(1, MANY + 1), *range(MANY + 2, 2 * MANY + 2)]


@pytest.mark.parametrize("at_rest", [True, False])
def test_a_merge_keeps_long_postings_and_leaves_none_behind(connection: sqlite3.Connection, at_rest: bool) -> None:
    for _ in range(12):
        write(connection, *["alpha"] * MANY, "beta gamma")
    remove(connection, 1, 2, MANY + 1)
    before = alive_content(connection, "alpha", "beta", "gamma")
    merge = SteppedMerge(rows=3)
    while merge.has_work(connection, at_rest=at_rest):
        merge.step(connection, at_rest=at_rest)
    assert alive_content(connection, "alpha", "beta", "gamma") == before
    merge_segments(connection, force=True)
    assert alive_content(connection, "alpha", "beta", "gamma") == before
    assert long_rows(connection).count("alpha") == 1


def test_an_index_without_living_files_has_no_long_postings(connection: sqlite3.Connection) -> None:
    filled(connection)
    remove(connection, *range(1, 2 * MANY + 2))
    merge_segments(connection, force=True)
    assert long_rows(connection) == []


def test_tables_of_an_earlier_version_are_read_before_and_after_they_are_updated(
    connection: sqlite3.Connection,
) -> None:
    filled(connection)
    now, taken = alive_content(connection, "alpha", "beta", "gamma"), list(take_all(connection))
    make_earlier(connection)
    assert not has_long_rows(connection)
    assert alive_content(connection, "alpha", "beta", "gamma") == now
    assert list(take_all(connection)) == taken
    update_tables(connection)
    update_tables(connection)
    assert has_long_rows(connection) and long_rows(connection) == []
    assert alive_content(connection, "alpha", "beta", "gamma") == now
    assert list(take_all(connection)) == taken
    merge_segments(connection, force=True)
    assert {"alpha", "beta"} <= set(long_rows(connection))
    assert alive_content(connection, "alpha", "beta", "gamma") == now


def take_all(connection: sqlite3.Connection) -> list[tuple[list[str], list[list[bytes]]]]:
    found = read_postings(connection, ["alpha"])
    ids = np.sort(found.bodies.ids)
    return [(block.terms, block.columns) for block in take_out(connection, ids, ids)]


def test_terms_with_long_postings_are_counted_without_reading_them(connection: sqlite3.Connection) -> None:
    filled(connection)
    write(connection, " ".join(f"word{n}" for n in range(200)))
    terms = [*(f"word{n}" for n in range(40)), "alpha", "beta", *(f"word{n}" for n in range(40, 200))]
    chunks = np.arange(1, 2 * MANY + 3)
    assert not {"alpha", "beta"} & set(most_telling(connection, chunks, terms, TermCounts()))
    make_earlier(connection)
    assert not {"alpha", "beta"} & set(most_telling(connection, chunks, terms, TermCounts()))
