"""Decides which folder a call concerns: `--workspace`, otherwise the client's roots, otherwise the project of the
working directory."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp.types import ListRootsRequest, ListRootsResult
from pydantic import ValidationError

from sidecar import shown
from sidecar.errors import WorkspaceNotFound
from sidecar.logs import client_log
from sidecar.parts.paths import find_project_root

ROOTS_TIMEOUT_SECONDS = 5.0


class Places:
    """Finds the workspace of a call.

    With `remember` a client's answer is kept until its roots change. That is right if one process serves one client
    (stdio), and wrong if one server object serves many (HTTP).
    """

    def __init__(self, fixed: str | None, working_directory: str, *, remember: bool) -> None:
        self._fixed = fixed
        self._working_directory = working_directory
        self._remember = remember
        self._known: str | None = None

    def forget(self) -> None:
        """Forgets the client's answer, because its roots have changed."""
        self._known = None

    def without_asking(self, ctx: ServerRequestContext[Any]) -> str | None:
        """Returns the workspace, or None if the client must be asked for its roots. Raises the errors of `choose`."""
        if self._fixed is not None:
            return self._fixed
        if self._known is not None:
            return self._known
        capabilities = ctx.session.client_capabilities
        if capabilities is None or capabilities.roots is None:
            return self.choose([])
        return None

    async def ask(self, ctx: ServerRequestContext[Any]) -> str:
        """Asks a client with a handshake for its roots and returns the workspace.

        A client that does not answer counts as having no roots. Raises the errors of `choose`.
        """
        uris: list[str] = []
        try:
            async with asyncio.timeout(ROOTS_TIMEOUT_SECONDS):
                answer = await ctx.session.send_request(
                    ListRootsRequest(), ListRootsResult, metadata=ServerMessageMetadata(ctx.request_id)
                )
            uris = [str(root.uri) for root in answer.roots]
        except (MCPError, ValidationError, TimeoutError) as error:
            client_log("sidecar.mcp", ctx.session).warning("the client did not list its roots: %s", error)
        chosen = self.choose(uris)
        if self._remember:
            self._known = chosen
        return chosen

    def choose(self, uris: list[str]) -> str:
        """Returns the root that contains the working directory, otherwise the first root that is a folder.

        Without roots, it is the project of the working directory. Raises WorkspaceNotFound if that is the home
        directory or a whole disk, because nobody asked for such a folder.
        """
        folders = [folder for uri in uris if (folder := folder_of(uri)) is not None]
        here = Path(self._working_directory)
        for folder in folders:
            if here.is_relative_to(folder):
                return str(folder)
        if folders:
            return str(folders[0])
        if not self._working_directory:
            raise WorkspaceNotFound(
                "The folder in which this server was started no longer exists. Start it in a project folder or "
                "with --workspace DIR."
            )
        project = Path(find_project_root(self._working_directory))
        if project == Path(project.anchor) or project == _home():
            raise WorkspaceNotFound(
                f"Nobody said which folder to search, and this server was started in {shown.quoted(str(project))}. "
                "Start it in a project folder or with --workspace DIR."
            )
        return str(project)


def folder_of(uri: str) -> Path | None:
    """Returns the existing folder of this machine that a file URI names, otherwise None.

    Clients also send relative URIs (`file:src`, `file://./src`); those mean nothing in another process.
    """
    try:
        parts = urlsplit(uri)
        folder = Path(url2pathname(parts.path))
        is_ours = parts.scheme == "file" and parts.netloc in ("", "localhost") and folder.is_absolute()
        return folder if is_ours and folder.is_dir() else None
    except (OSError, ValueError):
        return None


def _home() -> Path | None:
    try:
        return Path.home().resolve()
    except (OSError, RuntimeError):
        return None
