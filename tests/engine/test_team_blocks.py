"""Rows of a team snapshot are written and read a block at a time, so that a large repository's are never in memory at
once."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import pytest

from sidecar.engine.team import rows
from sidecar.engine.team.blocks import RowsWriter, Texts, TextsWriter, read_lines, write_line
from sidecar.errors import SnapshotUnusable
from sidecar.parts.lexical.transfer import MOST_TERMS

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


BOMB = 8 * 1024**2


@pytest.mark.parametrize(
    "line",
    [
        b"[" + b"[]," * (BOMB // 3) + b"[]]",
        b"[" * BOMB,
        b'{"chunk":[' + b"{}," * (BOMB // 3) + b"{}]}",
        b'{"chunk":[' + b"0.5," * (BOMB // 4) + b"1]}",
        b"{" + b",".join(b'"%d":[]' % n for n in range(BOMB // 12)) + b"}",
        b'["' + b"\\u0000" * (BOMB // 6),
        b'["' + b'\\"' * (BOMB // 2),
        b"[" + b"1" * BOMB + b"]",
    ],
    ids=["lists", "depth", "objects", "numbers", "names", "a text without end", "quotes without end", "digits"],
)
def test_a_line_that_would_need_many_times_its_space_is_refused_before_it_is_parsed(
    tmp_path: Path, line: bytes
) -> None:
    (tmp_path / "definitions").write_bytes(line + b"\n")
    tracemalloc.start()
    try:
        with pytest.raises(SnapshotUnusable, match="definitions"):
            next(rows.read_definitions(tmp_path, 1))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 4 * BOMB


def test_rows_that_would_make_too_long_a_line_are_written_in_several(tmp_path: Path) -> None:
    long = "x" * 4096
    with RowsWriter(tmp_path, "files", ("path",)) as out:
        for number in range(BLOCK):
            out.add((f"{number}{long}",))
    lines = (tmp_path / "files").read_bytes().splitlines()
    assert len(lines) == 4
    assert [path for read in read_lines(tmp_path, "files") for path in read["path"]] == [
        f"{number}{long}" for number in range(BLOCK)
    ]


def test_the_largest_block_of_terms_is_read(tmp_path: Path) -> None:
    terms = [f"{number:08}" for number in range(MOST_TERMS)]
    with (tmp_path / "terms").open("wb") as out:
        write_line(out, terms)
    assert list(read_lines(tmp_path, "terms")) == [terms]
