"""Merging segments in steps: what readers see stays the same at every moment, whatever is written in between."""

from __future__ import annotations

import sqlite3

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.parts.lexical.merge_choice import MERGE_FACTOR
from sidecar.parts.lexical.postings import merge_segments
from sidecar.parts.lexical.segments import read_lengths
from sidecar.parts.lexical.stepped_merge import MOST_LEFT, SteppedMerge
from tests.examples import examples
from tests.parts.lexical_tables import STEMS, alive_content, prepare, remove, segments, write

_ONE_ROW = 1


def finish(connection: sqlite3.Connection, merge: SteppedMerge) -> int:
    """How many steps were left."""
    steps = 0
    while merge.has_work(connection, at_rest=True):
        assert merge.step(connection, at_rest=True)
        steps += 1
    assert not merge.step(connection, at_rest=True)
    return steps


def stored_segments(connection: sqlite3.Connection) -> int:
    (count,) = connection.execute("SELECT count(DISTINCT segment) FROM lexical_postings").fetchone()
    return int(count)


def begin_writing(connection: sqlite3.Connection, merge: SteppedMerge) -> None:
    """Makes steps until all ids of the sources are looked up, and the first term is written."""
    (last,) = connection.execute("SELECT max(segment) FROM lexical_postings").fetchone()
    written = "SELECT count(*) FROM lexical_postings WHERE segment > ? AND term <> ''"
    while not connection.execute(written, (last,)).fetchone()[0]:
        assert merge.step(connection, at_rest=True)


def test_many_segments_of_any_size_become_few(connection: sqlite3.Connection) -> None:
    for number in range(20):
        write(connection, *(f"alpha word{number} beta" for _ in range(1 + number % 5 * 7)))
    before = alive_content(connection, *STEMS)
    finish(connection, SteppedMerge())
    assert segments(connection) == stored_segments(connection) <= MOST_LEFT
    assert alive_content(connection, *STEMS) == before


def test_few_segments_stay_as_they_are(connection: sqlite3.Connection) -> None:
    for _ in range(MOST_LEFT):
        write(connection, "alpha")
    assert not SteppedMerge().has_work(connection, at_rest=True)
    assert not SteppedMerge().step(connection, at_rest=True)
    assert segments(connection) == MOST_LEFT


def test_no_step_does_more_than_its_share(connection: sqlite3.Connection) -> None:
    for number in range(8):
        write(connection, " ".join(f"word{chr(97 + i % 26)}{chr(97 + i // 26)}" for i in range(100 + number)))
    merge, written = SteppedMerge(rows=40), []
    while merge.has_work(connection, at_rest=True):
        before = connection.total_changes
        merge.step(connection, at_rest=True)
        written.append(connection.total_changes - before)
    # A step may have to add the row that reserves a number, or the rows of the list of segments.
    assert max(written) <= 40 + 8 + 2
    assert len(written) > 20


def test_what_is_removed_while_a_merge_goes_on_is_dead_and_goes_with_the_next(connection: sqlite3.Connection) -> None:
    ids = [write(connection, "alpha beta gamma")[0] for _ in range(8)]
    merge = SteppedMerge(rows=_ONE_ROW)
    begin_writing(connection, merge)
    assert segments(connection) == 8
    remove(connection, ids[0])
    finish(connection, merge)
    assert alive_content(connection, "alpha")["alpha"][0] == [(i, 1) for i in ids[1:]]
    merge_segments(connection, force=True)
    assert read_lengths(connection).chunk_ids.tolist() == ids[1:]


def test_a_merge_that_died_leaves_nothing(connection: sqlite3.Connection) -> None:
    for _ in range(8):
        write(connection, "alpha beta gamma")
    died = SteppedMerge(rows=_ONE_ROW)
    begin_writing(connection, died)
    (again,) = write(connection, "delta")
    before = alive_content(connection, *STEMS)
    assert before["delta"][0] == [(again, 1)]
    assert stored_segments(connection) > segments(connection), "it has left something"
    finish(connection, SteppedMerge(rows=_ONE_ROW))
    assert segments(connection) == stored_segments(connection)
    assert alive_content(connection, *STEMS) == before


def test_segments_that_are_due_after_commits_are_merged_between_changes_and_no_others(
    connection: sqlite3.Connection,
) -> None:
    for _ in range(MERGE_FACTOR - 1):
        write(connection, "alpha beta gamma")
    merge = SteppedMerge()
    assert not merge.has_work(connection, at_rest=False)
    assert not merge.step(connection, at_rest=False)
    write(connection, "alpha beta gamma")
    before = alive_content(connection, *STEMS)
    while merge.has_work(connection, at_rest=False):
        merge.step(connection, at_rest=False)
    assert segments(connection) == stored_segments(connection) == 1
    assert alive_content(connection, *STEMS) == before


def test_a_merge_that_was_begun_between_changes_is_continued_at_rest(connection: sqlite3.Connection) -> None:
    for _ in range(MERGE_FACTOR):
        write(connection, "alpha beta gamma")
    merge = SteppedMerge(rows=_ONE_ROW)
    assert merge.step(connection, at_rest=False)
    finish(connection, merge)
    assert segments(connection) == stored_segments(connection) == 1


