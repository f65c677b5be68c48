"""An MCP session as a pipe remembers it: one JSON object per line, `initialize` and `notifications/initialized`.

From 2026-07-28 each request carries what its session consists of: then nothing is said again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from sidecar.daemon.script import Message, Script


class McpScript(Script):
    cancel_method = "notifications/cancelled"
    cancel_key = "requestId"
    error_number = -32000

    def frame(self, message: Message) -> bytes:
        return json.dumps(message, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"

    def note(self, method: str, message: Message) -> None:
        if method == "notifications/initialized":
            self._initialized = message

    @property
    def status(self) -> int:
        """The pipe's exit status when the client has left."""
        return 0


class LineCutter:
    """Cuts bytes at line ends. What is longer than `limit` passes in pieces that are no frames."""

    def __init__(self, limit: int = 64 * 1024 * 1024) -> None:
        self._limit = limit
        self._held = bytearray()
        self._passing = False

    def feed(self, piece: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Bytes as they came, and the body in them; empty where they are to be passed on unseen."""
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
        """What stands after the last line end, when no more comes."""
        return bytes(self._held)
