"""Prepares files in worker processes, which all workspaces of this process share.

A file that crashes or stalls its parser thus affects no other file, and parsing does not hold this process's
interpreter lock, for which an editor's request would have to wait. If a process ends while it works on a file, that
file is cut by lines in another process and its text is not parsed again. There are two lanes, so that a saved file
never waits for a pass over a whole workspace. `prepare.py` prepares a file, `worker_process.py` is one process as its
parent sees it, and `worker.py` is the process itself.
"""

from __future__ import annotations

import pickle
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import replace
from typing import TypeAlias, TypeVar, cast

from sidecar.engine.concurrency.right_of_way import NICENESS
from sidecar.engine.ingest.prepare import (
    Job,
    Judgement,
    LeftOut,
    Look,
    Outcome,
    Prepared,
    Recall,
    Recalled,
    is_settled,
)
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
from sidecar.model.files import Decision, Rule, SkippedPath, Stat
from sidecar.settings.load import Settings

Answer: TypeAlias = Outcome | Judgement | Recalled | None
Piece = TypeVar("Piece", bound=Sequence[Task])

_QUICK_FILES, _QUICK_BYTES = 4, 500_000
"""Jobs up to this many files and bytes use the quick lane, beside passes over whole workspaces."""
_QUICK_PROCESSES = 2
"""Two, so that a file that stalls one process does not delay another file."""
_AHEAD = 6
"""So that the processes go on while their results wait: for a merge of segments, which takes a second, or for
questions."""
_AHEAD_BYTES = 6_000_000
"""The results of a file take three times its size."""
_BULK_REST_S = 10.0
_MOST_HOPELESS = 256


class WorkerPool:
    """The `ports.Preparers` that uses worker processes. Processes start when they are needed; if one does not start,
    the call raises Internal. Thread-safe.

    `bulk` is the number of processes for passes over whole workspaces; they end after `bulk_rest_s` seconds without
    work.
    """

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
        self._bulk = _Lane(self, bulk, NICENESS, bulk_rest_s)

    def prepare(self, root: str, settings: Settings, jobs: Sequence[Job]) -> Sequence[Outcome]:
        """Returns the outcome of each job, in order. A few small files use the quick lane, others the bulk lane."""
        few = len(jobs) <= _QUICK_FILES and sum(job.size for job in jobs) <= _QUICK_BYTES
        return _Ordered(self._quick if few else self._bulk, self._request(root, settings, jobs)).outcomes()

    def prepare_all(
        self, root: str, settings: Settings, pieces: Iterable[Sequence[Job]]
    ) -> Iterator[tuple[Sequence[Job], Sequence[Outcome]]]:
        """Yields each piece with its outcomes, in order. Submits up to `_AHEAD` pieces more than the bulk lane has
        processes before it yields the first; only one more if the files are large."""
        for piece, answers in self._answer_all(root, settings, pieces):
            yield piece, cast(list[Outcome], answers)

    def recall_all(
        self, root: str, settings: Settings, pieces: Iterable[Sequence[Recall]]
    ) -> Iterator[tuple[Sequence[Recall], Sequence[Recalled | None]]]:
        """Yields each piece with the files found for it (None for a file that differs), in order. Uses the bulk
        lane."""
        for piece, answers in self._answer_all(root, settings, pieces):
            yield piece, cast(list[Recalled | None], answers)

    def _answer_all(
        self, root: str, settings: Settings, pieces: Iterable[Piece]
    ) -> Iterator[tuple[Piece, list[Answer]]]:
        waiting: deque[tuple[Piece, _Ordered]] = deque()
        try:
            for piece in pieces:
                while self._is_enough([tasks for tasks, _ in waiting]):
                    first, ordered = waiting.popleft()
                    yield first, ordered.answers()
                waiting.append((piece, _Ordered(self._bulk, self._request(root, settings, piece))))
            while waiting:
                first, ordered = waiting.popleft()
                yield first, ordered.answers()
        finally:
            for _, ordered in waiting:
                ordered.cancel()

    def _is_enough(self, waiting: Sequence[Sequence[Task]]) -> bool:
        """Whether no further piece is submitted before the first of these has been answered."""
        more = len(waiting) - self._bulk.most
        return more > 0 and (more >= _AHEAD or sum(task.size for tasks in waiting for task in tasks) >= _AHEAD_BYTES)

    def judge(self, root: str, settings: Settings, look: Look) -> Judgement:
        """Judges one file by its text, in the quick lane."""
        (answer,) = _Ordered(self._quick, self._request(root, settings, [look])).answers()
        return cast(Judgement, answer)

    def warm(self) -> None:
        """Starts a process for the first saved file, without waiting for it."""
        self._quick.warm()

    def rest(self) -> None:
        """Ends all processes. New ones answer the requests that still wait."""
        self._quick.rest()
        self._bulk.rest()

    def start_process(self, niceness: int) -> WorkerProcess:
        """Starts a new process of this niceness. Raises Internal if it does not start."""
        return WorkerProcess(self._start, self._limits, niceness, self._patience)

    def note_hopeless(self, packed: bytes, deed: str) -> None:
        """Records that the text of a job that was cut by lines is not to be parsed again in its language. `packed` is
        the job's pickled outcome, `deed` what the parser did."""
        outcome = pickle.loads(packed)
        if not isinstance(outcome, Prepared):
            return
        with self._noting:
            # A new dict, because requests still hold the former one.
            latest = list(self._hopeless.items())[-_MOST_HOPELESS + 1 :]
            self._hopeless = {**dict(latest), (outcome.new.sha256, outcome.new.language): deed}

    def _request(self, root: str, settings: Settings, tasks: Sequence[Task]) -> Request:
        return Request(root, settings, tasks, self._hopeless)


