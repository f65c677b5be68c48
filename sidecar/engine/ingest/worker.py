"""A worker process: prepares the files that it receives, each within limits, until its stdin ends.

A file that exceeds the limits ends the process. The parent knows which file that was (`worker_process.py`).
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import time
from typing import BinaryIO

from sidecar.engine.concurrency.usage import GIVE_BACK_S, give_memory_back
from sidecar.engine.ingest.prepare import Judgement, Look, Outcome, Preparer, Recall, Recalled
from sidecar.engine.ingest.worker_process import Limits, Request, Task, WorkerSetup, read_message, write_message
from sidecar.engine.ports import Parts
from sidecar.engine.wiring import load_parsers, real_parts
from sidecar.parts.confine import apply_limits, computing, limit_memory, memory_bytes
from sidecar.stdio import take_stdio

_MOST_WORKSPACES = 32
_GROWN = 7
"""A process that has grown by a seventh of the memory that a file may use is replaced by a new one, which takes a third
of a second. When it could grow by a third, it held up to 178 MB."""


def main() -> int:
    """Serves requests until stdin ends or this process has grown too large. Returns the exit status: 0, or 1 if the
    parent has gone while an answer was being written."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    apply_limits()
    reading, writing = take_stdio()
    requests, replies = os.fdopen(reading, "rb"), os.fdopen(writing, "wb")
    try:
        setup: WorkerSetup = read_message(requests)
        if hasattr(os, "nice"):
            # It may have the priority of the thread that started it already.
            os.nice(max(0, setup.niceness - os.nice(0)))
        load_parsers()  # loads what every file needs before memory is limited
        worker = Worker(real_parts({}, {}, os.environ), setup.limits)
        write_message(replies, os.getpid())
        while worker.serve(read_message(requests), replies):
            pass
    except EOFError:
        return 0
    except OSError:
        return 1
    return 0


class Worker:
    """Serves requests. Creating one limits the memory of the current process, and ends its automatic collection of
    garbage."""

    def __init__(self, parts: Parts, limits: Limits) -> None:
        self._parts = parts
        self._limits = limits
        self._preparers: dict[str, Preparer] = {}
        self._at_first = memory_bytes() or 0
        self._gave_back = time.monotonic()
        # Files leave next to no cycles, and looking for some took a tenth of the time.
        gc.freeze()
        gc.disable()
        limit_memory(limits.memory_mb * 1_000_000)

    def serve(self, request: Request, replies: BinaryIO) -> bool:
        """Answers the tasks of a request. Returns False, possibly before the last task, once this process has grown so
        much that the next file could not use all the memory it may."""
        preparer = self._preparer(request)
        for task in request.tasks:
            with computing(self._limits.seconds_for(task.size)):
                packed = pickle.dumps(_answer(preparer, task, request), pickle.HIGHEST_PROTOCOL)
            leaves = self._has_grown()
            write_message(replies, (packed, leaves))
            if leaves:
                return False
        if time.monotonic() - self._gave_back >= GIVE_BACK_S:
            _give_all_back()
            self._gave_back = time.monotonic()
        return True

    def _preparer(self, request: Request) -> Preparer:
        known = self._preparers.get(request.root)
        if known is None or known.settings != request.settings:
            if len(self._preparers) >= _MOST_WORKSPACES:
                self._preparers.clear()
            known = self._preparers[request.root] = Preparer(request.root, self._parts, request.settings)
        return known

    def _has_grown(self) -> bool:
        if not self._is_large():
            return False
        _give_all_back()
        return self._is_large()

    def _is_large(self) -> bool:
        return (memory_bytes() or 0) - self._at_first > self._limits.memory_mb * 1_000_000 / _GROWN


def _give_all_back() -> None:
    gc.collect()
    give_memory_back()


def _answer(preparer: Preparer, task: Task, request: Request) -> Outcome | Judgement | Recalled | None:
    if isinstance(task, Recall):
        return preparer.recall(task)
    return preparer.judge(task) if isinstance(task, Look) else preparer.prepare(task, request.hopeless)
