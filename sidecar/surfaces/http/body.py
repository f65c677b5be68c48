"""Reads a request's body as a tool's parameters: limited in size and time, and strictly JSON."""

from __future__ import annotations

import asyncio
import json
from typing import Any, NoReturn

from starlette.requests import Request

from sidecar import shown
from sidecar.errors import InvalidParams
from sidecar.surfaces.http.faults import not_json, too_large, too_slow

MAX_BYTES = 16 * 1024**2
"""Bytes of the largest body."""
MAX_SECONDS = 30.0
"""Time in which the body must arrive."""
_DRAINED = 8
"""Up to this many times `MAX_BYTES` are read and discarded, so that a client that is still sending can read the 413."""


async def read_arguments(request: Request, seconds: float = MAX_SECONDS) -> dict[str, Any]:
    """Returns the JSON object in the body; an empty object if the body is empty.

    Raises `RequestFault` (408 if the body does not arrive within `seconds`, 413 if it is too large, 415 if it is not
    JSON) and `InvalidParams`.
    """
    try:
        async with asyncio.timeout(seconds):
            body = await _read(request)
    except TimeoutError:
        raise too_slow(seconds) from None
    if not body:
        return {}
    content_type = request.headers.get("content-type", "")
    if content_type.partition(";")[0].strip().lower() != "application/json":
        raise not_json(content_type)
    return parse(body)


def parse(body: bytes) -> dict[str, Any]:
    """Parses a JSON object. Raises `InvalidParams` for anything else, including NaN and the infinities."""
    try:
        value = json.loads(body.decode("utf-8"), parse_constant=_refuse_constant)
    except RecursionError:
        raise InvalidParams("The body is nested too deeply.") from None
    except ValueError as error:
        raise InvalidParams(f"The body is not valid JSON: {shown.reason(error)}.") from None
    if not isinstance(value, dict):
        raise InvalidParams("The body must be one JSON object that holds the parameters.")
    return value


async def _read(request: Request) -> bytes:
    body, size = bytearray(), 0
    async for part in request.stream():
        size += len(part)
        if size <= MAX_BYTES:
            body += part
        elif size > _DRAINED * MAX_BYTES:
            break
    if size > MAX_BYTES:
        raise too_large(MAX_BYTES)
    return bytes(body)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number in JSON")
