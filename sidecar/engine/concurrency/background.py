"""Runs one call on its own thread, for a caller that continues and takes the result later."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

_T = TypeVar("_T")


def beside(work: Callable[[], _T]) -> Future[_T]:
    """Starts `work` at once. The future gets its result or exception, which is lost if the caller never asks for it.

    If the system allows no further thread, `work` is done before this returns. So it must not wait for its caller.
    """
    future: Future[_T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    if not started(run):
        run()
    return future


def started(work: Callable[[], None]) -> bool:
    """Starts `work` on a thread of its own; returns False if the system allows no further thread."""
    try:
        # A pool would outlive the search, and something would have to shut it down.
        threading.Thread(target=work, name="sidecar-background", daemon=True).start()
    except RuntimeError:
        return False
    return True
