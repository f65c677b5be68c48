"""A disk that fills up while indexing: a clear error, nothing lost, and indexing that goes on once there is room."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.errors import DiskFull
from sidecar.parts.database import connect, find_fault
from tests.engine.disks import mounted
from tests.engine.kills import WORDS
from tests.engine.projects import Project, find, image, index

pytestmark = pytest.mark.process


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with mounted(tmp_path, "1500k") as folder:
        yield folder


def test_a_full_disk_is_said_and_indexing_goes_on_when_there_is_room(project: Project, small_disk: Path) -> None:
    words = random.Random(5)
    for number in range(400):
        body = "\n".join(
            f"    {words.choice(WORDS)} = {words.choice(WORDS)}_{words.randrange(10**6)}" for _ in range(60)
        )
        project.write(f"src/many/m{number}.py", f"def f{number}():\n{body}\n")
    project.home, roomy = small_disk, project.home
    workspace = project.open()
    with pytest.raises(DiskFull, match="Free some space"):
        index(workspace)
    assert workspace.status().status == "failed"
    assert "space" in workspace.status().warning
    subprocess.run(["mount", "-o", "remount,size=200m", small_disk], check=True)
    index(workspace)
    assert workspace.status().status == "ready"
    assert find(workspace, "expire cookies")
    after = image(workspace)
    project.close()
    project.home = roomy
    fresh = project.open()
    index(fresh)
    assert image(fresh) == after


def test_wherever_a_full_disk_ends_the_first_index_no_file_of_it_counts_as_damaged(
    project: Project, small_disk: Path
) -> None:
    """With the same process going on, and with another one in its place."""
    project.home, project.prepares_here = small_disk, True
    for kilobytes in (20, *range(92, 172, 16)):
        for goes_on in (True, False):
            subprocess.run(["mount", "-o", f"remount,size={kilobytes}k", small_disk], check=True)
            workspace = project.open()
            with pytest.raises(DiskFull, match="Free some space"):
                index(workspace)
            subprocess.run(["mount", "-o", "remount,size=200m", small_disk], check=True)
            if not goes_on:
                project.close()
                workspace = project.open()
            assert (index(workspace).notice, workspace.status().status) == ("", "ready"), (kilobytes, goes_on)
            assert find(workspace, "expire cookies")
            project.close()
            for left in small_disk.iterdir():
                shutil.rmtree(left)


def test_a_file_on_a_full_disk_is_not_damaged(small_disk: Path) -> None:
    path = small_disk / "memories.sqlite"
    connection = connect(path)
    connection.execute("CREATE TABLE t(x)")
    connection.close()
    subprocess.run(["mount", "-o", "remount,size=8k", small_disk], check=True)
    with pytest.raises(DiskFull, match="Free some space"):
        connect(path).execute("SELECT * FROM t")
    assert find_fault(path) == ""
    subprocess.run(["mount", "-o", "remount,size=1m", small_disk], check=True)
    assert connect(path).execute("SELECT count(*) FROM t").fetchone() == (0,)
