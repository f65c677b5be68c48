"""Preparing files in worker processes gives the same outcomes, and one bad file does not affect others."""

from __future__ import annotations

import os
import queue
import resource
import shutil
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sidecar.engine.ingest.prepare import (
    Gone,
    Job,
    LeftOut,
    Outcome,
    Prepared,
    Preparer,
    Touched,
    path_of,
)
from sidecar.engine.ingest.worker_pool import WorkerPool
from sidecar.engine.ingest.worker_process import Limits, Patience, Request, StartProcess, WorkerProcess, start_worker
from sidecar.engine.ports import Parts
from sidecar.engine.wiring import real_parts
from sidecar.errors import Cancelled, Internal
from sidecar.model.files import FoundFile, Rule, Stat
from sidecar.model.terms import no_progress
from sidecar.parts.child import start_child, waited_for_processor_s
from sidecar.settings.load import Settings
from tests.engine.fragile_worker import UNREAD
from tests.engine.preparers_here import PreparersHere
from tests.engine.projects import Project, find, image, index
from tests.hostile import PATTERNS, SIZE
from tests.patience import PATIENCE_S, until

pytestmark = pytest.mark.process

STDLIB = Path(sysconfig.get_path("stdlib"))
PACKAGES = ("asyncio", "http", "json", "logging")
"""Nearly a megabyte of Python, which is many batches."""
DEEP = PATTERNS["nested-keys"](SIZE).decode()
"""YAML that overflows its parser's stack."""
ENDLESS = PATTERNS["backslash-newline"](SIZE).decode()
"""Python that keeps its parser for many seconds."""
GREEDY = PATTERNS["less"](SIZE).decode()
"""Java whose parser asks for gigabytes."""
ONLY_MEMORY = Limits(seconds=PATIENCE_S)
"""On a busy machine a parser takes longer than its second to exhaust its stack or its memory."""


@pytest.fixture
def library(project: Project) -> Project:
    for package in PACKAGES:
        shutil.copytree(STDLIB / package, project.root / package, ignore=shutil.ignore_patterns("__pycache__"))
    for path in project.root.rglob("*"):
        os.utime(path, (1_700_000_000, 1_700_000_000))  # so long ago that its time stamp is trusted
    assert sum(path.stat().st_size for path in project.root.rglob("*.py")) > 700_000
    return project


@pytest.fixture
def pool() -> Iterator[WorkerPool]:
    made = WorkerPool(1)
    yield made
    made.rest()


def fragile(started: list[subprocess.Popen[bytes]], *natures: str) -> Any:
    """Starts processes that files can end; the first ones are of given kinds."""
    left = list(natures)

    def start(_: str) -> subprocess.Popen[bytes]:
        started.append(start_child("tests.engine.fragile_worker", *left[:1]))
        del left[:1]
        return started[-1]

    return start


def noted(started: list[subprocess.Popen[bytes]]) -> StartProcess:
    """Starts the real processes, and records them."""

    def start(module: str) -> subprocess.Popen[bytes]:
        started.append(start_worker(module))
        return started[-1]

    return start


def piece(*paths: str) -> list[Job]:
    return [Job(FoundFile(path, Stat(1, 1, 1, 1), "code")) for path in paths]


def on_disk(project: Project, path: str, **facts: Any) -> Job:
    found = (project.root / path).stat()
    stat = Stat(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)
    return Job(FoundFile(path, stat, "code"), **facts)


def parts_of(project: Project) -> Parts:
    return real_parts({}, {}, {"SIDECAR_HOME": str(project.home), "HOME": str(project.home)})


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def prepared(outcome: Outcome) -> Prepared:
    assert isinstance(outcome, Prepared), outcome
    return outcome


def test_files_are_prepared_in_another_process_as_they_are_in_this_one(library: Project, pool: WorkerPool) -> None:
    parts = parts_of(library)
    settings = parts.load_settings(library.home / "config.json")
    walked = parts.make_walker(str(library.root), settings).walk(lambda: False)
    files = [Job(found) for found in walked.files]
    pieces = [files[start : start + 20] for start in range(0, len(files), 20)]
    here = Preparer(str(library.root), parts, settings)
    answered = list(pool.prepare_all(str(library.root), settings, pieces))
    assert [asked for asked, _ in answered] == pieces
    there = {path_of(o): o for _, outcomes in answered for o in outcomes}
    assert len(there) == len(files)
    for job in files:
        expected = prepared(here.prepare(job))
        assert plain(asdict(there[job.found.path])) == plain(asdict(expected))


