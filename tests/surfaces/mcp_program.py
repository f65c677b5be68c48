"""A program for tests: `sidecar mcp` over a fake workspace. Tests start it as a process.

    python -m tests.surfaces.mcp_program [--workspace DIR] [--stall FILE] [--noise]

`--stall` makes a build report its process id as progress, wait until it is cancelled and then make FILE. `--noise`
prints to stdout and starts a child that does so too, while a build runs.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import threading
from pathlib import Path

from sidecar.model.answers import BuildReport
from sidecar.model.terms import IsCancelled, Progress
from sidecar.model.workspace import Workspace
from sidecar.surfaces.mcp import run_stdio
from sidecar.tools.service import Service
from tests.fakes import FakeWorkspace

FILES = {"src/retry.py": "def retry_with_backoff():\n    pass\n", "src/open.py": "def open_file():\n    pass\n"}


class StallingWorkspace(FakeWorkspace):
    """Its builds report the process id, and continue only when cancelled."""

    def __init__(self, root: str, cancelled: Path) -> None:
        super().__init__(FILES, root=root)
        self._cancelled = cancelled

    def create(self, progress: Progress, cancelled: IsCancelled, from_snapshot: bool = True) -> BuildReport:
        progress(1, 10, str(os.getpid()))
        while not cancelled():
            threading.Event().wait(0.01)
        self._cancelled.touch()
        return super().create(progress, cancelled)


class ByRoot:
    """`Workspaces` that makes one workspace of a given kind for each requested root."""

    def __init__(self, stall: str | None, noise: bool) -> None:
        self._stall = stall
        self._noise = noise
        self._opened: dict[str, FakeWorkspace] = {}

    def get(self, root: str) -> Workspace:
        if root not in self._opened:
            self._opened[root] = self._open(root)
        return self._opened[root]

    def problems(self, root: str) -> None:
        """Ignores the report: the workspace itself reports faults in its settings."""

    def close(self) -> None:
        for workspace in self._opened.values():
            workspace.close()

    def _open(self, root: str) -> FakeWorkspace:
        if self._stall:
            return StallingWorkspace(root, Path(self._stall))
        return FakeWorkspace(FILES, root=root, before_work=_noise if self._noise else lambda path: None)


def _noise(path: str) -> None:
    print("noise on stdout", path, flush=True)  # noqa: T201
    subprocess.run([sys.executable, "-c", "print('noise of a child')"], check=True)
    os.write(1, b"noise on the descriptor\n")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--workspace")
    parser.add_argument("--stall")
    parser.add_argument("--noise", action="store_true")
    chosen = parser.parse_args()
    return run_stdio(Service(ByRoot(chosen.stall, chosen.noise)), chosen.workspace)


if __name__ == "__main__":
    sys.exit(main())
