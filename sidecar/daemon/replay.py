"""What a pipe remembers of its session, so that it can restore the session with another daemon.

This module covers JSON-RPC in general; `replay_lsp.py` and `replay_mcp.py` add what a session of their protocol
consists of. No I/O happens here: frames come in and frames go out. Every pipe imports this module, so it imports
little.

After the first daemon is lost, requests that a daemon sends to the client get new ids. Otherwise a late answer to the
first daemon's question (a "yes") could be taken for the answer to another question.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from sidecar.errors import DaemonEnded

Message = dict[str, Any]
REPLAY = "sidecar-again"
"""Id of the `initialize` that the pipe itself sends to a new daemon; the ids of its other requests begin with the same
text."""
_RESULT = re.compile(rb'\s*\{"jsonrpc":"2\.0","id":([0-9]{1,15}),"result":')
"""The beginning of an answer as a daemon writes it to a request whose id is a number."""
_TWICE = "It ended twice while it was at this call. Please try again."


class Replay:
    """One client's session, as a pipe remembers it.

    `over`: the client has ended it. `replayed`: no `initialize` that the pipe itself has sent awaits an answer.
    """

    cancel_method: ClassVar[str]
    """Method of the notification that cancels a request."""
    cancel_key: ClassVar[str]
    """The parameter of that notification that holds the request's id."""
    error_number: ClassVar[int]
    """JSON-RPC code of the error that answers a lost request."""
    ending: ClassVar[tuple[str, ...]] = ()
    """Methods that end a session and need no daemon."""
    standing: ClassVar[tuple[str, ...]] = ()
    """Requests that stay open as long as the client likes. They are sent to the new daemon again instead of failing."""

    def changes_nothing(self, request: Message) -> bool:
        """Whether the request may be repeated, because it changes nothing even if it was partly executed."""
        raise NotImplementedError

    def __init__(self) -> None:
        self.over = False
        self.replayed = True
        self._life = 0
        self._initialize: Message | None = None
        self._initialize_answered = False
        self._initialized: Message | None = None
        self._in_flight: dict[str, Message] = {}
        self._once: dict[str, str] = {}
        """Requests in flight that must not be repeated, each with the text of its error if the daemon is lost."""
        self._asked: dict[str, object] = {}

    # ------------------------------------------------------------ for the protocol

    def frame(self, message: Message) -> bytes:
        """Returns the message as bytes on the wire."""
        raise NotImplementedError

    def began(self, message: Message) -> None:
        """Called with the client's `initialize`, before it is sent."""

    def note(self, method: str, message: Message) -> None:
        """Called with each other request and notification of the client."""

    def heard(self, method: str, message: Message) -> None:
        """Called with each notification of the daemon."""

    def again(self) -> Iterator[Message]:
        """Yields the messages that a new daemon must get after it has answered `initialize`."""
        if self._initialized is not None:
            yield self._initialized

    def begin(self, initialize: Message) -> Message:
        """Returns the `initialize` to send to a new daemon."""
        return initialize

    def initialized(self, result: Any) -> None:
        """Called with each daemon's result of `initialize`."""

    def at_once(self) -> Iterator[Message]:
        """Yields answers that need no daemon, which are sent while a daemon starts."""
        yield from ()

    def unfinished(self) -> Iterator[Message]:
        """Yields messages that close what the dead daemon has left open at the client."""
        yield from ()

    # ------------------------------------------------------------ for the pipe

    def stage(self, body: bytes) -> str:
        """Returns `begin` for `initialize`, `end` for a message that ends a session, otherwise an empty text."""
        message = _parsed(body)
        method = message.get("method") if message is not None else None
        return "begin" if method == "initialize" else "end" if method in self.ending else ""

    def from_client(self, raw: bytes, body: bytes) -> bytes | None:
        """Returns the bytes to send to the daemon for this message of the client, or None for nothing."""
        message = _parsed(body)
        if message is None:
            return raw
        method = message.get("method")
        if not isinstance(method, str):
            return self._answer_of_client(raw, message)
        if "id" in message:
            self._in_flight[repr(message["id"])] = message
            self._once.pop(repr(message["id"]), None)
        elif method == self.cancel_method:
            self._once[repr(_parameter(message, self.cancel_key))] = ""
        if method == "initialize":
            if self._initialize is None:
                self._initialize = message
                self.began(message)
        else:
            self.note(method, message)
        return raw

    def from_daemon(self, raw: bytes, body: bytes) -> bytes | None:
        """Returns the bytes to send to the client for this message of the daemon, or None for nothing."""
        if self._is_plain_result(body):
            return raw
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
        """Returns the frames to send to the client before a daemon is reached."""
        return [self.frame(message) for message in self.at_once()]

    def lost(self, why: str = "") -> list[bytes]:
        """Returns the frames that tell the client that the daemon is gone.

        They fail the requests in flight, withdraw the daemon's questions and close open progress. Unless `why` says
        that no daemon can be reached, an `initialize` without an answer is kept for the next daemon, and so is, once, a
        request that changes nothing.
        """
        self._life += 1
        messages: list[Message] = []
        for key, request in list(self._in_flight.items()):
            if request.get("method") in self.standing or (not why and self._is_kept(key, request)):
                continue
            del self._in_flight[key]
            messages.append(self.failed(request, why or self._once.pop(key, "")))
        for identifier in self._asked.values():
            messages.append({"jsonrpc": "2.0", "method": self.cancel_method, "params": {self.cancel_key: identifier}})
        self._asked.clear()
        messages.extend(self.unfinished())
        return [self.frame(message) for message in messages]

    def failed(self, request: Message, why: str) -> Message:
        """Returns the error that answers a request of the client if the dead daemon has not answered it."""
        error = DaemonEnded(why or "It has been started again. Please try again.")
        failure = {"code": self.error_number, "message": error.message, "data": error.as_dict()}
        return {"jsonrpc": "2.0", "id": request["id"], "error": failure}

    def opening(self) -> Iterator[bytes]:
        """Yields the frames that begin the session with a new daemon.

        After the first frame, `replayed` must become true before the next one is taken.
        """
        if self._initialize is not None:
            begin = self.begin(self._initialize)
            if not self._initialize_answered:
                yield self.frame(begin)
                return
            self.replayed = False
            yield self.frame({**begin, "id": REPLAY})
        for message in self.again():
            yield self.frame(message)
        for key, request in list(self._in_flight.items()):
            if request.get("method") in self.standing:
                yield self.frame(request)
            elif not self._begins(request):
                self._once[key] = _TWICE
                yield self.frame(request)

    def _is_kept(self, key: str, request: Message) -> bool:
        """Whether the next daemon gets this request."""
        return self._begins(request) or (key not in self._once and self.changes_nothing(request))

    def _begins(self, request: Message) -> bool:
        """Whether this request is the `initialize`, and no daemon has answered it yet."""
        return request.get("method") == "initialize" and not self._initialize_answered

    # ------------------------------------------------------------ answers and their ids

    def _answer_of_client(self, raw: bytes, message: Message) -> bytes | None:
        """Passes on an answer to a question of the present daemon, under the daemon's own id.

        An answer to a question of an earlier daemon is dropped.
        """
        key = repr(message.get("id"))
        if key not in self._asked:
            return raw if self._life == 0 else None
        del self._asked[key]
        if self._life == 0:
            return raw
        return self.frame({**message, "id": json.loads(str(message["id"]).partition("/")[2])})

    def _answer_of_daemon(self, raw: bytes, message: Message) -> bytes | None:
        """Passes on an answer of the daemon; drops the answers to the pipe's own requests."""
        identifier = message.get("id")
        if identifier == REPLAY:
            self.replayed = True
            self.initialized(message.get("result"))
        if isinstance(identifier, str) and identifier.startswith(REPLAY):
            return None
        request = self._in_flight.pop(repr(identifier), None)
        self._once.pop(repr(identifier), None)
        if request is not None and request.get("method") == "initialize":
            self._initialize_answered = True
            self.initialized(message.get("result"))
        return raw

    def _is_plain_result(self, body: bytes) -> bool:
        """Whether this is the result of a request in flight other than `initialize`, which ends with it. Such a result
        may be long, and nothing in it concerns the pipe, so it is not parsed."""
        begun = _RESULT.match(body)
        key = begun[1].decode() if begun is not None else ""
        if self._in_flight.get(key, {}).get("method") in (None, "initialize"):
            return False
        del self._in_flight[key]
        self._once.pop(key, None)
        return True

    def _question(self, raw: bytes, message: Message) -> bytes:
        """Passes on a request of the daemon, under the id that the client sees."""
        shown = self._shown_id(message["id"])
        self._asked[repr(shown)] = shown
        return raw if self._life == 0 else self.frame({**message, "id": shown})

    def _with_our_id(self, raw: bytes, method: str, message: Message) -> bytes:
        """Rewrites the id in a cancellation of a question; passes on every other notification unchanged."""
        params = message.get("params")
        if method != self.cancel_method or self._life == 0 or not isinstance(params, Mapping):
            return raw
        return self.frame({**message, "params": {**params, self.cancel_key: self._shown_id(params[self.cancel_key])}})

    def _shown_id(self, identifier: object) -> object:
        return identifier if self._life == 0 else f"{self._life}/{json.dumps(identifier)}"


def as_utf8(message: Message) -> bytes:
    """Returns the message as JSON in UTF-8. Lone surrogates, which UTF-8 cannot hold, stay JSON escapes."""
    return json.dumps(message, ensure_ascii=False).encode("utf-8", "backslashreplace")


def _parameter(message: Message, name: str) -> object:
    params = message.get("params")
    return params.get(name) if isinstance(params, Mapping) else None


def _parsed(body: bytes) -> Message | None:
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None
