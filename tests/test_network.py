"""Only `sidecar models download` uses a network, unless the user has named a server; with `offline` nothing does.

Everything that sidecar does is done under two observers. An audit hook in every Python process, isolated ones included,
records each connection and each name lookup. If the system lets an empty network be made, the kernel's count of packets
without a route is read too, which native code cannot avoid. Each command ends within seconds, and most run as on a
build server. `test_nothing_leaves.py` looks for what libraries send later, and only when they are not on a build
server.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.installed import environment
from tests.network_tour import in_empty_network
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parents[1]

# Written into the environment's site-packages, which `python -I` reads too. An audit hook cannot be removed.
HOOK = """
import os, sys
log = os.open({log!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
LOCAL = ("127.", "::1", "localhost", "None", "")
def note(event, what):
    os.write(log, repr((event, what, sys.orig_argv)).encode() + b"\\n")
def hook(event, args):
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        address = args[1]
        host = address[0] if isinstance(address, tuple) else None  # None: a Unix socket, or none given
        if host is not None and not str(host).startswith(LOCAL[:2]) and str(host) not in LOCAL:
            note(event, address)
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        host = args[0].decode() if isinstance(args[0], bytes) else str(args[0])
        if not host.startswith(LOCAL[:2]) and host not in LOCAL:
            note(event, host)
sys.addaudithook(hook)
note("start", None)
"""


class Watched(NamedTuple):
    """Returns a Python whose processes all record in `log` what they ask of a network."""

    python: str
    log: Path
    work: Path
    home: Path

    def tour(self, *words: str, **more: str) -> dict[str, int]:
        """Returns the kernel's counts; empty if it was not asked."""
        self.log.write_text("", "utf-8")
        prefix = in_empty_network()
        line = [*prefix, sys.executable, "-m", "tests.network_tour", self.python, str(self.work), *words]
        env = environment(ROOT, self.home, TOUR_ALONE="1" if prefix else "0", **more)
        done = subprocess.run(line, cwd=ROOT, env=env, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        counted = json.loads(done.stdout.splitlines()[-1])
        assert isinstance(counted, dict)
        return counted

    def noted(self) -> tuple[list[str], list[str]]:
        """Returns what was asked of a network, and the processes that were watched."""
        lines = self.log.read_text("utf-8").splitlines()
        started = [line for line in lines if line.startswith("('start'")]
        return [line for line in lines if line not in started], started


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Watched:
    folder = tmp_path_factory.mktemp("watched")
    venv.create(folder / "env", symlinks=os.name != "nt")
    site = Path(sysconfig.get_path("purelib", vars={"base": str(folder / "env"), "platbase": str(folder / "env")}))
    (site / "real.pth").write_text(f"{sysconfig.get_path('purelib')}\n{ROOT}\n", "utf-8")
    (site / "sitecustomize.py").write_text(HOOK.format(log=str(folder / "log")), "utf-8")
    work = folder / "work"
    (work / ".git").mkdir(parents=True)
    (work / "socket.py").write_text("def open_socket(host):\n    return connect(host, 80)\n", "utf-8")
    (work / "README.md").write_text("# How to configure\n\nSet the host.\n", "utf-8")
    python = folder / "env" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    return Watched(str(python), folder / "log", work, folder / "home")


@pytest.mark.slow
@pytest.mark.e2e
@pytest.mark.parametrize("offline", [True, False])
def test_nothing_that_sidecar_does_touches_a_network(watched: Watched, offline: bool) -> None:
    counted = watched.tour(**({"SIDECAR_OFFLINE": "1"} if offline else {}))
    asked, started = watched.noted()
    assert asked == []
    assert set(counted.values()) <= {0}, counted
    for kind in ("chroma_worker", "'mcp'", "'--stdio'", "'serve'", "'daemon', 'run'", "'doctor'", "'search'"):
        assert any(kind in process for process in started), kind


@pytest.mark.parametrize("source", ["https://models.invalid", "https://192.0.2.1"])
def test_the_watchers_see_a_download_that_is_tried(watched: Watched, source: str) -> None:
    words = ("only", "models", "download", "bge-small-en-v1.5")
    counted = watched.tour(*words, SIDECAR_MODELS_SOURCE=source)
    asked, _ = watched.noted()
    assert any(source.removeprefix("https://") in line for line in asked)
    assert not counted or sum(counted.values()) > 0


@pytest.mark.parametrize("how", ["environment", "flag"])
def test_with_offline_not_even_a_download_is_tried(watched: Watched, how: str) -> None:
    words = ("only", "models", "download", "bge-small-en-v1.5", *(["--offline"] if how == "flag" else []))
    counted = watched.tour(*words, **({"SIDECAR_OFFLINE": "1"} if how == "environment" else {}))
    assert watched.noted()[0] == []
    assert set(counted.values()) <= {0}


SERVERS = {
    "a vector store": {"SIDECAR_VECTOR_STORE": "https://192.0.2.1", "SIDECAR_VECTOR_MEMORY_MEGABYTES": "0"},
    "shared vectors": {"SIDECAR_SHARED_VECTORS": "https://192.0.2.2", "SIDECAR_SHARED_VECTORS_KEY": "k" * 30},
    "shared vectors in Chroma": {
        "SIDECAR_SHARED_VECTORS": "chroma+https://192.0.2.3",
        "SIDECAR_SHARED_VECTORS_KEY": "k" * 30,
    },
}
SLOW = {"SIDECAR_MODEL": "minilm-code-int8", "SIDECAR_TWO_STAGE": "false"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", SERVERS)
def test_a_server_that_the_user_has_named_is_asked_by_its_own_door_alone(kind: str, watched: Watched) -> None:
    shutil.rmtree(watched.home, ignore_errors=True)
    more = {**SERVERS[kind], **(SLOW if "shared" in kind else {})}
    watched.tour("only", "index", "--yes", **more)
    asked, _ = watched.noted()
    server = next(value for name, value in more.items() if "://" in value).rpartition("/")[2]
    assert asked
    assert all(server in line for line in asked), asked
    by_chroma = ["server_worker" in line for line in asked]
    assert all(by_chroma) if kind != "shared vectors" else not any(by_chroma)


@pytest.mark.slow
@pytest.mark.parametrize("kind", SERVERS)
def test_with_offline_no_server_elsewhere_is_asked(kind: str, watched: Watched) -> None:
    shutil.rmtree(watched.home, ignore_errors=True)
    more = {**SERVERS[kind], **(SLOW if "shared" in kind else {}), "SIDECAR_OFFLINE": "1"}
    counted = watched.tour("only", "index", "--yes", **more)
    assert watched.noted()[0] == []
    assert set(counted.values()) <= {0}


def test_the_http_client_is_loaded_by_a_download_alone(tmp_path: Path) -> None:
    code = (
        "import io, sys, contextlib\n"
        "from sidecar.surfaces.cli.main import main\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):\n"
        "    main(sys.argv[1:])\n"
        "print('httpx2' in sys.modules)"
    )
    for words, loaded in (
        (["models"], "False"),
        (["models", "download", "bge-small-en-v1.5", "--offline"], "False"),
        (["models", "download", "bge-small-en-v1.5"], "True"),
    ):
        env = environment(ROOT, tmp_path, SIDECAR_MODELS_SOURCE="https://192.0.2.1", HTTPS_PROXY="http://127.0.0.1:9")
        line = [sys.executable, "-c", code, *words]
        done = subprocess.run(line, cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == loaded
