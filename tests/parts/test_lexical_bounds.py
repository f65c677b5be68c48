"""Bounds of long postings: who has them, what they say, and that postings are read the same with and without them."""

from __future__ import annotations

import sqlite3

import numpy as np
import pytest

from sidecar.parts.lexical.analyse import FIELDS
from sidecar.parts.lexical.bm25 import length_norms, saturate
from sidecar.parts.lexical.bounds import BoundsReader, FileBounds
from sidecar.parts.lexical.curves import CHUNK_CURVE
from sidecar.parts.lexical.merge_choice import MERGE_FACTOR
from sidecar.parts.lexical.postings import Postings, WithBounds, read_postings, read_with_bounds
from sidecar.parts.lexical.segments import read_lengths, update_tables
from sidecar.parts.lexical.stepped_merge import MOST_LEFT, SteppedMerge
from tests.parts.lexical_tables import STEMS, alive_content, make_earlier, remove, write


def rest(connection: sqlite3.Connection, *, large: int = 0, long: int = 1) -> None:
    """Merges as at rest."""
    merge = SteppedMerge(large=large, long=long)
    while merge.has_work(connection, at_rest=True):
        assert merge.step(connection, at_rest=True)


def averages(connection: sqlite3.Connection) -> np.ndarray:
    lengths = read_lengths(connection)
    of_files = [lengths.bodies.mean(), lengths.bodies.mean(), *lengths.fields.mean(axis=0)]
    return np.array(of_files, np.float32)


def read(connection: sqlite3.Connection, *terms: str, factor: float = 1) -> WithBounds:
    return read_with_bounds(connection, terms, BoundsReader(0, np.float32(factor) * averages(connection)))


def bounds_of(connection: sqlite3.Connection, term: str, factor: float = 1) -> FileBounds:
    (found,) = read(connection, term, factor=factor).bounds
    assert found is not None
    return found


def bounded(connection: sqlite3.Connection) -> int:
    (count,) = connection.execute("SELECT count(bounds) FROM lexical_long").fetchone()
    return int(count)


def postings_of(postings: Postings) -> list[tuple[int, int, int]]:
    return sorted(zip(postings.places.tolist(), postings.ids.tolist(), postings.tfs.tolist(), strict=True))


def test_only_a_large_index_has_bounds_and_only_of_terms_with_many_postings(connection: sqlite3.Connection) -> None:
    for number in range(MOST_LEFT + 1):
        write(connection, *["alpha"] * 3, f"rare{number}")
    rest(connection, large=10_000)
    assert bounded(connection) == 0
    for _ in range(MOST_LEFT):
        write(connection, *["alpha"] * 3)
    rest(connection, large=100, long=12)
    found = connection.execute(
        "SELECT term FROM lexical_postings JOIN lexical_long ON id = long WHERE bounds IS NOT NULL"
    )
    long = {term for (term,) in found}
    assert "alpha" in long and not any(term.startswith("rare") for term in long)


