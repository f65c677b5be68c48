"""Rows of a team snapshot are written and read a block at a time, so that a large repository's are never in memory at
once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sidecar.engine.team import rows
from sidecar.engine.team.blocks import RowsWriter, Texts, TextsWriter, read_lines
from sidecar.errors import SnapshotUnusable

BLOCK = 10_000
COLUMNS = ("chunk", "name", "kind", "start", "end", "depth", "exported", "container")


class Row(tuple[object, ...]):
    """A row that counts how many rows are in memory, now and at most."""

    now = most = 0

    def __init__(self, _: object) -> None:
        Row.now += 1
        Row.most = max(Row.most, Row.now)

    def __del__(self) -> None:
        Row.now -= 1


def written(folder: Path, count: int) -> Path:
    """Writes a part of so many definitions, one to a chunk."""
    with RowsWriter(folder, "definitions", COLUMNS) as out:
        for number in range(1, count + 1):
            out.add(Row((number, f"name_{number}", "function", 1, 2, 0, 1, "")))
    return folder / "definitions"


def test_a_writer_holds_no_more_than_one_block_of_rows(tmp_path: Path) -> None:
    part = written(tmp_path, 3 * BLOCK + 5)
    assert BLOCK <= Row.most <= BLOCK + 1
    sizes = [len(json.loads(line)["chunk"]) for line in part.read_bytes().splitlines()]
    assert sizes == [BLOCK, BLOCK, BLOCK, 5]


def test_a_reader_gives_a_block_before_it_reads_the_next_one(tmp_path: Path) -> None:
    part = written(tmp_path, 2 * BLOCK)
    first, _ = part.read_bytes().splitlines(keepends=True)
    part.write_bytes(first + b"not JSON\n")
    definitions = rows.read_definitions(tmp_path, 2 * BLOCK)
    assert len(next(definitions).names) == BLOCK
    with pytest.raises(SnapshotUnusable, match="definitions"):
        next(definitions)


def test_texts_are_written_in_short_lines_and_read_by_their_numbers(tmp_path: Path) -> None:
    with TextsWriter(tmp_path, "texts") as out:
        for number in range(1001):
            out.add(f"text {number}")
    assert max(len(line) for line in read_lines(tmp_path, "texts")) == 200
    texts = Texts(tmp_path, "texts", 1001)
    assert [texts[number] for number in (0, 199, 200, 1000, 5)] == [f"text {n}" for n in (0, 199, 200, 1000, 5)]
