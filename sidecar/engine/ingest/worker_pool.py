"""Prepares files in processes of their own, which all workspaces of a process share: a file that kills or holds up its
parser harms nobody else, and parsing holds the interpreter, for which an editor must not wait.

The file that a process had in hand when it ended is cut by lines, in another one, and its text is not parsed again.
There are two lanes: a saved file never waits for a run over a whole workspace. Not here: what preparing is
(`prepare.py`), one process (`worker_process.py`), what such a process does (`worker.py`).
"""

from __future__ import annotations

import pickle
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import replace
from typing import TypeAlias, cast

from sidecar.engine.ingest.prepare import Job, Judgement, LeftOut, Look, Outcome, Prepared, is_settled
from sidecar.engine.ingest.worker_process import (
    KILLED,
    Limits,
    Patience,
    Request,
    StartProcess,
    Task,
    WorkerProcess,
    start_worker,
)
from sidecar.locks import Rank, make_lock
from sidecar.logs import workspace_log
from sidecar.model import Decision, Rule, SkippedPath, Stat
from sidecar.settings.load import Settings

Answer: TypeAlias = Outcome | Judgement

_QUICK_FILES, _QUICK_BYTES = 4, 100_000
"""So much is prepared at once, beside what runs over whole workspaces."""
_QUICK_PROCESSES = 2
"""One more than needed: a file that holds one of them up holds up nobody else's."""
_NICENESS = 10
"""A person's typing, saving and searching go before the reading of a whole workspace."""
_BULK_REST_S = 10.0
_MOST_HOPELESS = 256


class WorkerPool:
    """`ports.Preparers`. Starts processes when they are needed; raises Internal where none starts. Thread-safe."""

    def __init__(
        self,
        bulk: int,
        limits: Limits | None = None,
        start: StartProcess = start_worker,
        bulk_rest_s: float = _BULK_REST_S,
    ) -> None:
        self._limits = limits or Limits()
        self._start = start
        self._patience = Patience()
        self._hopeless: dict[tuple[bytes, str], str] = {}
        self._noting = make_lock(Rank.HOPELESS)
        self._quick = _Lane(self, _QUICK_PROCESSES, 0, None)
        self._bulk = _Lane(self, bulk, _NICENESS, bulk_rest_s)

    def prepare(self, root: str, settings: Settings, jobs: Sequence[Job]) -> Sequence[Outcome]:
        """A few files at once, before what runs over whole workspaces."""
        few = len(jobs) <= _QUICK_FILES and sum(job.size for job in jobs) <= _QUICK_BYTES
        return _Ordered(self._quick if few else self._bulk, self._request(root, settings, jobs)).outcomes()

    def prepare_all(
        self, root: str, settings: Settings, pieces: Iterable[Sequence[Job]]
    ) -> Iterator[tuple[Sequence[Job], Sequence[Outcome]]]:
        """Each piece and its outcomes, in order. Takes one piece more beforehand than there are processes."""
        waiting: deque[tuple[Sequence[Job], _Ordered]] = deque()
        try:
            for piece in pieces:
                if len(waiting) > self._bulk.most:
                    first, ordered = waiting.popleft()
                    yield first, ordered.outcomes()
                waiting.append((piece, _Ordered(self._bulk, self._request(root, settings, piece))))
            while waiting:
                first, ordered = waiting.popleft()
                yield first, ordered.outcomes()
        finally:
            for _, ordered in waiting:
                ordered.cancel()

    def judge(self, root: str, settings: Settings, look: Look) -> Judgement:
        (answer,) = _Ordered(self._quick, self._request(root, settings, [look])).answers()
        return cast(Judgement, answer)

    def warm(self) -> None:
        """Starts a process for the first saved file; nobody waits for it."""
        self._quick.warm()

    def rest(self) -> None:
        """Ends all processes; whoever still waits for an answer gets it from a new one."""
        self._quick.rest()
        self._bulk.rest()

    def start_process(self, niceness: int) -> WorkerProcess:
        return WorkerProcess(self._start, self._limits, niceness, self._patience)

    def note_hopeless(self, packed: bytes, deed: str) -> None:
        """The answer to a job whose file was cut by lines: its text is not parsed again in this language."""
        outcome = pickle.loads(packed)
        if not isinstance(outcome, Prepared):
            return
        with self._noting:
            # Requests hold the former one.
            latest = list(self._hopeless.items())[-_MOST_HOPELESS + 1 :]
            self._hopeless = {**dict(latest), (outcome.new.sha256, outcome.new.language): deed}

    def _request(self, root: str, settings: Settings, tasks: Sequence[Task]) -> Request:
        return Request(root, settings, tasks, self._hopeless)


class _Ordered:
    """A request that a lane works on, or will."""

    def __init__(self, lane: _Lane, request: Request) -> None:
        self._lane = lane
        self._request = request
        self._future = lane.submit(request)

    def answers(self) -> list[Answer]:
        while True:
            try:
                # One after the other: unpickling holds the interpreter until it is done.
                return [pickle.loads(packed) for packed in self._future.result()]
            except CancelledError:
                self._future = self._lane.submit(self._request)  # the lane was at rest

    def outcomes(self) -> list[Outcome]:
        return cast(list[Outcome], self.answers())

    def cancel(self) -> None:
        self._future.cancel()


