"""What a pipe remembers of an MCP session, which is one JSON object per line.

A session consists of `initialize`, `notifications/initialized` and the resource subscriptions. From protocol version
2026-07-28 on, each request is self-contained, so nothing has to be sent again.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sidecar.daemon.repeatable import MCP
from sidecar.daemon.replay import REPLAY, Message, Replay, as_utf8
from sidecar.small_files import read_record, replace_file

_MOST_PROTOCOLS = 20
_MAX_BYTES = 16 * 1024 * 1024
_ASKING = frozenset(
    {
        "ping",
        "tools/list",
        "prompts/list",
        "prompts/get",
        "resources/list",
        "resources/read",
        "resources/templates/list",
    }
)


class McpReplay(Replay):
    """`Replay` for an MCP session."""

    cancel_method = "notifications/cancelled"
    cancel_key = "requestId"
    error_number = -32000
    standing = ("subscriptions/listen",)

    def __init__(self, hello: Hello | None = None) -> None:
        """`hello` has the answers that earlier daemons of this version gave to `initialize`."""
        super().__init__()
        self._hello = hello
        self._subscribed: dict[str, Message] = {}

    def changes_nothing(self, request: Message) -> bool:
        """See `Replay.changes_nothing`. Tool calls must be known to read only; other methods count if they only
        read."""
        params = request.get("params")
        if request.get("method") != "tools/call":
            return request.get("method") in _ASKING
        name = params.get("name") if isinstance(params, dict) else None
        return isinstance(name, str) and name in MCP

    def frame(self, message: Message) -> bytes:
        """Returns the message as one line of JSON."""
        return as_utf8(message) + b"\n"

    def note(self, method: str, message: Message) -> None:
        """Remembers `notifications/initialized`, and the subscriptions that the client holds."""
        if method == "notifications/initialized":
            self._initialized = message
        elif method in ("resources/subscribe", "resources/unsubscribe"):
            params = message.get("params")
            uri = str(params.get("uri")) if isinstance(params, dict) else ""
            self._subscribed.pop(uri, None)
            if method == "resources/subscribe":
                self._subscribed[uri] = message

    def again(self) -> Iterator[Message]:
        """Yields `notifications/initialized` and the subscriptions, under ids of the pipe."""
        yield from super().again()
        for number, message in enumerate(self._subscribed.values()):
            yield {**message, "id": f"{REPLAY}-{number}"}

    def at_once(self) -> Iterator[Message]:
        """Answers `initialize` with the result of the last daemon.

        A new daemon needs about a second, most of it to import the MCP library, and would give the same answer.
        """
        begin = self._initialize
        if self._hello is None or begin is None or self._initialize_answered:
            return
        result = self._hello.known().get(_protocol_of(begin))
        if isinstance(result, dict) and result.keys() >= {"protocolVersion", "capabilities", "serverInfo"}:
            self._initialize_answered = True
            self._in_flight.pop(repr(begin.get("id")), None)
            yield {"jsonrpc": "2.0", "id": begin.get("id"), "result": result}

    def initialized(self, result: Any) -> None:
        """Stores the daemon's answer, so that `at_once` can give it at the next start."""
        if self._hello is not None and self._initialize is not None and isinstance(result, dict):
            self._hello.learn(_protocol_of(self._initialize), result)

    @property
    def status(self) -> int:
        """The pipe's exit status after the client has left: always 0."""
        return 0


def _protocol_of(initialize: Message) -> str:
    params = initialize.get("params")
    return str(params.get("protocolVersion")) if isinstance(params, dict) else ""


class Hello:
    """A file with the answers to `initialize`, by protocol version.

    The answers do not depend on the workspace or the toolsets.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def known(self) -> dict[str, Any]:
        """Returns the stored answers; empty if the file is missing or damaged."""
        return read_record(self._path, _MAX_BYTES)

    def learn(self, protocol: str, result: dict[str, Any]) -> None:
        """Stores an answer. If the file cannot be written, the next start takes a second longer."""
        known = self.known()
        if known.get(protocol) == result or len(known) > _MOST_PROTOCOLS:
            return
        with contextlib.suppress(OSError):
            replace_file(self._path, json.dumps({**known, protocol: result}).encode(), 0o600)


class LineCutter:
    """Cuts bytes at line ends. A line longer than `limit` bytes is passed on in pieces, unread."""

    def __init__(self, limit: int = 64 * 1024 * 1024) -> None:
        self._limit = limit
        self._held = bytearray()
        self._passing = False

    def feed(self, piece: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yields pairs: the received bytes, and the body in them.

        The body is empty if the bytes are to be passed on unread.
        """
        self._held += piece
        while (end := self._held.find(b"\n")) >= 0:
            line = bytes(self._held[: end + 1])
            del self._held[: end + 1]
            yield line, b"" if self._passing else line
            self._passing = False
        if self._passing or len(self._held) > self._limit:
            self._passing = True
            yield bytes(self._held), b""
            self._held.clear()

    def rest(self) -> bytes:
        """Returns the bytes after the last line end, at the end of the stream."""
        return bytes(self._held)
