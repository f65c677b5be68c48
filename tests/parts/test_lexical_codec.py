"""Postings as bytes: what is encoded is decoded, in plain and in compact blobs, alone and together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidecar.parts.lexical.codec import decode_all, decode_few, encode_runs, postings_in

_STEPS = st.sampled_from([1, 2, 7, 255, 256, 300, 65_535, 65_536, 70_000, 1 << 32, 1 << 33])
_RUNS = st.lists(
    st.tuples(
        st.integers(0, 1 << 48),
        st.lists(_STEPS, max_size=12),
        st.integers(1, 400),
        st.sampled_from([1, 3, 200, 40_000]),
    ),
    min_size=1,
    max_size=8,
)
"""First key, some steps, and more steps of one size."""


def runs(described: Sequence[tuple[int, list[int], int, int]]) -> list[np.ndarray]:
    return [
        np.cumsum([first, *np.random.default_rng(count).permutation([*steps, *[step] * count])]).astype(np.int64)
        for first, steps, count, step in described
    ]


def encoded(keys: Sequence[np.ndarray], *, compact: bool) -> list[bytes]:
    joined = np.concatenate(keys)
    ends = np.cumsum([0, *map(len, keys)])
    return list(encode_runs(joined, (joined % 200 + 1).astype(np.uint8), ends, compact=compact))


@given(_RUNS, st.booleans())
def test_what_is_encoded_is_decoded(described: list[tuple[int, list[int], int, int]], compact: bool) -> None:
    keys = runs(described)
    blobs = encoded(keys, compact=compact)
    for decode in (decode_all, decode_few):
        found, tfs, sizes = decode(blobs)
        assert found.tolist() == np.concatenate(keys).tolist()
        assert tfs.tolist() == [key % 200 + 1 for key in found.tolist()]
        assert sizes.tolist() == list(map(len, keys)) == list(map(postings_in, blobs))


@given(_RUNS)
def test_compact_blobs_are_never_longer_and_short_ones_stay_plain(
    described: list[tuple[int, list[int], int, int]],
) -> None:
    keys = runs(described)
    for run, plain, compact in zip(keys, encoded(keys, compact=False), encoded(keys, compact=True), strict=True):
        assert len(compact) <= len(plain)
        if len(run) < 128:
            assert compact == plain


@pytest.mark.parametrize("jump", [300, 70_000, 1 << 33])
def test_a_few_large_differences_do_not_make_all_others_wide(jump: int) -> None:
    keys = [np.cumsum([5, *[3] * 500, jump, *[2] * 500, jump, 1])]
    (plain,), (compact,) = encoded(keys, compact=False), encoded(keys, compact=True)
    assert len(compact) < 2 * len(keys[0]) + 60 < len(plain)


def test_many_long_runs_are_decoded_like_a_few() -> None:
    keys = [np.cumsum([number, *[number % 5 + 1] * 3000, 100_000, *[4] * 10]) for number in range(40)]
    blobs = encoded(keys, compact=True)
    assert decode_few(blobs)[0].tolist() == decode_all(blobs)[0].tolist() == np.concatenate(keys).tolist()