def test_bounds_say_how_many_postings_each_file_has_and_how_high_it_can_score(connection: sqlite3.Connection) -> None:
    texts = ["alpha " * (n % 4) + "beta " * (n % 7) + "gamma " * (n + 1) for n in range(40)]
    write(connection, *texts)
    rest(connection)
    found = bounds_of(connection, "alpha")
    (of_alpha,) = alive_content(connection, "alpha").values()
    assert dict(zip(found.files.tolist(), found.counts.tolist(), strict=True)) == dict(of_alpha[0])
    for column, step in enumerate((1, 1, FIELDS)):
        sizes = dict.fromkeys(found.files.tolist(), 0)
        for key, _ in of_alpha[column]:
            sizes[key // step] += 1
        assert dict(zip(found.files.tolist(), found.sizes[column].tolist(), strict=True)) == sizes
    lengths, now = read_lengths(connection), averages(connection)
    at = np.searchsorted(lengths.chunk_ids, found.files)
    exact = saturate(found.counts, length_norms(lengths.bodies[at], float(now[0]), CHUNK_CURVE), CHUNK_CURVE.k1)
    assert (found.best >= exact).all()
    assert (found.best <= exact + 0.01).all()


def test_bounds_rise_with_the_average_length_and_never_fall(connection: sqlite3.Connection) -> None:
    write(connection, *(f"alpha beta{n} " * (n + 1) for n in range(9)))
    rest(connection)
    now, longer, shorter = (bounds_of(connection, "alpha", factor) for factor in (1, 3, 0.3))
    assert (longer.best > 2.9 * now.best).all() and (longer.whole > 2.9 * now.whole).all()
    assert (shorter.best == now.best).all() and (shorter.whole == now.whole).all()


def test_postings_are_read_the_same_with_bounds_and_those_that_have_bounds_come_first(
    connection: sqlite3.Connection,
) -> None:
    for number in range(MOST_LEFT):
        write(connection, "alpha beta", f"gamma {number}")
    rest(connection)
    write(connection, "alpha delta")
    found = read(connection, *STEMS)
    plain = read_postings(connection, STEMS)
    for column, postings in zip(found.columns, (plain.bodies, plain.names, plain.fields), strict=True):
        places = np.arange(len(STEMS)).repeat(np.diff(column.bounds))
        assert postings_of(Postings(places, column.ids, column.tfs)) == postings_of(postings)
    with_bounds = found.bounds[STEMS.index("alpha")]
    assert with_bounds is not None
    ids = found.columns[0].ids[: found.columns[0].bounds[1]].tolist()
    assert ids[: len(with_bounds.files)] == with_bounds.files.tolist()
    assert ids[-1] > max(with_bounds.files), "the new file has no bounds yet"


def test_an_index_of_an_earlier_version_is_read_and_gets_bounds_at_rest(connection: sqlite3.Connection) -> None:
    write(connection, "alpha beta", "alpha gamma")
    make_earlier(connection)
    before = alive_content(connection, *STEMS)
    assert read(connection, *STEMS).bounds == [None] * len(STEMS)
    update_tables(connection)
    write(connection, "delta")
    rest(connection)
    assert bounds_of(connection, "alpha").files.tolist() == [1, 2]
    after = alive_content(connection, *STEMS)
    assert {term: after[term] for term in ("alpha", "beta", "gamma")} == {
        term: before[term] for term in ("alpha", "beta", "gamma")
    }


def test_bounds_of_another_version_are_not_used_and_made_anew_at_rest(connection: sqlite3.Connection) -> None:
    write(connection, "alpha beta", "alpha gamma")
    rest(connection)
    connection.execute(
        "UPDATE lexical_long SET bounds = CAST(x'63' || substr(bounds, 2) AS BLOB) WHERE bounds IS NOT NULL"
    )
    connection.execute("UPDATE lexical_segments SET bounded = 99")
    found = read(connection, "alpha")
    assert found.bounds == [None]
    assert found.columns[0].ids.tolist() == [1, 2]
    rest(connection)
    assert bounds_of(connection, "alpha").files.tolist() == [1, 2]


@pytest.mark.parametrize("gone", [0, 1, 2])
def test_what_was_merged_between_changes_gets_bounds_at_the_next_rest(
    connection: sqlite3.Connection, gone: int
) -> None:
    for _ in range(MERGE_FACTOR):
        write(connection, "alpha beta", "gamma")
    merge = SteppedMerge(large=0, long=1)
    while merge.has_work(connection, at_rest=False):
        assert merge.step(connection, at_rest=False)
    assert bounded(connection) == 0
    remove(connection, *range(1, gone + 1))
    rest(connection)
    assert bounds_of(connection, "alpha").files.tolist() == [n for n in range(1, 2 * MERGE_FACTOR, 2) if n > gone]


def test_the_documents_of_an_index_have_bounds_of_their_own(connection: sqlite3.Connection) -> None:
    write(connection, "alpha", "alpha beta")
    connection.execute("UPDATE files SET collection = 1")
    rest(connection)
    reader = BoundsReader(1, averages(connection))
    (found,) = read_with_bounds(connection, ["alpha"], reader).bounds
    assert found is not None and found.files.tolist() == [1, 2]
