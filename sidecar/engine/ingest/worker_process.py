"""One worker process as its parent sees it: asks, waits, and reports why an answer did not come.

`worker_pool.py` decides which process gets a request; `worker.py` is the process itself.
"""

from __future__ import annotations

import contextlib
import pickle
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, TypeAlias, cast

from sidecar import shown
from sidecar.engine.ingest.prepare import Hopeless, Job, Look, Recall
from sidecar.errors import Internal
from sidecar.locks import Rank, make_condition
from sidecar.parts.blocks import FrameError, read_block, write_block
from sidecar.parts.child import start_child, waited_for_processor_s
from sidecar.settings.load import Settings

Task: TypeAlias = Job | Look | Recall
StartProcess: TypeAlias = Callable[[str], subprocess.Popen[bytes]]

_MODULE = "sidecar.engine.ingest.worker"
KILLED = "was killed (SIGKILL)"
"""Another program killed the process, so the file that it was working on need not be the cause."""
_LOOK_S = 0.25
_LAST_WORDS_S = 5.0
_ENVIRONMENT = {"MALLOC_ARENA_MAX": "2"}


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one file.

    The file's computing time, in seconds, is `seconds` plus `seconds_per_mb` for each megabyte; a dense megabyte of
    ordinary code takes about one second. `memory_mb` is what the file may use beyond what the process itself needs.
    `patience_s` is how long the parent waits for an answer beyond the computing time, in seconds of real time. Time
    that the process spends waiting for a processor, while other programs run, is not counted if the system reports it.
    """

    seconds: float = 0.8
    seconds_per_mb: float = 2.0
    memory_mb: int = 320
    patience_s: float = 30.0

    def seconds_for(self, size: int) -> float:
        """Returns the seconds of computing time that a file of this many bytes may use."""
        return self.seconds + self.seconds_per_mb * size / 1e6


@dataclass(frozen=True, slots=True)
class WorkerSetup:
    """The first message to a process. The process answers with its pid once it is ready."""

    limits: Limits
    niceness: int


@dataclass(frozen=True, slots=True)
class Request:
    """Tasks of one workspace. Each task gets its own message: the pickled answer, and whether the process ends because
    it has grown too large."""

    root: str
    settings: Settings
    tasks: Sequence[Task]
    hopeless: Hopeless


def write_message(stream: BinaryIO, message: object) -> None:
    """Sends a message. Raises OSError if the other end is closed."""
    write_block(stream, pickle.dumps(message, pickle.HIGHEST_PROTOCOL))


def read_message(stream: BinaryIO) -> Any:
    """Returns the next message, which must come from a process of sidecar's own. Raises EOFError at the end of the
    stream and inside a message."""
    try:
        packed = read_block(stream)
    except FrameError as error:
        raise EOFError from error
    if packed is None:
        raise EOFError
    return pickle.loads(packed)


def start_worker(module: str = _MODULE) -> subprocess.Popen[bytes]:
    """Starts the process with pipes at its stdin and stdout. Raises OSError if it does not start."""
    return start_child(module, variables=_ENVIRONMENT)


class WorkerProcess:
    """A running worker process. The constructor raises Internal if it cannot be started. Not thread-safe, except for
    `end`.

    A process that ends, or does not answer in time, before it is ready is started once more: on a machine that is short
    of memory or time, anything may have killed it.
    """

    def __init__(self, start: StartProcess, limits: Limits, niceness: int, patience: Patience) -> None:
        self._limits = limits
        self._patience = patience
        if self._start(start, niceness) and (deed := self._start(start, niceness)):
            raise Internal(
                f"The process that parses files was started twice and {deed} before it was ready."
                " No file can be indexed without it. Check whether memory or processes have run out."
            )

    def _start(self, start: StartProcess, niceness: int) -> str:
        """Starts the process; returns what it did instead of getting ready, or an empty text. Raises Internal."""
        try:
            self._process = start(_MODULE)
        except OSError as error:
            raise Internal(
                f"The process that parses files did not start: {shown.reason(error)}. No file can be indexed "
                f"without it."
            ) from error
        self._requests = cast(BinaryIO, self._process.stdin)
        self._replies = cast(BinaryIO, self._process.stdout)
        self.alive = True
        return self._greet(niceness)

    def is_running(self) -> bool:
        """Whether the process can take requests."""
        return self.alive and self._process.poll() is None

    def ask(self, request: Request) -> tuple[list[bytes], str]:
        """Sends a request and returns the pickled answers that came, in order, and what the process did instead of
        giving the next one (`exceeded 0.8 s`).

        If answers are missing and that text is empty, the process ended because it had grown too large, and another one
        must do the rest.
        """
        answers: list[bytes] = []
        try:
            self._await(request.tasks[0])
            write_message(self._requests, request)
            for task in request.tasks:
                self._await(task)
                packed, leaves = read_message(self._replies)
                answers.append(packed)
                if leaves:
                    self.end()
                    return answers, ""
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):
            return answers, self._deed(request.tasks[len(answers)])
        finally:
            self._patience.heard(self._process)
        return answers, ""

    def end(self) -> None:
        """Kills the process at once."""
        self.alive = False
        self._process.kill()
        self._process.wait()
        for stream in (self._requests, self._replies):
            with contextlib.suppress(OSError, ValueError):
                stream.close()

    def _greet(self, niceness: int) -> str:
        self._patience.expect(self._process, self._limits.patience_s)
        try:
            write_message(self._requests, WorkerSetup(self._limits, niceness))
            read_message(self._replies)
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):
            overdue = self._patience.lost(self._process)
            self.end()
            if overdue:
                return f"gave no answer within {self._limits.patience_s:g} s"
            return f"ended (status {self._process.returncode})"
        self._patience.heard(self._process)
        return ""

    def _await(self, task: Task) -> None:
        self._patience.expect(self._process, self._limits.patience_s + self._limits.seconds_for(task.size))

    def _deed(self, task: Task) -> str:
        """Ends the process and returns why it gave no answer, in words that follow `the parser`."""
        overdue = self._patience.lost(self._process)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_LAST_WORDS_S)
        self.end()
        if overdue:
            return f"gave no answer within {self._limits.patience_s:.0f} s"
        return _deed(self._process.returncode, self._limits.seconds_for(task.size))


def _deed(status: int, seconds: float) -> str:
    if status >= 0:
        return f"ended its process (status {status})"
    number = -status
    if number == getattr(signal, "SIGPROF", None):
        return f"exceeded {seconds:.1f} s"
    with contextlib.suppress(ValueError):
        name = signal.Signals(number).name
        return KILLED if name == "SIGKILL" else f"crashed or ran out of memory ({name})"
    return f"crashed (signal {number})"


@dataclass(slots=True)
class _Deadline:
    """`waited_s` is the time that the process had waited for a processor when its request began, or when the deadline
    was last extended."""

    at: float
    waited_s: float


class Patience:
    """Kills processes that do not answer in time. One thread watches them all. Thread-safe.

    `waited_s` returns how long a process has waited for a processor in its life: on a busy machine a deadline is
    extended by that, because a file that is given up is not parsed again.
    """

    def __init__(self, waited_s: Callable[[int], float] = waited_for_processor_s) -> None:
        self._waited_s = waited_s
        self._until: dict[subprocess.Popen[bytes], _Deadline] = {}
        self._overdue: set[subprocess.Popen[bytes]] = set()
        self._changed = make_condition(Rank.PATIENCE)
        self._watching = False

    def expect(self, process: subprocess.Popen[bytes], within_s: float) -> None:
        """Expects an answer from this process within `within_s` seconds."""
        with self._changed:
            # Asking the system for each answer would take this thread longer than some files take the process.
            former = self._until.get(process)
            waited_s = self._waited_s(process.pid) if former is None else former.waited_s
            self._until[process] = _Deadline(time.monotonic() + within_s, waited_s)
            if not self._watching:
                self._watching = True
                threading.Thread(target=self._watch, name="sidecar-patience", daemon=True).start()
            elif len(self._until) == 1:
                self._changed.notify()

    def heard(self, process: subprocess.Popen[bytes]) -> None:
        """The answer has come: stops watching the process."""
        with self._changed:
            self._until.pop(process, None)

    def lost(self, process: subprocess.Popen[bytes]) -> bool:
        """Stops watching the process; returns whether it was killed for lateness."""
        with self._changed:
            self._until.pop(process, None)
            overdue = process in self._overdue
            self._overdue.discard(process)
        return overdue

    def _watch(self) -> None:
        with self._changed:
            while True:
                now = time.monotonic()
                for process in [
                    process for process, until in self._until.items() if self._is_late(process, until, now)
                ]:
                    del self._until[process]
                    self._overdue.add(process)
                    process.kill()
                self._changed.wait(_LOOK_S if self._until else None)

    def _is_late(self, process: subprocess.Popen[bytes], deadline: _Deadline, now: float) -> bool:
        """Whether the deadline has passed; extends it by the time that the process has waited for a processor."""
        if deadline.at >= now:
            return False
        waited_s = self._waited_s(process.pid)
        deadline.at += waited_s - deadline.waited_s
        deadline.waited_s = waited_s
        return deadline.at < now
