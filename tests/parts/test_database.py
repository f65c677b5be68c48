"""SQLite's errors as errors of ours."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from sidecar.errors import IndexCorrupt, IndexLocked, PermissionDenied
from sidecar.parts.database import (
    OpenedFile,
    blamed,
    connect,
    copy_database,
    file_id,
    find_fault,
    readable_rows,
    translated,
)
from sidecar.small_files import is_fresh, look_of
from tests.circumstances import as_somebody, without_descriptors
from tests.daemon.data_folder import eventually


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
    with pytest.raises(IndexCorrupt, match="Run `reindex_project`"):
        connect(path)


def test_a_file_whose_header_is_ahead_of_it_because_a_full_disk_ended_the_copying_of_its_journal_is_not_damaged(
    tmp_path: Path,
) -> None:
    path, copy = tmp_path / "a.sqlite", tmp_path / "copy.sqlite"
    writer = connect(path)
    writer.execute("PRAGMA application_id = 41")
    writer.execute("CREATE TABLE t(x)")
    writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    opened = OpenedFile(path)
    writer.executemany("INSERT INTO t VALUES(?)", [("word " * 500,)] * 20)
    copy_database(path, copy)
    with path.open("r+b") as first_page_only:
        first_page_only.write(copy.read_bytes()[:4096])
    opened.check()
    assert file_id(path) == 41
    assert writer.execute("SELECT count(*) FROM t").fetchone() == (20,)
    writer.close()
    path.write_bytes(copy.read_bytes()[:4096])  # and no journal that has the rest
    with pytest.raises(IndexCorrupt):
        file_id(path)


def test_a_folder_in_the_place_of_a_file_or_of_its_log_is_damage(tmp_path: Path) -> None:
    (tmp_path / "a.sqlite").mkdir()
    (tmp_path / "b.sqlite-wal").mkdir()
    for name in ("a.sqlite", "b.sqlite"):
        with pytest.raises(IndexCorrupt, match="Run `reindex_project`"):
            connect(tmp_path / name)


def test_what_a_damaged_file_makes_fail_is_blamed_on_the_file_and_nothing_else_is(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    connection = connect(path)
    connection.execute("CREATE TABLE t(x)")
    connection.executemany("INSERT INTO t VALUES(?)", [("word " * 500,)] * 20)
    connection.close()
    with pytest.raises(ZeroDivisionError), blamed(path):
        raise ZeroDivisionError
    held = path.read_bytes()
    path.write_bytes(held[: 2 * 4096] + bytes(4096) + held[3 * 4096 :])
    with pytest.raises(IndexCorrupt, match=r"a\.sqlite.*Run `reindex_project`"), blamed(path):
        raise ZeroDivisionError


class Counted(sqlite3.Connection):
    """Counts what it is asked."""

    asked = 0

    def execute(self, *statement: Any) -> sqlite3.Cursor:
        self.asked += 1
        return super().execute(*statement)


@pytest.mark.parametrize("content", [b"", b"no database" * 1000], ids=["without the table", "no database"])
def test_a_table_whose_definition_cannot_be_read_is_not_searched_key_by_key(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.sqlite"
    path.write_bytes(content)
    connection = sqlite3.connect(path, factory=Counted)
    assert list(readable_rows(connection, "poems", "id", "text")) == []
    assert connection.asked == 1
    connection.close()


def test_a_folder_that_is_not_there_is_no_damage(tmp_path: Path) -> None:
    with pytest.raises(PermissionDenied, match="unable to open"):
        connect(tmp_path / "missing" / "a.sqlite")


@pytest.mark.parametrize("place", ["missing/a.sqlite", "file/a.sqlite", "a.sqlite"])
def test_a_file_to_be_read_that_is_gone_with_or_without_its_folder_is_damage(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(IndexCorrupt, match=r"the file is gone\. Run `reindex_project`"):
        connect(tmp_path / place, readonly=True)
    with pytest.raises(IndexCorrupt, match=r"the file is gone\. Run `reindex_project`"):
        file_id(tmp_path / place)


def test_a_file_that_may_not_be_read_at_the_moment_is_not_said_to_be_damaged(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    folder = tmp_path / "index"
    folder.mkdir()
    path = folder / "a.sqlite"
    connect(path).close()
    folder.chmod(0)
    with as_somebody():
        assert find_fault(path, quick=True) == ""
    folder.chmod(0o755)
    with without_descriptors():
        assert find_fault(path, quick=True) == ""
    path.unlink()
    assert "unable to open" in find_fault(path, quick=True)


@pytest.mark.parametrize("settles", [False, True], ids=["just written", "written a while ago"])
def test_a_file_in_whose_place_another_has_come_is_damage_whatever_was_seen_before(
    tmp_path: Path, settles: bool
) -> None:
    mine, other = made(tmp_path / "mine.sqlite", 7), made(tmp_path / "other.sqlite", 8)
    opened = OpenedFile(mine)
    if settles:
        assert eventually(lambda: not is_fresh(look_of(mine)))
    opened.check()
    opened.check()
    mine.write_bytes(other.read_bytes())
    with pytest.raises(IndexCorrupt, match="another file has taken its place"):
        opened.check()


def made(path: Path, number: int) -> Path:
    connection = connect(path)
    connection.execute(f"PRAGMA application_id = {number}")
    connection.close()
    return path
