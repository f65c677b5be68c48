"""The LSP door: one `SidecarServer` per client, made by `make_server` and run over stdio or a socket.

Other modules handle the bytes (`channel.py`, `frames.py`), JSON-RPC (`protocol.py`), calls (`calls.py`) and the end of
the process (`life.py`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from lsprotocol import types
from pygls.server import JsonRPCServer

from sidecar import __version__
from sidecar.errors import Internal
from sidecar.logs import client_log, concerns
from sidecar.model.workspace import Workspace
from sidecar.settings.load import load_settings
from sidecar.surfaces.lsp.buffers import DEBOUNCE_S, Buffers
from sidecar.surfaces.lsp.calls import ToolCalls
from sidecar.surfaces.lsp.documents import chosen_encoding
from sidecar.surfaces.lsp.editor_client import EditorClient, Stops
from sidecar.surfaces.lsp.envelope import strings
from sidecar.surfaces.lsp.folders import Folders
from sidecar.surfaces.lsp.methods import ACTIVITY, ANSWER, Methods
from sidecar.surfaces.lsp.protocol import SidecarProtocol, converter
from sidecar.surfaces.lsp.status import StatusFeed
from sidecar.surfaces.lsp.uris import uri_of
from sidecar.tools.activity import activity_params
from sidecar.tools.assemble import make_sessions
from sidecar.tools.dialect import CODE_SEARCH
from sidecar.tools.registry import FOR_EDITORS
from sidecar.tools.service import Service
from sidecar.tools.sessions import Sessions

ServiceSource: TypeAlias = Service | Callable[[Mapping[str, object]], Service]
"""A service, or a function that makes one from the editor's settings (`initializationOptions`)."""

CLOSE_WAIT_S = 10.0
"""How long running work may delay the end of a session."""
TOKEN_OPTION = "token"
"""The key of `initializationOptions` under which a client over TCP shows the token. It is not a setting and is not
kept."""
logger = logging.getLogger("sidecar.lsp")


class SharedService:
    """Makes the service at the first client's `initialize` and keeps it for all others."""

    def __init__(self, source: ServiceSource) -> None:
        self._source = source
        self._service = source if isinstance(source, Service) else None

    def open(self, settings: Mapping[str, object]) -> Service:
        """Returns the service; the first call makes it from these settings."""
        if self._service is None:
            make = self._source
            if isinstance(make, Service):
                raise Internal
            self._service = make(settings)
        return self._service

    @property
    def service(self) -> Service:
        """The service. Raises `Internal` before the first `initialize`."""
        if self._service is None:
            raise Internal("The client has not initialized.")
        return self._service

    async def close(self) -> None:
        """Closes the service. Work that does not end within `CLOSE_WAIT_S` ends with the process."""
        service, self._service = self._service, None
        if service is not None:
            closing = asyncio.get_running_loop().run_in_executor(None, service.close)
            done, _ = await asyncio.wait({closing}, timeout=CLOSE_WAIT_S)
            if done and closing.exception() is not None:
                logger.warning("the engine did not close cleanly: %s", closing.exception())


