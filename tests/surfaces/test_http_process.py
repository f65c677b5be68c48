"""The life of a `sidecar serve` process: its token, its address, callers that disconnect, its end."""

from __future__ import annotations

import http.client
import json
import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S
from tests.surfaces.http_client import Served, environment

pytestmark = pytest.mark.process

FAKE = ("-m", "tests.surfaces.http_program")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def served(work: Path, home: Path) -> Iterator[Served]:
    with Served(work, environment(home)) as served:
        yield served


def refused(work: Path, home: Path, *options: str) -> tuple[int, str]:
    """Returns exit status and output of a server that refuses to start."""
    command = [sys.executable, "-m", "sidecar", "serve", "--workspace", str(work), *options]
    done = subprocess.run(
        command, env=environment(home), capture_output=True, text=True, timeout=PATIENCE_S, check=False, cwd=work
    )
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    return done.returncode, done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_0_and_its_token_file_is_gone(served: Served, number: int) -> None:
    held = Path(served.announced["tokenFile"])
    assert stat.S_IMODE(held.stat().st_mode) == 0o600
    assert stat.S_IMODE(held.parent.stat().st_mode) == 0o700
    assert served.end(number) == (0, "")
    assert not held.exists()


def test_a_connection_that_stays_open_does_not_hold_up_the_end(served: Served) -> None:
    connection = served.connect()
    connection.request("GET", "/status", headers={"Authorization": f"Bearer {served.token}"})
    connection.getresponse().read()
    assert served.end() == (0, "")
    connection.close()


def test_a_person_is_told_where_it_listens_and_where_the_token_is_but_a_log_not_the_token(
    work: Path, home: Path
) -> None:
    command = [sys.executable, "-m", "sidecar", "serve", "--workspace", str(work)]
    with subprocess.Popen(
        command, env=environment(home), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as it:
        assert it.stderr is not None
        line = it.stderr.readline()
        [held] = (home / "serve").iterdir()
        assert f"http://127.0.0.1:{held.stem}" in line
        assert str(held) in line
        assert held.read_text().strip() not in line
        it.send_signal(signal.SIGTERM)
        assert it.communicate(timeout=PATIENCE_S) == ("", "")


def test_a_named_token_file_is_made_once_and_kept(work: Path, home: Path, tmp_path: Path) -> None:
    held = tmp_path / "token"
    tokens = []
    for _ in range(2):
        with Served(work, environment(home), ["--token-file", str(held)]) as served:
            tokens.append(served.token)
            assert served.get("/status").status == 200
            assert served.end()[0] == 0
    assert stat.S_IMODE(held.stat().st_mode) == 0o600
    assert tokens[0] == tokens[1] == held.read_text().strip()


def test_the_longest_query_fits_into_an_address_in_any_alphabet(work: Path, home: Path) -> None:
    """Each of these characters takes twelve bytes of an address."""
    (work / "a.py").write_text("def alpha():\n    pass\n")
    with Served(work, environment(home), ["--toolsets", "all"]) as served:
        assert served.post("create_index", answer="nobody").status == 200
        longest = "\N{MATHEMATICAL FRAKTUR CAPITAL U}" * 20_000
        assert served.get("/semantic/search", q=longest).status == 200
        refused = served.get("/semantic/search", q=longest + "x")
        assert (refused.status, refused.json["code"]) == (400, "INVALID_QUERY")


def test_a_port_that_is_taken_is_named(served: Served, work: Path, home: Path) -> None:
    port = served.host.rpartition(":")[2]
    status, err = refused(work, home, "--port", port)
    assert status == 2
    assert f"127.0.0.1:{port}" in err
    assert served.get("/status").status == 200


def test_a_workspace_that_is_not_there_is_refused(tmp_path: Path, home: Path, work: Path) -> None:
    status, err = refused(work, home, "-w", str(tmp_path / "missing"))
    assert status == 3
    assert "missing" in err


@pytest.fixture
def stalled(work: Path, home: Path, tmp_path: Path) -> Iterator[tuple[Served, http.client.HTTPConnection]]:
    """Yields a process whose build has begun and waits to be cancelled, and the connection of the waiting caller."""
    with Served(work, environment(home), ["--stall", str(tmp_path)], FAKE) as served:
        connection = served.connect()
        headers = {"Authorization": f"Bearer {served.token}", "Sidecar-Answer": "nobody"}
        connection.request("POST", "/tools/create_index", headers=headers)
        assert appears(tmp_path / "begun")
        yield served, connection
        connection.close()


def test_a_caller_that_goes_away_cancels_what_it_asked_for(
    stalled: tuple[Served, http.client.HTTPConnection], tmp_path: Path
) -> None:
    served, connection = stalled
    connection.close()
    assert appears(tmp_path / "cancelled")
    assert served.get("/status").status == 200


def test_the_end_of_the_process_cancels_what_is_under_way(
    stalled: tuple[Served, http.client.HTTPConnection], tmp_path: Path
) -> None:
    served, _ = stalled
    assert served.end()[0] == 0
    assert (tmp_path / "cancelled").exists()


def appears(path: Path) -> bool:
    """Returns whether the file appears in time."""
    return any(path.exists() or threading.Event().wait(0.02) for _ in range(1500))


def test_nothing_is_left_running_when_it_ends(served: Served, work: Path) -> None:
    (work / "a.py").write_text("def alpha():\n    return 1\n")
    assert served.post("create_index", answer="nobody").status == 200
    children = children_of(served.process.pid)
    assert served.end() == (0, "")
    assert [pid for pid in children if is_running(pid)] == []


def children_of(pid: int) -> list[int]:
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(word) for word in listed.stdout.split()]


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_json_is_one_line_for_a_script(served: Served, work: Path) -> None:
    assert set(served.announced) == {"url", "mcp", "tokenFile", "workspace", "pid"}
    assert served.announced["mcp"] == served.url + "/mcp"
    assert json.loads(json.dumps(served.announced["pid"])) == served.process.pid
    assert served.announced["workspace"] == str(work.resolve())
