"""JSON-RPC errors for the house's errors. The numbers are part of the contract (docs/lsp.md) and do not change."""

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
CANCELLED = -32800

_NUMBERS: tuple[tuple[type[SidecarError], int], ...] = (
    (InvalidParams, INVALID_PARAMS),
    (UnknownTool, METHOD_NOT_FOUND),
    (Cancelled, CANCELLED),
    (Internal, INTERNAL),
    (SidecarError, TOOL_FAILED),
)


def fault(error: SidecarError, dialect: Dialect = CODE_SEARCH) -> JsonRpcException:
    """The answer to a request that failed: `data` is the error's `as_dict()`, whose `code` tells kinds apart, and
    beside it the fields by which the tool's family tells a failure."""
    number = next(number for kind, number in _NUMBERS if isinstance(error, kind))
    body = dialect.with_both(error.as_dict(), error.code, error.message)
    return JsonRpcException(message=error.message, code=number, data=body)


def bad_params(reason: str) -> JsonRpcException:
    return fault(InvalidParams(reason))


def cancelled() -> JsonRpcException:
    return fault(Cancelled())