class SidecarServer(JsonRPCServer):
    """One client's session: its state and the methods that the client may call."""

    protocol: SidecarProtocol

    def __init__(
        self,
        shared: SharedService,
        *,
        question_timeout_s: float | None,
        debounce_s: float,
        closes_service: bool,
        sessions: Sessions,
        check_token: Callable[[object], None] | None,
    ) -> None:
        super().__init__(SidecarProtocol, converter)
        self._shared = shared
        self._closes_service = closes_service
        self._check_token = check_token
        self._sessions = sessions
        self._capabilities: dict[str, Any] = {}
        self._settings: Mapping[str, object] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing: asyncio.Task[None] | None = None
        self._left: Callable[[], None] = _nothing
        self.client_pid: int | None = None
        self.known_client = asyncio.Event()
        self.folders = Folders()
        self.buffers = Buffers(self.folders, self._workspace, debounce_s)
        self.status = StatusFeed(self._workspace, self.protocol.notify, self._say, self._problems)
        self.stops = Stops()
        self._editor = EditorClient(
            self.protocol,
            self._can_ask,
            lambda: shared.service.question_seconds() if question_timeout_s is None else question_timeout_s,
            self.stops,
            sessions.summary,
        )
        self.calls = ToolCalls(
            lambda: shared.service, self.folders, self.buffers, self._editor, self.protocol, self.stops
        )
        methods = Methods(self)
        self.protocol.find_request, self.protocol.notifications = methods.find_request, methods.notifications

    def attach(self, send: Callable[[bytes], None], left: Callable[[], None]) -> None:
        """Sets the function that sends frames, and the one that is called when the client has sent `exit`."""
        self.protocol.send = send
        self._left = left

    # ------------------------------------------------------------ life, called by the protocol

    def initialize(self, params: dict[str, Any]) -> types.InitializeResult:
        """Checks the token, opens the service, and registers the client as a session."""
        capabilities = params.get("capabilities")
        self._capabilities = capabilities if isinstance(capabilities, dict) else {}
        settings = params.get("initializationOptions")
        self._settings = dict(settings) if isinstance(settings, dict) else {}
        shown = self._settings.pop(TOKEN_OPTION, None)
        if self._check_token is not None:
            self._check_token(shown)
        service = self._shared.open(self._settings)
        self.folders.add(_folder_uris(params))
        pid = params.get("processId")
        self.client_pid = pid if isinstance(pid, int) and not isinstance(pid, bool) and pid > 0 else None
        self.known_client.set()
        self.buffers.encoding = chosen_encoding(strings(self._capable("general", "positionEncodings")))
        self.calls.may_create_progress = self._capable("window", "workDoneProgress") is True
        self._editor.may_create_progress = self.calls.may_create_progress
        self.calls.session = self._sessions.attach(
            "lsp", *_client_name(params), workspaces=self.folders.paths, editor=self._editor, word=service.word
        )
        self.protocol.initialized = True
        return types.InitializeResult(
            capabilities=_capabilities(service, self.buffers.encoding),
            server_info=types.ServerInfo("sidecar", __version__),
        )

    def client_ready(self) -> None:
        """Reports problems in the client's settings and starts watching its folders.

        Problems in other sources of settings, such as the environment, are reported with the first status of a folder.
        """
        problems = load_settings(None, None, {}, self._settings, {}).problems
        for problem in problems:
            client_log("sidecar.lsp", self.protocol).warning("%s", problem)
        self.status.say(problems)
        for folder in self.folders.paths:
            self._start_watching(folder)

    def change_folders(self, added: list[str], removed: list[str]) -> None:
        """Starts or stops watching folders that the client has added or removed."""
        for folder in self.folders.remove(removed):
            self.status.leave(folder)
        for folder in self.folders.add(added):
            self._start_watching(folder)
        if self.calls.session is not None:
            session = self.calls.session
            session.introduce(session.name, session.version, self.folders.paths)
        self.buffers.folders_changed()

    def activity(self, params: dict[str, Any]) -> dict[str, Any]:
        """Answers `sidecar/activity`. Raises `InvalidParams`."""
        return CODE_SEARCH.shape(self._sessions.activity(activity_params(params), self.calls.session))

    def answer(self, params: dict[str, Any]) -> dict[str, Any]:
        """Answers `sidecar/answer`: takes what the person has chosen, if the question is still open."""
        return {"taken": self._editor.answer(params.get("question"), params.get("chosen"))}

    async def wind_down(self) -> None:
        """Ends what this client has started, and prevents new work. It may be called more than once.

        A build goes on while another client is on its workspace; the service is then closed after it.
        """
        self.protocol.leave()
        self._editor.leave()
        session = self.calls.session
        if session is not None:
            session.detach()
        lasting = session.home.outlasting(session) if session is not None else set()
        running = {*self.protocol.running(), *self._tasks} - lasting
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running, timeout=CLOSE_WAIT_S)
        self.status.close()
        await self.buffers.close(CLOSE_WAIT_S)
        if self._closes_service and lasting:
            self._closing = asyncio.get_running_loop().create_task(self._close_after(lasting))
        elif self._closes_service:
            await self._shared.close()

    async def _close_after(self, lasting: set[asyncio.Task[Any]]) -> None:
        await asyncio.wait(lasting)
        await self._shared.close()

    def leave(self) -> None:
        """Handles `exit`."""
        self._left()

    def hears(self, record: logging.LogRecord) -> bool:
        """Whether this client gets a log record.

        It does if the record concerns the client, a workspace in its folders, or the whole process. A client that has
        yet to show the token gets no records.
        """
        if self._check_token is not None and not self.protocol.initialized:
            return False
        session = self.calls.session
        return concerns(record, self.protocol, lambda root: session is not None and session.covers(root))

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Does nothing: errors are answered or logged where they occur, and are never shown in a window."""

    def _workspace(self, root: str) -> Workspace:
        return self._shared.service.workspace(root)

    def _say(self, sentence: str) -> str:
        return self._shared.service.wordings["lsp"](sentence)

    def _problems(self, root: str) -> tuple[str, ...] | None:
        return self._shared.service.problems(root)

    def _start_watching(self, folder: str) -> None:
        task = asyncio.get_running_loop().create_task(self.status.watch(folder))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _can_ask(self) -> bool:
        return isinstance(self._capable("window", "showMessage"), dict)

    def _capable(self, *path: str) -> Any:
        """Returns a value in the client's capabilities, or None if they do not contain it."""
        value: Any = self._capabilities
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return value


