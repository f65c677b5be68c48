"""Turns sidecar's errors into JSON-RPC errors. The numbers are part of the contract (docs/lsp.md) and never change."""

from __future__ import annotations

from pygls.exceptions import JsonRpcException

from sidecar.errors import Cancelled, Internal, InvalidParams, SidecarError, UnknownTool
from sidecar.tools.dialect import CODE_SEARCH, Dialect

INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL = -32603
NOT_INITIALIZED = -32002
TOOL_FAILED = -32010
NOT_ADMITTED = -32011
CANCELLED = -32800

_NUMBERS: tuple[tuple[type[SidecarError], int], ...] = (
    (InvalidParams, INVALID_PARAMS),
    (UnknownTool, METHOD_NOT_FOUND),
    (Cancelled, CANCELLED),
    (Internal, INTERNAL),
    (SidecarError, TOOL_FAILED),
)


def fault(error: SidecarError, dialect: Dialect = CODE_SEARCH) -> JsonRpcException:
    """Returns the JSON-RPC error that answers a failed request.

    Its `data` is the error's `as_dict()`, whose `code` says what kind of error it is, together with the fields in which
    the tool's family reports a failure.
    """
    number = next(number for kind, number in _NUMBERS if isinstance(error, kind))
    body = dialect.with_both(error.as_dict(), error.code, error.message)
    return JsonRpcException(message=error.message, code=number, data=body)


def cancelled() -> JsonRpcException:
    """Returns the answer to a cancelled request."""
    return fault(Cancelled())


def unauthorized() -> JsonRpcException:
    """Returns the answer to an `initialize` with a missing or wrong token."""
    return _not_admitted(
        "UNAUTHORIZED",
        "The token is missing or wrong.",
        "Send it as initializationOptions.token; sidecar --tcp prints which file holds the token.",
    )


def too_many() -> JsonRpcException:
    """Returns the answer to an `initialize` that would exceed the number of clients."""
    return _not_admitted("TOO_MANY_CONNECTIONS", "Too many clients are connected.", "Close one of them.")


def _not_admitted(code: str, message: str, detail: str) -> JsonRpcException:
    data = {"code": code, "userMessage": message, "detail": detail}
    return JsonRpcException(message=f"{message} {detail}", code=NOT_ADMITTED, data=data)
