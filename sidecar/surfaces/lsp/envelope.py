"""Checks whether a JSON value is a JSON-RPC 2.0 message, and checks the values in messages."""

from __future__ import annotations

from typing import Any

from sidecar.errors import InvalidParams


def defect(message: Any) -> str:
    """Returns why this is not a JSON-RPC 2.0 message; empty if it is one."""
    if isinstance(message, list):
        return "Batches are not supported; send the messages one by one."
    if not isinstance(message, dict):
        return "A message must be an object."
    if message.get("jsonrpc") != "2.0":
        return 'A message must have "jsonrpc": "2.0".'
    return _defect_of_call(message) if "method" in message else _defect_of_answer(message)


def _defect_of_call(message: dict[str, Any]) -> str:
    if "id" in message and usable_id(message) is None:
        return "The id of a request must be a string or a whole number."
    if not isinstance(message["method"], str):
        return "The method must be a string."
    return "" if isinstance(message.get("params"), dict | list | None) else "params must be an object or an array."


def _defect_of_answer(message: dict[str, Any]) -> str:
    return "" if "id" in message and ("result" in message or "error" in message) else "The method is missing."


def usable_id(message: Any) -> str | int | None:
    """Returns the `id` of a message or cancellation if it is a string or a whole number, otherwise None."""
    found = message.get("id") if isinstance(message, dict) else None
    return found if isinstance(found, str | int) and not isinstance(found, bool) else None


def named(params: Any) -> dict[str, Any]:
    """Returns parameters by name; an empty object for None. Raises InvalidParams for anything else."""
    if params is None:
        return {}
    if not isinstance(params, dict):
        raise InvalidParams("params must be an object with the parameters by name.")
    return params


def text(value: Any) -> str:
    """Returns the value if it is a string. Raises TypeError if it is not."""
    if not isinstance(value, str):
        raise TypeError(f"a string is expected, not {type(value).__name__}")
    return value


def strings(value: Any) -> list[str]:
    """Returns the strings in a list; an empty list for a value that is not a list."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def brief(error: BaseException) -> str:
    """Returns one line about the error, for a log."""
    if isinstance(error, KeyError):
        return f"{error.args[0]} is missing" if error.args else "a field is missing"
    return (str(error).splitlines() or [type(error).__name__])[0][:300]
