"""Marks each log record with what it concerns: one workspace, one client or, as with a plain logger, the whole process.

One process serves many editors. A record that names files of a workspace is shown only to editors that have it open.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from types import TracebackType
from typing import TypeAlias

from sidecar import shown

Log: TypeAlias = logging.LoggerAdapter[logging.Logger]

_WORKSPACE = "sidecar_workspace"
_CLIENT = "sidecar_client"
_ATTEMPTS = "sidecar_attempts"


def workspace_log(name: str, workspace: str) -> Log:
    """Returns the logger of this name for records about one workspace; `workspace` is its root folder."""
    return logging.LoggerAdapter(logging.getLogger(name), {_WORKSPACE: workspace})


def client_log(name: str, client: object) -> Log:
    """Returns the logger of this name for records about one client.

    `client` is any object that stands for it, compared by identity.
    """
    return logging.LoggerAdapter(logging.getLogger(name), {_CLIENT: client})


def concerns(record: logging.LogRecord, client: object, has_open: Callable[[str], bool]) -> bool:
    """Whether this client should get a record. `has_open` is called with the root of the record's workspace."""
    if getattr(record, _CLIENT, client) is not client:
        return False
    workspace = getattr(record, _WORKSPACE, None)
    return workspace is None or has_open(workspace)


def log_failure(log: Log, message: str, *arguments: object) -> str:
    """Logs the exception that is being handled. Returns a sentence for the person: which file of the data folder has
    the details, or why none has."""
    attempts: dict[str, str] = {}
    log.logger.exception(message, *arguments, extra={**(log.extra or {}), _ATTEMPTS: attempts})
    kept = [file for file, reason in attempts.items() if not reason]
    if kept:
        return f"The log (logs/{kept[0]} in the data folder) has the details."
    if not attempts:
        return "Nothing has recorded the details, because this process writes no log file."
    file, reason = next(iter(attempts.items()))
    return (
        f"The details are lost, because the log (logs/{file} in the data folder) cannot be written:"
        f" {shown.reason(reason)}. Mend that and try again."
    )


def note_attempt(record: logging.LogRecord, file: str, reason: str = "") -> None:
    """Notes that a record was written to a log file of this name or, with a `reason`, could not be."""
    getattr(record, _ATTEMPTS, {})[file] = reason


class ShownFormatter(logging.Formatter):
    """Formats a record as one line without hidden characters.

    A traceback below it is indented, so that none of its lines can pass for a record.
    """

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Returns the formatted record on one line, with its foreign strings made visible."""
        record.message = shown.sentence(record.message)
        return super().formatMessage(record)

    def formatException(
        self, ei: tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
    ) -> str:
        """Returns the traceback, indented."""
        return _indented(super().formatException(ei))

    def formatStack(self, stack_info: str) -> str:
        """Returns the stack, indented."""
        return _indented(super().formatStack(stack_info))


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in shown.visible(text).split("\n"))
