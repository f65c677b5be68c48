"""A build that a window has asked for goes on without that window while somebody else is on the workspace, and can be
cancelled in every other window."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.types import Implementation

from sidecar.surfaces.lsp.server import SharedService
from sidecar.surfaces.lsp.server import make_server as make_lsp
from sidecar.surfaces.mcp.server import make_server as make_mcp
from sidecar.tools.activity import ActivityParams
from sidecar.tools.service import Service
from sidecar.tools.sessions import Sessions
from tests.fakes import FakeWorkspace, FakeWorkspaces
from tests.patience import PATIENCE_S
from tests.surfaces.lsp_client import NO_ANSWER
from tests.surfaces.lsp_in_process import InProcessEditor

FILES = {f"src/module_{number}.py": f"def function_{number}():\n    pass\n" for number in range(3)}
ASK, CREATE = "window/showMessageRequest", "window/workDoneProgress/create"
EVERYWHERE = ActivityParams(everywhere=True)


class View(FakeWorkspaces):
    """What one session sees of the daemon's workspaces. Closing it leaves the workspace open. A call is validated when
    `go_on` is set."""

    def __init__(self, workspace: FakeWorkspace) -> None:
        super().__init__(workspace)
        self.validating, self.go_on = threading.Event(), threading.Event()
        self.go_on.set()

    def get(self, root: str) -> Any:
        self.validating.set()
        assert self.go_on.wait(PATIENCE_S)
        return super().get(root)

    def close(self) -> None:
        self.closed = True


class Daemon:
    """One process in which each session has a service of its own. Every build waits after its first file."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.reached, self.go_on = threading.Event(), threading.Event()
        self.workspace = FakeWorkspace(FILES, root=str(root), before_work=self._hold)
        self.sessions = Sessions()
        self.views: dict[str, View] = {}

    def _hold(self, path: str) -> None:
        if path != "src/module_0.py":
            self.reached.set()
            assert self.go_on.wait(PATIENCE_S)

    def service(self, name: str) -> Service:
        view = self.views[name] = View(self.workspace)
        return Service(view)

    async def window(
        self,
        name: str,
        *folders: Path,
        answer: Any = lambda params: params["actions"][0],
        creates: Any = lambda params: None,
    ) -> InProcessEditor:
        server = make_lsp(SharedService(self.service(name)), sessions=self.sessions)
        editor = InProcessEditor(server, {ASK: answer, CREATE: creates})
        await editor.start(*(folders or (self.root,)), name=name)
        return editor

    async def indexing(self, window: InProcessEditor) -> asyncio.Task[Any]:
        """Asks for an index in a window, and returns when the build waits."""
        call = asyncio.ensure_future(window.request("sidecar/createIndex", {}))
        assert await asyncio.to_thread(self.reached.wait, PATIENCE_S)
        return call

    async def ended(self, tool: str = "create_index") -> str:
        """Lets the build go on, and returns how the last call of the tool ended."""
        self.go_on.set()
        while True:
            calls = [call for call in self.sessions.activity(EVERYWHERE).entries if call.tool == tool]
            if calls and calls[-1].state not in ("running", "asking"):
                return str(calls[-1].state)
            await asyncio.sleep(0.01)


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    daemon = Daemon(tmp_path)
    yield daemon
    daemon.go_on.set()


async def test_a_build_goes_on_when_its_window_leaves_and_another_is_on_the_folder(daemon: Daemon) -> None:
    first, second = await daemon.window("First"), await daemon.window("Second")
    call = await daemon.indexing(first)
    await first.die()
    assert not daemon.views["First"].closed  # its settings stay in force for the build
    assert await daemon.ended() == "done"
    status = await second.expect_method("sidecar/status", lambda told: told["status"] == "ready")
    assert status["totalFiles"] == len(FILES)
    while not daemon.views["First"].closed:
        await asyncio.sleep(0.01)
    call.cancel()


async def test_a_build_goes_on_while_an_agent_is_on_the_folder(daemon: Daemon) -> None:
    window = await daemon.window("First")
    agent = Client(
        make_mcp(daemon.service("Agent"), str(daemon.root), sessions=daemon.sessions),
        mode="legacy",
        client_info=Implementation(name="Claude", version="7"),
    )
    async with agent:
        call = await daemon.indexing(window)
        await window.die()
        assert await daemon.ended() == "done"
    call.cancel()


