"""Sends the client the state of its indexes as `sidecar/status`.

The last state always arrives; intermediate states may be left out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from lsprotocol.types import MessageType

from sidecar.errors import SidecarError
from sidecar.logs import workspace_log
from sidecar.model.answers import StatusAnswer
from sidecar.model.workspace import Workspace
from sidecar.surfaces.lsp.uris import uri_of
from sidecar.tools.dialect import CODE_SEARCH
from sidecar.tools.status_result import index_status

INTERVAL_S = 0.2
"""The shortest time between two states of the same folder, in seconds."""


class StatusFeed:
    """Listens to each folder's workspace while the folder is open in the client. Lives on the event loop."""

    def __init__(
        self,
        workspace: Callable[[str], Workspace],
        notify: Callable[[str, Any], None],
        say: Callable[[str], str],
        problems: Callable[[str], tuple[str, ...] | None] = lambda _: None,
        interval_s: float = INTERVAL_S,
    ) -> None:
        """`say` rewrites a sentence for the client's door. `problems`: see `tools.context.Workspaces.problems`."""
        self._problems = problems
        self._said: set[str] = set()
        self._workspace = workspace
        self._notify = notify
        self._say = say
        self._interval_s = interval_s
        self._stops: dict[str, Callable[[], None]] = {}
        self._latest: dict[str, StatusAnswer] = {}
        self._pausing: set[str] = set()
        self._wanted: set[str] = set()

    async def watch(self, folder: str) -> None:
        """Sends the present state, and then every change. If the folder cannot be opened, that is logged."""
        loop = asyncio.get_running_loop()

        def heard(answer: StatusAnswer) -> None:
            try:
                loop.call_soon_threadsafe(self._arrived, folder, answer)
            except RuntimeError:
                return  # the loop has ended

        def attach() -> tuple[Callable[[], None], StatusAnswer]:
            workspace = self._workspace(folder)
            return workspace.on_change(heard), workspace.status()

        self._wanted.add(folder)
        try:
            stop, now = await loop.run_in_executor(None, attach)
        except SidecarError as error:
            workspace_log("sidecar.lsp", folder).warning("%s: %s", folder, error.message)
            return
        if folder not in self._wanted:
            stop()
            return
        self._stops[folder] = stop
        if folder not in self._latest:
            self._arrived(folder, now)

    def leave(self, folder: str) -> None:
        """Stops listening to a folder's workspace."""
        self._wanted.discard(folder)
        stop = self._stops.pop(folder, None)
        if stop is not None:
            stop()
        self._latest.pop(folder, None)

    def close(self) -> None:
        """Stops listening to all workspaces."""
        for folder in list(self._wanted):
            self.leave(folder)

    def _arrived(self, folder: str, answer: StatusAnswer) -> None:
        if folder not in self._wanted:
            return
        self._latest[folder] = answer
        if folder not in self._pausing:
            self._pausing.add(folder)
            # Before it is sent: if that fails, the states after it are sent all the same.
            asyncio.get_running_loop().call_later(self._interval_s, self._resume, folder, answer)
            self._send(folder, answer)

    def _resume(self, folder: str, sent: StatusAnswer) -> None:
        self._pausing.discard(folder)
        latest = self._latest.get(folder)
        if latest is not None and latest is not sent:
            self._arrived(folder, latest)

    def say(self, sentences: Iterable[str]) -> None:
        """Shows the person each of these sentences about the settings, once per session."""
        for sentence in sentences:
            if sentence and sentence not in self._said:
                self._said.add(sentence)
                self._notify(
                    "window/showMessage", {"type": MessageType.Warning, "message": f"Sidecar: {self._say(sentence)}"}
                )

    def _send(self, folder: str, answer: StatusAnswer) -> None:
        own = self._problems(folder)
        if own is not None:
            answer = replace(answer, problems=own)
        self.say((*answer.problems, answer.unapplied))
        place = {"workspace": folder, "uri": uri_of(folder)}
        more = {name: True for name in ("elsewhere", "gone") if getattr(answer, name)}
        self._notify("sidecar/status", {**place, **more, **CODE_SEARCH.shape(index_status(answer).worded(self._say))})
