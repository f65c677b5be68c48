"""A table of names gives every name that few edits make of another, whatever letters it has."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from sidecar.engine.search.name_table import name_table
from sidecar.parts.fuzzy import closest

NAMES = st.text("abcdßüя名\U0001d54f_", min_size=1, max_size=9)


@given(names=st.lists(NAMES, max_size=60), later=st.lists(NAMES, max_size=10), wanted=NAMES, edits=st.integers(1, 2))
def test_the_closest_of_the_near_names_are_the_closest_of_all(
    names: list[str], later: list[str], wanted: str, edits: int
) -> None:
    every = sorted({*names, *later})
    near = name_table(names).with_more(later).near(wanted, edits)
    assert closest(wanted, near, edits, 100) == closest(wanted, every, edits, 100)
    assert set(near) <= set(every)
    assert near == sorted(near)


def test_names_unlike_in_length_or_letters_are_not_near() -> None:
    table = name_table(["parse_request", "parserequest", "parse", "xyzxyzxyzxyz", "parserequset"])
    assert table.near("parserequest", 1) == ["parse_request", "parserequest", "parserequset"]


def test_names_read_in_several_parts_stay_whole() -> None:
    names = [f"name{number}" for number in range(120_000)]
    table = name_table(iter(names))
    assert len(table) == len(names)
    assert "name99999" in table.near("name9999", 1)
    assert "name119999" in table.near("name119998", 1)


def test_a_table_without_names_has_nothing_near() -> None:
    assert name_table([]).near("anything", 2) == []


def test_adding_a_name_copies_about_as_much_as_is_added_however_many_there_are() -> None:
    def copied(known: int) -> int:
        table, total = name_table(f"name{number}" for number in range(known)), 0
        for number in range(64):
            before = table.blocks
            table = table.with_more([f"later{number}"])
            total += sum(len(block) for block in table.blocks if not any(block is one for one in before))
        assert len(table) == known + 64
        return total

    assert copied(1_000) == copied(60_000) <= 64 * 7


def test_every_block_is_at_least_twice_as_long_as_the_next() -> None:
    table = name_table([])
    for number in range(200):
        table = table.with_more([f"name{number}x{more}" for more in range(number % 7)])
        lengths = [len(block) for block in table.blocks]
        assert all(one >= 2 * other for one, other in itertools.pairwise(lengths))
    assert len(table) == sum(number % 7 for number in range(200))
