"""The tool calls of one client.

A call chooses its folders, shows its progress, asks the tool's question, and returns one answer or one error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any

from sidecar.errors import Cancelled, IndexNotFound, InvalidParams, NotFound, SidecarError, UnknownTool
from sidecar.model.terms import Progress
from sidecar.surfaces.lsp.buffers import Buffers
from sidecar.surfaces.lsp.confirm import Confirmer
from sidecar.surfaces.lsp.editor_client import Stops
from sidecar.surfaces.lsp.envelope import named
from sidecar.surfaces.lsp.faults import fault
from sidecar.surfaces.lsp.folders import Folders
from sidecar.surfaces.lsp.merge import merge_paths, noting_left_out
from sidecar.surfaces.lsp.progress import ProgressWire, Token, WorkDone
from sidecar.tools.confirm import call_with_questions
from sidecar.tools.registry import FOR_EDITORS
from sidecar.tools.service import Service
from sidecar.tools.sessions import Session
from sidecar.tools.several import over_several
from sidecar.tools.spec import ToolSpec

MERGED_BY_SCORE = frozenset({"search_code", "search_docs"})
MERGED_BY_PATH = frozenset({"search_by_path"})
COMMAND_PREFIX, METHOD_PREFIX = "sidecar.", "sidecar/"


class ToolCalls:
    """Makes one client's tool calls. Lives on the event loop; `service` may be called once the client has
    initialized."""

    def __init__(
        self,
        service: Callable[[], Service],
        folders: Folders,
        buffers: Buffers,
        asker: Confirmer,
        wire: ProgressWire,
        stops: Stops,
    ) -> None:
        self._service = service
        self._folders = folders
        self._buffers = buffers
        self._asker = asker
        self._wire = wire
        self._stops = stops
        self.session: Session | None = None
        self.may_create_progress = False

    def tool(self, name: str) -> ToolSpec:
        """Returns a tool by name, alias, LSP method, or `sidecar.` followed by any of these. Raises `UnknownTool`."""
        for own in FOR_EDITORS:
            if name == own.lsp_method:
                return own
        service = self._service()
        bare = name.removeprefix(COMMAND_PREFIX).removeprefix(METHOD_PREFIX)
        for spelled in (f"{METHOD_PREFIX}{bare}", bare):
            try:
                return service.tool(spelled)
            except UnknownTool:
                continue
        return service.tool(bare)

    async def command(self, params: dict[str, Any]) -> dict[str, Any]:
        """Answers `workspace/executeCommand`. Its one argument, if any, holds the tool's parameters."""
        name, arguments = params.get("command"), params.get("arguments") or []
        if not isinstance(name, str) or not isinstance(arguments, list) or len(arguments) > 1:
            raise InvalidParams("Give command as a string, and arguments as a list of one object: the parameters.")
        return await self.request(
            self.tool(name).name, arguments[0] if arguments else None, params.get("workDoneToken")
        )

    async def request(self, name: str, params: Any, token: Token | None = None) -> dict[str, Any]:
        """Answers one `sidecar/<tool>` request.

        Raises `JsonRpcException` if the tool fails, `SidecarError` for an unknown tool or parameters that are not an
        object, and `Cancelled` if the request is cancelled.
        """
        arguments, place, own_token = _split(params)
        tool = self.tool(name)
        tokens: list[Token] = []
        task = asyncio.current_task()

        def created(made: Token) -> None:
            if task is not None:
                self._stops.add(made, task.cancel)
                tokens.append(made)

        title = f"sidecar: {tool.title.lower()}"
        work = WorkDone(self._wire, title, own_token if token is None else token, self.may_create_progress, created)
        message = "failed"
        try:
            result = await self._dispatch(tool, arguments, place, work)
            message = str(result.get("status", "done"))
            return result
        except asyncio.CancelledError:
            message = "cancelled"
            raise Cancelled() from None
        except SidecarError as error:
            raise fault(error, tool.meant_by(arguments).dialect) from error
        finally:
            for made in tokens:
                self._stops.discard(made)
            await work.finish(message)

    async def _dispatch(
        self, tool: ToolSpec, arguments: dict[str, Any], place: Any, progress: Progress
    ) -> dict[str, Any]:
        """Calls the tool for one folder, or for all folders together."""
        everywhere = tool.name in MERGED_BY_SCORE or tool.name in MERGED_BY_PATH
        if place is not None:
            folders: tuple[str, ...] = (self._folders.chosen(place),)
        else:
            folders = self._folders.require() if everywhere else (self._folders.first(),)
        await self._buffers.flush()
        if len(folders) == 1:
            return await self._one(tool, arguments, folders[0], progress)
        if tool.name in MERGED_BY_PATH:
            answers, left_out = await self._all(tool, arguments, folders, progress)
            return noting_left_out(merge_paths(answers, _number(tool, arguments, "limit")), left_out)
        return await self._one(over_several(tool, folders), arguments, folders[0], progress)

    async def _one(
        self, tool: ToolSpec, arguments: dict[str, Any], folder: str, progress: Progress
    ) -> dict[str, object]:
        """Calls the tool for one folder. If the person at the editor cancels a tool that writes, the work is not
        resumed later; an editor that leaves does not count as a cancellation."""
        try:
            done = await call_with_questions(
                self._service(),
                tool,
                arguments,
                workspace=folder,
                ask=partial(self._asker.ask, own=folder),
                progress=progress,
                session=self.session,
            )
        except asyncio.CancelledError:
            if not (self._asker.left or tool.read_only):
                self._service().stays_cancelled(folder)
            raise
        return done.value

    async def _all(
        self, tool: ToolSpec, arguments: dict[str, Any], folders: tuple[str, ...], progress: Progress
    ) -> tuple[list[tuple[str, dict[str, object]]], list[str]]:
        """Returns the answers of the folders that have an index, and the folders that have none.

        Raises the first folder's error if no folder answers.
        """
        tasks = [self._one(tool, arguments, folder, progress) for folder in folders]
        outcomes = await _gathered(tasks)
        answers, left_out = [], []
        for folder, outcome in zip(folders, outcomes, strict=True):
            if isinstance(outcome, dict):
                answers.append((folder, outcome))
            elif not isinstance(outcome, NotFound):
                raise outcome
            elif isinstance(outcome, IndexNotFound):
                left_out.append(folder)
        if not answers:
            raise next(outcome for outcome in outcomes if isinstance(outcome, SidecarError))
        return answers, left_out


async def _gathered(calls: Sequence[Awaitable[dict[str, object]]]) -> list[dict[str, object] | SidecarError]:
    """Returns each call's result or `SidecarError`. Any other exception is raised; a cancellation cancels all calls."""

    async def caught(call: Awaitable[dict[str, object]]) -> dict[str, object] | SidecarError:
        try:
            return await call
        except SidecarError as error:
            return error

    return list(await asyncio.gather(*(caught(call) for call in calls)))


def _split(params: Any) -> tuple[dict[str, Any], Any, Token | None]:
    """Returns the tool's own arguments, the folder that the call names, and the progress token."""
    arguments = dict(named(params))
    place = arguments.pop("workspace", None)
    token = arguments.pop("workDoneToken", None)
    arguments.pop("partialResultToken", None)
    if token is not None and (isinstance(token, bool) or not isinstance(token, str | int)):
        raise InvalidParams("workDoneToken must be a string or a whole number.")
    return arguments, place, token


def _number(tool: ToolSpec, arguments: dict[str, Any], name: str) -> int:
    """Returns a parameter that has been validated, or its default."""
    return int(arguments.get(name, tool.params.model_fields[name].default))
