"""A change of ranking is a diff that a person reads."""

from __future__ import annotations

import difflib
from pathlib import Path

from tests.golden.ranking import EXPECTED, rank_all


def test_the_order_of_answers_is_the_one_that_was_read_and_accepted(tmp_path: Path) -> None:
    expected, found = EXPECTED.read_text("utf-8"), rank_all(tmp_path)
    diff = difflib.unified_diff(expected.splitlines(), found.splitlines(), "accepted", "now", lineterm="", n=6)
    assert found == expected, "\n".join(("python -m tests.golden.update accepts this:", *diff))
