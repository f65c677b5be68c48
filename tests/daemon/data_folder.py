"""A test's own data folder with everything that may run in it: daemons, pipes and shells, all as real processes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

from sidecar import __version__
from sidecar.daemon.endpoint import Endpoint
from sidecar.lock_file import is_locked
from tests.patience import PATIENCE_S
from tests.surfaces.lsp_client import Failed, LspClient

ROOT = Path(__file__).resolve().parents[2]
SIDECAR = (sys.executable, "-m", "sidecar")
OLDER = (sys.executable, "-m", "tests.daemon.older")
HANDSHAKE, STATELESS = "legacy", "auto"


class DataFolder:
    """`env` is the environment of every process in it. It has no CI, so that daemons are used."""

    def __init__(self, home: Path, **more: str) -> None:
        self.home = home
        self.env = {
            **os.environ,
            "CI": "",
            "XDG_RUNTIME_DIR": "",
            "SIDECAR_HOME": str(home),
            "PYTHONPATH": str(ROOT),
            "SIDECAR_DAEMON_IDLE_MINUTES": "2",
            **more,
        }

    def run(
        self,
        *words: str,
        program: Sequence[str] = SIDECAR,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*program, *words],
            cwd=cwd or ROOT,
            env={**self.env, **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def lsp(self, *words: str, program: Sequence[str] = SIDECAR, **more: Any) -> LspClient:
        return LspClient([*program, "--stdio", *words], env=self.env, **more)

    def mcp(self, work: Path, era: str = HANDSHAKE, *, program: Sequence[str] = SIDECAR, **more: Any) -> Client:
        words = [*program[1:], "mcp", "--workspace", str(work)]
        return Client(StdioServerParameters(command=program[0], args=words, env=self.env), mode=era, **more)

    def status(self, program: Sequence[str] = SIDECAR) -> dict[str, Any]:
        status: dict[str, Any] = json.loads(self.run("daemon", "status", "--json", program=program).stdout)
        return status

    def pid(self, program: Sequence[str] = SIDECAR) -> int:
        pid = self.status(program)["pid"]
        assert isinstance(pid, int), "no daemon runs"
        return pid

    def kill(self) -> int:
        """Kills the daemon as the system would, and waits until it is gone. Returns its process id."""
        pid = self.pid()
        os.kill(pid, signal.SIGKILL)
        # Its sockets close with its last thread, its lock at the same time.
        assert eventually(lambda: not is_locked(Endpoint(self.home, __version__).lock))
        return pid

    def daemons(self) -> list[int]:
        return [pid for pid, words in self.processes().items() if words[-4:-2] == ["daemon", "run"]]

    def processes(self) -> dict[int, list[str]]:
        """Returns the command line of every living process whose environment names this data folder, by process id."""
        found: dict[int, list[str]] = {}
        mark = f"SIDECAR_HOME={self.home}\0".encode()
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (folder / "environ").read_bytes() and int(folder.name) != os.getpid():
                    found[int(folder.name)] = (folder / "cmdline").read_text().rstrip("\0").split("\0")
            except (OSError, ValueError):
                continue
        return found

    def clear(self) -> None:
        """Ends all remaining processes of this data folder."""
        for program in (SIDECAR, OLDER) if self.processes() else ():
            self.run("daemon", "stop", program=program)
        if not eventually(lambda: not self.processes()):
            left = self.processes()
            for pid in left:
                os.kill(pid, signal.SIGKILL)
            raise AssertionError(f"left running: {left}")


def eventually(holds: Callable[[], object], limit_s: float = PATIENCE_S) -> bool:
    """Returns whether the condition becomes true within the limit."""
    deadline = time.monotonic() + limit_s
    while not holds():
        if time.monotonic() > deadline:
            return False
        threading.Event().wait(0.02)
    return True


def alive(pid: int) -> bool:
    """A dead process that nobody has reaped yet is not alive."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def write_workspace(folder: Path, files: int = 3) -> Path:
    """Makes a project with `convert_unit_N` in file N."""
    (folder / ".git").mkdir(parents=True)
    for number in range(files):
        text = f"def convert_unit_{number}(value):\n    return value * {number}\n"
        (folder / f"unit{number}.py").write_text(text)
    return folder


async def call(agent: Client, tool: str, arguments: dict[str, Any]) -> Any:
    """Calls a tool as an agent does: a call that fails because the daemon ended is made again, as the failure says."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return await agent.call_tool(tool, arguments)
        except MCPError as error:
            if (error.error.data or {}).get("code") != "DAEMON_ENDED" or time.monotonic() > deadline:
                raise


def request(editor: LspClient, method: str, params: dict[str, Any] | None = None) -> Any:
    """Sends a request as an editor does, and sends it again if it fails because the daemon ended."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return editor.request(method, params or {})
        except Failed as error:
            if (error.body or {}).get("code") != "DAEMON_ENDED" or time.monotonic() > deadline:
                raise
