"""What a pipe knows of its session, so that it can begin the same session again with another daemon.

JSON-RPC in general; `script_lsp.py` and `script_mcp.py` add what their protocol's sessions consist of. Sans-IO: frames
in, frames out. Light: every pipe imports this.

Requests of a second daemon get ids of their own at the client, so that the answer to a question of the first (a "yes",
given late) is never taken for the answer to another one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from sidecar.errors import DaemonEnded

Message = dict[str, Any]
REPLAY = "sidecar-again"
"""Id of the `initialize` that the pipe itself sends to a new daemon; those of its other requests begin with it."""


class Replay:
    """One session. `over`: the client has ended it; `replayed`: the new daemon has answered our `initialize`."""

    cancel_method: ClassVar[str]
    cancel_key: ClassVar[str]
    error_number: ClassVar[int]
    ending: ClassVar[tuple[str, ...]] = ()
    standing: ClassVar[tuple[str, ...]] = ()
    """Requests that are under way as long as the client likes: said again, not failed."""

    def __init__(self) -> None:
        self.over = False
        self.replayed = True
        self._life = 0
        self._initialize: Message | None = None
        self._initialize_answered = False
        self._initialized: Message | None = None
        self._in_flight: dict[str, Message] = {}
        self._asked: dict[str, object] = {}

    # ------------------------------------------------------------ for the protocol

    def frame(self, message: Message) -> bytes:
        """The message as it stands on the wire."""
        raise NotImplementedError

    def began(self, message: Message) -> None:
        """The client's `initialize`."""

    def note(self, method: str, message: Message) -> None:
        """What else the client has said."""

    def heard(self, method: str, message: Message) -> None:
        """What the daemon has said unasked."""

    def again(self) -> Iterator[Message]:
        """What a new daemon must be told after `initialize` and its answer."""
        if self._initialized is not None:
            yield self._initialized

    def begin(self, initialize: Message) -> Message:
        """`initialize` for a new daemon."""
        return initialize

    def initialized(self, result: Any) -> None:
        """What the first daemon answered to `initialize`."""

    def at_once(self) -> Iterator[Message]:
        """Answers that need no daemon, for the time in which one comes up."""
        yield from ()

    def unfinished(self) -> Iterator[Message]:
        """Ends what the dead daemon has left open at the client."""
        yield from ()

    # ------------------------------------------------------------ for the pipe

    def stage(self, body: bytes) -> str:
        """`begin` for `initialize`, `end` for what a session ends with and needs no daemon for; else nothing."""
        message = _parsed(body)
        method = message.get("method") if message is not None else None
        return "begin" if method == "initialize" else "end" if method in self.ending else ""

    def from_client(self, raw: bytes, body: bytes) -> bytes | None:
        """What to send on; None: nothing."""
        message = _parsed(body)
        if message is None:
            return raw
        method = message.get("method")
        if not isinstance(method, str):
            return self._answer_of_client(raw, message)
        if "id" in message:
            self._in_flight[repr(message["id"])] = message
        if method == "initialize":
            if self._initialize is None:
                self._initialize = message
                self.began(message)
        else:
            self.note(method, message)
        return raw

    def from_daemon(self, raw: bytes, body: bytes) -> bytes | None:
        message = _parsed(body)
        if message is None:
            return raw
        method = message.get("method")
        if not isinstance(method, str):
            return self._answer_of_daemon(raw, message)
        if "id" in message:
            return self._question(raw, message)
        self.heard(method, message)
        return self._with_our_id(raw, method, message)

    def without_daemon(self) -> list[bytes]:
        """What the client is told before a daemon is there."""
        return [self.frame(message) for message in self.at_once()]

    def lost(self, why: str = "") -> list[bytes]:
        """The daemon is gone: what the client is told. `why`: no other one can be had, so even `initialize` fails."""
        self._life += 1
        told: list[Message] = []
        for key, request in list(self._in_flight.items()):
            if request.get("method") in self.standing or (self._begins(request) and not why):
                continue
            del self._in_flight[key]
            told.append(self.failed(request, why))
        for identifier in self._asked.values():
            told.append({"jsonrpc": "2.0", "method": self.cancel_method, "params": {self.cancel_key: identifier}})
        self._asked.clear()
        told.extend(self.unfinished())
        return [self.frame(message) for message in told]

    def failed(self, request: Message, why: str) -> Message:
        error = DaemonEnded(why or "It has been started again: please retry.")
        told = {"code": self.error_number, "message": error.message, "data": error.as_dict()}
        return {"jsonrpc": "2.0", "id": request["id"], "error": told}

    def opening(self) -> Iterator[bytes]:
        """Frames for a new daemon. After the first one `replayed` must become true before the next is asked for."""
        if self._initialize is not None:
            begin = self.begin(self._initialize)
            if not self._initialize_answered:
                yield self.frame(begin)
                return
            self.replayed = False
            yield self.frame({**begin, "id": REPLAY})
        for message in self.again():
            yield self.frame(message)
        for request in list(self._in_flight.values()):
            if request.get("method") in self.standing:
                yield self.frame(request)

    def _begins(self, request: Message) -> bool:
        return request.get("method") == "initialize" and not self._initialize_answered

    # ------------------------------------------------------------ answers and their ids

    def _answer_of_client(self, raw: bytes, message: Message) -> bytes | None:
        key = repr(message.get("id"))
        if key not in self._asked:
            return raw if self._life == 0 else None
        del self._asked[key]
        if self._life == 0:
            return raw
        return self.frame({**message, "id": json.loads(str(message["id"]).partition("/")[2])})

    def _answer_of_daemon(self, raw: bytes, message: Message) -> bytes | None:
        identifier = message.get("id")
        if identifier == REPLAY:
            self.replayed = True
            self.initialized(message.get("result"))
        if isinstance(identifier, str) and identifier.startswith(REPLAY):
            return None
        request = self._in_flight.pop(repr(identifier), None)
        if request is not None and request.get("method") == "initialize":
            self._initialize_answered = True
            self.initialized(message.get("result"))
        return raw

    def _question(self, raw: bytes, message: Message) -> bytes:
        shown = self._shown_id(message["id"])
        self._asked[repr(shown)] = shown
        return raw if self._life == 0 else self.frame({**message, "id": shown})

    def _with_our_id(self, raw: bytes, method: str, message: Message) -> bytes:
        params = message.get("params")
        if method != self.cancel_method or self._life == 0 or not isinstance(params, Mapping):
            return raw
        return self.frame({**message, "params": {**params, self.cancel_key: self._shown_id(params[self.cancel_key])}})

    def _shown_id(self, identifier: object) -> object:
        return identifier if self._life == 0 else f"{self._life}/{json.dumps(identifier)}"


def as_utf8(message: Message) -> bytes:
    """JSON. Half of a surrogate pair, which UTF-8 cannot hold, stays the escape that JSON has for it."""
    return json.dumps(message, ensure_ascii=False).encode("utf-8", "backslashreplace")


def _parsed(body: bytes) -> Message | None:
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None
