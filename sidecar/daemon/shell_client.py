"""A shell's session with a running daemon: calls tools over the socket, and shows questions and progress in the shell.

A search from the shell imports this and little else. `shell_server.py` has the daemon's end and describes the protocol.
"""

from __future__ import annotations

import contextlib
import json
import select
import socket
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from sidecar.daemon.handshake import error_of
from sidecar.errors import DaemonEnded
from sidecar.surfaces.cli.session import Reply

if TYPE_CHECKING:
    from sidecar.model.terms import IsCancelled, Progress
    from sidecar.surfaces.cli.session import Ask

_POLL_S = 0.1


class ShellClient:
    """Makes calls one after the other in one session with the daemon."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._held = bytearray()

    def call(
        self,
        tool: str,
        arguments: Mapping[str, object],
        *,
        workspace: str,
        ask: Ask,
        progress: Progress,
        cancelled: IsCancelled,
        asked_by: str,
    ) -> Reply:
        """Calls a tool in the daemon. In this process, `tools.confirm.call_with_questions_sync` does the same.

        Raises SidecarError: the daemon's own error, or DaemonEnded.
        """
        asked = {"tool": tool, "arguments": arguments, "workspace": workspace, "askedBy": asked_by}
        return Reply(**self._exchange({"call": asked}, ask, progress, cancelled))

    def refresh(
        self,
        *,
        workspace: str,
        ask: Ask,
        progress: Progress,
        cancelled: IsCancelled,
        asked_by: str,
        whole: bool = False,
        snapshot: str | None = None,
    ) -> Reply:
        """Brings the index of `workspace` up to date. Raises SidecarError: the daemon's own error, or DaemonEnded."""
        asked = {"workspace": workspace, "askedBy": asked_by, "whole": whole, "snapshot": snapshot}
        return Reply(**self._exchange({"refresh": asked}, ask, progress, cancelled))

    def _exchange(self, asked: object, ask: Ask, progress: Progress, cancelled: IsCancelled) -> Any:
        """Sends a request, handles progress and questions, and returns the result."""
        self._send(asked)
        while True:
            message = json.loads(self._line(cancelled))
            if "progress" in message:
                progress(*message["progress"])
            elif "question" in message:
                self._answer(message["question"], message.get("elsewhere", ()), ask)
            elif "withdrawn" in message:
                ask.withdrawn(message["withdrawn"]["by"])
            elif "error" in message:
                raise error_of(message["error"])
            else:
                return message["reply"]

    def _answer(self, asked: Mapping[str, Any], places: Sequence[str], ask: Ask) -> None:
        """Asks the question, and sends the answer unless the daemon sends something first: then the question is
        void."""
        question: Any = SimpleNamespace(**asked)
        answer = ask.beside(question, places, self._connection.fileno()) if places else ask(question)
        if answer is not None:
            self._send({"answer": answer})

    def _line(self, cancelled: IsCancelled) -> bytes:
        """Returns the next line. While it waits, passes on a cancellation to the daemon."""
        passed_on = False
        seen = 0
        while (end := self._held.find(b"\n", seen)) < 0:
            seen = len(self._held)
            if cancelled() and not passed_on:
                self._send({"cancel": True})
                passed_on = True
            if not select.select([self._connection], [], [], _POLL_S)[0]:
                continue
            piece = self._receive()
            if not piece:
                raise DaemonEnded("Please try again.")
            self._held += piece
        line = bytes(self._held[: end + 1])
        del self._held[: end + 1]
        return line

    def _receive(self) -> bytes:
        """Returns the next bytes; empty at the end of the stream and after an error."""
        with contextlib.suppress(OSError):
            return self._connection.recv(1 << 16)
        return b""

    def _send(self, value: object) -> None:
        try:
            self._connection.sendall(json.dumps(value).encode() + b"\n")
        except OSError as error:
            raise DaemonEnded("Please try again.") from error