def test_a_big_workspace_is_indexed_by_other_processes_as_it_is_in_one(library: Project) -> None:
    apart = image(_indexed(library))
    library.close()
    shutil.rmtree(library.home)
    library.preparers = PreparersHere(parts_of(library))
    assert image(_indexed(library)) == apart


def _indexed(project: Project) -> Any:
    workspace = project.open()
    index(workspace)
    return workspace


def test_unsaved_text_travels_to_the_process_that_prepares_it(project: Project) -> None:
    workspace = project.open()
    workspace.set_buffer("src/retry.py", "def unsaved_quokka():\n    return 1\n")
    index(workspace)
    generation = workspace.index.readable()
    with generation.snapshots.open() as snapshot:
        row = snapshot.connection.execute(
            "SELECT c.text FROM chunks c JOIN files f ON f.id = c.file_id WHERE f.path = 'src/retry.py'"
        ).fetchall()
    assert [text for (text,) in row] == ["def unsaved_quokka():\n    return 1"]


def test_a_file_that_ends_the_process_is_cut_by_lines_and_all_others_are_prepared_once() -> None:
    started: list[subprocess.Popen[bytes]] = []
    pool = WorkerPool(1, start=fragile(started))
    pieces = [piece("a", "b"), piece("c", "crash", "d"), piece("e"), piece("crash too"), piece("f")]
    answered = [outcome for _, outcomes in pool.prepare_all("/", Settings(), pieces) for outcome in outcomes]
    deed = "ended its process (status 11)"
    assert [path_of(o) for o in answered] == ["a", "b", "c", f"crash {deed}", "d", "e", f"crash too {deed}", "f"]
    assert len(started) == 3
    pool.rest()
    assert all(process.poll() is not None for process in started)


def test_a_file_that_ends_the_process_by_lines_too_is_left_out_until_it_changes() -> None:
    pool = WorkerPool(1, start=fragile([]))
    outcomes = pool.prepare("/", Settings(), piece("a", "always crash", "b"))
    assert [type(o) for o in outcomes] == [Gone, LeftOut, Gone]
    left_out = outcomes[1]
    assert isinstance(left_out, LeftOut)
    assert left_out.skipped.decision.rule is Rule.UNREADABLE
    assert left_out.skipped.decision.detail == (
        "reading it ended its process (status 11); no setting changes the limits of one file"
    )
    assert (left_out.stat, left_out.settled) == (Stat(1, 1, 1, 1), True)
    pool.rest()


def test_a_file_that_never_ends_is_given_up() -> None:
    pool = WorkerPool(2, Limits(patience_s=3.0), fragile([]))
    pieces = [piece("a"), piece("hang"), piece("b")]
    answered = [path_of(o) for _, outcomes in pool.prepare_all("/", Settings(), pieces) for o in outcomes]
    assert answered == ["a", "hang gave no answer within 3 s", "b"]
    pool.rest()


def most_in_a_pipe() -> int:
    """Returns how many bytes a user's pipe may hold; 0 if the system does not say."""
    limit = Path("/proc/sys/fs/pipe-max-size")
    return int(limit.read_text()) if limit.exists() else 0


@pytest.mark.skipif(most_in_a_pipe() < UNREAD, reason="pipes hold less on this system")
def test_a_process_does_not_wait_until_a_large_answer_is_read() -> None:
    process = start_child("tests.engine.fragile_worker", "talkative")
    assert process.wait(PATIENCE_S) == 0
    answer, _ = process.communicate()
    assert len(answer) == UNREAD


def test_how_long_a_process_waited_for_a_processor_is_read_once_for_a_request() -> None:
    asked: list[int] = []

    def waited_s(pid: int) -> float:
        asked.append(pid)
        return 0.0

    process = WorkerProcess(fragile([]), Limits(), 0, Patience(waited_s))
    before = len(asked)
    answers, deed = process.ask(Request("/", Settings(), piece(*"abcdefgh"), {}))
    process.end()
    assert (len(answers), deed) == (8, "")
    assert len(asked) == before + 1


