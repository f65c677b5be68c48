"""A program for tests: `sidecar serve` over a fake workspace. Tests start it as a process.

    python -m tests.surfaces.http_program --json --workspace DIR --stall FOLDER

Its build makes FOLDER/begun, waits until it is cancelled and makes FOLDER/cancelled.
"""

from __future__ import annotations

import argparse
import sys
import threading
from pathlib import Path

from sidecar.daemon.serve import serve
from sidecar.errors import Cancelled
from sidecar.model.answers import BuildReport
from sidecar.model.terms import IsCancelled, Progress
from sidecar.surfaces.cli.main import Serving
from sidecar.tools.service import Service
from tests.fakes import FakeWorkspace, FakeWorkspaces


class Stalling(FakeWorkspace):
    def __init__(self, root: str, folder: Path) -> None:
        super().__init__({"a.py": "def alpha():\n    pass\n"}, root=root)
        self._folder = folder

    def create(self, progress: Progress, cancelled: IsCancelled, from_snapshot: bool = True) -> BuildReport:
        (self._folder / "begun").touch()
        while not cancelled():
            threading.Event().wait(0.01)
        (self._folder / "cancelled").touch()
        raise Cancelled


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--workspace", required=True)
    parser.add_argument("--stall", required=True)
    chosen = parser.parse_args()
    workspace = Stalling(chosen.workspace, Path(chosen.stall))
    serving = Serving(chosen.workspace, "127.0.0.1", 0, "", chosen.json, sys.stdout, sys.stderr)
    return serve(Service(FakeWorkspaces(workspace)), serving)


if __name__ == "__main__":
    sys.exit(main())
