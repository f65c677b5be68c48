"""Starts, asks, waits for and ends the process that has a store open. The callers define the requests."""

from __future__ import annotations

import contextlib
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO, cast

from numpy.typing import NDArray

from sidecar.errors import SidecarError, StoreFailed
from sidecar.locks import Rank, make_condition
from sidecar.parts.blocks import FrameError
from sidecar.parts.child import start_child
from sidecar.small_files import open_new, open_to_read

from .frames import Frame, read_frame, write_frame


def damaged(why: str) -> StoreFailed:
    """Returns the error about a damaged store, which has to be filled again."""
    return to_be_refilled(f" was damaged: {why}")


def to_be_refilled(why: str) -> StoreFailed:
    """Returns the error about a store that has to be filled again."""
    return StoreFailed(f"The vector store{why}. It is filled again from the vectors kept here.", rebuild=True)


class Turns:
    """A lock that urgent callers get before others. After eight urgent ones in a row, one of the others gets it."""

    _URGENT_IN_A_ROW = 8

    def __init__(self) -> None:
        self._condition = make_condition(Rank.VECTOR_STORE)
        self._taken = False
        self._waiting = {True: 0, False: 0}
        self._row = 0

    @contextlib.contextmanager
    def take(self, urgent: bool, timeout: float | None = None) -> Iterator[bool]:
        """Holds the lock within the block. Yields whether it was free within `timeout` seconds; without a timeout,
        waits until it is."""
        with self._condition:
            self._waiting[urgent] += 1
            try:
                had = self._condition.wait_for(lambda: not self._taken and self._is_next(urgent), timeout)
            finally:
                self._waiting[urgent] -= 1
            if had:
                self._taken = True
                self._row = self._row + 1 if urgent and self._waiting[False] else 0
        try:
            yield had
        finally:
            with self._condition:
                self._taken = self._taken and not had
                self._condition.notify_all()

    def _is_next(self, urgent: bool) -> bool:
        """Whether a caller of this urgency may be next."""
        return not self._waiting[not urgent] or urgent is (self._row < self._URGENT_IN_A_ROW)


class StoreWorker:
    """One worker process and its pipes. Only one thread at a time may call `ask`."""

    def __init__(
        self,
        module: str,
        directory: Path,
        python: str,
        translated: Callable[[dict[str, Any]], SidecarError],
        died_opening: Callable[[str], SidecarError] = damaged,
        variables: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Starts `module` in `directory`, which it gets as its argument. `translated` returns the error that a reply
        describes, and `died_opening` the error about a process that ends before it is `opened`. `variables` are added
        to its environment. Raises OSError."""
        self.opened = False
        self._translated = translated
        self._died_opening = died_opening
        self._log = directory / "worker.log"
        with open_new(self._log) as log:
            self._process = start_child(
                module, str(directory.resolve()), directory=directory, log=log, python=python, variables=variables
            )
        self._requests = cast(BinaryIO, self._process.stdin)
        self._replies = cast(BinaryIO, self._process.stdout)

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process is running."""
        return self._process.poll() is None

    def ask(self, header: dict[str, Any], arrays: list[NDArray[Any]], timeout: float) -> Frame:
        """Sends one request and returns the reply. Raises the error that the reply describes.

        A worker that dies, breaks the pipe or takes longer than `timeout` seconds is ended, and StoreFailed is raised.
        """
        late = threading.Event()
        watchdog = threading.Timer(timeout, self._kill_late, (late,))
        watchdog.daemon = True
        watchdog.start()
        try:
            write_frame(self._requests, header, arrays)
            frame = read_frame(self._replies)
        except (OSError, FrameError, ValueError):
            frame = None
        finally:
            watchdog.cancel()
        if frame is None:
            raise self._gone(timeout if late.is_set() else 0)
        if "error" in frame[0]:
            raise self._translated(frame[0])
        return frame

    def end(self, timeout: float) -> None:
        """Lets the worker finish and exit, and kills it after `timeout` seconds."""
        with contextlib.suppress(OSError, ValueError):
            self._requests.close()
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        with contextlib.suppress(OSError, ValueError):
            self._replies.close()

    def kill(self) -> None:
        """Kills the worker at once."""
        self._process.kill()

    def _kill_late(self, late: threading.Event) -> None:
        """Kills a worker that has taken too long."""
        late.set()
        self._process.kill()

    def _gone(self, late_after: float) -> SidecarError:
        """Ends a worker that did not reply, and returns the error to raise."""
        self._process.kill()
        self.end(timeout=5.0)
        if late_after:
            why = f"It took longer than {late_after:g} s and was stopped; the next call starts it again."
            return StoreFailed(why, late=True)
        why = f"its process ended with status {self._process.returncode}{self._last_words()}"
        if not self.opened:
            return self._died_opening(f"{why}, while opening the store")
        return StoreFailed(f"In the middle of a call {why}; the next call starts it again.")

    def _last_words(self) -> str:
        """Returns the last line that the worker logged, in brackets; empty if it logged none."""
        with contextlib.suppress(OSError):
            with open_to_read(self._log) as log:
                lines = log.read().decode("utf-8", "replace").strip().splitlines()
            return f" ({lines[-1][:300]})" if lines else ""
        return ""
