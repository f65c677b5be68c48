"""The LSP methods that a client may call, by name. Each takes the raw parameters; other modules do the work."""

from __future__ import annotations

from typing import Any, Protocol

from lsprotocol import types

from sidecar.surfaces.lsp.buffers import Buffers
from sidecar.surfaces.lsp.calls import ToolCalls
from sidecar.surfaces.lsp.editor_client import Stops
from sidecar.surfaces.lsp.envelope import named, text
from sidecar.surfaces.lsp.protocol import Method

OWN = "sidecar/"
ACTIVITY = "sidecar/activity"
ANSWER = "sidecar/answer"


class LspSession(Protocol):
    """The session, as the methods call it."""

    buffers: Buffers
    calls: ToolCalls
    stops: Stops

    def initialize(self, params: dict[str, Any]) -> types.InitializeResult:
        """Answers `initialize`."""

    def client_ready(self) -> None:
        """Handles `initialized`."""

    def change_folders(self, added: list[str], removed: list[str]) -> None:
        """Handles added and removed workspace folders, given as URIs."""

    def activity(self, params: dict[str, Any]) -> dict[str, Any]:
        """Answers `sidecar/activity`."""

    def answer(self, params: dict[str, Any]) -> dict[str, Any]:
        """Answers `sidecar/answer`."""

    async def wind_down(self) -> None:
        """Ends all work of the client, for `shutdown`."""

    def leave(self) -> None:
        """Ends the session, for `exit`."""


class Methods:
    """The methods of the standard that sidecar serves, and one `sidecar/<camelCase>` method per tool."""

    def __init__(self, session: LspSession) -> None:
        self._session = session
        self._requests: dict[str, Method] = {
            types.INITIALIZE: self._initialize,
            types.SHUTDOWN: self._shutdown,
            types.WORKSPACE_EXECUTE_COMMAND: self._execute_command,
            ACTIVITY: self._activity,
            ANSWER: self._answer,
        }
        self.notifications: dict[str, Method] = {
            types.INITIALIZED: self._initialized,
            types.EXIT: self._exit,
            types.TEXT_DOCUMENT_DID_OPEN: self._did_open,
            types.TEXT_DOCUMENT_DID_CHANGE: self._did_change,
            types.TEXT_DOCUMENT_DID_SAVE: self._did_save,
            types.TEXT_DOCUMENT_DID_CLOSE: self._did_close,
            types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS: self._did_change_folders,
            types.WINDOW_WORK_DONE_PROGRESS_CANCEL: self._cancel_progress,
        }

    def find_request(self, method: str) -> Method | None:
        """Returns the method, or None if it does not exist.

        An unknown `sidecar/` method is returned too; calling it fails with an error that gives advice.
        """
        if not method.startswith(OWN) or method in self._requests:
            return self._requests.get(method)

        async def call(params: Any) -> dict[str, Any]:
            return await self._session.calls.request(method, named(params))

        return call

    def _initialize(self, params: Any) -> types.InitializeResult:
        return self._session.initialize(named(params))

    def _initialized(self, params: Any) -> None:
        self._session.client_ready()

    async def _shutdown(self, params: Any) -> None:
        await self._session.wind_down()

    def _exit(self, params: Any) -> None:
        self._session.leave()

    def _did_open(self, params: Any) -> None:
        document = params["textDocument"]
        self._session.buffers.opened(text(document["uri"]), text(document["text"]))

    def _did_change(self, params: Any) -> None:
        self._session.buffers.changed(text(params["textDocument"]["uri"]), params["contentChanges"])

    def _did_save(self, params: Any) -> None:
        self._session.buffers.saved(text(params["textDocument"]["uri"]))

    def _did_close(self, params: Any) -> None:
        self._session.buffers.closed(text(params["textDocument"]["uri"]))

    def _did_change_folders(self, params: Any) -> None:
        event = params["event"]
        added, removed = ([text(folder["uri"]) for folder in event.get(side) or []] for side in ("added", "removed"))
        self._session.change_folders(added, removed)

    async def _execute_command(self, params: Any) -> dict[str, Any]:
        return await self._session.calls.command(named(params))

    def _activity(self, params: Any) -> dict[str, Any]:
        return self._session.activity(named(params))

    def _answer(self, params: Any) -> dict[str, Any]:
        return self._session.answer(named(params))

    def _cancel_progress(self, params: Any) -> None:
        self._session.stops.stop(params["token"])
