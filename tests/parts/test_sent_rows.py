"""The record of rows on a server: names are looked up without reading the whole record."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np

from sidecar.parts.vectors.sent_rows import SentRows, slots_by_name


def test_slots_are_found_by_name_through_the_index_of_names_alone(tmp_path: Path) -> None:
    rows = SentRows(tmp_path, {"code": "1"})
    names = np.arange(40, dtype=np.int64).reshape(20, 2)
    rows.put("code", np.arange(20), names)
    rows.put("code", np.array([25, 21]), names[[3, 3]])
    assert rows.slots_of("code", names[[3, 7]]) == {names[3].tobytes(): [3, 21, 25], names[7].tobytes(): [7]}
    rows.close()
    with closing(sqlite3.connect(tmp_path / "sent.sqlite")) as connection:
        asked = ("code", *(name.tobytes() for name in names))
        plan = connection.execute(f"EXPLAIN QUERY PLAN {slots_by_name(len(names))}", asked).fetchall()
    assert [step for *_, step in plan] == ["SEARCH slots USING COVERING INDEX by_name (collection=? AND name=?)"]
