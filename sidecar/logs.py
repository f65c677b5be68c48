"""Whom a log record concerns: one workspace, one client or, like every record of a plain logger, everybody.

One process serves many editors; a record that names files of a workspace is for those who have it open.
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


def workspace_log(name: str, workspace: str) -> Log:
    """The logger of this name, for what concerns the workspace with this root folder."""
    return logging.LoggerAdapter(logging.getLogger(name), {_WORKSPACE: workspace})


def client_log(name: str, client: object) -> Log:
    """The logger of this name, for what concerns one client: whichever object stands for it, known by identity."""
    return logging.LoggerAdapter(logging.getLogger(name), {_CLIENT: client})


def concerns(record: logging.LogRecord, client: object, has_open: Callable[[str], bool]) -> bool:
    """Whether a record is for this client. `has_open` is asked with a workspace's root, as its logger was given it."""
    if getattr(record, _CLIENT, client) is not client:
        return False
    workspace = getattr(record, _WORKSPACE, None)
    return workspace is None or has_open(workspace)


class ShownFormatter(logging.Formatter):
    """A record is one visible line; a traceback that follows it is indented, so that no line of it is a record."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        record.message = shown.sentence(record.message)
        return super().formatMessage(record)

    def formatException(
        self, ei: tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]
    ) -> str:
        return _indented(super().formatException(ei))

    def formatStack(self, stack_info: str) -> str:
        return _indented(super().formatStack(stack_info))


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in shown.visible(text).split("\n"))
