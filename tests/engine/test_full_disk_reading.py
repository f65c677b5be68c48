"""A whole index on a disk without a free byte: it is searched, its status says what is wrong, and nothing is lost."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.errors import DiskFull
from sidecar.model.terms import never_cancelled
from sidecar.parts.lease import Lease
from tests.engine.disks import mounted
from tests.engine.projects import Project, find, image, index

pytestmark = pytest.mark.process
FULL = "is full, so the index is not kept up to date"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with mounted(tmp_path, "20m") as folder:
        yield folder


def fill(folder: Path) -> None:
    """Writes a file until no byte is left."""
    with (folder / "filler").open("ab", buffering=0) as filler:
        for size in (1 << 16, 1):
            with contextlib.suppress(OSError):
                while filler.write(os.urandom(size)):
                    pass
    assert shutil.disk_usage(folder).free == 0


def make_room(folder: Path) -> None:
    (folder / "filler").unlink()


def test_an_index_on_a_full_disk_is_searched_and_written_again_when_there_is_room(
    project: Project, small_disk: Path
) -> None:
    project.home = small_disk
    workspace = project.open()
    index(workspace)
    expected = find(workspace, "expire cookies")
    before = image(workspace)
    project.close()
    fill(small_disk)
    workspace = project.open()
    assert find(workspace, "expire cookies") == expected
    status = workspace.status()
    assert (status.status, status.files, status.embedded_chunks) == ("ready", 6, 6)
    assert FULL in status.warning
    with pytest.raises(DiskFull, match="Free some space"):
        index(workspace)
    assert find(workspace, "expire cookies") == expected
    assert "Free some space" in workspace.status().warning
    make_room(small_disk)
    assert find(workspace, "expire cookies") == expected
    assert FULL not in workspace.status().warning
    assert image(workspace) == before
    project.write("src/fresh.py", "def unpack_zebra_crate():\n    return 1\n")
    index(workspace)
    assert "src/fresh.py" in find(workspace, "unpack zebra crate")


def test_an_open_index_is_searched_after_its_disk_has_become_full(project: Project, small_disk: Path) -> None:
    project.home = small_disk
    workspace = project.open()
    index(workspace)
    expected = find(workspace, "expire cookies")
    fill(small_disk)
    project.write("src/fresh.py", "def unpack_zebra_crate():\n    return 1\n" * 2000)
    with pytest.raises(DiskFull, match="Free some space"):
        index(workspace)
    assert find(workspace, "expire cookies") == expected
    assert workspace.status().behind
    assert "space" in workspace.status().warning
    make_room(small_disk)
    index(workspace)
    assert "src/fresh.py" in find(workspace, "unpack zebra crate")
    assert "space" not in workspace.status().warning


def test_what_a_killed_process_has_left_on_a_full_disk_is_searched_too(project: Project, small_disk: Path) -> None:
    """Its journals hold the last commits."""
    project.home = small_disk
    workspace = project.open()
    index(workspace)
    expected = find(workspace, "expire cookies")
    kept = shutil.copytree(small_disk, project.root.with_name("kept"))
    project.close()
    for left in small_disk.iterdir():
        shutil.rmtree(left)
    shutil.copytree(kept, small_disk, dirs_exist_ok=True)
    assert list(small_disk.rglob("*-wal"))
    fill(small_disk)
    workspace = project.open()
    assert find(workspace, "expire cookies") == expected
    assert FULL in workspace.status().warning
    make_room(small_disk)
    assert find(workspace, "expire cookies") == expected
    assert FULL not in workspace.status().warning


def test_who_read_beside_a_writer_on_a_full_disk_sees_what_is_written_once_there_is_room(
    project: Project, small_disk: Path
) -> None:
    project.home = small_disk
    index(project.open())
    project.close()
    (lock,) = small_disk.rglob("lock")
    writers = Lease(lock.parent)
    writers.acquire()
    with contextlib.closing(sqlite3.connect(small_disk / "vectors" / "vectors.sqlite")) as others:
        # Another index has the shared vectors open, so they are opened as always.
        others.execute("SELECT count(*) FROM sqlite_master").fetchone()
        fill(small_disk)
        reader = project.open()
        assert find(reader, "expire cookies")
        writers.release()
        make_room(small_disk)
        project.write("src/fresh.py", "def unpack_zebra_crate():\n    return 1\n")
        index(project.open())
        assert "src/fresh.py" in find(reader, "unpack zebra crate")


def test_memories_on_a_full_disk_are_read(project: Project, small_disk: Path) -> None:
    project.home = small_disk
    workspace = project.open()
    saved, _ = workspace.memories.save("zebra", "", "Zebras are unpacked by hand.", [])
    project.close()
    fill(small_disk)
    memories = project.open().memories
    assert memories.get("zebra") == saved
    assert [hit.memory for hit in memories.search("unpack", 5, 0, "", never_cancelled).hits] == [saved]
    with pytest.raises(DiskFull, match="Free some space"):
        memories.save("lion", "", "Lions too." * 1000, [])
    assert memories.get("zebra")
    make_room(small_disk)
    memories.save("lion", "", "Lions too.", [])
    assert memories.get("lion")
