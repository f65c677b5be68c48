"""Prepares many files in processes of their own: parsing holds the interpreter, and an editor must not wait for it.

A file that ends such a process (a grammar's crash) or keeps it for minutes is told as failed; all others are prepared.
Not here: what preparing is (`prepare.py`), what such a process does (`prepare_worker.py`).
"""

from __future__ import annotations

import contextlib
import pickle
import queue
import struct
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, BinaryIO, TypeAlias, cast

from sidecar.engine.prepare import Failed, Outcome
from sidecar.errors import Internal
from sidecar.logs import workspace_log
from sidecar.model import FoundFile
from sidecar.parts.child import start_child
from sidecar.parts.manifest import KnownFile
from sidecar.settings.load import Settings

Piece: TypeAlias = Sequence[tuple[FoundFile, KnownFile | None]]
"""Files to prepare together, each with what the manifest knows of it."""

_MODULE = "sidecar.engine.prepare_worker"
_PATIENCE_S = 120.0
_AHEAD = 2
_LENGTH = struct.Struct("<Q")


def write_message(stream: BinaryIO, message: object) -> None:
    """Raises OSError when the other end is gone."""
    packed = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    stream.write(_LENGTH.pack(len(packed)) + packed)
    stream.flush()


def read_message(stream: BinaryIO) -> Any:
    """The next message of our own process; EOFError at the end."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError
    packed = stream.read(_LENGTH.unpack(head)[0])
    return pickle.loads(packed)


class PreparersApart:
    """`count` processes that take turns, for one run. Use as a context manager. Not thread-safe.

    Raises Internal where a process cannot be started.
    """

    def __init__(
        self,
        root: str,
        settings: Settings,
        count: int,
        patience_s: float = _PATIENCE_S,
        start: Callable[[str], subprocess.Popen[bytes]] = start_child,
    ) -> None:
        self._root = root
        self._log = workspace_log(__name__, root)
        self._settings = settings
        self._patience_s = patience_s
        self._start_process = start
        self._count = count
        self._workers: list[_Worker] = []

    def __enter__(self) -> PreparersApart:
        try:
            for _ in range(self._count):
                self._workers.append(self._start())
        except Internal:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the processes at once: what they were doing is of no more use."""
        for worker in self._workers:
            worker.end()
        self._workers = []

    def _start(self) -> _Worker:
        try:
            return _Worker(self._start_process(_MODULE), self._root, self._settings)
        except OSError as error:
            raise Internal(f"A process that prepares files did not start: {error}.") from error

    def _living(self, turn: int) -> _Worker:
        if not self._workers[turn].alive:
            self._workers[turn] = self._start()
        return self._workers[turn]

    def prepare(self, pieces: Iterable[Piece]) -> Iterator[tuple[Piece, Sequence[Outcome]]]:
        """Each piece and its outcomes, in order. Takes from `pieces` at most `_AHEAD` per process beforehand."""
        waiting: deque[tuple[int, Piece]] = deque()
        for number, piece in enumerate(pieces):
            if len(waiting) >= _AHEAD * self._count:
                yield self._take(waiting)
            turn = number % self._count
            self._living(turn).send(piece)
            waiting.append((turn, piece))
        while waiting:
            yield self._take(waiting)

    def _take(self, waiting: deque[tuple[int, Piece]]) -> tuple[Piece, Sequence[Outcome]]:
        turn, piece = waiting.popleft()
        outcomes = self._workers[turn].receive(self._patience_s)
        if outcomes is None:
            self._log.warning("a process that prepares files ended; its files are prepared one by one")
            outcomes = [self._alone(turn, one) for one in piece]
            for other, lost in waiting:
                if other == turn:
                    self._living(turn).send(lost)
        return piece, outcomes

    def _alone(self, turn: int, one: tuple[FoundFile, KnownFile | None]) -> Outcome:
        worker = self._living(turn)
        worker.send([one])
        outcomes = worker.receive(self._patience_s)
        if outcomes is not None:
            return outcomes[0]
        return Failed(one[0].path, "Its parser ended the process or took minutes; nothing of it is indexed.")


class _Worker:
    """One process, and the thread that reads its answers so that writing to it never waits for reading."""

    def __init__(self, process: subprocess.Popen[bytes], root: str, settings: Settings) -> None:
        self._process = process
        self._requests = cast(BinaryIO, process.stdin)
        self._replies = cast(BinaryIO, process.stdout)
        self._answers: queue.Queue[Sequence[Outcome] | None] = queue.Queue()
        self.alive = True
        self._write((root, settings))
        self._reader = threading.Thread(target=self._read, name="sidecar-prepared", daemon=True)
        self._reader.start()

    def send(self, piece: Piece) -> None:
        self._write(list(piece))

    def receive(self, patience_s: float) -> Sequence[Outcome] | None:
        """The outcomes of the longest unanswered piece; None, and the process ended, where there will be none."""
        try:
            answer = self._answers.get(timeout=patience_s) if self.alive else None
        except queue.Empty:
            answer = None
        if answer is None:
            self.end()
        return answer

    def end(self) -> None:
        self.alive = False
        self._process.kill()
        self._reader.join()
        for stream in (self._requests, self._replies):
            with contextlib.suppress(OSError, ValueError):
                stream.close()
        self._process.wait()

    def _write(self, message: object) -> None:
        with contextlib.suppress(OSError, ValueError):  # it has died: `receive` says so
            write_message(self._requests, message)

    def _read(self) -> None:
        with contextlib.suppress(EOFError, OSError, ValueError, pickle.UnpicklingError):
            while True:
                # One after the other: unpickling holds the interpreter until it is done.
                self._answers.put([pickle.loads(packed) for packed in read_message(self._replies)])
        self._answers.put(None)
