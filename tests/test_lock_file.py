"""A lock file is held by one at a time, ends with its holder, and tells what its holder wrote."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from sidecar.errors import PermissionDenied
from sidecar.lock_file import LockFile, is_locked

ROOT = Path(__file__).resolve().parents[1]
HOLD = """
import sys
from pathlib import Path
from sidecar.lock_file import LockFile
lock = LockFile(Path(sys.argv[1]))
print(lock.take(), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.lock"


def test_a_second_object_is_refused_until_the_first_releases(path: Path) -> None:
    first, second = LockFile(path), LockFile(path)
    assert (first.take(), first.take(), second.take()) == (True, True, False)
    assert (first.held, second.held, is_locked(path)) == (True, False, True)
    first.release()
    first.release()
    assert not is_locked(path)
    assert second.take()
    second.release()


def test_asking_makes_no_file_and_takes_no_text_away(path: Path) -> None:
    assert not is_locked(path)
    assert not path.exists()
    lock = LockFile(path)
    lock.take()
    lock.write("me")
    lock.release()
    assert not is_locked(path)
    assert path.read_bytes() == b"me"


def test_the_text_is_never_gone_while_it_is_replaced(path: Path) -> None:
    lock = LockFile(path)
    lock.take()
    lock.write("a long text")
    seen: set[bytes] = set()
    ended = threading.Event()

    def read() -> None:
        while not ended.is_set():
            seen.add(path.read_bytes())

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(2000):
        lock.write("short")
        lock.write("a long text")
    ended.set()
    reader.join()
    assert seen
    assert b"" not in seen
    lock.release()


def test_the_text_is_replaced_whole_and_others_read_it(path: Path) -> None:
    lock = LockFile(path)
    lock.take()
    lock.write("a long text")
    lock.write("short")
    assert path.read_bytes() == b"short"
    lock.release()


def test_a_file_that_was_deleted_is_not_the_current_one_and_a_new_one_can_be_locked(path: Path) -> None:
    old, new = LockFile(path), LockFile(path)
    old.take()
    assert old.is_current()
    path.unlink()
    assert not old.is_current()
    assert new.take()
    assert new.is_current()
    assert not old.is_current()
    old.release()
    new.release()


def test_a_link_is_no_lock_file_and_makes_way_for_one(path: Path) -> None:
    path.with_suffix(".target").write_text("kept")
    path.symlink_to(path.with_suffix(".target"))
    lock = LockFile(path)
    assert lock.take()
    lock.write("held")
    assert not path.is_symlink()
    assert path.with_suffix(".target").read_text() == "kept"
    lock.release()


def test_a_folder_makes_way_only_where_all_that_is_beside_it_can_be_made_again(path: Path) -> None:
    (path / "kept").mkdir(parents=True)
    with pytest.raises(PermissionDenied, match="Is a directory"):
        LockFile(path).take()
    assert (path / "kept").is_dir()
    lock = LockFile(path, replaces_folders=True)
    assert lock.take()
    assert path.is_file()
    lock.release()


def test_a_place_that_cannot_be_written_is_named_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(PermissionDenied, match="SIDECAR_HOME"):
        LockFile(tmp_path / "missing" / "a.lock").take()


@pytest.mark.process
def test_the_death_of_the_holder_releases_the_lock(path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"True\n"
        assert is_locked(path)
        holder.kill()
    assert not is_locked(path)
