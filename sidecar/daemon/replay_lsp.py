"""What a pipe remembers of an LSP session, and how it cuts the stream into frames (`Content-Length`).

A session consists of `initialize` with the present workspace folders, `initialized`, the last configuration, and the
open documents with their present text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

from sidecar.daemon.repeatable import LSP
from sidecar.daemon.replay import Message, Replay, as_utf8

FOLD_AT = 200
"""A document keeps up to this many changes; then they are applied to its text."""
_LENGTH = re.compile(rb"content-length[ \t]*:[ \t]*([0-9]{1,18})[ \t]*\r?\n", re.IGNORECASE)
_BLANK = re.compile(rb"\n\r?\n")
_LONGEST_HEADER = 64 * 1024


class _Document:
    """An open document: its text when it was opened, and the changes since then."""

    def __init__(self, opened: dict[str, Any]) -> None:
        self._opened = opened
        self._version = opened.get("version")
        self._changes: list[Any] = []

    def change(self, version: object, changes: list[Any], encoding: str) -> None:
        """Records changes. A change of the whole text replaces all earlier ones."""
        self._version = version
        if changes and "range" not in changes[-1]:
            self._changes = [changes[-1]]
        else:
            self._changes.extend(changes)
        if len(self._changes) > FOLD_AT:
            self.item(encoding)

    def item(self, encoding: str) -> dict[str, Any]:
        """Returns a TextDocumentItem with the present text."""
        from sidecar.surfaces.lsp.documents import apply_changes

        changes, self._changes = self._changes, []
        self._opened = {**self._opened, "text": apply_changes(str(self._opened["text"]), changes, encoding)}
        return {**self._opened, "version": self._version}


class LspReplay(Replay):
    """`Replay` for an LSP session."""

    cancel_method = "$/cancelRequest"
    cancel_key = "id"
    error_number = -32010
    ending = ("shutdown", "exit")

    def __init__(self, watch: Callable[[int], None]) -> None:
        """`watch` is called with the editor's process id."""
        super().__init__()
        self._watch = watch
        self._documents: dict[str, _Document] = {}
        self._folders: list[dict[str, Any]] | None = None
        self._configuration: Message | None = None
        self._encoding = "utf-16"
        self._shut_down = False
        self._open_progress: dict[str, object] = {}

    @property
    def status(self) -> int:
        """The pipe's exit status after the client has left: 0 after `shutdown`, otherwise 1."""
        return 0 if self._shut_down else 1

    def changes_nothing(self, request: Message) -> bool:
        """See `Replay.changes_nothing`."""
        return request.get("method") in LSP

    def frame(self, message: Message) -> bytes:
        """Returns the message as JSON after a header with its length in bytes."""
        body = as_utf8(message)
        return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)

    def began(self, message: Message) -> None:
        """Watches the editor's process, if `initialize` names it."""
        params = message.get("params")
        pid = params.get("processId") if isinstance(params, dict) else None
        if isinstance(pid, int) and not isinstance(pid, bool) and pid > 0:
            self._watch(pid)

    def note(self, method: str, message: Message) -> None:
        """Remembers what a message of the client changes in the session. A malformed message changes nothing."""
        noted = getattr(self, _NOTED.get(method, ""), None)
        if noted is not None:
            try:
                noted(message)
            except (KeyError, TypeError, ValueError, AttributeError):
                return  # the daemon reports the error in the message

    def heard(self, method: str, message: Message) -> None:
        """Remembers which progress the daemon has begun and not yet ended."""
        if method != "$/progress":
            return
        params = message.get("params") or {}
        token, kind = params.get("token"), (params.get("value") or {}).get("kind")
        if kind == "begin":
            self._open_progress[repr(token)] = token
        elif kind == "end":
            self._open_progress.pop(repr(token), None)

    def initialized(self, result: Any) -> None:
        """Notes the unit in which the daemon counts columns: UTF-16, unless `result` names another."""
        capabilities = result.get("capabilities") if isinstance(result, dict) else None
        encoding = capabilities.get("positionEncoding") if isinstance(capabilities, dict) else None
        self._encoding = encoding if encoding in ("utf-8", "utf-16", "utf-32") else "utf-16"

    def unfinished(self) -> Iterator[Message]:
        """Yields the end of each progress that the dead daemon has left open, and forgets them all."""
        tokens = list(self._open_progress.values())
        self._open_progress.clear()
        for token in tokens:
            yield {"jsonrpc": "2.0", "method": "$/progress", "params": {"token": token, "value": {"kind": "end"}}}

    def failed(self, request: Message, why: str) -> Message:
        """Returns the error for an unanswered request; for `shutdown` a success, because nothing is left to shut
        down."""
        if request.get("method") == "shutdown":
            return {"jsonrpc": "2.0", "id": request["id"], "result": None}
        return super().failed(request, why)

    def begin(self, initialize: Message) -> Message:
        """Returns the client's `initialize` with the workspace folders that are open now."""
        if self._folders is None:
            return initialize
        return {**initialize, "params": {**initialize["params"], "workspaceFolders": self._folders}}

    def again(self) -> Iterator[Message]:
        """Yields `initialized`, the last configuration, and `didOpen` with the present text of each open document."""
        yield from super().again()
        if self._configuration is not None:
            yield self._configuration
        for document in self._documents.values():
            params = {"textDocument": document.item(self._encoding)}
            yield {"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": params}

    # ------------------------------------------------------------ what the client says, by method

    def _note_initialized(self, message: Message) -> None:
        self._initialized = message

    def _note_configuration(self, message: Message) -> None:
        self._configuration = message

    def _note_shutdown(self, message: Message) -> None:
        self._shut_down = True

    def _note_exit(self, message: Message) -> None:
        self.over = True

    def _note_open(self, message: Message) -> None:
        opened = message["params"]["textDocument"]
        self._documents[opened["uri"]] = _Document({**opened, "text": opened["text"]})

    def _note_change(self, message: Message) -> None:
        document = message["params"]["textDocument"]
        self._documents[document["uri"]].change(
            document.get("version"), list(message["params"]["contentChanges"]), self._encoding
        )

    def _note_close(self, message: Message) -> None:
        self._documents.pop(message["params"]["textDocument"]["uri"], None)

    def _note_folders(self, message: Message) -> None:
        event = message["params"]["event"]
        if self._folders is None:
            self._folders = self._first_folders()
        gone = {folder["uri"] for folder in event.get("removed") or []}
        self._folders = [f for f in self._folders if f["uri"] not in gone] + list(event.get("added") or [])

    def _first_folders(self) -> list[dict[str, Any]]:
        params = (self._initialize or {}).get("params") or {}
        if params.get("workspaceFolders"):
            return list(params["workspaceFolders"])
        return [{"uri": params["rootUri"], "name": "root"}] if params.get("rootUri") else []


