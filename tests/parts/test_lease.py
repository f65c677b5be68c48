"""The lease is exclusive between processes and objects, ends with its holder, and names its holder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.errors import IndexLocked, PermissionDenied
from sidecar.lock_file import LockFile
from sidecar.parts.lease import Lease

HOLD = """
import sys
from pathlib import Path
from sidecar.parts.lease import Lease
lease = Lease(Path(sys.argv[1]))
lease.acquire()
print("held", flush=True)
sys.stdin.read()
lease.release()
print("released", flush=True)
sys.stdin.read()
"""
DIE_AND_LEAVE_A_CHILD = """
import os, sys
from pathlib import Path
from sidecar.parts.lease import Lease
lease = Lease(Path(sys.argv[1]))
lease.acquire()
if os.fork():
    print("held", flush=True)
    os.kill(os.getpid(), 9)
sys.stdin.read()
"""
PROJECT = Path(__file__).resolve().parents[2]


@pytest.fixture
def other(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Yields another process that holds the lease on `tmp_path / "index"`."""
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    command = [sys.executable, "-c", HOLD, str(tmp_path / "index")]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"held\n"
        yield running
        running.kill()


@pytest.mark.process
def test_another_process_is_refused_and_told_who_holds_it(tmp_path: Path, other: subprocess.Popen[bytes]) -> None:
    lease = Lease(tmp_path / "index")
    with pytest.raises(IndexLocked, match=f"Process {other.pid} ") as caught:
        lease.acquire(timeout=0.1)
    assert caught.value.facts["pid"] == other.pid
    assert caught.value.facts["since"].endswith("+00:00")
    assert not lease.held


@pytest.mark.process
@pytest.mark.parametrize(
    ("words", "named", "ending"),
    [
        (["daemon", "run"], "sidecar daemon", "`sidecar daemon stop` ends it"),
        (["index", "private"], "sidecar index", "`kill "),
        (["-w", "private", "index"], "sidecar", "`kill "),
        (["-w", "private", "--stdio"], "sidecar --stdio", "`kill "),
    ],
)
def test_who_holds_it_is_named_by_its_command_and_with_what_ends_it(
    tmp_path: Path, words: list[str], named: str, ending: str
) -> None:
    program = tmp_path / "sidecar"
    program.write_text(HOLD.replace("sys.argv[1]", "sys.argv.pop()"))
    command = [sys.executable, str(program), *words, str(tmp_path / "index")]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"held\n"
        with pytest.raises(IndexLocked) as caught:
            Lease(tmp_path / "index").acquire()
        running.kill()
    assert f"Process {running.pid} ({named}) has had it open since " in caught.value.detail
    assert ending in caught.value.detail
    assert "private" not in caught.value.detail


@pytest.mark.process
def test_a_lock_that_only_a_child_of_the_dead_holder_has_left_is_waited_for(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    command = [sys.executable, "-c", DIE_AND_LEAVE_A_CHILD, str(tmp_path / "index")]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdin is not None and holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        holder.wait()
        lease = Lease(tmp_path / "index")
        taking = threading.Thread(target=lease.acquire)
        taking.start()
        assert not lease.held
        holder.stdin.close()
        taking.join()
        assert lease.held
        lease.release()


@pytest.mark.process
def test_the_death_of_the_holder_frees_it(tmp_path: Path, other: subprocess.Popen[bytes]) -> None:
    other.kill()
    other.wait()
    with Lease(tmp_path / "index") as lease:
        assert lease.held


@pytest.mark.process
def test_whoever_waits_gets_it_when_it_is_released(tmp_path: Path, other: subprocess.Popen[bytes]) -> None:
    assert other.stdin is not None
    other.stdin.close()
    lease = Lease(tmp_path / "index")
    lease.acquire(timeout=30)
    assert lease.held
    lease.release()


def test_a_second_object_in_the_same_process_is_refused_until_the_first_releases(tmp_path: Path) -> None:
    first, second = Lease(tmp_path), Lease(tmp_path)
    first.acquire()
    first.acquire()
    with pytest.raises(IndexLocked, match="This process already"):
        second.acquire()
    first.release()
    first.release()
    second.acquire()
    assert (first.held, second.held) == (False, True)
    second.release()


def test_a_directory_that_was_deleted_and_made_again_has_a_lock_of_its_own(tmp_path: Path) -> None:
    old = Lease(tmp_path / "index")
    old.acquire()
    shutil.rmtree(tmp_path / "index")
    with Lease(tmp_path / "index") as new:
        assert new.held
    old.release()


def test_what_is_written_in_the_file_does_not_count(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text('{"pid": 1, "since": "now"}')
    with Lease(tmp_path), pytest.raises(IndexLocked):
        Lease(tmp_path).acquire()


def test_a_holder_that_left_no_readable_name_is_still_reported(tmp_path: Path) -> None:
    with Lease(tmp_path):
        (tmp_path / "lock").write_bytes(b"\xff")
        with pytest.raises(IndexLocked, match="Another process has it open; use that one"):
            Lease(tmp_path, patience_s=0.1).acquire()


def test_a_holder_that_has_just_taken_it_is_named_as_soon_as_it_has_written_its_name(tmp_path: Path) -> None:
    path = tmp_path / "index" / "lock"
    path.parent.mkdir()
    held = LockFile(path)
    assert held.take()
    named = json.dumps({"pid": os.getppid(), "since": "2026-01-02T03:04:05+00:00", "command": "sidecar daemon"})

    with pytest.raises(IndexLocked, match="sidecar daemon stop") as caught:
        Lease(tmp_path / "index", pause=lambda _: held.write(named)).acquire()
    assert caught.value.facts["pid"] == os.getppid()


def test_a_holder_that_has_taken_its_name_out_is_about_to_release_it(tmp_path: Path) -> None:
    path = tmp_path / "index" / "lock"
    path.parent.mkdir()
    held = LockFile(path)
    assert held.take()

    lease = Lease(tmp_path / "index", pause=lambda _: held.release())
    lease.acquire()
    assert lease.held


def test_a_place_that_cannot_be_written_is_permission_denied_and_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(PermissionDenied, match="SIDECAR_HOME"):
        Lease(tmp_path / "file").acquire()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="permissions do not bind root")
def test_a_read_only_directory_is_permission_denied(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionDenied):
        Lease(tmp_path).acquire()


@pytest.mark.process
def test_a_file_system_without_locks_is_named_and_not_taken_for_another_process(tmp_path: Path) -> None:
    command = [sys.executable, str(PROJECT / "tests" / "without_locks.py"), sys.executable, "-c", HOLD, str(tmp_path)]
    ended = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(PROJECT)}, capture_output=True, text=True, check=False
    )
    if ended.returncode == 77:
        pytest.skip("this system does not let us forbid locks")
    message = ended.stderr.strip().splitlines()[-1]
    assert "PermissionDenied" in message
    assert "its file system has no locks" in message and "SIDECAR_HOME" in message
