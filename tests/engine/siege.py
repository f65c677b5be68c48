"""Hostile files are indexed one by one while another workspace of the same process is searched all the time.

Used by `test_hostile_files.py` and scripts/bench/check-hostile. Records the outcome and the time of each file, the
times of the searches meanwhile, and the largest memory of any process.
"""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import statistics
import subprocess
import sysconfig
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import IO, Any, TypeAlias, cast

from sidecar.engine.ingest.worker_pool import WorkerPool
from sidecar.engine.ingest.worker_process import start_worker
from sidecar.engine.wiring import real_parts
from sidecar.engine.workspaces import OpenWorkspaces
from sidecar.errors import FileExcluded, SidecarError
from sidecar.model.answers import SearchRequest
from sidecar.model.terms import never_cancelled, no_progress
from sidecar.model.workspace import Workspace
from tests.hostile import HostileFile
from tests.patience import PATIENCE_S

QUERIES = ("parse json decoder", "open a connection", "raise an error", "encode unicode string")
_PAUSE_S = 0.05
"""Seconds between two searches: short enough that a delay of 150 ms is noticed, long enough to leave the processor to
the files."""
RULED = 300


class Started:
    """The processes that parse, and what starting them has cost: the seconds of the processor of each until its first
    answer, which says that it is ready."""

    def __init__(self) -> None:
        self.processes: list[subprocess.Popen[bytes]] = []
        self.starting_s = 0.0

    def start(self, module: str) -> subprocess.Popen[bytes]:
        process = start_worker(module)
        self.processes.append(process)
        process.stdout = cast(IO[bytes], _Listening(process.stdout, lambda: self._ready(process)))
        return process

    def _ready(self, process: subprocess.Popen[bytes]) -> None:
        self.starting_s += _seconds_of(process)


class _Listening:
    """A stream that calls `ready` once, when the first bytes have been read."""

    def __init__(self, stream: Any, ready: Callable[[], None]) -> None:
        self._stream = stream
        self._ready: Callable[[], None] | None = ready

    def read(self, size: int = -1) -> bytes:
        data: bytes = self._stream.read(size)
        if self._ready is not None:
            self._ready()
            self._ready = None
        return data

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


Attack: TypeAlias = Callable[[Workspace, Path, "Siege", Started], None]
_ENDED_BY_US = (None, 0, -signal.SIGKILL)
"""Exit statuses from `poll` of a process that is alive, or had nothing more to do."""


@dataclass(frozen=True)
class Fate:
    """`file` has lost its content. `outcome`: the parser that a file is indexed by, `left out: RULE` or `failed:
    MESSAGE`. Seconds until it was indexed; `computed` are those of the processor, by the processes that parse and by
    whoever waited for them, without the `starting` of a process in place of one that the file has ended."""

    file: HostileFile
    outcome: str
    seconds: float
    computed: float
    starting: float
    search_seconds: float

    @property
    def cut(self) -> bool:
        return self.outcome.startswith("lines: ")


@dataclass(frozen=True)
class Search:
    """`queued_ms` of its `took_ms` its thread, or the one that indexes, was ready to run and other programs ran."""

    took_ms: float
    queued_ms: float

    @property
    def own_ms(self) -> float:
        return max(0.0, self.took_ms - self.queued_ms)


@dataclass
class Siege:
    """The result. `undisturbed` are the ms of searches, without the time for which they waited for a processor."""

    fates: list[Fate] = field(default_factory=list)
    undisturbed: list[float] = field(default_factory=list)
    searches: list[Search] = field(default_factory=list)
    ended: int = 0
    largest_mb: float = 0.0
    own_mb: float = 0.0

    def delays(self) -> list[float]:
        """Returns the ms of each search above the median of the undisturbed ones, without waits for a processor."""
        usual = statistics.median(self.undisturbed)
        return [max(0.0, search.own_ms - usual) for search in self.searches]


def besiege(folder: Path, files: Iterable[HostileFile], undisturbed_s: float = 3.0) -> Siege:
    """Indexes the files in `folder`, which is empty. A language's files are removed before the next one's are
    written."""
    return _besiege(folder, partial(_index_all, files), undisturbed_s)


def besiege_by_rules(folder: Path, files: Iterable[HostileFile], undisturbed_s: float = 3.0) -> Siege:
    """Does the same with files of rules. Each is written above `RULED` files, which are then walked and indexed under
    its rules."""
    return _besiege(folder, partial(_obey_all, files), undisturbed_s)


def _besiege(folder: Path, attack: Attack, undisturbed_s: float) -> Siege:
    siege = Siege()
    hostile, peaceful = folder / "hostile", folder / "peaceful"
    hostile.mkdir(parents=True)
    for package in ("json", "email", "http"):
        shutil.copytree(Path(sysconfig.get_path("stdlib")) / package, peaceful / package)
    started = Started()
    pool = WorkerPool(1, start=started.start)
    home = folder / "home"
    env = {"SIDECAR_HOME": str(home), "HOME": str(home)}
    # Files are indexed when they are named, and not a second time because of a watcher.
    parts = real_parts({"indexingStrategy": "git"}, {}, env)
    workspaces = OpenWorkspaces(home, replace(parts, preparers=pool))
    try:
        beside = workspaces.get(str(peaceful))
        beside.refresh(no_progress, never_cancelled)
        siege.undisturbed = [search.own_ms for search in _searches_for(beside, undisturbed_s)]
        with _searching(beside, siege):
            attack(workspaces.get(str(hostile)), hostile, siege, started)
        siege.ended = sum(process.poll() not in _ENDED_BY_US for process in started.processes)
        siege.own_mb = _peak_mb(os.getpid())
        siege.largest_mb = max(siege.own_mb, *(_peak_mb(pid) for pid in _children()))
    finally:
        workspaces.close()
    lost = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000
    siege.largest_mb = max(siege.largest_mb, lost)
    return siege


