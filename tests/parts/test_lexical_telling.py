"""Which terms of a long question are looked up."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.model.terms import Ids
from sidecar.parts.lexical.postings import MOST_TERMS, merge_segments
from sidecar.parts.lexical.telling import TermCounts, most_telling
from tests.examples import examples
from tests.parts.lexical_tables import prepare, remove, segments, write

LETTERS = "bcdfghjkmnpq"
WORDS = tuple(f"quark{one}{other}" for one in LETTERS for other in LETTERS)


@pytest.fixture
def connection() -> sqlite3.Connection:
    return tables()


def tables() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    prepare(connection)
    return connection


def living(connection: sqlite3.Connection) -> Ids:
    return np.array([row[0] for row in connection.execute("SELECT id FROM chunks ORDER BY id")], np.int64)


def chosen(connection: sqlite3.Connection, terms: Sequence[str]) -> list[str]:
    """The terms that are looked up, which are the same if the counts of some terms are known."""
    counts = TermCounts()
    telling = most_telling(connection, living(connection), terms, counts)
    assert most_telling(connection, living(connection), terms, counts) == telling
    return telling


def test_of_many_terms_the_first_and_the_rarest_that_occur_are_looked_up(connection: sqlite3.Connection) -> None:
    common = [f"common{letter}{other}" for letter in "abcdefghij" for other in "abcdefghij"]
    write(connection, *(" ".join(common) for _ in range(20)), "seldom")
    terms = [*(f"unseen{n}" for n in range(40)), *common, "seldom"]
    telling = chosen(connection, terms)
    assert len(telling) == MOST_TERMS
    assert telling[: MOST_TERMS // 3] == terms[: MOST_TERMS // 3]
    assert telling[-1] == "seldom"
    assert not {"unseen39"} & set(telling)
    assert chosen(connection, terms[:MOST_TERMS]) == terms[:MOST_TERMS]


def test_each_term_is_counted_once(connection: sqlite3.Connection) -> None:
    write(connection, *([" ".join(WORDS)] * 3), "seldom title")
    remove(connection, *write(connection, WORDS[-1]))
    counts = TermCounts()
    read: list[str] = []
    most_telling(connection, living(connection), WORDS, counts)
    connection.set_trace_callback(read.append)
    most_telling(connection, living(connection), WORDS[::-1], counts)
    assert not any(f"'{word}'" in statement for statement in read for word in WORDS[MOST_TERMS // 3 : -MOST_TERMS // 3])


def test_after_a_merge_terms_are_counted_anew_and_the_choice_is_that_of_an_index_made_anew(
    connection: sqlite3.Connection,
) -> None:
    first, once, five_times, often = [f"unseen{n}" for n in range(MOST_TERMS // 3)], WORDS[:70], WORDS[70:], "often"
    write(connection, " ".join(once), *([" ".join(five_times)] * 5), *([often] * 3))
    for _ in range(30):
        remove(connection, *write(connection, often))
    counts, alive = TermCounts(), living(connection)
    assert often not in most_telling(connection, alive, [*first, *once, often], counts)
    merge_segments(connection, force=True)
    assert often in most_telling(connection, alive, [*first, *five_times, often], counts)


def test_counts_of_very_many_terms_are_begun_anew_and_a_search_that_uses_them_goes_on() -> None:
    counts = TermCounts()
    before = counts.of_segments(7)
    assert counts.of_segments(7) is before
    before.with_dead.update((f"term{number}", number) for number in range(60_000))
    after = counts.of_segments(7)
    assert after is not before and not after.has("term7")
    assert before.of("term7") == 7


def test_a_word_of_one_file_that_was_saved_a_hundred_times_is_as_rare_as_before(connection: sqlite3.Connection) -> None:
    terms = [*WORDS[:MOST_TERMS], "often"]
    write(connection, *([" ".join(terms)] * 3))
    assert "often" not in chosen(connection, terms)
    # Each save leaves the postings of the former version behind, in a segment of its own.
    for _ in range(100):
        remove(connection, *write(connection, terms[-2]))
    assert terms[-2] in chosen(connection, terms)


@settings(max_examples=examples(60))
@given(st.data())
def test_the_choice_depends_on_the_living_chunks_alone(data: st.DataObject) -> None:
    """One index has the files in one segment, the other in several, with files in between that are gone."""
    texts = data.draw(st.lists(st.lists(st.integers(0, len(WORDS) - 1), min_size=1), min_size=1, max_size=12))
    files = [" ".join(WORDS[n] for n in numbers) for numbers in texts]
    anew, grown = tables(), tables()
    write(anew, *files)
    for text in files:
        gone = data.draw(st.lists(st.sampled_from(files), max_size=3))
        remove(grown, *write(grown, text, *gone)[1:])
        if data.draw(st.booleans()):
            merge_segments(grown, force=True)
    asked = data.draw(st.permutations(WORDS))
    assert chosen(grown, asked) == chosen(anew, asked)


def test_what_stands_in_most_chunks_is_not_read_to_find_what_is_rare(connection: sqlite3.Connection) -> None:
    seldom, common = WORDS[:MOST_TERMS], WORDS[MOST_TERMS:]
    write(connection, *([" ".join(common)] * 50))
    write(connection, " ".join(seldom))
    remove(connection, *write(connection, " ".join(WORDS)))
    assert segments(connection) == 3
    read: list[str] = []
    connection.set_trace_callback(read.append)
    telling = chosen(connection, [*common, *seldom])
    assert set(seldom[: MOST_TERMS // 2]) <= set(telling)
    counted = next(statement for statement in read if statement.startswith("SELECT term, bodies FROM"))
    assert seldom[-1] in counted
    assert common[-1] not in counted