def test_a_process_that_waits_for_a_processor_is_not_late_and_one_that_hangs_is() -> None:
    waits: list[float] = []
    looked = threading.Event()

    def waits_longer(_: int) -> float:
        waits.append(1000.0 * len(waits))
        if waits[-1]:
            looked.set()
        return waits[-1]

    process = start_child("tests.engine.fragile_worker")
    busy_machine = Patience(waits_longer)
    busy_machine.expect(process, 0.0)
    assert looked.wait(PATIENCE_S)
    assert not busy_machine.lost(process)
    assert process.poll() is None
    calm_machine = Patience(lambda _: 7.0)
    calm_machine.expect(process, 0.0)
    process.communicate(timeout=PATIENCE_S)
    assert calm_machine.lost(process)


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="this system does not count it")
def test_what_a_process_waits_for_a_processor_is_counted() -> None:
    one = min(os.sched_getaffinity(0))
    busy = [sys.executable, "-c", f"import os\nos.sched_setaffinity(0, [{one}])\nwhile True: pass"]
    with subprocess.Popen(busy) as first, subprocess.Popen(busy) as second:
        until(lambda: waited_for_processor_s(first.pid) >= 0.05 or first.poll() is not None)
        assert first.poll() is None
        first.kill()
        second.kill()
    assert waited_for_processor_s(first.pid) == 0.0


def test_a_process_that_has_grown_is_followed_by_another_one_and_no_file_is_blamed() -> None:
    started: list[subprocess.Popen[bytes]] = []
    pool = WorkerPool(1, start=fragile(started, "growing"))
    outcomes = pool.prepare("/", Settings(), piece("a", "b", "c"))
    assert [path_of(o) for o in outcomes] == ["a", "b", "c"]
    assert len(started) == 2
    pool.rest()


def test_a_process_that_somebody_kills_is_replaced_and_no_file_is_blamed() -> None:
    started: list[subprocess.Popen[bytes]] = []
    pool = WorkerPool(1, start=fragile(started, "killed"))
    assert [path_of(o) for o in pool.prepare("/", Settings(), piece("a", "b"))] == ["a", "b"]
    started[-1].kill()
    started[-1].wait()
    assert [path_of(o) for o in pool.prepare("/", Settings(), piece("c"))] == ["c"]
    assert len(started) == 3
    pool.rest()


def test_a_process_that_ends_before_it_is_ready_is_started_once_more() -> None:
    started: list[subprocess.Popen[bytes]] = []
    pool = WorkerPool(1, start=fragile(started, "stillborn"))
    assert [path_of(o) for o in pool.prepare("/", Settings(), piece("a"))] == ["a"]
    assert len(started) == 2
    pool.rest()


def test_processes_that_cannot_be_started_are_told_and_no_file_is_blamed() -> None:
    def refuse(_: str) -> subprocess.Popen[bytes]:
        raise OSError(11, "Resource temporarily unavailable")

    with pytest.raises(Internal, match=r"did not start: .*Resource temporarily unavailable"):
        WorkerPool(1, start=refuse).prepare("/", Settings(), piece("a"))
    with pytest.raises(Internal, match=r"was started twice and ended \(status 3\) before it was ready"):
        WorkerPool(1, start=fragile([], "stillborn", "stillborn")).prepare("/", Settings(), piece("a"))


@pytest.mark.parametrize("size", [1, 400_000])
def test_a_saved_file_waits_neither_for_a_run_nor_for_the_file_of_another_workspace(tmp_path: Path, size: int) -> None:
    os.mkfifo(tmp_path / "pipe")
    held = piece(f"pipe {tmp_path / 'pipe'}")
    pool = WorkerPool(1, start=fragile([]))
    runs = pool.prepare_all("/", Settings(), [held])
    stuck = [
        threading.Thread(target=lambda: list(runs)),
        threading.Thread(target=lambda: pool.prepare("/other", Settings(), held)),
    ]
    for thread in stuck:
        thread.start()
    saved = Job(FoundFile("saved", Stat(size, 1, 1, 1), "code"))
    answers: queue.Queue[Sequence[Outcome]] = queue.Queue()
    threading.Thread(target=lambda: answers.put(pool.prepare("/third", Settings(), [saved])), daemon=True).start()
    assert [path_of(o) for o in answers.get(timeout=PATIENCE_S)] == ["saved"]
    assert all(thread.is_alive() for thread in stuck)
    with (tmp_path / "pipe").open("wb"):
        for thread in stuck:
            thread.join()
    pool.rest()


def test_whoever_waits_while_the_pool_goes_to_rest_is_answered_by_new_processes() -> None:
    started: list[subprocess.Popen[bytes]] = []
    asked = threading.Event()

    def start(module: str) -> subprocess.Popen[bytes]:
        begun: subprocess.Popen[bytes] = fragile(started)(module)
        if len(started) == 1:
            asked.set()
        return begun

    pool = WorkerPool(1, start=start)
    answers: list[str] = []
    waiting = threading.Thread(
        target=lambda: answers.extend(path_of(o) for o in pool.prepare("/", Settings(), piece("a", "b")))
    )
    waiting.start()
    assert asked.wait(PATIENCE_S)
    pool.rest()
    waiting.join()
    assert answers == ["a", "b"]
    assert started[0].poll() is not None
    pool.rest()


