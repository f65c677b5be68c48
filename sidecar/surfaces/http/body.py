"""Reads a request's body as the parameters of a tool: bounded in size and time, strictly JSON."""

from __future__ import annotations

import asyncio
import json
from typing import Any, NoReturn

from starlette.requests import Request

from sidecar.errors import InvalidParams
from sidecar.surfaces.http.faults import not_json, too_large, too_slow

MAX_BYTES = 16 * 1024**2
MAX_SECONDS = 30.0
_DRAINED = 8
"""This many times the limit is read and thrown away, so that a client which is still sending gets to read the 413."""


async def read_arguments(request: Request, seconds: float = MAX_SECONDS) -> dict[str, Any]:
    """The JSON object in the body, which must come within so many seconds; no body at all is an empty one.

    Raises `RequestFault` (408, 413, 415) and `InvalidParams`.
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
    """Raises `InvalidParams` for what is no JSON (NaN is none) and for what is no object."""
    try:
        value = json.loads(body.decode("utf-8"), parse_constant=_refuse_constant)
    except RecursionError:
        raise InvalidParams("The body is nested too deeply.") from None
    except ValueError as error:
        raise InvalidParams(f"The body is not valid JSON: {error}.") from None
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
