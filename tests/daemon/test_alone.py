"""If no daemon can be reached or started, for whatever reason, sessions are served all the same, within bounded time,
and say so."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sidecar import __version__
from sidecar.daemon.endpoint import Endpoint
from tests.daemon.conftest import made_data_folder, written_anew
from tests.daemon.data_folder import SIDECAR, DataFolder, request
from tests.daemon.test_death import edit, opened
from tests.daemon.test_start import INITIALIZE, handshake
from tests.patience import PATIENCE_S
from tests.surfaces.http_client import Served


def place_of(data_folder: DataFolder) -> Endpoint:
    return Endpoint(data_folder.home, __version__)


@contextmanager
def a_folder_for_a_lock(data_folder: DataFolder) -> Iterator[None]:
    place_of(data_folder).lock.unlink()
    place_of(data_folder).lock.mkdir()
    yield
    place_of(data_folder).lock.rmdir()


@contextmanager
def somebody_starts_it_forever(data_folder: DataFolder) -> Iterator[None]:
    with place_of(data_folder).starting.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


@contextmanager
def a_daemon_that_hangs(data_folder: DataFolder) -> Iterator[None]:
    data_folder.run("daemon", "start")
    pid = data_folder.pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@contextmanager
def something_else_answers(data_folder: DataFolder, answer: bytes) -> Iterator[None]:
    path = place_of(data_folder).folder / "other.sock"
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        other.listen()

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = other.accept()
                    with connection:
                        connection.recv(65536)
                        connection.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        place_of(data_folder).lock.write_text(json.dumps({"pid": 1, "socket": str(path), "since": "now"}))
        yield
        other.shutdown(socket.SHUT_RDWR)
    place_of(data_folder).lock.write_text("")


OBSTACLES: dict[str, Callable[[DataFolder], contextlib.AbstractContextManager[None]]] = {
    "a folder for a lock": a_folder_for_a_lock,
    "somebody starts it forever": somebody_starts_it_forever,
    "a daemon that hangs": a_daemon_that_hangs,
    "something else answers text": lambda data_folder: something_else_answers(data_folder, b"220 mail\n"),
    "something else answers JSON": lambda data_folder: something_else_answers(data_folder, b"7\n"),
    "something else answers an odd error": lambda data_folder: something_else_answers(data_folder, b'{"error": 7}\n'),
}


@pytest.fixture(scope="module")
def greeted_folder(indexed_home: Path, place: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a data folder that served an agent before, so its daemon's answer to `initialize` is stored."""
    with made_data_folder() as data_folder:
        shutil.copytree(indexed_home, data_folder.home, dirs_exist_ok=True)
        assert handshake(data_folder, written_anew(place)) == ""
        data_folder.run("daemon", "stop")
        assert list(place_of(data_folder).folder.glob("hello-*"))
        return shutil.copytree(data_folder.home, tmp_path_factory.mktemp("greeted") / "home")


@pytest.fixture
def greeted(data_folder: DataFolder, greeted_folder: Path) -> DataFolder:
    """A data folder with a copy of that data folder."""
    shutil.copytree(greeted_folder, data_folder.home, dirs_exist_ok=True)
    data_folder.env["SIDECAR_DAEMON_PATIENCE_S"] = "1"
    return data_folder


def ask(data_folder: DataFolder, work: Path) -> tuple[list[dict[str, Any]], str]:
    """Does an agent's handshake and first search. Returns the answer, and the text written to standard error."""
    asked = {"name": "search_code", "arguments": {"query": "convert_unit_1"}}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked}
    begun = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*SIDECAR, "mcp", "-w", str(work)], env=data_folder.env, text=True, **streams) as agent:  # type: ignore[call-overload]
        answers = []
        for messages in ([INITIALIZE], [begun, call]):
            agent.stdin.write("".join(json.dumps(message) + "\n" for message in messages))
            agent.stdin.flush()
            answers.append(json.loads(agent.stdout.readline()))
        _, stderr = agent.communicate(timeout=PATIENCE_S)
    return answers, stderr


@pytest.mark.parametrize("obstacle", OBSTACLES)
def test_an_agent_is_served_without_a_daemon_whatever_is_in_its_way(
    greeted: DataFolder, work: Path, obstacle: str
) -> None:
    with OBSTACLES[obstacle](greeted):
        (hello, found), stderr = ask(greeted, work)
    assert hello["result"]["serverInfo"]["name"] == "sidecar"
    assert "error" not in found, found
    assert found["result"]["structuredContent"]["results"][0]["path"] == "unit1.py"
    assert stderr.count("\n") == 1, stderr
    assert stderr.startswith("sidecar: working without the daemon.")


@pytest.mark.parametrize("kept", [b'{"2025-06-18": {}}', b"\xff"])  # test_replay.py has more, without a process
def test_what_is_kept_of_former_handshakes_may_be_anything(greeted: DataFolder, work: Path, kept: bytes) -> None:
    (hello,) = place_of(greeted).folder.glob("hello-*")
    hello.write_bytes(kept)
    with a_folder_for_a_lock(greeted):
        (first, found), _ = ask(greeted, work)
    assert first["result"]["serverInfo"]["name"] == "sidecar"
    assert found["result"]["structuredContent"]["results"][0]["path"] == "unit1.py"


@pytest.mark.usefixtures("indexed")
def test_an_editor_whose_daemon_died_for_good_keeps_its_session_and_its_unsaved_text(
    data_folder: DataFolder, work: Path
) -> None:
    with data_folder.lsp() as editor:
        editor.start(work)
        editor.notify("textDocument/didOpen", opened(work, "unit0.py", (work / "unit0.py").read_text()))
        editor.notify("textDocument/didChange", edit(work, "unit0.py", 2, 0, "def only_in_the_buffer():\n    pass\n"))
        assert (
            request(editor, "sidecar/searchCode", {"query": "only_in_the_buffer"})["results"][0]["path"] == "unit0.py"
        )
        place_of(data_folder).starting.unlink(missing_ok=True)
        place_of(data_folder).starting.mkdir()
        data_folder.kill()
        assert (
            request(editor, "sidecar/searchCode", {"query": "only_in_the_buffer"})["results"][0]["path"] == "unit0.py"
        )
        assert data_folder.daemons() == []
        assert editor.stop() == 0
    place_of(data_folder).starting.rmdir()


@pytest.mark.usefixtures("indexed")
def test_a_script_whose_daemon_died_for_good_is_served(data_folder: DataFolder, work: Path) -> None:
    with Served(work, data_folder.env) as served:
        assert served.get("/code/search", q="convert_unit_1").status == 200
        place_of(data_folder).starting.unlink(missing_ok=True)
        place_of(data_folder).starting.mkdir()
        data_folder.kill()
        assert served.get("/code/search", q="convert_unit_1").json["results"][0]["path"] == "unit1.py"
        status, stderr = served.end()
    assert status == 0
    assert "working without the daemon" in stderr
    place_of(data_folder).starting.rmdir()


@pytest.mark.parametrize("obstacle", ["a daemon that hangs", "something else answers text"])
def test_a_shell_works_without_a_daemon_that_is_none(greeted: DataFolder, work: Path, obstacle: str) -> None:
    with OBSTACLES[obstacle](greeted):
        found = greeted.run("search", "convert_unit_1", cwd=work)
    assert found.returncode == 0, found.stderr
    assert "unit1.py" in found.stdout
    assert "sidecar: working without the daemon." in found.stderr
