"""Cuts a byte stream into messages by the LSP base protocol's headers, and puts headers before what is sent.

No I/O happens here, and messages have no JSON-RPC meaning yet: bytes come in and events go out. Bytes that are not a
header are skipped. A `Content-Length` is found even behind junk, or behind the body of a refused message, on the same
line. No string in a JSON text can hold a raw line break after the digits, so a skipped body cannot hold a false header.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
"""The maximum size of a body, in bytes. A larger one is answered with an error and skipped."""

MAX_HEADER_LINE = 8 * 1024
"""Bytes of a header line that are kept."""

_LENGTH = re.compile(rb"content-length[ \t]*+:([^\r\n]*+)\r?\n\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Message:
    """A body that is valid JSON of any shape."""

    value: Any


@dataclass(frozen=True, slots=True)
class Refused:
    """A message that cannot be read. `code` is JSON-RPC's; `reason` is a sentence for the client's author."""

    code: int
    reason: str


PARSE_ERROR = -32700
INVALID_REQUEST = -32600


class FrameReader:
    """Takes bytes as they arrive and yields one event per message."""

    def __init__(self, limit: Callable[[], int] = lambda: MAX_MESSAGE_BYTES) -> None:
        self._limit = limit
        self._buffer = bytearray()
        self._scanned = 0
        self._length: int | None = None
        self._in_body = False

    def feed(self, piece: bytes) -> Iterator[Message | Refused]:
        """Yields an event for each message that is now complete or refused."""
        self._buffer += piece
        while True:
            if self._in_body:
                body = self._take_body()
                if body is None:
                    return
                yield _parse(body)
                continue
            line = self._take_line()
            if line is None:
                return
            refused = self._header(line)
            if refused is not None:
                yield refused

    def _take_body(self) -> bytes | None:
        length = self._length or 0
        if len(self._buffer) < length:
            return None
        body = bytes(self._buffer[:length])
        del self._buffer[:length]
        self._in_body, self._length, self._scanned = False, None, 0
        return body

    def _take_line(self) -> bytes | None:
        end = self._buffer.find(b"\n", self._scanned)
        if end < 0:
            if len(self._buffer) > MAX_HEADER_LINE:
                del self._buffer[:-MAX_HEADER_LINE]
            self._scanned = len(self._buffer)
            return None
        line = bytes(self._buffer[max(0, end + 1 - MAX_HEADER_LINE) : end + 1])
        del self._buffer[: end + 1]
        self._scanned = 0
        return line

    def _header(self, line: bytes) -> Refused | None:
        """Reads one header line. Returns a refusal if its length is not a number or exceeds the limit."""
        if not line.strip():
            self._in_body = self._length is not None
            return None
        found = _LENGTH.search(line)
        if found is None:
            return None
        digits = found.group(1).strip(b" \t")
        if not digits.isdigit() or len(digits) > 18:
            self._length = None
            return Refused(PARSE_ERROR, "Content-Length must be a number of bytes.")
        length = int(digits)
        limit = self._limit()
        if length > limit:
            self._length = None
            return Refused(INVALID_REQUEST, f"The message of {length} bytes exceeds the limit of {limit} bytes.")
        self._length = length
        return None


def _no_constant(name: str) -> Any:
    """Refuses NaN and the infinities, which `json` would read."""
    raise ValueError(f"{name} is not JSON")


def _parse(body: bytes) -> Message | Refused:
    try:
        return Message(json.loads(body.decode("utf-8"), parse_constant=_no_constant))
    except RecursionError:
        return Refused(PARSE_ERROR, "The message is nested too deeply.")
    except ValueError as error:
        return Refused(PARSE_ERROR, f"The message is not JSON: {error}")


def encode(text: str) -> bytes:
    """Returns a JSON text as one frame."""
    body = text.encode("utf-8")
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
