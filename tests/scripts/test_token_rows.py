"""Rows of token ids, as the transformer is trained on them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from scripts.train.token_rows import FIRST, LAST, PADDING, TokenRows, tokenised

TOKENIZER = Path(__file__).parents[2] / "models/static-code-256/tokenizer.json"
ROWS = TokenRows(np.array([7, 8, 9, 4, 5], np.uint16), np.array([0, 3, 3, 5]))


def test_rows_stand_between_the_special_tokens_and_are_padded_and_cut() -> None:
    rows = np.array([2, 0, 1])
    assert ROWS.padded(rows, 9).tolist() == [
        [FIRST, 4, 5, LAST, PADDING],
        [FIRST, 7, 8, 9, LAST],
        [FIRST, LAST, PADDING, PADDING, PADDING],
    ]
    assert ROWS.padded(rows, 1).tolist() == [[FIRST, 4, LAST], [FIRST, 7, LAST], [FIRST, LAST, PADDING]]


def test_parts_have_rows_of_similar_length_and_each_row_once() -> None:
    rows = np.array([0, 1, 2, 0, 1, 2])
    parts = ROWS.parts(rows, 3)
    assert [ROWS.lengths(rows[part]).tolist() for part in parts] == [[0, 0], [2, 2], [3, 3]]
    assert sorted(np.concatenate(parts).tolist()) == list(range(6))
    assert len(ROWS.parts(rows[:2], 4)) == 2


def test_texts_are_tokenised_with_their_identifiers_split_and_odd_ones_do_not_stop_it() -> None:
    made = tokenised(["openFile", "open file", "", "\ud800 lone"], TOKENIZER, 2)
    whole, split, nothing, odd = (made.ids[made.starts[i] : made.starts[i + 1]].tolist() for i in range(len(made)))
    assert whole == split and len(whole) == 2
    assert nothing == []
    assert len(odd) == 2
