"""The LSP door as a process of its own, over fake workspaces that read the real folder they are given.

    python -m tests.surfaces.lsp_fake_server [--tcp] [--question-timeout SECONDS]

A file named ENDLESS in the folder makes builds run until they are cancelled; one named BROKEN makes the workspace raise
an exception that is no error of sidecar's; NOISY makes searches print. A file STAYS is made when the workspace learns
that a person has cancelled the build.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

from pydantic import TypeAdapter

from sidecar.errors import Cancelled, WorkspaceNotFound
from sidecar.model.answers import BuildReport, PathsAnswer, SearchAnswer, SearchRequest
from sidecar.model.terms import IsCancelled, Progress
from sidecar.model.workspace import Workspace
from sidecar.surfaces.lsp.run import run_stdio
from sidecar.surfaces.lsp.tcp import run_tcp
from sidecar.tools.service import Service
from sidecar.tools.word import Confirm
from tests.fakes import FakeWorkspace


class FolderWorkspace(FakeWorkspace):
    """A fake over the files of a folder, with the switches that the module's docstring describes."""

    def __init__(self, root: str) -> None:
        broken = ZeroDivisionError("secret /path") if Path(root, "BROKEN").exists() else None
        super().__init__(root=root, broken=broken)

    def create(self, progress: Progress, cancelled: IsCancelled, from_snapshot: bool = True) -> BuildReport:
        self.files = _files(self.root)
        if Path(self.root, "ENDLESS").exists():
            progress(1, 10, "waiting")
            while not cancelled():
                threading.Event().wait(0.005)
            raise Cancelled()
        return super().create(progress, cancelled)

    def stay_cancelled(self) -> None:
        Path(self.root, "STAYS").touch()

    def search(self, request: SearchRequest, cancelled: IsCancelled) -> SearchAnswer:
        if Path(self.root, "NOISY").exists():
            sys.stdout.write("a library prints\n")
            os.write(1, b"and writes to fd 1\n")
        return super().search(request, cancelled)

    def find_paths(self, pattern: str, limit: int) -> PathsAnswer:
        if pattern == "buffers":  # lets a test see the editor's current text
            return PathsAnswer(tuple(f"{path}={json.dumps(text)}" for path, text in sorted(self.buffers.items())), 0)
        if pattern == "open files":
            return PathsAnswer(tuple(self.open_files), 0)
        return super().find_paths(pattern, limit)


class FolderWorkspaces:
    def __init__(self) -> None:
        self._open: dict[str, FolderWorkspace] = {}
        self._lock = threading.Lock()

    def get(self, root: str) -> Workspace:
        if not Path(root).is_dir():
            raise WorkspaceNotFound(f"{root} is not a folder.")
        with self._lock:
            return self._open.setdefault(root, FolderWorkspace(root))

    def problems(self, root: str) -> None:
        """Ignores the report: the workspace itself reports faults in its settings."""

    def close(self) -> None:
        sys.stderr.write("the engine is closed\n")


def _files(root: str) -> dict[str, str]:
    return {path.relative_to(root).as_posix(): path.read_text() for path in Path(root).rglob("*") if path.is_file()}


def make(settings: Mapping[str, object]) -> Service:
    policy = TypeAdapter(Confirm).validate_python(settings.get("confirm", "auto"))
    return Service(FolderWorkspaces(), confirm=policy)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--tcp", action="store_true")
    parser.add_argument("--question-timeout", type=float, default=120.0)
    options = parser.parse_args()
    if options.tcp:
        sys.exit(run_tcp(make, "127.0.0.1", 0, question_timeout_s=options.question_timeout))
    sys.exit(run_stdio(make, question_timeout_s=options.question_timeout))
