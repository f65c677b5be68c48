"""Nothing leaves the machine and nothing is written outside of our folders, however long a door stays open.

`test_network.py` does everything that sidecar can do; here each door is used and then kept open for a minute, because
libraries report home on a timer, and under a tracer, because they do it in native code.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.network_tour import in_empty_network
from tests.patience import PATIENCE_S
from tests.tracing import Deed, Trace, traced, why_not

ROOT = Path(__file__).resolve().parents[1]
KEPT_OPEN_S = 60
pytestmark = [
    pytest.mark.process,
    pytest.mark.slow,
    pytest.mark.e2e,
    pytest.mark.skipif(bool(why_not()), reason=why_not()),
]


def everyday(folder: Path) -> dict[str, str]:
    """Returns the environment of a new user, without the variables by which libraries recognise a build server, because
    some send nothing there."""
    places = {
        "HOME": "home",
        "XDG_CACHE_HOME": "home/cache",
        "XDG_CONFIG_HOME": "home/config",
        "XDG_DATA_HOME": "home/data",
        "XDG_STATE_HOME": "home/state",
        "XDG_RUNTIME_DIR": "run",
        "TMPDIR": "tmp",
    }
    for place in places.values():
        (folder / place).mkdir(parents=True, mode=0o700)
    mine = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT)}
    return {**mine, **{name: str(folder / place) for name, place in places.items()}}


def workspace(folder: Path) -> Path:
    """Makes enough files, one of them large, to need the process that prepares files."""
    (folder / ".git").mkdir(parents=True)
    (folder / "connection.py").write_text("def open_socket(host):\n    return connect(host, 80)\n", "utf-8")
    (folder / "README.md").write_text("# How to configure\n\nSet the host.\n", "utf-8")
    rows = [f"def read_row_{n}(table):\n    return table[{n}]\n\n" for n in range(2500)]
    (folder / "rows.py").write_text("".join(rows), "utf-8")
    for number, row in enumerate(rows[:50]):
        (folder / f"row_{number}.py").write_text(row, "utf-8")
    return folder


def outside(written: Iterable[Deed], *ours: Path) -> list[str]:
    """Returns what was written outside of `ours`, except Python's compiled files beside its sources and the nameless
    files in which SQLite sorts."""
    usual = ("/dev/null", "/dev/tty", "/__pycache__", "/tmp/etilqs_")
    elsewhere = [deed for deed in written if not any(Path(deed.what).is_relative_to(folder) for folder in ours)]
    return sorted({str(deed) for deed in elsewhere if not any(name in deed.what for name in usual)})


@pytest.fixture(scope="module")
def kept_open(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Trace]:
    folder = tmp_path_factory.mktemp("kept-open")
    env = everyday(folder)
    work, homes = workspace(folder / "work"), folder / "homes"
    line = [sys.executable, "-m", "tests.kept_open", str(work), str(homes), str(KEPT_OPEN_S)]
    return folder, traced(line, folder / "trace", ROOT, env, 2 * PATIENCE_S)


def test_every_door_and_every_worker_is_watched(kept_open: tuple[Path, Trace]) -> None:
    doors = (
        "--stdio",
        "--stdio --offline --standalone",
        "--tcp 127.0.0.1:0 --standalone",
        "mcp",
        "mcp --offline --standalone",
        "serve --json",
        "serve --json --share",
        "daemon run",
    )
    workers = ("vectors.chroma_worker", "engine.ingest.worker")
    for kind in (*(f"-m sidecar {words}" for words in doors), *workers):
        assert any(kind in command for command in kept_open[1].commands), kind


def test_no_door_that_is_open_for_a_minute_asks_a_network(kept_open: tuple[Path, Trace]) -> None:
    assert [str(deed) for deed in kept_open[1].asked] == []


def test_no_door_that_is_open_for_a_minute_writes_outside_of_our_folders(kept_open: tuple[Path, Trace]) -> None:
    folder, trace = kept_open
    ours = (folder / "home" / "data" / "sidecar", folder / "homes", folder / "run" / "sidecar")
    assert outside(trace.written, *ours) == []


def test_the_watcher_sees_what_native_code_threads_and_grandchildren_do(tmp_path: Path) -> None:
    program = (
        "import contextlib, ctypes, os, socket, subprocess, sys, threading\n"
        "from pathlib import Path\n"
        "def report():\n"
        "    ctypes.CDLL(None).getaddrinfo(b'telemetry.invalid', None, None, ctypes.byref(ctypes.c_void_p()))\n"
        "    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect_ex(('127.0.0.1', 9))\n"
        "    with contextlib.suppress(OSError):\n"
        "        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'', ('192.0.2.1', 9))\n"
        "    socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).connect_ex(('2001:db8::1', 9))\n"
        "    os.mkdir('device')\n"
        "    Path(os.environ['HOME'], 'id').write_text('1')\n"
        "thread = threading.Thread(target=report)\n"
        "if sys.argv[1:]:\n"
        "    subprocess.run([sys.executable, '-c', sys.argv[1]])\n"
        "else:\n"
        "    thread.start()\n"
    )
    home = tmp_path / "home"
    home.mkdir()
    env = {"PATH": os.environ["PATH"], "HOME": str(home)}
    line = [*in_empty_network(), sys.executable, "-c", program, program]
    trace = traced(line, tmp_path / "trace", home, env, 60)
    asked = {deed.what for deed in trace.asked if deed.command.startswith(f"{sys.executable} -c")}
    assert {"sendto to 192.0.2.1 port 9", "connect to 2001:db8::1 port 9"} <= asked
    assert any(what.startswith("a name looked up") for what in asked)
    assert not any("127.0.0.1 port 9" in what for what in asked)
    assert [line.partition(" (by")[0] for line in outside(trace.written)] == [str(home / "id"), "device"]