def test_nobody_has_to_end_the_processes_of_a_run_that_is_over() -> None:
    started: list[subprocess.Popen[bytes]] = []
    pool = WorkerPool(1, start=fragile(started), bulk_rest_s=0.0)
    list(pool.prepare_all("/", Settings(), [piece("a")]))
    assert started[0].wait(PATIENCE_S) is not None


@pytest.mark.parametrize(("size", "ahead"), [(1, 7), (2_500_000, 3), (50_000_000, 2)])
def test_processes_get_work_ahead_of_whoever_reads_their_answers_but_not_much_of_it(size: int, ahead: int) -> None:
    pool = WorkerPool(1, start=fragile([]))
    taken: list[str] = []

    def pieces() -> Iterator[list[Job]]:
        for number in range(20):
            taken.append(f"{number}")
            yield [Job(FoundFile(f"{number}", Stat(size, 1, 1, 1), "code"))]

    answered = pool.prepare_all("/", Settings(), pieces())
    first = next(answered)
    # The one that has been answered, those that wait, and the one that is submitted next.
    assert len(taken) == ahead + 1
    assert [path_of(outcome) for _, outcomes in [first, *answered] for outcome in outcomes] == taken
    assert len(taken) == 20
    pool.rest()


# ---------------------------------------------------------------- real parsers, real limits


@pytest.mark.parametrize(
    ("name", "text", "limits", "deed"),
    [
        ("deep.yaml", DEEP, ONLY_MEMORY, "crashed or ran out of memory (SIGSEGV)"),
        ("endless.py", ENDLESS, Limits(), "exceeded 1.0 s"),
        ("greedy.java", GREEDY, ONLY_MEMORY, "crashed or ran out of memory"),
    ],
)
def test_what_exceeds_a_limit_is_cut_by_lines_and_its_text_is_not_parsed_again(
    project: Project, name: str, text: str, limits: Limits, deed: str
) -> None:
    started: list[subprocess.Popen[bytes]] = []
    project.write(name, text)
    pool = WorkerPool(1, limits, start=noted(started))
    (outcome,) = pool.prepare(str(project.root), Settings(), [on_disk(project, name)])
    first = prepared(outcome).new
    assert first.parser.startswith(f"lines: parser {deed}")
    assert "".join(line for chunk in first.chunks for line in chunk.text.split()) == "".join(text.split())
    assert len(started) == 2
    (again,) = pool.prepare(str(project.root), Settings(), [on_disk(project, name)])
    assert prepared(again).new.parser == first.parser
    assert len(started) == 2, "no process was ended by the same text again"
    pool.rest()


def test_a_process_gets_no_more_memory_than_it_is_allowed(project: Project) -> None:
    project.write("greedy.java", GREEDY)
    pool = WorkerPool(1, Limits(seconds=60.0, memory_mb=320))
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    (outcome,) = pool.prepare(str(project.root), Settings(), [on_disk(project, "greedy.java")])
    pool.rest()
    assert prepared(outcome).new.parser.startswith("lines: parser crashed or ran out of memory")
    # Until a child runs another program, this process's memory at the start of the child counts as the child's.
    here = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss <= max(before, here, 500_000)


def test_a_parser_that_raises_has_its_file_cut_by_lines(project: Project) -> None:
    parts = parts_of(project)

    def parse(path: str, text: str, language: str) -> Any:
        if language == "python":
            raise RecursionError
        return parts.parse_file(path, text, language)

    here = PreparersHere(replace(parts, parse_file=parse))
    (outcome,) = here.prepare(str(project.root), Settings(), [on_disk(project, "src/retry.py")])
    assert prepared(outcome).new.parser == "lines: parser raised RecursionError"
    assert prepared(outcome).new.language == "python"


def test_a_hostile_workspace_is_indexed_searched_and_explained(project: Project) -> None:
    project.write("deep.yaml", DEEP)
    project.write("endless.py", f"{ENDLESS}\nzanzibar = 1\n")
    workspace = project.open()
    report = index(workspace)
    assert (report.errors, report.code.files + report.docs.files) == (0, 8)
    assert find(workspace, "zanzibar", mode="fts") == ["endless.py"]
    assert workspace.explain("endless.py").parser == "lines: parser exceeded 1.0 s"
    assert workspace.explain("src/retry.py").parser == "tree-sitter"
    assert workspace.status().cut_by_lines == (
        ("deep.yaml", "parser crashed or ran out of memory (SIGSEGV)"),
        ("endless.py", "parser exceeded 1.0 s"),
    )


