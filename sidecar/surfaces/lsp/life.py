"""Ends a session or the process on signals and when the editor dies, and sends log records to the client."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sidecar import shown
from sidecar.processes import is_running

PARENT_POLL_S = 2.0
"""Interval between checks of the editor's process on systems without pidfd."""
_LEVELS = ((logging.ERROR, 1), (logging.WARNING, 2), (logging.INFO, 3))


def end_on_signals(end: Callable[[int], None]) -> None:
    """Makes SIGTERM, SIGINT and SIGHUP call `end` with 128 + n for signal n, the exit status that shells use."""
    loop = asyncio.get_running_loop()
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is None:
            continue
        try:
            loop.add_signal_handler(number, end, 128 + number)
        except (NotImplementedError, RuntimeError, ValueError):
            continue  # Windows, or not the main thread: the session ends with its stream


async def outlived(pid: int) -> None:
    """Returns when the process `pid` has ended.

    Never returns if the process does not exist at the start, as with a pid from another namespace, or on Windows.
    """
    loop = asyncio.get_running_loop()
    if sys.platform == "win32" or not is_running(pid):
        await loop.create_future()
    try:
        watch = os.pidfd_open(pid)
    except (AttributeError, OSError):
        while is_running(pid):
            await asyncio.sleep(PARENT_POLL_S)
        return
    gone = asyncio.Event()
    loop.add_reader(watch, gone.set)
    try:
        await gone.wait()
    finally:
        loop.remove_reader(watch)
        os.close(watch)


def exit_soon(status: int, within_s: float) -> None:
    """Ends the process with this status after `within_s` seconds, even if a thread of the engine is still running."""
    timer = threading.Timer(within_s, os._exit, (status,))
    timer.daemon = True
    timer.start()


class ClientLog(logging.Handler):
    """Sends warnings and errors of sidecar and its libraries to the client as `window/logMessage`.

    Each is one line without a traceback. `hears`, called from any thread, says whether this client gets a record.
    """

    def __init__(self, notify: Callable[[str, Any], None], hears: Callable[[logging.LogRecord], bool]) -> None:
        super().__init__(logging.WARNING)
        self._notify = notify
        self._hears = hears
        self._loop = asyncio.get_running_loop()

    def __enter__(self) -> ClientLog:
        # pygls logs whole messages, and errors that the client gets anyway.
        pygls = logging.getLogger("pygls")
        pygls.setLevel(logging.CRITICAL)
        logging.getLogger().addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger().removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Sends the record from the event loop; may be called from any thread."""
        try:
            if not self._hears(record):
                return
            text = f"{record.name}: {record.getMessage()}{_cause(record)}"
            level = next((number for least, number in _LEVELS if record.levelno >= least), 4)
            message = {"type": level, "message": shown.sentence(text)}
            self._loop.call_soon_threadsafe(self._notify, "window/logMessage", message)
        except Exception:
            self.handleError(record)


def _cause(record: logging.LogRecord) -> str:
    """Returns the exception and where it was raised, as a file name and line number; empty if the record has none."""
    error = record.exc_info[1] if record.exc_info else None
    if error is None:
        return ""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = f" at {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}" if trace else ""
    return f" ({type(error).__name__}: {error}{place})"