def _index_all(files: Iterable[HostileFile], workspace: Workspace, root: Path, siege: Siege, started: Started) -> None:
    (root / "harmless.py").write_text("def harmless():\n    return 1\n")
    workspace.refresh(no_progress, never_cancelled)
    workspace.reindex_file("harmless.py")  # starts the process that parses, which no hostile file has to answer for
    _await_first_check(workspace)
    language = ""
    for file in files:
        if file.language != language:
            if language:
                shutil.rmtree(root / language)
                workspace.refresh(no_progress, never_cancelled)
            language = file.language
            (root / language).mkdir()
        (root / language / file.name).write_bytes(file.content)
        siege.fates.append(_index(workspace, f"{language}/{file.name}", file, started))


def _await_first_check(workspace: Workspace) -> None:
    """Waits until the check of all files that follows the opening is over. It would index the first hostile file a
    second time, and what that takes would count as that file's."""
    end = time.monotonic() + PATIENCE_S
    while not (status := workspace.status()).watcher_active or status.pending_files or status.status != "ready":
        if time.monotonic() > end:
            raise AssertionError(f"the check of all files has not ended: {status}")
        threading.Event().wait(_PAUSE_S)


def _obey_all(files: Iterable[HostileFile], workspace: Workspace, root: Path, siege: Siege, started: Started) -> None:
    for number in range(RULED):
        place = root / f"src/part{number % 9}/module_{number}.py"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f"def one_of_many_{number}():\n    return {number}\n")
    workspace.refresh(no_progress, never_cancelled)
    for file in files:
        rules = root / file.language
        rules.write_bytes(file.content)
        begun, spent = time.perf_counter(), _Spent(started)
        workspace.refresh(no_progress, never_cancelled)
        indexed, (computed, starting) = time.perf_counter(), spent.since()
        workspace.search(SearchRequest("word function a"), never_cancelled)
        searched = time.perf_counter()
        left = workspace.status()
        siege.fates.append(
            Fate(
                replace(file, content=b""),
                f"{left.files} files indexed; {left.warning or 'no warning'}",
                indexed - begun,
                computed,
                starting,
                searched - indexed,
            )
        )
        rules.unlink()


def _index(workspace: Workspace, path: str, file: HostileFile, started: Started) -> Fate:
    begun, spent = time.perf_counter(), _Spent(started)
    outcome = ""
    try:
        workspace.reindex_file(path)
    except FileExcluded as left_out:
        outcome = f"left out: {left_out.message}"
    except SidecarError as error:
        outcome = f"failed: {error.message}"
    indexed, (computed, starting) = time.perf_counter(), spent.since()
    workspace.search(SearchRequest("word function a"), never_cancelled)
    searched = time.perf_counter()
    # Without its content: the memory of this process, which is judged, holds nothing that only the siege needs.
    kept = replace(file, content=b"")
    parser = outcome or workspace.explain(path).parser
    return Fate(kept, parser, indexed - begun, computed, starting, searched - indexed)


class _Spent:
    """Measures what is computed from now on."""

    def __init__(self, started: Started) -> None:
        self._started = started
        self._computed, self._starting = _computed(started), started.starting_s

    def since(self) -> tuple[float, float]:
        """Returns the seconds of the processor without those of starting processes, and those of starting them."""
        starting = self._started.starting_s - self._starting
        return _computed(self._started) - self._computed - starting, starting


def _computed(started: Started) -> float:
    """Seconds of this thread, of the living processes and of all that have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = time.thread_time() + ended.ru_utime + ended.ru_stime
    for process in started.processes:
        if process.poll() is None:  # else another program may have its number now
            seconds += _seconds_of(process)
    return seconds


def _seconds_of(process: subprocess.Popen[bytes]) -> float:
    with contextlib.suppress(OSError):  # it may end now, and is then counted among the ended ones
        fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def _search(workspace: Workspace, number: int) -> Search:
    at, queued = time.perf_counter(), _queued_ms()
    workspace.search(SearchRequest(QUERIES[number % len(QUERIES)]), never_cancelled)
    return Search((time.perf_counter() - at) * 1000, _queued_ms() - queued)


def _queued_ms() -> float:
    """How long this thread and the main one, which indexes, have waited for a processor; 0 where nobody counts it."""
    waited = 0.0
    for thread in {threading.get_native_id(), os.getpid()}:
        with contextlib.suppress(OSError):
            waited += int(Path(f"/proc/self/task/{thread}/schedstat").read_text().split()[1]) / 1e6
    return waited


def _searches_for(workspace: Workspace, seconds: float) -> list[Search]:
    end = time.perf_counter() + seconds
    for number in range(len(QUERIES)):
        _search(workspace, number)  # what the first ones load
    made: list[Search] = []
    while time.perf_counter() < end or not made:
        made.append(_search(workspace, len(made)))
        threading.Event().wait(_PAUSE_S)
    return made


@contextmanager
def _searching(workspace: Workspace, siege: Siege) -> Iterator[None]:
    over = threading.Event()

    def search() -> None:
        while not over.wait(_PAUSE_S):
            siege.searches.append(_search(workspace, len(siege.searches)))

    thread = threading.Thread(target=search)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _children() -> list[int]:
    """Returns the living descendants of this process."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
    found = [os.getpid()]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found[1:]


def _peak_mb(pid: int) -> float:
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1000 for line in status.splitlines() if line.startswith("VmHWM")), 0.0)
