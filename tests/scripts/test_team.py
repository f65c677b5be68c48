"""bench-team: how the vectors of two indexes are compared."""

import numpy as np

from scripts.suffixless import load_script

TEAM = load_script("bench/bench-team")


def row(line: int, *numbers: float) -> tuple[str, int, bytes]:
    return "a.py", line, np.array(numbers, "<f2").tobytes()


def test_vectors_are_equal_if_they_differ_only_in_the_last_bit() -> None:
    one, other = [row(1, 1.0, 0.5), row(9, 0.5, 1.0)], [row(1, 1.0, 0.5), row(9, 0.5005, 1.0)]
    assert TEAM.vectors_compared(one, one) == (True, 0)
    assert TEAM.vectors_compared(one, other) == (True, 1)
    assert TEAM.vectors_compared(one, [row(1, 1.0, 0.5), row(9, 1.0, 0.5)]) == (False, 1)


def test_an_index_with_fewer_vectors_is_not_equal() -> None:
    rows = [row(1, 1.0, 0.5), row(9, 0.5, 1.0)]
    assert TEAM.vectors_compared(rows, rows[:1]) == TEAM.vectors_compared(rows[:1], rows) == (False, 1)
    assert TEAM.vectors_compared([], rows) == (False, 2)
