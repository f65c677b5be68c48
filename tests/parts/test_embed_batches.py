"""Batches: every row once, little padding, within the limits."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sidecar.parts.embed.batches import BatchLimits, pad_rows, plan_batches


@given(st.lists(st.integers(0, 500), max_size=60), st.integers(1, 1000), st.integers(1, 20))
def test_every_row_is_in_one_batch_within_the_limits(lengths: list[int], tokens: int, rows: int) -> None:
    batches = plan_batches(lengths, BatchLimits(tokens, rows))
    assert sorted(int(row) for batch in batches for row in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) <= rows
        assert len(batch) == 1 or len(batch) * max(lengths[row] for row in batch) <= tokens


def test_rows_of_similar_length_share_a_batch() -> None:
    batches = plan_batches([100, 1, 99, 2], BatchLimits(tokens=200, rows=2))
    assert [sorted(batch.tolist()) for batch in batches] == [[1, 3], [0, 2]]


def test_shorter_rows_are_padded_with_zeros() -> None:
    padded = pad_rows([np.array([5, 6], dtype=np.int64), np.array([], dtype=np.int64)])
    assert padded.tolist() == [[5, 6], [0, 0]]


def test_rows_without_tokens_still_give_one_column() -> None:
    assert pad_rows([np.array([], dtype=np.int64)]).shape == (1, 1)
