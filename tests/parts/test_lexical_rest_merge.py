"""Merging segments at rest: what readers see stays the same at every moment, whatever is written in between."""

from __future__ import annotations

import sqlite3

from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.parts.lexical.postings import merge_segments, read_lengths
from sidecar.parts.lexical.rest_merge import MOST_LEFT, RestMerge
from tests.examples import examples
from tests.parts.lexical_tables import STEMS, alive_content, prepare, remove, segments, write

_ONE_ROW = 1


def finish(connection: sqlite3.Connection, merge: RestMerge) -> int:
    """How many steps were left."""
    steps = 0
    while merge.has_work(connection):
        assert merge.step(connection)
        steps += 1
    assert not merge.step(connection)
    return steps


def stored_segments(connection: sqlite3.Connection) -> int:
    (count,) = connection.execute("SELECT count(DISTINCT segment) FROM lexical_postings").fetchone()
    return int(count)


def test_many_segments_of_any_size_become_few(connection: sqlite3.Connection) -> None:
    for number in range(20):
        write(connection, *(f"alpha word{number} beta" for _ in range(1 + number % 5 * 7)))
    before = alive_content(connection, *STEMS)
    finish(connection, RestMerge())
    assert segments(connection) == stored_segments(connection) <= MOST_LEFT
    assert alive_content(connection, *STEMS) == before


def test_few_segments_stay_as_they_are(connection: sqlite3.Connection) -> None:
    for _ in range(MOST_LEFT):
        write(connection, "alpha")
    assert not RestMerge().has_work(connection)
    assert not RestMerge().step(connection)
    assert segments(connection) == MOST_LEFT


def test_no_step_does_more_than_its_share(connection: sqlite3.Connection) -> None:
    for number in range(8):
        write(connection, " ".join(f"word{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(100 + number)))
    merge, written = RestMerge(rows=40), []
    while merge.has_work(connection):
        before = connection.total_changes
        merge.step(connection)
        written.append(connection.total_changes - before)
    # A step may have to add the row that reserves a number, or the rows of the list of segments.
    assert max(written) <= 40 + 8 + 2
    assert len(written) > 20


def test_what_is_removed_while_a_merge_goes_on_is_dead_and_goes_with_the_next(connection: sqlite3.Connection) -> None:
    ids = [write(connection, "alpha beta gamma")[0] for _ in range(8)]
    merge = RestMerge(rows=_ONE_ROW)
    for _ in range(24):  # all ids of chunks and files are read by then, and the first terms are written
        merge.step(connection)
    assert segments(connection) == 8
    remove(connection, ids[0])
    finish(connection, merge)
    assert alive_content(connection, "alpha")["alpha"][0] == [(i, 1) for i in ids[1:]]
    merge_segments(connection, force=True)
    assert read_lengths(connection).chunk_ids.tolist() == ids[1:]


def test_a_merge_that_died_leaves_nothing(connection: sqlite3.Connection) -> None:
    for _ in range(8):
        write(connection, "alpha beta gamma")
    died = RestMerge(rows=_ONE_ROW)
    for _ in range(24):
        died.step(connection)
    (again,) = write(connection, "delta")
    before = alive_content(connection, *STEMS)
    assert before["delta"][0] == [(again, 1)]
    assert stored_segments(connection) > segments(connection), "it has left something"
    finish(connection, RestMerge(rows=_ONE_ROW))
    assert segments(connection) == stored_segments(connection)
    assert alive_content(connection, *STEMS) == before


WORDS = st.lists(st.sampled_from("alpha beta gamma delta epsilon".split()), min_size=1, max_size=8).map(" ".join)
STEPS = st.tuples(
    st.sampled_from(["put", "put", "remove", "merge", "rest", "rest", "die"]), st.lists(WORDS, min_size=1)
)


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(STEPS, min_size=8, max_size=40), st.integers(1, 9))
def test_whatever_happens_in_between_readers_find_the_same(steps: list[tuple[str, list[str]]], rows: int) -> None:
    connection, plain = sqlite3.connect(":memory:"), sqlite3.connect(":memory:")
    prepare(connection)
    prepare(plain)
    merge, known = RestMerge(rows), list[int]()
    for deed, texts in steps:
        if deed == "put":
            known += write(connection, *texts)
            write(plain, *texts)
        elif deed == "remove" and len(known) > 1:
            # The last one stays: otherwise `write` would give its id to the next file, which a manifest never does.
            gone = known.pop(len(texts) % (len(known) - 1))
            remove(connection, gone)
            remove(plain, gone)
        elif deed == "merge":
            merge_segments(connection, force=len(texts) > 3, at_end=True)
        elif deed == "rest":
            merge.step(connection)
        elif deed == "die":
            merge = RestMerge(rows)
        assert alive_content(connection, *STEMS) == alive_content(plain, *STEMS)
    finish(connection, merge)
    assert alive_content(connection, *STEMS) == alive_content(plain, *STEMS)
    assert segments(connection) <= MOST_LEFT
    assert stored_segments(connection) <= segments(connection)
    connection.close()
    plain.close()
