"""A shell's session in the daemon: calls tools by JSON lines. The client's end is `shell_client.py`.

- To the daemon: `{"call": {...}}` or `{"refresh": {...}}`; while it runs, `{"answer": ...}` and `{"cancel": true}`.
- To the shell: `{"progress": [...]}` and `{"question": {...}}`, with `elsewhere` if other clients are asked too, and
  `{"withdrawn": {"by": ...}}` when one of those has answered; at the end, `{"reply": {...}}` (the fields of
  `surfaces.cli.session.Reply`) or `{"error": {...}}`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from sidecar.errors import InvalidParams, SidecarError
from sidecar.surfaces.cli.session import Reply

if TYPE_CHECKING:
    from sidecar.tools.service import Done, Service
    from sidecar.tools.sessions import Closing, Session
    from sidecar.tools.spec import Answer, Question, ToolSpec
    from sidecar.tools.word import Caller

LONGEST_LINE = 64 * 1024 * 1024
"""Maximum length of a line, in bytes."""


def as_line(value: Mapping[str, object]) -> bytes:
    """Returns the value as one line of JSON."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


class LineReader:
    """Reads lines from a socket on the running event loop."""

    def __init__(self, connection: socket.socket, longest: int = LONGEST_LINE) -> None:
        connection.setblocking(False)
        self._connection = connection
        self._longest = longest
        self._held = bytearray()

    async def line(self) -> bytes:
        """Returns the next line; empty at the end of the stream. Raises ValueError for a line that is too long."""
        loop = asyncio.get_running_loop()
        seen = 0
        while (end := self._held.find(b"\n", seen)) < 0:
            seen = len(self._held)
            piece = await loop.sock_recv(self._connection, 1 << 16)
            if not piece:
                return b""
            if seen > self._longest:
                raise ValueError("the line is too long")
            self._held += piece
        line = bytes(self._held[: end + 1])
        del self._held[: end + 1]
        return line


class ShellSession:
    """One shell's session. It lives on the event loop and makes one call at a time.

    `says_yes`: the person typed `--yes`, which answers every question.
    """

    def __init__(
        self, connection: socket.socket, service: Service, session: Session, caller: Caller, says_yes: bool
    ) -> None:
        self._connection = connection
        self._caller = caller
        self._says_yes = says_yes
        self._lines = LineReader(connection)
        self._service = service
        self._session = session
        self._stop = threading.Event()
        self._running: asyncio.Task[None] | None = None
        self._answer: asyncio.Future[Answer] | None = None
        self._loop = asyncio.get_running_loop()
        self._sending = asyncio.Lock()
        self._later: set[asyncio.Task[None]] = set()

    async def serve(self) -> None:
        """Serves until the client leaves, then cancels the running call."""
        try:
            while line := await self._lines.line():
                self._take(json.loads(line))
        finally:
            self._stop.set()
            running = {task for task in (self._running, *self._later) if task is not None}
            for task in running:
                task.cancel()
            if running:
                await asyncio.wait(running)

    def _take(self, received: Mapping[str, Any]) -> None:
        """Handles one line of the client. A call that arrives while another one runs is ignored."""
        if "cancel" in received:
            self._stop.set()
        elif "answer" in received:
            if self._answer is not None and not self._answer.done():
                self._answer.set_result(received["answer"])
        elif self._running is None or self._running.done():
            self._stop.clear()
            self._running = self._loop.create_task(self._work(received))

    async def _work(self, received: Mapping[str, Any]) -> None:
        try:
            done = await (self._call(received["call"]) if "call" in received else self._refresh(received["refresh"]))
            await self._send({"reply": Reply.of(done)._asdict()})
        except SidecarError as error:
            await self._send({"error": error.as_dict()})

    async def _call(self, asked: Mapping[str, Any]) -> Done:
        if not isinstance(asked["arguments"], Mapping):
            raise InvalidParams(f"The parameters of {asked['tool']} must be one JSON object.")
        return await self._run(asked["tool"], asked["arguments"], asked)

    async def _refresh(self, asked: Mapping[str, Any]) -> Done:
        from sidecar.tools.refresh import REFRESH

        return await self._run(REFRESH, {"whole": asked["whole"], "snapshot": asked.get("snapshot")}, asked)

    async def _run(self, tool: str | ToolSpec, arguments: Mapping[str, object], asked: Mapping[str, Any]) -> Done:
        from sidecar.tools.confirm import call_with_questions

        return await call_with_questions(
            self._service,
            tool,
            arguments,
            workspace=asked["workspace"],
            ask=self._ask,
            by=self._caller,
            given=lambda _: "accept" if self._says_yes else None,
            beside=self._ask_beside,
            progress=self._progress,
            cancelled=self._stop.is_set,
            asked_by=asked["askedBy"],
            session=self._session,
        )

    async def _ask(self, question: Question) -> Answer:
        return await self._ask_beside(question, (), None)

    async def _ask_beside(self, question: Question, places: Sequence[str], closing: Closing | None) -> Answer:
        """Asks the shell and names the other clients that are asked; if cancelled, tells the shell which of them has
        answered."""
        self._answer = self._loop.create_future()
        more = {"elsewhere": list(places)} if places else {}
        await self._send({"question": asdict(question), **more})
        try:
            return await self._answer
        except asyncio.CancelledError:
            await self._send({"withdrawn": {"by": closing.by if closing else ""}})
            raise

    def _progress(self, done: int, total: int, message: str) -> None:
        """Sends progress to the client; called from the tool's thread."""

        def send() -> None:
            task = self._loop.create_task(self._send({"progress": [done, total, message]}))
            self._later.add(task)
            task.add_done_callback(self._later.discard)

        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(send)

    async def _send(self, value: Mapping[str, object]) -> None:
        with contextlib.suppress(OSError):
            async with self._sending:
                await self._loop.sock_sendall(self._connection, as_line(value))
