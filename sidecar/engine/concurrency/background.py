"""One call on a thread of its own, whose result is taken later: for what waits on another process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

_T = TypeVar("_T")


def beside(work: Callable[[], _T]) -> Future[_T]:
    """Starts `work` at once. A result that nobody takes is lost, and so is its exception."""
    future: Future[_T] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    # A pool would outlive the search and have to be ended by somebody.
    threading.Thread(target=run, name="sidecar-beside", daemon=True).start()
    return future
