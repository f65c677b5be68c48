"""What a revision sees of an array never changes, whatever others put behind it."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sidecar.engine.concurrency.room import Rooms
from tests.examples import examples


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 3000)), max_size=12))
def test_every_part_keeps_its_values_when_others_are_lengthened(steps: list[tuple[int, int]]) -> None:
    rooms, parts = Rooms(), [(np.arange(3), [0, 1, 2])]
    for which, count in steps:
        known, values = parts[which % len(parts)]
        added: NDArray[np.int64] = np.arange(count) + 7 * len(parts)
        parts.append((rooms.followed_by("any", known, added), [*values, *added.tolist()]))
    for array, values in parts:
        assert array.tolist() == values


def test_only_the_first_to_lengthen_a_part_does_so_in_place() -> None:
    rooms = Rooms()
    start = rooms.followed_by("any", np.arange(1000), np.array([1]))
    copied = rooms.copied
    one = rooms.followed_by("any", start, np.array([2]))
    assert rooms.copied == copied
    other = rooms.followed_by("any", start, np.array([3]))
    assert rooms.copied == copied + len(start)
    assert (one[-1], other[-1]) == (2, 3)


def test_room_for_many_more_is_made_with_few_copies() -> None:
    rooms, array = Rooms(), np.zeros(0, np.int64)
    for number in range(100_000 // 100):
        array = rooms.followed_by("any", array, np.full(100, number))
    assert len(array) == 100_000
    assert rooms.copied < 1_000_000
