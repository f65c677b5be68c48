"""Another user of the machine holds connections to the real processes open, and clients with the token are still
served."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sidecar.surfaces.loopback.admission import MOST_UNKNOWN
from tests.daemon.data_folder import ROOT, SIDECAR, DataFolder, eventually, request
from tests.patience import PATIENCE_S
from tests.surfaces.http_client import Served

FEW_DESCRIPTORS = ("prlimit", "--nofile=1024:1024", *SIDECAR)
ATTACKER = (sys.executable, str(ROOT / "tests" / "daemon" / "attacker.py"))


class Attack:
    """A running attacker."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def still_open(self) -> int:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline().split()[0])


@contextmanager
def attack(host: str, connections: int) -> Iterator[Attack]:
    """Begins when all connections have been tried."""
    address, _, port = host.rpartition(":")
    command = [*ATTACKER, address, port, str(connections)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield Attack(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(PATIENCE_S)


def finds(served: Served, query: str) -> list[str]:
    answer = served.get("/code/search", q=query, mode="fts")
    assert answer.status == 200, answer.body
    return [hit["path"] for hit in answer.json["results"]]


@pytest.mark.usefixtures("indexed")
@pytest.mark.parametrize("connections", [256, 1100])
def test_idle_connections_of_another_user_take_nothing_from_who_has_the_token(
    data_folder: DataFolder, work: Path, connections: int
) -> None:
    assert data_folder.run("daemon", "start", program=FEW_DESCRIPTORS).returncode == 0
    with Served(work, data_folder.env) as served, attack(served.host, connections) as strangers:
        assert "unit1.py" in finds(served, "convert_unit_1")
        assert strangers.still_open() <= MOST_UNKNOWN
        (work / "saved.py").write_text("def saved_while_under_attack():\n    pass\n")
        assert eventually(lambda: "saved.py" in finds(served, "saved_while_under_attack"))
        with data_folder.lsp() as editor:
            editor.start(work)
            assert editor.request("sidecar/getIndexStatus")["status"] == "ready"
        assert data_folder.run("search", "convert_unit_2", cwd=work).returncode == 0


@pytest.mark.usefixtures("indexed")
def test_connections_of_our_own_leave_the_index_its_descriptors(data_folder: DataFolder, work: Path) -> None:
    data_folder.run("daemon", "start", program=("prlimit", "--nofile=256:256", *SIDECAR))
    path = data_folder.status()["socket"]
    with data_folder.lsp() as editor, contextlib.ExitStack() as held:
        editor.start(work)
        served = 0
        for _ in range(300):
            connection = held.enter_context(socket.socket(socket.AF_UNIX))
            connection.connect(path)
            connection.settimeout(30)
            with contextlib.suppress(OSError):
                connection.sendall(b'{"kind": "control"}\n')
                served += bool(connection.recv(100))
        assert 100 < served < 256 - 256 // 4
        (work / "saved.py").write_text("def saved_while_it_is_crowded():\n    pass\n")

        def found() -> bool:
            answer = request(editor, "sidecar/searchCode", {"query": "saved_while_it_is_crowded", "mode": "fts"})
            return "saved.py" in [hit["path"] for hit in answer["results"]]

        assert eventually(found)
    assert eventually(lambda: data_folder.status()["running"])


def test_a_connection_that_shows_no_token_is_closed_after_a_while(data_folder: DataFolder, work: Path) -> None:
    with Served(work, data_folder.env) as served, attack(served.host, 4) as strangers:
        assert strangers.still_open() == 4
        assert eventually(lambda: strangers.still_open() == 0)
        assert served.get("/status").status == 200


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: becomes another user")
def test_another_user_who_gets_at_the_socket_is_not_served(data_folder: DataFolder) -> None:
    """Folders are closed to other users; this test is about a folder whose permissions somebody has changed."""
    data_folder.run("daemon", "start")
    path = Path(data_folder.status()["socket"])
    for opened in (path, *path.parents[:-1]):
        if not opened.stat().st_mode & 0o001:
            opened.chmod(0o777)
    asks = """
import os, socket
os.setuid(65534)
connection = socket.socket(socket.AF_UNIX)
connection.connect(os.environ["AT"])
try:
    connection.sendall(b'{"kind": "control"}\\n')
    print(connection.recv(4096) or "not served")
except OSError:
    print("not served")
"""
    answer = subprocess.run(
        [sys.executable, "-c", asks],
        env={**data_folder.env, "AT": str(path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.stdout == "not served\n", answer
    assert data_folder.status()["running"] is True
