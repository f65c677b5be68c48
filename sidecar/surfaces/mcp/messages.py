"""Decides which bytes are a message, and makes the answer to bytes that are not. Used over stdio and HTTP.

The SDK's reader takes a request whose id has a wrong type for a notification, which gets no answer. It also refuses
lone surrogates, which JSON can express and UTF-8 cannot, and its writer fails on them.
"""

from __future__ import annotations

import json
import re
from typing import Any

from mcp.shared.message import SessionMessage
from mcp.types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    jsonrpc_message_adapter,
)

_HALF_A_PAIR = re.compile("[\ud800-\udfff]")
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def parse(line: bytes) -> SessionMessage | JSONRPCError:
    """Returns the message, or the error that JSON-RPC demands as the answer."""
    try:
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        return _unread(line)
    if isinstance(message, JSONRPCNotification) and (refused := _not_without_id(line)) is not None:
        return refused
    return SessionMessage(message)


def refusal(code: int, message: str, asked: int | str | None = None) -> JSONRPCError:
    """Returns a JSON-RPC error with this code and message."""
    return JSONRPCError(jsonrpc="2.0", id=asked, error=ErrorData(code=code, message=message))


def as_line(message: Any) -> bytes:
    """Returns the message as one line of UTF-8.

    Lone surrogates are replaced, because readers refuse them, except in the id, which is returned unchanged.
    """
    try:
        text: str = message.model_dump_json(by_alias=True, exclude_unset=True)
    except ValueError:
        body = message.model_dump(by_alias=True, exclude_unset=True)
        escaped = json.loads(as_text(json.dumps(body, ensure_ascii=False, default=str)))
        text = json.dumps({**escaped, "id": body["id"]} if "id" in body else escaped)
    return text.encode() + b"\n"


def as_text(text: str) -> str:
    """Returns the text with a replacement character for each lone surrogate."""
    return _HALF_A_PAIR.sub(_REPLACEMENT, text)


def whole(value: dict[str, Any]) -> dict[str, Any]:
    """Returns the value with lone surrogates replaced, which UTF-8 cannot hold; names of files may contain them."""
    if _is_utf8(value):
        return value
    escaped: dict[str, Any] = json.loads(as_text(json.dumps(value, ensure_ascii=False)))
    return escaped


def _is_utf8(value: object) -> bool:
    """Whether no text in the value has a lone surrogate. Without recursion, because an answer has hundreds of texts,
    most of which are ASCII."""
    left = [value]
    while left:
        part = left.pop()
        if isinstance(part, str):
            if not (part.isascii() or _encodes(part)):
                return False
        elif isinstance(part, dict):
            left += part
            left += part.values()
        elif isinstance(part, list | tuple):
            left += part
    return True


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _not_without_id(line: bytes) -> JSONRPCError | None:
    """Checks what the SDK takes for a notification: if it has an id, it is a request whose id has a wrong type."""
    try:
        if "id" not in json.loads(line):
            return None
    except (ValueError, RecursionError):  # such as a number with thousands of digits
        return refusal(PARSE_ERROR, "The line is not JSON.")
    return refusal(INVALID_REQUEST, "The id of a request must be a string or a whole number.")


def _unread(line: bytes) -> SessionMessage | JSONRPCError:
    """Finds out why the SDK refuses a line."""
    try:
        body = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return refusal(PARSE_ERROR, "The line is not JSON.")
    if isinstance(body, list):
        return refusal(INVALID_REQUEST, "Batches are not supported; send one message per line.")
    asked = body.get("id") if isinstance(body, dict) else None
    known = asked if isinstance(asked, int | str) and not isinstance(asked, bool) else None
    text = json.dumps(body, ensure_ascii=False)
    if not _HALF_A_PAIR.search(text):
        return refusal(INVALID_REQUEST, "The line is JSON but not a JSON-RPC 2.0 message.", known)
    if known is not None and "method" not in body:
        return _answer(as_text(text), known)
    half = "The message holds half of a surrogate pair (\\ud800 to \\udfff), which is not text; send whole characters."
    return refusal(INVALID_REQUEST, half, known)


def _answer(text: str, known: int | str) -> SessionMessage | JSONRPCError:
    """Reads the client's answer to a question of the server as well as possible, because a call waits for it."""
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(text, by_name=False))
    except ValueError:
        return refusal(INVALID_REQUEST, "The line is JSON but not a JSON-RPC 2.0 message.", known)