class _Ordered:
    """A request that a lane has accepted; its answers are collected later."""

    def __init__(self, lane: _Lane, request: Request) -> None:
        self._lane = lane
        self._request = request
        self._future = lane.submit(request)

    def answers(self) -> list[Answer]:
        """Waits for the answers and returns them, in the order of the tasks."""
        while True:
            try:
                # One by one, because unpickling holds the interpreter lock until it is done.
                return [pickle.loads(packed) for packed in self._future.result()]
            except CancelledError:
                self._future = self._lane.submit(self._request)  # the lane's processes were ended

    def outcomes(self) -> list[Outcome]:
        """Like `answers`, for a request that consists of jobs."""
        return cast(list[Outcome], self.answers())

    def cancel(self) -> None:
        """Cancels the request if no process has started it."""
        self._future.cancel()


class _Lane:
    """Some processes and the requests that wait for them. It ends its processes after `rest_s` seconds without work, or
    only on request if that is None."""

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
        """Gives a request to the processes, which are started if necessary. The future gets the pickled answers."""
        with self._lock:
            self._busy += 1
            future = self._present().submit(request)
        future.add_done_callback(self._done)
        return future

    def warm(self) -> None:
        """Starts a process, without waiting for it, if the lane has none."""
        with self._lock:
            if self._crew is None:
                self._present().warm()

    def rest(self) -> None:
        """Ends the processes. The next request starts new ones."""
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
        """Queues a request for the next free thread."""
        return self._threads.submit(self._answer, request)

    def warm(self) -> None:
        """Starts a process in one of the threads."""
        self._threads.submit(self._process)

    def end(self) -> None:
        """Ends all processes and cancels the requests that no thread has started."""
        with self._lock:
            self._ended = True
            processes = list(self._processes)
        self._threads.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.end()

    def _answer(self, request: Request) -> list[bytes]:
        """Returns the pickled answers to a request. Raises CancelledError if the crew was ended, Internal if a process
        does not start."""
        answers: list[bytes] = []
        tasks = list(request.tasks)
        spared = -1
        while len(answers) < len(tasks):
            some, deed = self._process().ask(replace(request, tasks=tasks[len(answers) :]))
            for packed in some:
                self._note_if_hopeless(tasks[len(answers)], packed)
                answers.append(packed)
            if not deed:
                continue
            self._raise_if_ended()
            if deed == KILLED and spared < len(answers):
                spared = len(answers)  # retried once: an out-of-memory killer may pick any process
            else:
                self._give_up(request, tasks, answers, deed)
        return answers

    def _note_if_hopeless(self, task: Task, packed: bytes) -> None:
        if isinstance(task, Job) and task.by_lines:
            self._pool.note_hopeless(packed, task.by_lines)

    def _give_up(self, request: Request, tasks: list[Task], answers: list[bytes], deed: str) -> None:
        """Handles the task that ended its process: the next attempt cuts it by lines. If it has already been cut by
        lines or cannot be, the parent answers it."""
        task = tasks[len(answers)]
        if isinstance(task, Job) and not task.by_lines:
            log = workspace_log(__name__, request.root)
            log.warning("%s is cut by lines: its parser %s", task.found.path, deed)
            tasks[len(answers)] = replace(task, by_lines=deed)
        else:
            answers.append(pickle.dumps(_hopeless_answer(task, deed), pickle.HIGHEST_PROTOCOL))

    def _process(self) -> WorkerProcess:
        """Returns the current thread's process, which is started again if it has ended."""
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
    """Returns the answer for a file that cannot even be read within the limits: it is left out, and examined again when
    it changes."""
    if isinstance(task, Recall):
        return None
    decision = Decision(Rule.UNREADABLE, f"reading it {deed}; no setting changes the limits of one file")
    if isinstance(task, Look):
        return Judgement(decision, b"")
    stat = task.found.stat if task.text is None else Stat(len(task.text), 0, 0, 0)
    return LeftOut(SkippedPath(task.found.path, decision), stat, task.text is None and is_settled(stat))