def make_server(
    source: ServiceSource | SharedService,
    *,
    question_timeout_s: float | None = None,
    debounce_s: float = DEBOUNCE_S,
    closes_service: bool = True,
    sessions: Sessions | None = None,
    check_token: Callable[[object], None] | None = None,
) -> SidecarServer:
    """Returns a server for one client; `attach` it to a stream.

    With `closes_service` the service is closed when the client's session ends. `sessions` is this process's registry,
    if it has other doors too. If `question_timeout_s` is None, the service's own setting applies. `check_token` gets
    what the client shows in its `initialize`, and raises if that is not the token.
    """
    shared = source if isinstance(source, SharedService) else SharedService(source)
    return SidecarServer(
        shared,
        question_timeout_s=question_timeout_s,
        debounce_s=debounce_s,
        closes_service=closes_service,
        sessions=sessions or make_sessions(),
        check_token=check_token,
    )


def _nothing() -> None:
    """Replaces `left` until the server is attached."""


def _capabilities(service: Service, encoding: str) -> types.ServerCapabilities:
    """Returns the server's capabilities; the commands are the tools' own names.

    `sidecar.<camelCase>` works too but is not announced: clients register the announced names as commands of the whole
    editor, where an extension has its own commands with such names.
    """
    return types.ServerCapabilities(
        position_encoding=types.PositionEncodingKind(encoding),
        text_document_sync=types.TextDocumentSyncOptions(
            open_close=True, change=types.TextDocumentSyncKind.Incremental, save=True
        ),
        execute_command_provider=types.ExecuteCommandOptions(
            commands=[tool.name for tool in service.tools], work_done_progress=True
        ),
        workspace=types.WorkspaceOptions(
            workspace_folders=types.WorkspaceFoldersServerCapabilities(supported=True, change_notifications=True)
        ),
        experimental={
            "sidecar": {"requests": [*(tool.lsp_method for tool in (*service.tools, *FOR_EDITORS)), ACTIVITY, ANSWER]}
        },
    )


def _folder_uris(params: dict[str, Any]) -> list[str]:
    """Returns the URIs of the client's folders: `workspaceFolders`, otherwise `rootUri`, otherwise `rootPath`."""
    folders = params.get("workspaceFolders")
    if isinstance(folders, list) and folders:
        return strings([folder.get("uri") for folder in folders if isinstance(folder, dict)])
    if isinstance(params.get("rootUri"), str):
        return [params["rootUri"]]
    path = params.get("rootPath")
    return [uri_of(path)] if isinstance(path, str) and path.startswith("/") else []


def _client_name(params: dict[str, Any]) -> tuple[str, str]:
    """Returns the name of the client to show in a question, and its version."""
    client = params.get("clientInfo")
    info = client if isinstance(client, dict) else {}
    name, version = info.get("name"), info.get("version")
    named = name if isinstance(name, str) and name.strip() else "the editor"
    return named[:80], version[:40] if isinstance(version, str) else ""
