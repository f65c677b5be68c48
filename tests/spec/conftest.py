"""`drive`: one test body on every door, each with the real program on a small real git repository of its own.

Each door but `direct` is used as its users have it, through a daemon, which belongs to the door's data folder. How a
door works without one is tested in `tests/surfaces`.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import importlib
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.patience import PATIENCE_S
from tests.spec import doors
from tests.spec.doors import Answer

ROOT = Path(__file__).resolve().parents[2]
WITH_A_DAEMON = {
    "CI": "",
    "XDG_RUNTIME_DIR": "",
    "PYTHONPATH": str(ROOT),
    "SIDECAR_DAEMON_PATIENCE_S": str(PATIENCE_S),
}
DOORS = ("direct", "cli", "lsp", "mcp", "mcp_stateless", "rest")
"""Modules of `tests/spec/doors`. To test a door, add its name here."""

FILES = {
    "src/network.py": '''\
"""Connections."""


def open_connection(host, port):
    """Open a TCP socket and retry with growing pauses when the server refuses."""
    for pause in (1, 2, 4):
        sock = try_connect(host, port)
        if sock is not None:
            return sock
        sleep_seconds(pause)
    raise ConnectionError(host)
''',
    "src/parser.py": '''\
"""Settings."""


def parse_settings_file(path):
    """Read an INI file into a dictionary of sections."""
    sections = {}
    for line in path.read_text().splitlines():
        if line.startswith("["):
            sections[line.strip("[]")] = {}
    return sections
''',
    "src/matrix.ts": "export function determinant(rows: number[][]) {\n  return eliminate(rows).product();\n}\n",
    "tools/report.py": 'def write_report(rows):\n    """Write a table of totals as CSV."""\n    return rows\n',
    "docs/logging.md": "# Logging\n\nSet the level with LOG_LEVEL. Messages go to standard error.\n",
    "notes.txt": "Release checklist: bump the version, tag, publish.\n",
    ".gitignore": "ignored/\n",
    "ignored/skipped.py": "def never_indexed():\n    pass\n",
}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out variants on all doors but the first."""
    left_out = [item for item in items if is_left_out(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if not is_left_out(item)]


def is_left_out(item: pytest.Item) -> bool:
    """Returns whether the test is a variant on another door than the first."""
    if item.get_closest_marker("variant") is None or not isinstance(item, pytest.Function):
        return False
    return DOORS[0] not in item.callspec.params.values()


class Drive:
    """An open door in an event loop of its own, so that tests can use plain calls."""

    def __init__(
        self,
        name: str,
        workspace: Path,
        home: Path,
        extra_env: dict[str, str] | None = None,
        *,
        ends_daemon: bool = True,
    ) -> None:
        self.name = name
        self.workspace = workspace
        self.home = home
        self._indexed = False
        self._ends_daemon = ends_daemon and name != "direct"
        self._env = env = {**os.environ, **WITH_A_DAEMON, "SIDECAR_HOME": str(home), **(extra_env or {})}
        if self._ends_daemon:
            self._daemon("start")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=f"door-{name}", daemon=True)
        self._thread.start()
        self._stop = asyncio.Event()
        opened: concurrent.futures.Future[doors.Door] = concurrent.futures.Future()
        door_class = importlib.import_module(f"tests.spec.doors.{name}").Door
        self._life = asyncio.run_coroutine_threadsafe(self._live(door_class(workspace, env), opened), self._loop)
        self._door = opened.result(PATIENCE_S)

    async def _live(self, door: doors.Door, opened: concurrent.futures.Future[doors.Door]) -> None:
        """Enters and leaves the door in one task, as task groups require."""
        try:
            async with door:
                opened.set_result(door)
                await self._stop.wait()
        except BaseException as error:
            if not opened.done():
                opened.set_exception(error)
            raise

    def close(self) -> None:
        """Ends the door. Ending it twice is allowed."""
        if self._loop.is_closed():
            return
        self._loop.call_soon_threadsafe(self._stop.set)
        try:
            self._life.result(PATIENCE_S)
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
            if self._ends_daemon:
                self._daemon("stop")

    @property
    def open(self) -> bool:
        return not self._loop.is_closed()

    def _daemon(self, word: str) -> None:
        command = [sys.executable, "-m", "sidecar", "daemon", word]
        subprocess.run(command, env=self._env, check=True, capture_output=True, timeout=PATIENCE_S)

    def __call__(self, tool: str, answer: Answer | None = None, **arguments: Any) -> dict[str, Any]:
        result = self.begin(tool, answer, **arguments).result(PATIENCE_S)
        if tool in ("create_index", "delete_index") and result["status"] != "cancelled":
            self._indexed = tool == "create_index"
        return result

    def begin(
        self, tool: str, answer: Answer | None = None, **arguments: Any
    ) -> concurrent.futures.Future[dict[str, Any]]:
        """Starts the call, and returns it while it runs."""
        return asyncio.run_coroutine_threadsafe(self._door.call(tool, arguments, answer), self._loop)

    def with_index(self) -> Drive:
        if not self._indexed:
            self("create_index", "accept")
        return self

    def without_index(self) -> Drive:
        if self._indexed:
            self("delete_index", "accept")
        return self

    def write(self, path: str, text: str) -> None:
        file = self.workspace / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def make_repository(folder: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    git = ["git", "-c", "user.name=T", "-c", "user.email=t@example.org", "-C", str(folder)]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "first"], check=True)
    return folder


@pytest.fixture(scope="session")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every door's workspace is a copy of this one, which is never indexed itself."""
    return make_repository(tmp_path_factory.mktemp("repository"), FILES)


@pytest.fixture(scope="module", params=DOORS)
def drive(
    request: pytest.FixtureRequest, repository: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Drive]:
    """One open door per module, with a workspace and a data folder of its own."""
    folder = tmp_path_factory.mktemp(request.param)
    shutil.copytree(repository, folder / "work")
    drive = Drive(request.param, folder / "work", folder / "home")
    yield drive
    drive.close()


@pytest.fixture
def another(drive: Drive, tmp_path: Path) -> Iterator[Callable[..., Drive]]:
    """Opens a second door of the same kind: `another(files)`, `another(env={...})`, `another(like=drive)`."""
    opened: list[Drive] = []

    def open_door(
        files: dict[str, str] | None = None, env: dict[str, str] | None = None, like: Drive | None = None
    ) -> Drive:
        workspace = like.workspace if like else make_repository(tmp_path / f"work{len(opened)}", files or FILES)
        home = like.home if like else tmp_path / f"home{len(opened)}"
        opened.append(Drive(drive.name, workspace, home, env, ends_daemon=like is None or not like.open))
        return opened[-1]

    yield open_door
    for door in opened:
        door.close()