def test_between_changes_a_merge_that_was_begun_at_rest_waits_for_the_next_rest(
    connection: sqlite3.Connection,
) -> None:
    for number in range(MERGE_FACTOR - 1):
        write(connection, *("alpha beta gamma" for _ in range(8 * number + 1)))
    before = alive_content(connection, *STEMS)
    merge = SteppedMerge(rows=_ONE_ROW)
    begin_writing(connection, merge)
    assert not merge.has_work(connection, at_rest=False)
    assert not merge.step(connection, at_rest=False)
    assert segments(connection) == MERGE_FACTOR - 1
    finish(connection, merge)
    assert segments(connection) == stored_segments(connection) <= MOST_LEFT
    assert alive_content(connection, *STEMS) == before


def test_between_changes_what_a_merge_at_rest_has_replaced_is_not_deleted(connection: sqlite3.Connection) -> None:
    for number in range(MERGE_FACTOR - 1):
        write(connection, *("alpha beta gamma" for _ in range(8 * number + 1)))
    merge = SteppedMerge(rows=_ONE_ROW)
    while segments(connection) == MERGE_FACTOR - 1:
        assert merge.step(connection, at_rest=True)
    stored = stored_segments(connection)
    assert stored > segments(connection), "there is something to delete"
    assert not merge.has_work(connection, at_rest=False)
    assert not merge.step(connection, at_rest=False)
    assert stored_segments(connection) == stored
    finish(connection, merge)
    assert stored_segments(connection) == segments(connection)


def test_segments_are_merged_between_changes_while_another_merge_waits_for_the_rest(
    connection: sqlite3.Connection,
) -> None:
    for number in range(MERGE_FACTOR - 1):
        write(connection, *("alpha beta gamma" for _ in range(64 * (number + 1))))
    merge = SteppedMerge(rows=_ONE_ROW)
    begin_writing(connection, merge)
    for _ in range(MERGE_FACTOR):
        write(connection, "delta")
    before = alive_content(connection, *STEMS)
    while merge.has_work(connection, at_rest=False):
        assert merge.step(connection, at_rest=False)
    assert segments(connection) == MERGE_FACTOR
    assert stored_segments(connection) == MERGE_FACTOR + 1, "the other merge keeps what it has written"
    finish(connection, merge)
    assert segments(connection) == stored_segments(connection) <= MOST_LEFT
    assert alive_content(connection, *STEMS) == before


@pytest.mark.parametrize("at_rest", [False, True])
def test_an_index_that_is_mostly_dead_is_merged_however_few_segments_it_has(
    connection: sqlite3.Connection, at_rest: bool
) -> None:
    old = write(connection, *("alpha beta" for _ in range(1_200)))
    new = write(connection, "alpha gamma")
    merge = SteppedMerge()
    assert not merge.has_work(connection, at_rest=at_rest)
    remove(connection, *old[1:])
    before = alive_content(connection, *STEMS)
    while merge.has_work(connection, at_rest=at_rest):
        assert merge.step(connection, at_rest=at_rest)
    assert read_lengths(connection).chunk_ids.tolist() == [old[0], *new]
    assert segments(connection) == stored_segments(connection) == 1
    assert alive_content(connection, *STEMS) == before


@pytest.mark.parametrize("at_rest", [False, True])
def test_merging_the_newest_segments_costs_the_same_however_large_the_index_is(at_rest: bool) -> None:
    costs = []
    for files in (20, 2_000):
        connection = sqlite3.connect(":memory:")
        prepare(connection)
        for number in range(MOST_LEFT):
            write(connection, *(f"alpha word{number}" for _ in range(files * (number + 1))))
        (old, *_) = write(connection, "alpha beta gamma")
        for _ in range(MERGE_FACTOR - 1):
            write(connection, "alpha beta gamma")
        # A file that is as old as the index among the ids of the segments that are merged.
        connection.execute("UPDATE lexical_segments SET chunk_ids = ? WHERE chunk_ids = ?", (_ids(1), _ids(old)))
        costs.append(instructions(connection, SteppedMerge(), at_rest))
        connection.close()
    assert costs[1] <= 1.2 * costs[0]


def instructions(connection: sqlite3.Connection, merge: SteppedMerge, at_rest: bool) -> int:
    """Returns how many instructions of SQLite's machine the next merge takes, the deletion of its sources included."""
    before, counted = segments(connection), [0]

    def count() -> int:
        counted[0] += 1
        return 0

    (alive,) = connection.execute("SELECT count(*) FROM chunks").fetchone()
    connection.set_progress_handler(count, 1)
    while segments(connection) == before:
        assert merge.step(connection, at_rest=at_rest, alive=alive)
    connection.set_progress_handler(None, 1)
    return counted[0]


def _ids(*ids: int) -> bytes:
    return np.array(ids, "<i8").tobytes()


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
    merge, known = SteppedMerge(rows), list[int]()
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
            merge_segments(connection, force=len(texts) > 3, since=0)
        elif deed == "rest":
            merge.step(connection, at_rest=len(texts) % 2 == 0)
        elif deed == "die":
            merge = SteppedMerge(rows)
        assert alive_content(connection, *STEMS) == alive_content(plain, *STEMS)
    finish(connection, merge)
    assert alive_content(connection, *STEMS) == alive_content(plain, *STEMS)
    assert segments(connection) <= MOST_LEFT
    assert stored_segments(connection) <= segments(connection)
    connection.close()
    plain.close()