async def test_a_build_ends_with_the_last_window(daemon: Daemon) -> None:
    first, second = await daemon.window("First"), await daemon.window("Second")
    call = await daemon.indexing(first)
    await first.die()
    await second.die()
    assert await daemon.ended() == "cancelled"
    assert not getattr(daemon.workspace, "stays_cancelled", False)
    call.cancel()


async def test_a_build_ends_when_the_last_other_window_leaves_the_folder(daemon: Daemon, tmp_path_factory: Any) -> None:
    first, second = await daemon.window("First"), await daemon.window("Second")
    call = await daemon.indexing(first)
    await first.die()
    removed = {"uri": daemon.root.as_uri(), "name": "gone"}
    second.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [], "removed": [removed]}})
    assert await daemon.ended() == "cancelled"
    call.cancel()


async def test_a_build_ends_with_its_window_where_the_others_have_other_folders(
    daemon: Daemon, tmp_path_factory: pytest.TempPathFactory
) -> None:
    first = await daemon.window("First")
    await daemon.window("Second", tmp_path_factory.mktemp("elsewhere"))
    call = await daemon.indexing(first)
    dying = asyncio.ensure_future(first.die())
    assert await daemon.ended() == "cancelled"
    await dying
    call.cancel()


async def test_a_question_goes_with_its_window_although_another_is_on_the_folder(daemon: Daemon) -> None:
    daemon.go_on.set()
    daemon.workspace.refresh(lambda *_: None, lambda: False)
    first = await daemon.window("First", answer=lambda params: NO_ANSWER)
    await daemon.window("Second")
    call = asyncio.ensure_future(first.request("sidecar/deleteIndex", {}))
    await first.expect_method(ASK)
    await first.die()
    assert daemon.workspace.status().status == "ready"
    assert daemon.views["First"].closed
    call.cancel()


async def test_what_nobody_was_asked_about_before_its_window_left_is_not_done(daemon: Daemon) -> None:
    daemon.go_on.set()
    daemon.workspace.refresh(lambda *_: None, lambda: False)
    asked: list[Any] = []
    first = await daemon.window("First")
    await daemon.window("Second", answer=lambda params: asked.append(params) or params["actions"][-1])
    view = daemon.views["First"]
    view.validating.clear()
    view.go_on.clear()
    call = asyncio.ensure_future(first.request("sidecar/deleteIndex", {}))
    assert await asyncio.to_thread(view.validating.wait, PATIENCE_S)
    await first.die()
    view.go_on.set()
    assert await daemon.ended("delete_index") == "cancelled"
    assert not asked
    assert daemon.workspace.status().status == "ready"
    call.cancel()


async def test_nothing_waits_for_an_answer_of_a_window_that_has_left(daemon: Daemon) -> None:
    first = await daemon.window("First", creates=lambda params: NO_ANSWER)
    await daemon.window("Second")
    call = await daemon.indexing(first)
    await first.expect_method(CREATE)
    await first.die()
    assert await daemon.ended() == "done"
    assert not [task for task in asyncio.all_tasks() if "WorkDone._open" in repr(task)]
    call.cancel()


async def test_a_build_is_cancelled_in_a_window_that_did_not_begin_it(daemon: Daemon) -> None:
    first, second = await daemon.window("First"), await daemon.window("Second")
    call = await daemon.indexing(first)
    cancelling = asyncio.ensure_future(second.request("sidecar/cancelIndexing", {}))
    while not getattr(daemon.workspace, "stays_cancelled", False):
        await asyncio.sleep(0.01)
    assert await daemon.ended() == "cancelled"
    assert await cancelling == {"cancelled": True}
    with pytest.raises(AssertionError, match="CANCELLED"):
        await call


async def test_where_nothing_is_built_there_is_nothing_to_cancel(daemon: Daemon) -> None:
    window = await daemon.window("First")
    assert await window.request("sidecar/cancelIndexing", {}) == {"cancelled": False}
