"""How a daemon starts under difficulties: others start one too, dead ones have left files, folders are not
accessible."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from sidecar import __version__
from sidecar.daemon.endpoint import Endpoint
from tests.daemon.data_folder import OLDER, ROOT, SIDECAR, DataFolder, alive, eventually, write_workspace
from tests.patience import PATIENCE_S

ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: mounts a small disk, gives a folder away")


def handshake(data_folder: DataFolder, work: Path, program: Sequence[str] = SIDECAR) -> str:
    """Serves an agent up to its handshake. Returns the text written to standard error."""
    command = [*program, "mcp", "-w", str(work)]
    both = subprocess.PIPE
    with subprocess.Popen(command, env=data_folder.env, text=True, stdin=both, stdout=both, stderr=both) as pipe:
        assert pipe.stdin is not None
        assert pipe.stdout is not None
        pipe.stdin.write(json.dumps(INITIALIZE) + "\n")
        pipe.stdin.flush()
        answer = pipe.stdout.readline()
        _, stderr = pipe.communicate(timeout=PATIENCE_S)
    assert json.loads(answer)["result"]["serverInfo"]["name"] == "sidecar", stderr
    return stderr


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


async def test_twenty_pipes_started_at_once_leave_one_daemon(data_folder: DataFolder, work: Path) -> None:
    pipes = [
        await asyncio.create_subprocess_exec(
            *SIDECAR, "mcp", "-w", str(work),
            env=data_folder.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for _ in range(20)
    ]  # fmt: skip

    async def shake(pipe: asyncio.subprocess.Process) -> str:
        assert pipe.stdin is not None and pipe.stdout is not None
        pipe.stdin.write(json.dumps(INITIALIZE).encode() + b"\n")
        answer = json.loads(await asyncio.wait_for(pipe.stdout.readline(), PATIENCE_S))
        return str(answer["result"]["serverInfo"]["name"])

    assert await asyncio.gather(*map(shake, pipes)) == ["sidecar"] * 20
    assert len(data_folder.daemons()) == 1
    assert len(data_folder.status()["sessions"]) == 20
    for pipe in pipes:
        assert pipe.stdin is not None
        pipe.stdin.close()
    ended = await asyncio.gather(*(pipe.communicate() for pipe in pipes))
    assert [error for _, error in ended if error] == []
    assert [pipe.returncode for pipe in pipes] == [0] * 20


def test_the_socket_and_the_record_of_a_killed_daemon_are_in_nobodys_way(data_folder: DataFolder, work: Path) -> None:
    data_folder.run("daemon", "start")
    stale = data_folder.status()["socket"]
    killed = data_folder.kill()
    assert Path(stale).exists()
    assert data_folder.run("daemon", "status").stdout == "No daemon is running.\n"
    assert handshake(data_folder, work) == ""
    assert data_folder.pid() != killed


def test_a_record_of_a_process_that_is_another_one_by_now_is_not_believed(data_folder: DataFolder, work: Path) -> None:
    place = Endpoint(data_folder.home, __version__)
    place.folder.mkdir(mode=0o700)
    place.lock.write_text(
        json.dumps({"pid": os.getpid(), "socket": str(data_folder.home / "nothing"), "since": "long ago"})
    )
    assert data_folder.run("daemon", "status").returncode == 3
    assert data_folder.run("daemon", "stop").stdout == "No daemon is running.\n"
    assert handshake(data_folder, work) == ""
    assert data_folder.pid() != os.getpid()


def test_somebody_elses_socket_is_not_taken_for_a_daemon(data_folder: DataFolder, work: Path) -> None:
    place = Endpoint(data_folder.home, __version__)
    place.folder.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(place.folder / "other.sock"))
        record = {"pid": 1, "socket": str(place.folder / "other.sock"), "since": "now"}
        place.lock.write_text(json.dumps(record))
        assert handshake(data_folder, work) == ""


def test_a_lock_that_is_held_by_something_that_cannot_be_reached_is_said_in_one_line(
    data_folder: DataFolder, work: Path
) -> None:
    data_folder.run("daemon", "start")
    pid = data_folder.pid()
    Path(data_folder.status()["socket"]).unlink()
    stderr = handshake_while_hidden(data_folder, work, pid)
    assert stderr.count("\n") == 1
    assert stderr.startswith("sidecar: working without the daemon.")
    assert f"process {pid} holds" in stderr
    assert data_folder.run("daemon", "stop").stdout == f"The daemon has ended: process {pid}.\n"
    assert not alive(pid)


def handshake_while_hidden(data_folder: DataFolder, work: Path, pid: int) -> str:
    data_folder.env["SIDECAR_DAEMON_PATIENCE_S"] = "0.2"
    try:
        return handshake(data_folder, work)
    finally:
        del data_folder.env["SIDECAR_DAEMON_PATIENCE_S"]


@pytest.mark.usefixtures("indexed")
def test_an_upgraded_client_lets_the_old_daemon_go_and_takes_its_index(data_folder: DataFolder, work: Path) -> None:
    with data_folder.lsp(program=OLDER) as old:
        old.start(work)
        assert old.request("sidecar/getIndexStatus")["status"] == "ready"
        old_daemon = data_folder.pid(OLDER)
        assert handshake(data_folder, work) == ""
        assert eventually(lambda: not alive(old_daemon))
        assert data_folder.run("search", "convert_unit_1", cwd=work).returncode == 0
        assert data_folder.run("index", cwd=work).returncode == 0
        # The old editor continues: its next message starts a daemon of its own version, which only reads.
        assert old.request("sidecar/searchCode", {"query": "convert_unit_2"})["results"][0]["path"] == "unit2.py"
        assert data_folder.pid(OLDER) != data_folder.pid()
        assert old.stop() == 0


def test_two_data_folders_have_two_daemons(data_folder: DataFolder, work: Path, tmp_path: Path) -> None:
    other = DataFolder(tmp_path / "other")
    try:
        data_folder.run("daemon", "start")
        other.run("daemon", "start")
        assert data_folder.pid() != other.pid()
        assert data_folder.status()["home"] != other.status()["home"]
    finally:
        other.clear()


def test_every_process_of_a_home_finds_the_daemon_whatever_its_runtime_folder(data_folder: DataFolder) -> None:
    runtime = data_folder.home / "r"
    runtime.mkdir(mode=0o700)
    data_folder.run("daemon", "start", env={"XDG_RUNTIME_DIR": str(runtime)})
    status = data_folder.status()
    assert Path(status["socket"]).parent == runtime / "sidecar"
    assert (runtime / "sidecar").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("runtime", ["missing", "a file", "not absolute"])
def test_a_runtime_folder_that_is_none_is_passed_over(data_folder: DataFolder, tmp_path: Path, runtime: str) -> None:
    named = tmp_path / "runtime"
    if runtime == "a file":
        named.touch()
    done = data_folder.run(
        "daemon", "start", env={"XDG_RUNTIME_DIR": "run" if runtime == "not absolute" else str(named)}
    )
    assert done.returncode == 0
    assert Path(data_folder.status()["socket"]).parent == data_folder.home / "run"


@ROOT_ONLY
def test_a_runtime_folder_of_another_user_is_passed_over(data_folder: DataFolder, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    os.chown(foreign, 12345, 12345)
    assert data_folder.run("daemon", "start", env={"XDG_RUNTIME_DIR": str(foreign)}).returncode == 0
    assert Path(data_folder.status()["socket"]).parent == data_folder.home / "run"


def test_a_home_whose_path_is_too_long_for_a_socket_is_served(tmp_path: Path, work: Path) -> None:
    long = DataFolder(tmp_path / ("deep" * 20) / ("deeper" * 10))
    try:
        assert handshake(long, work) == ""
        socket_path = Path(long.status()["socket"])
        assert len(str(socket_path)) < 100
        assert socket_path.parent.stat().st_mode & 0o777 == 0o700
        assert long.run("daemon", "stop").returncode == 0
        assert not socket_path.exists()
    finally:
        long.clear()


def test_a_home_that_cannot_be_made_is_one_sentence_and_the_session_goes_on(
    data_folder: DataFolder, work: Path
) -> None:
    (data_folder.home / "file").touch()
    data_folder.env["SIDECAR_HOME"] = str(data_folder.home / "file" / "home")
    stderr = handshake(data_folder, work)
    assert stderr.count("\n") == 1
    assert "cannot be written" in stderr
    started = data_folder.run("daemon", "start")
    assert started.returncode != 0
    assert started.stderr.count("\n") == 1
    data_folder.env["SIDECAR_HOME"] = str(data_folder.home)


@ROOT_ONLY
def test_a_folder_of_another_user_in_the_place_of_ours_is_one_sentence(data_folder: DataFolder, work: Path) -> None:
    (data_folder.home / "run").mkdir()
    os.chown(data_folder.home / "run", 12345, 12345)
    stderr = handshake(data_folder, work)
    assert stderr.count("\n") == 1
    assert "is not a folder that belongs to you" in stderr
    assert data_folder.processes() == {}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mounts a full file system of one page."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k,mode=700", "none", str(disk)], check=False)
    if mounted.returncode != 0:
        pytest.skip("this system does not let us mount a small disk")
    try:
        with contextlib.suppress(OSError):
            (disk / "filler").write_bytes(b"x" * 8192)
        yield disk
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


@ROOT_ONLY
def test_a_full_disk_is_one_sentence_and_the_session_goes_on(small_disk: Path, work: Path) -> None:
    full = DataFolder(small_disk)
    try:
        stderr = handshake(full, work)
        assert stderr.count("\n") == 1
        assert "no space left on the disk. Free some space" in stderr
        assert full.processes() == {}
    finally:
        full.clear()


def test_a_home_without_file_locks_is_one_sentence_and_the_session_goes_on(data_folder: DataFolder, work: Path) -> None:
    without_locks = (sys.executable, str(ROOT / "tests" / "without_locks.py"), *SIDECAR)
    started = data_folder.run("daemon", "start", program=without_locks)
    if started.returncode == 77:
        pytest.skip("this system does not let us forbid locks")
    assert started.returncode == 7
    assert started.stderr.count("\n") == 1 and "has no locks. Set SIDECAR_HOME" in started.stderr
    stderr = handshake(data_folder, work, without_locks)
    assert stderr.count("\n") == 1 and "has no locks. Set SIDECAR_HOME" in stderr
    indexed = data_folder.run("index", "--quiet", program=without_locks, cwd=work)
    assert indexed.returncode == 8
    assert indexed.stderr.count("\n") == 1 and "has no locks. Set SIDECAR_HOME" in indexed.stderr
    assert data_folder.processes() == {}


def test_a_daemon_that_hangs_is_reported_by_its_process_and_ended_by_stop(data_folder: DataFolder, work: Path) -> None:
    data_folder.run("daemon", "start")
    pid = data_folder.pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        data_folder.env["SIDECAR_DAEMON_PATIENCE_S"] = "0.5"
        stderr = handshake(data_folder, work)
        assert f"The daemon (process {pid}) does not answer" in stderr
        assert data_folder.run("daemon", "stop").returncode == 0
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
    assert not alive(pid)


def test_the_workspace_may_hold_a_package_of_our_name(data_folder: DataFolder, tmp_path: Path) -> None:
    work = write_workspace(tmp_path / "w")
    (work / "sidecar").mkdir()
    (work / "sidecar" / "__init__.py").write_text("raise SystemExit('the wrong one')\n")
    (work / "json.py").write_text("raise SystemExit('the wrong one')\n")
    program = Path(OLDER[0]).with_name("sidecar")
    done = data_folder.run("start", program=(str(program), "daemon"), cwd=work)
    assert done.returncode == 0, done.stderr
