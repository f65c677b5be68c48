"""A git index that a stranger has made takes no more memory and time than one of git's own."""

from __future__ import annotations

import struct
import tracemalloc
from collections.abc import Iterable
from pathlib import Path

import pytest

from sidecar.model.files import IndexedBlob, Stat
from sidecar.parts.git_index import MAX_ENTRIES, unmodified

BLOB, NO_CHECKSUM = b"b" * 20, bytes(20)
FILES = {"a.py": IndexedBlob(Stat(1, 5, 5, 7), BLOB)}
"""In nanoseconds since 1970: older than any index that is written now."""


def entry(name: bytes, version: int, kept: int = 0) -> bytes:
    """An entry of `a.py`'s stat. From version 4 on, the name follows the first `kept` bytes of the one before."""
    fixed = struct.pack(">10L20sH", 0, 5, 0, 5, 0, 7, 0o100644, 0, 0, 1, BLOB, min(len(name), 0xFFF))
    if version == 4:
        return fixed + bytes([kept]) + name + b"\0"
    return fixed + name + bytes(8 - (len(fixed) + len(name)) % 8)


def index(place: Path, version: int, entries: Iterable[bytes]) -> int:
    """Writes an index in a new repository. Returns its size."""
    made = list(entries)
    (place / ".git").mkdir()
    raw = struct.pack(">4sLL", b"DIRC", version, len(made)) + b"".join(made) + NO_CHECKSUM
    (place / ".git/index").write_bytes(raw)
    return len(raw)


def peak(place: Path) -> int:
    """The most bytes that Python had while the index was asked."""
    tracemalloc.start()
    try:
        unmodified(str(place), FILES)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("version", [2, 4])
def test_a_wanted_path_is_found_among_others(tmp_path: Path, version: int) -> None:
    index(tmp_path, version, [entry(b"a.py", version), entry(b"b.py", version, kept=4 if version == 4 else 0)])
    assert unmodified(str(tmp_path), FILES) == {"a.py"}


def test_the_entries_of_other_paths_take_no_memory(tmp_path: Path) -> None:
    size = index(tmp_path, 2, (entry(f"file_{number}.py".encode(), 2) for number in range(20_000)))
    assert peak(tmp_path) < 1.5 * size


def test_names_that_grow_with_every_entry_are_not_believed(tmp_path: Path) -> None:
    """100,000 such entries, 6 MB, have names of 5 GB."""
    size = index(tmp_path, 4, [entry(b"a.py", 4), *(entry(b"x", 4) for _ in range(10_000))])
    assert peak(tmp_path) < 3 * size
    assert unmodified(str(tmp_path), FILES) == set()


def test_more_entries_than_anybody_has_files_are_not_believed(tmp_path: Path) -> None:
    index(tmp_path, 4, [entry(b"a.py", 4), *[entry(b"", 4)] * MAX_ENTRIES])
    assert unmodified(str(tmp_path), FILES) == set()