_NOTED = {
    "initialized": "_note_initialized",
    "shutdown": "_note_shutdown",
    "exit": "_note_exit",
    "workspace/didChangeConfiguration": "_note_configuration",
    "workspace/didChangeWorkspaceFolders": "_note_folders",
    "textDocument/didOpen": "_note_open",
    "textDocument/didChange": "_note_change",
    "textDocument/didClose": "_note_close",
}


class HeaderCutter:
    """Cuts bytes into frames by their headers.

    Bytes without a valid header, and frames longer than `limit` bytes, are passed on unread.
    """

    def __init__(self, limit: int = 64 * 1024 * 1024) -> None:
        self._limit = limit
        self._held = bytearray()
        self._header = 0
        self._length = -1
        self._passing = 0

    def feed(self, piece: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yields pairs: the received bytes, and the body in them.

        The body is empty if the bytes are to be passed on unread.
        """
        self._held += piece
        while (cut := self._next()) is not None:
            yield cut

    def rest(self) -> bytes:
        """Returns the bytes of an unfinished frame at the end of the stream."""
        return bytes(self._held)

    def _next(self) -> tuple[bytes, bytes] | None:
        if self._passing:
            return self._unseen(self._passing) if self._held else None
        if self._length < 0 and not self._measured():
            return self._unseen(len(self._held)) if len(self._held) > _LONGEST_HEADER else None
        if self._length > self._limit or self._length < 0:
            self._passing = self._header + max(self._length, 0)
            self._length = -1
            return self._unseen(self._passing)
        if len(self._held) < self._header + self._length:
            return None
        raw, body = self._take(self._header + self._length), self._header
        self._length = -1
        return raw, raw[body:]

    def _measured(self) -> bool:
        """Whether the bytes begin with a whole header. Sets the length from it, or -1 if the header names none."""
        end = _BLANK.search(self._held)
        if end is None:
            return False
        self._header = end.end()
        found = _LENGTH.findall(self._held, 0, self._header)
        self._length = int(found[-1]) if found else -1
        return True

    def _unseen(self, size: int) -> tuple[bytes, bytes]:
        """Takes up to `size` bytes to be passed on unread."""
        raw = self._take(size)
        self._passing = max(0, self._passing - len(raw))
        return raw, b""

    def _take(self, size: int) -> bytes:
        raw = bytes(self._held[:size])
        del self._held[:size]
        return raw
