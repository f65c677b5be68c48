"""What one saved file costs, counted: SQLite's instructions, which do not depend on the machine and its other work."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sidecar.engine.search.rank.index_columns import columns_of
from sidecar.parts.coverage import read_coverage
from tests.engine.search_index import SmallIndex, small_index

SMALL, LARGE = 40, 1_600


def text_of(number: int, version: int = 0) -> str:
    return f"def tune_carburettor_{number}(engine):\n    return engine.mixture_{version}\n"


@contextmanager
def instructions(connection: sqlite3.Connection) -> Iterator[list[int]]:
    """Counts the instructions of SQLite's machine that this connection executes within the block."""
    counted = [0]

    def count() -> int:
        counted[0] += 1
        return 0

    connection.set_progress_handler(count, 1)
    try:
        yield counted
    finally:
        connection.set_progress_handler(None, 1)


def looked_at(index: SmallIndex) -> int:
    """Returns how many instructions a search needs for what the newest commit has changed."""
    with index.snapshot() as snapshot:  # the reader's connection is used again
        reader = snapshot.connection
    index.put({"src/saved.py": text_of(0, 7)})
    with instructions(reader) as counted, index.snapshot() as snapshot:
        assert snapshot.connection is reader
        for collection in (0, 1):
            columns_of(snapshot, collection)
        read_coverage(snapshot.connection)
    return counted[0]


@pytest.fixture(scope="module")
def costs(tmp_path_factory: pytest.TempPathFactory) -> dict[int, tuple[int, int]]:
    """Returns the instructions of the commit of a saved file and of the next search, by the number of files."""
    found = {}
    for files in (SMALL, LARGE):
        folder: Path = tmp_path_factory.mktemp("index")
        with small_index(folder, {f"src/file{number}.py": text_of(number) for number in range(files)}) as index:
            index.put({"src/saved.py": text_of(0)})
            with index.snapshot() as snapshot:
                for collection in (0, 1):
                    columns_of(snapshot, collection)
            with instructions(index.manifest.connection) as written:
                index.put({"src/saved.py": text_of(0, 1)})
            found[files] = written[0], looked_at(index)
    return found


def test_the_commit_of_a_saved_file_costs_the_same_however_large_the_index_is(
    costs: dict[int, tuple[int, int]],
) -> None:
    assert costs[LARGE][0] == costs[SMALL][0]


def test_a_search_reads_no_more_rows_for_a_saved_file_however_large_the_index_is(
    costs: dict[int, tuple[int, int]],
) -> None:
    assert costs[LARGE][1] <= 1.1 * costs[SMALL][1]
