"""SQLite's errors in our words."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from sidecar.errors import IndexCorrupt, IndexLocked, PermissionDenied
from sidecar.parts.database import OwnFile, connect, translated


def test_a_file_that_another_writes_is_locked_and_not_corrupt(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    writer = connect(path)
    writer.execute("CREATE TABLE t(x)")
    writer.execute("BEGIN IMMEDIATE")
    other = sqlite3.connect(path, timeout=0, isolation_level=None)
    with pytest.raises(IndexLocked, match="another process"), translated(path):
        other.execute("BEGIN IMMEDIATE")
    other.close()
    writer.close()


def test_a_damaged_file_says_what_may_be_done_about_it(tmp_path: Path) -> None:
    path = tmp_path / "{odd}.sqlite"
    path.write_bytes(b"no database" * 1000)
    with pytest.raises(IndexCorrupt, match="Run reindex_project"):
        connect(path)
    poems = OwnFile(path, ("PRAGMA user_version = 1",), "poems")
    with pytest.raises(IndexCorrupt, match=r"The poems in .*\{odd\}\.sqlite cannot be read"), poems.reading():
        pass


def test_a_folder_that_is_not_there_is_no_damage(tmp_path: Path) -> None:
    with pytest.raises(PermissionDenied, match="unable to open"):
        connect(tmp_path / "missing" / "a.sqlite")
