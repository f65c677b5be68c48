"""The handlers of each kind of session: the same objects that serve it without a daemon, over one shared engine."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from sidecar.daemon.handshake import Handshake
from sidecar.daemon.server import Welcome
from sidecar.daemon.shell_server import ShellSession
from sidecar.errors import ConfigInvalid, SidecarError
from sidecar.settings.load import load_settings
from sidecar.tools.assemble import make_service
from sidecar.tools.registry import DEFAULT_TOOLSETS
from sidecar.tools.service import Service
from sidecar.tools.sessions import Sessions
from sidecar.tools.shared import SharedEngine, View
from sidecar.tools.word import PERSON, Caller

logger = logging.getLogger("sidecar.daemon")
_IMPORTING = ThreadPoolExecutor(1, "importing")


class Handlers:
    """Each method serves one session. All sessions are registered in `sessions`."""

    def __init__(self, shared: SharedEngine, sessions: Sessions) -> None:
        self._shared = shared
        self._sessions = sessions

    async def lsp(self, connection: socket.socket, greeting: Handshake, welcome: Welcome) -> None:
        """Serves an editor."""
        run, server = await imported("sidecar.surfaces.lsp.run", "sidecar.surfaces.lsp.server")
        _check_flags(greeting)

        def service(editor: Mapping[str, object]) -> Service:
            return self._service(greeting, editor)

        await welcome()
        await run.serve_connection(connection, server.make_server(service, sessions=self._sessions))

    async def mcp(self, connection: socket.socket, greeting: Handshake, welcome: Welcome) -> None:
        """Serves an agent."""
        _check_flags(greeting)
        stdio, server = await imported("sidecar.surfaces.mcp.stdio", "sidecar.surfaces.mcp.server")
        service = self._service(greeting)
        try:
            made = server.make_server(
                service, greeting.workspace, working_directory=greeting.cwd, sessions=self._sessions
            )
            await welcome()
            await stdio.serve_connection(connection, made)
        finally:
            await asyncio.get_running_loop().run_in_executor(None, service.close)

    async def call(self, connection: socket.socket, greeting: Handshake, welcome: Welcome) -> None:
        """Serves a shell."""
        _check_flags(greeting)
        view = self._shared.open(greeting.flags, {}, greeting.env)
        service = self._service(greeting, view=view)
        session = self._sessions.attach("shell", "a shell", workspaces=[greeting.workspace or greeting.cwd])
        try:
            notes = _overruled(view, greeting)
            await welcome(notes=notes)
            caller = PERSON if greeting.terminal else Caller("script", yes=greeting.yes)
            await ShellSession(connection, service, session, caller, greeting.terminal and greeting.yes).serve()
        finally:
            session.detach()
            await asyncio.get_running_loop().run_in_executor(None, service.close)

    async def rest(self, connection: socket.socket, greeting: Handshake, welcome: Welcome) -> None:
        """Serves scripts on the listening socket that the client hands over, until the client closes its connection."""
        _check_flags(greeting)
        run, serve = await imported("sidecar.surfaces.http.run", "sidecar.daemon.serve")
        service = self._service(greeting)
        loop = asyncio.get_running_loop()
        try:
            workspace = await loop.run_in_executor(None, service.workspace, greeting.workspace or greeting.cwd)
            await welcome(root=workspace.root)
            connection.setblocking(True)
            listener, secret = await loop.run_in_executor(None, serve.receive_listener, connection)
            connection.setblocking(False)
            app = serve.application(service, workspace.root, listener, secret, self._sessions)
            await run.serve_until(app, listener, loop.sock_recv(connection, 1))
        finally:
            await loop.run_in_executor(None, service.close)

    def _service(
        self, greeting: Handshake, editor: Mapping[str, object] | None = None, view: View | None = None
    ) -> Service:
        return make_service(
            flags=greeting.flags,
            editor=editor,
            env=greeting.env,
            toolsets=greeting.toolsets,
            unset_toolsets=greeting.unset_toolsets or DEFAULT_TOOLSETS,
            engine=self._shared.open if view is None else lambda *_: view,
        )


async def imported(*names: str) -> list[Any]:
    """Imports modules in another thread, and returns them.

    A protocol's library takes half a second to import, and the event loop has to serve other sessions in that time. All
    imports use one thread: in two, Python fails to import modules that import one another.
    """
    import importlib

    return await asyncio.get_running_loop().run_in_executor(
        _IMPORTING, lambda: [importlib.import_module(name) for name in names]
    )


def _check_flags(greeting: Handshake) -> None:
    """Raises ConfigInvalid if an option has a value that is not allowed."""
    problems = load_settings(None, None, {}, {}, greeting.flags).problems
    if problems:
        raise ConfigInvalid(" ".join(problems))


def _overruled(view: View, greeting: Handshake) -> list[str]:
    """Returns one sentence for each variable of the client that has no effect because the workspace is already open.

    Raises ConfigInvalid for an option, because the person has just typed it.
    """
    if greeting.workspace is None:
        return []
    try:
        ignored = view.ignored(greeting.workspace)
    except SidecarError:
        return []  # the call itself reports the problem with this workspace
    held = "is open with {} in the daemon, for an attached editor or agent"
    for key, (own, other) in ignored.items():
        if key in greeting.flags:
            raise ConfigInvalid(
                f"--{key} {own} has no effect: the workspace {held.format(other)}. Close that one, or run"
                " sidecar daemon stop, and try again."
            )
    return [f"{key} is not {own} here: the workspace {held.format(other)}." for key, (own, other) in ignored.items()]