class _Lane:
    """Some processes and what waits for them. After `rest_s` without work it ends them; None: only when it is told."""

    def __init__(self, pool: WorkerPool, most: int, niceness: int, rest_s: float | None) -> None:
        self.most = most
        self._pool = pool
        self._niceness = niceness
        self._rest_s = rest_s
        self._crew: _Crew | None = None
        self._lock = make_lock(Rank.WORKER_LANE)
        self._busy = 0
        self._last = 0.0
        self._timer: threading.Timer | None = None

    def submit(self, request: Request) -> Future[list[bytes]]:
        with self._lock:
            self._busy += 1
            future = self._present().submit(request)
        future.add_done_callback(self._done)
        return future

    def warm(self) -> None:
        with self._lock:
            if self._crew is None:
                self._present().warm()

    def rest(self) -> None:
        with self._lock:
            crew, self._crew = self._crew, None
        if crew is not None:
            crew.end()

    def _present(self) -> _Crew:
        self._crew = self._crew or _Crew(self._pool, self.most, self._niceness)
        return self._crew

    def _done(self, _: Future[list[bytes]]) -> None:
        with self._lock:
            self._busy -= 1
            self._last = time.monotonic()
            if self._rest_s is not None and self._timer is None:
                self._wait(self._rest_s)

    def _wait(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, self._rest_if_idle)
        self._timer.daemon = True
        self._timer.start()

    def _rest_if_idle(self) -> None:
        with self._lock:
            self._timer = None
            left = self._last + (self._rest_s or 0.0) - time.monotonic()
            if self._busy or left > 0:
                self._wait(max(left, 1.0))
                return
        self.rest()


class _Crew:
    """Threads, each with a process of its own, until they are ended."""

    def __init__(self, pool: WorkerPool, most: int, niceness: int) -> None:
        self._pool = pool
        self._niceness = niceness
        self._threads = ThreadPoolExecutor(most, thread_name_prefix="sidecar-prepare")
        self._own = threading.local()
        self._processes: set[WorkerProcess] = set()
        self._lock = make_lock(Rank.WORKER_CREW)
        self._ended = False

    def submit(self, request: Request) -> Future[list[bytes]]:
        return self._threads.submit(self._answer, request)

    def warm(self) -> None:
        self._threads.submit(self._process)

    def end(self) -> None:
        with self._lock:
            self._ended = True
            processes = list(self._processes)
        self._threads.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.end()

    def _answer(self, request: Request) -> list[bytes]:
        """Packed. Raises CancelledError where the crew was ended meanwhile, Internal where no process starts."""
        answers: list[bytes] = []
        tasks = list(request.tasks)
        spared = -1
        while len(answers) < len(tasks):
            some, deed = self._process().ask(replace(request, tasks=tasks[len(answers) :]))
            for packed in some:
                self._heed(tasks[len(answers)], packed)
                answers.append(packed)
            if not deed:
                continue
            self._raise_if_ended()
            if deed == KILLED and spared < len(answers):
                spared = len(answers)  # once: whoever kills processes for want of memory takes any
            else:
                self._give_up(request, tasks, answers, deed)
        return answers

    def _heed(self, task: Task, packed: bytes) -> None:
        if isinstance(task, Job) and task.by_lines:
            self._pool.note_hopeless(packed, task.by_lines)

    def _give_up(self, request: Request, tasks: list[Task], answers: list[bytes], deed: str) -> None:
        """The next task ended its process: it is done by lines, else answered from here."""
        task = tasks[len(answers)]
        if isinstance(task, Job) and not task.by_lines:
            log = workspace_log(__name__, request.root)
            log.warning("%s is cut by lines: its parser %s", task.found.path, deed)
            tasks[len(answers)] = replace(task, by_lines=deed)
        else:
            answers.append(pickle.dumps(_hopeless_answer(task, deed), pickle.HIGHEST_PROTOCOL))

    def _process(self) -> WorkerProcess:
        """This thread's."""
        process: WorkerProcess | None = getattr(self._own, "process", None)
        if process is not None and process.is_running():
            return process
        self._raise_if_ended()
        fresh = self._pool.start_process(self._niceness)
        with self._lock:
            self._processes.discard(cast(WorkerProcess, process))
            self._processes.add(fresh)
            ended = self._ended
        if ended:
            fresh.end()
            raise CancelledError
        self._own.process = fresh
        return fresh

    def _raise_if_ended(self) -> None:
        if self._ended:
            raise CancelledError


def _hopeless_answer(task: Task, deed: str) -> Answer:
    """Of a file whose very reading exceeds the limits: left out, and looked at again when it changes."""
    decision = Decision(Rule.UNREADABLE, f"reading it {deed}")
    if isinstance(task, Look):
        return Judgement(decision, b"")
    stat = task.found.stat if task.text is None else Stat(len(task.text), 0, 0, 0)
    return LeftOut(SkippedPath(task.found.path, decision), stat, task.text is None and is_settled(stat))