def test_a_hostile_file_is_not_parsed_again_until_its_bytes_change(project: Project) -> None:
    project.write("endless.py", ENDLESS)
    workspace = project.open()
    index(workspace)
    project.close()
    os.utime(project.root / "endless.py")
    started: list[subprocess.Popen[bytes]] = []
    project.preparers = WorkerPool(1, start=noted(started))
    workspace = project.open()
    index(workspace)
    assert workspace.explain("endless.py").parser == "lines: parser exceeded 1.0 s"
    project.write("endless.py", "def mended():\n    return 1\n")
    workspace.reindex_file("endless.py")
    assert workspace.explain("endless.py").parser == "tree-sitter"
    assert all(process.poll() is None for process in started), "no file ended a process"
    project.preparers.rest()


def test_unsaved_hostile_text_harms_nobody(project: Project) -> None:
    workspace = project.open()
    index(workspace)
    workspace.set_buffer("src/parse.yaml", DEEP)
    assert "src/parse.yaml" in find(workspace, "k299")
    workspace.set_buffer("src/parse.yaml", "quokka: 1\n")
    assert find(workspace, "quokka", mode="fts") == ["src/parse.yaml"]
    assert workspace.explain("src/parse.yaml").parser == "tree-sitter"


def test_a_cancelled_run_stops_and_its_processes_end_with_the_pool(project: Project) -> None:
    started: list[subprocess.Popen[bytes]] = []
    pool = WorkerPool(1, start=noted(started))
    for number in range(300):  # more than one batch
        project.write(f"m{number}.py", f"def f{number}():\n    return {number}\n")
    project.preparers = pool
    workspace = project.open()
    with pytest.raises(Cancelled):
        workspace.refresh(no_progress, lambda: bool(started))
    workspace.close()
    pool.rest()
    until(lambda: all(process.poll() is not None for process in started))  # one that is just starting ends itself


def test_a_process_inherits_nothing_of_this_one_and_ends_with_it(tmp_path: Path) -> None:
    held = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(held, True)
    started: list[subprocess.Popen[bytes]] = []
    WorkerProcess(noted(started), Limits(), 0, Patience())
    (process,) = started
    open_files = {str(link.readlink()) for link in Path(f"/proc/{process.pid}/fd").iterdir()}
    os.close(held)
    assert str(tmp_path) not in open_files
    assert not [name for name in open_files if name.startswith("socket:")]
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(PATIENCE_S) == 0


def test_a_process_that_prepares_files_imports_nothing_heavy() -> None:
    started: list[subprocess.Popen[bytes]] = []
    worker = WorkerProcess(noted(started), Limits(), 0, Patience())
    mapped = Path(f"/proc/{started[0].pid}/maps").read_text()
    worker.end()
    assert "tree_sitter" in mapped
    assert "onnxruntime" not in mapped
    assert "chromadb" not in mapped
    assert "pydantic_core" not in mapped


def test_a_file_that_is_touched_is_not_parsed(project: Project, pool: WorkerPool) -> None:
    workspace = project.open()
    index(workspace)
    generation = workspace.index.readable()
    assert generation.writer is not None
    known = generation.writer.manifest.known_file("src/retry.py")
    (outcome,) = pool.prepare(str(project.root), Settings(), [on_disk(project, "src/retry.py", known=known)])
    assert isinstance(outcome, Touched)


@pytest.mark.parametrize(
    "lines",
    [b"[a-" * 300_000 + b" linguist-generated", b"".join(b"*a%d*a*b linguist-vendored\n" % n for n in range(19_000))],
    ids=["one endless pattern", "many patterns"],
)
def test_hostile_attributes_keep_no_file_out(project: Project, pool: WorkerPool, lines: bytes) -> None:
    (project.root / ".gitattributes").write_bytes(b"*.ts linguist-generated\n" + lines)
    jobs = [on_disk(project, "src/retry.py"), on_disk(project, "src/parse.ts")]
    source, generated = pool.prepare(str(project.root), Settings(), jobs)
    assert prepared(source).new.parser == "tree-sitter"
    assert isinstance(generated, LeftOut)
    assert generated.skipped.decision.rule is Rule.GENERATED


def test_a_command_of_the_shell_survives_what_a_daemon_survives(project: Project) -> None:
    project.write("deep.yaml", DEEP)
    env = {**os.environ, "SIDECAR_HOME": str(project.home)}
    for words in (["index"], ["explain", "deep.yaml"], ["status"]):
        command = [sys.executable, "-m", "sidecar", *words, "-w", str(project.root)]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        if words != ["index"]:
            assert "parser crashed or ran out of memory" in " ".join(done.stdout.split())
