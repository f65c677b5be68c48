"""Damage at random places of a data folder: one of its files is damaged, and then a person uses it as usual.

A process with the real engine answers, and sometimes a new program for each question: status, search, and one way to
recover (index, rebuild, or delete and index). Afterwards the index must equal one from nothing, and memories, documents
and the index of another workspace must be as they were.

Used by test_damage.py (some 20 cases) and scripts/bench/check-damage (any number).
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, fields
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from sidecar.engine.index.layout import IndexLayout
from sidecar.engine.models.loader import Models, make_embedder
from sidecar.engine.workspace import IndexedWorkspace
from sidecar.errors import SidecarError
from sidecar.tools.assemble import make_service
from sidecar.tools.refresh import REFRESH
from sidecar.tools.service import Done, Service
from tests.engine.projects import FILES, Image, Project, image, index

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 120
PAGE = 4096
QUESTION = {"query": "call again with backoff"}
PROGRAMS_EVERY = 10
MEMORIES = {f"build/{n}": f"Memory number {n}. " + "Run the build with clang. " * 300 for n in range(4)}
DOCUMENTS = {f"doc-{n}": f"Document number {n} of the handbook. " + "Buckets of tokens. " * 400 for n in range(4)}
WAYS = ("index", "reindex_project", "delete_index")
ADVICE = ("reindex_project", "create_index", "sidecar index", "sidecar reindex", "move ")
"""What an error may tell a person to do."""

KINDS = ("zeroed", "flipped", "truncated", "empty", "folder", "missing", "foreign", "newer", "garbage")
PLACES = (
    *("manifest",) * 8,
    *("manifest-log", "vectors", "vectors", "vectors", "vectors-log", "store", "store", "current", "config", "lock"),
    *("memories", "memories", "documents", "documents", "generation"),
)


@dataclass(frozen=True)
class Case:
    """One case of damage. `opened`: the answering process has both workspaces open when it happens. `programs`: the
    command line answers."""

    number: int
    place: str
    kind: str
    opened: bool
    way: str
    path: str
    programs: bool

    def __str__(self) -> str:
        state = "open" if self.opened else "closed"
        return f"case {self.number}: {self.path} {self.kind} while {state}, then {self.way}"


@dataclass
class Outcome:
    """The results of a series of cases.

    `advised`: a search said what to do; `healed`: it answered and said that something was missing; `unseen`: it
    answered as before. `late`: only the first reading of a changed text noticed it, and the next indexing mended it.
    `silent`: the case flipped bits of a vector or a posting, which nobody notices. `faults`: each fault with its case.
    """

    cases: int = 0
    healed: int = 0
    advised: int = 0
    unseen: int = 0
    late: int = 0
    silent: int = 0
    faults: list[str] = field(default_factory=list)
    by_place: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Said:
    """The answer to a call: its result, or the error's code and message."""

    name: str
    value: Any = None
    code: str = ""
    message: str = ""

    def __str__(self) -> str:
        return f"{self.name}: {self.code} {self.message}"[:500]


class Fault(AssertionError):
    """A fault: an answer that no caller should get."""


class Changed(Fault):
    """A fault: the index differs from the files, and no answer says so."""


class Asked(Protocol):
    """The answering side of one case: tools by name, `index`, and `image` (with or without the vector store)."""

    def ask(self, what: str, root: Path, given: Mapping[str, Any]) -> Said: ...

    def end(self) -> None: ...


class OneProcess:
    """The service in a process of its own, as in a daemon."""

    def __init__(self, home: Path) -> None:
        processes = multiprocessing.get_context("forkserver")
        processes.set_forkserver_preload(["tests.engine.damage"])
        self._start = partial(_started, processes, home)
        self._ours, self._process = self._start()

    def ask(self, what: str, root: Path, given: Mapping[str, Any]) -> Said:
        try:
            self._ours.send((what, str(root), given))
            if not self._ours.poll(LIMIT_S):
                raise Fault(f"{what} does not answer in {LIMIT_S} s")
            value, code, message = self._ours.recv()
        except (EOFError, OSError):
            self._process.join()
            ended = f"{what} ends the process with status {self._process.exitcode}"
            self._ours, self._process = self._start()  # as a pipe does
            return Said(what, None, "DAEMON_ENDED", ended)
        return Said(what, value, code, message)

    def end(self) -> None:
        with contextlib.suppress(OSError):
            self._ours.send(None)
        self._process.join(LIMIT_S)
        self._process.kill()
        self._ours.close()


class Programs:
    """The command line: a new program for each question, through a daemon if one was started."""

    def __init__(self, home: Path, *, daemon: bool) -> None:
        self._env = {
            **{key: value for key, value in os.environ.items() if not key.startswith("SIDECAR_")},
            "CI": "",
            "XDG_RUNTIME_DIR": "",
            "SIDECAR_HOME": str(home),
            "PYTHONPATH": str(ROOT),
            "SIDECAR_DAEMON_IDLE_MINUTES": "2",
        }
        self._images = partial(OneProcess, home)
        self._daemon = daemon
        if daemon:
            self._run("daemon", "start")

    def ask(self, what: str, root: Path, given: Mapping[str, Any]) -> Said:
        if what == "image":
            self.end()
            images = self._images()
            try:
                return images.ask(what, root, given)
            finally:
                images.end()
        words = ["--json", "index"] if what == "index" else ["call", what, json.dumps(given)]
        done = self._run("-y", "-w", str(root), *words)
        if "Traceback" in done.stderr or done.returncode < 0:
            raise Fault(f"{what}: exit {done.returncode} {done.stderr[-600:]}")
        if not done.returncode:
            return Said(what, json.loads(done.stdout))
        return Said(what, None, *_error_in(done.stderr))

    def end(self) -> None:
        if self._daemon:
            self._daemon = False
            self._run("daemon", "stop")

    def _run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "sidecar", *words],
            cwd=ROOT,
            env=self._env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=LIMIT_S,
            check=False,
        )


class Breaker:
    """Makes one data folder with two workspaces, and breaks a copy of it again and again."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._seed = seed
        self._mapped_is_cut = False
        self._told = ""
        """What the calls of a case have said about memories and documents."""
        self._work, self._other = folder / "work", folder / "other"
        self._template, self._home = folder / "template", folder / "home"
        for root, extra in ((self._work, "one"), (self._other, "two")):
            _write_workspace(root, extra)
        self._make_template()
        asked = OneProcess(self._home)
        self._hits = _hits(asked.ask("search_code", self._work, QUESTION))
        self._images = {root: self._image(asked, root) for root in (self._work, self._other)}
        asked.end()

    def run(self, numbers: Iterable[int], tell: Callable[[str], None] = lambda _: None) -> Outcome:
        """Each number is a case of its own; `tell` gets each fault at once."""
        outcome = Outcome()
        for number in numbers:
            chance = random.Random(f"{self._seed}/{number}")
            case = self._choose(number, chance)
            outcome.cases += 1
            outcome.by_place[case.place] += 1
            asked: Asked = Programs(self._home, daemon=case.opened) if case.programs else OneProcess(self._home)
            try:
                self._one(case, asked, chance, outcome)
            except Changed as change:
                if case.kind == "flipped":
                    outcome.silent += 1
                else:
                    outcome.faults.append(f"{case}: {change}")
                    tell(outcome.faults[-1])
            except (AssertionError, subprocess.TimeoutExpired) as error:
                outcome.faults.append(f"{case}: {error}")
                tell(outcome.faults[-1])
            finally:
                asked.end()
        return outcome

    def _make_template(self) -> None:
        self._home.mkdir(parents=True)
        models = Models(make_embedder)
        for root in (self._work, self._other):
            project = Project(root, self._home, {}, models, [])
            project.keep_chroma()
            workspace = project.open()
            index(workspace)
            workspace.documents.create("kept", "sqlite", True, 2)
            for key, text in MEMORIES.items():
                workspace.memories.save(key, "", text, [])
            for name, text in DOCUMENTS.items():
                workspace.documents.add("kept", name, text, {})
            project.close()
        models.close()
        shutil.copytree(self._home, self._template)

    # ------------------------------------------------------------ one case

    def _choose(self, number: int, chance: random.Random) -> Case:
        shutil.rmtree(self._home)
        shutil.copytree(self._template, self._home)
        if chance.random() < 0.85:
            _write_back(self._home)
        place = chance.choice(PLACES)
        path = chance.choice(self._paths(place) or self._paths("manifest"))
        kind = chance.choice(KINDS)
        if path.is_dir() or (kind == "newer" and path.suffix != ".sqlite"):
            kind = "missing"
        return Case(
            number,
            place,
            kind,
            opened=chance.random() < 0.4,
            way=chance.choice(WAYS),
            path=str(path.relative_to(self._home)),
            programs=number % PROGRAMS_EVERY == 0,
        )

    def _paths(self, place: str) -> list[Path]:
        index = IndexLayout(self._home, str(self._work))
        generation = index.generation(1)
        logs = ("-wal", "-shm")
        found = {
            "manifest": [index.manifest(1)],
            "manifest-log": [Path(f"{index.manifest(1)}{log}") for log in logs],
            "vectors": [index.vectors],
            "vectors-log": [Path(f"{index.vectors}{log}") for log in logs],
            "store": sorted(path for path in (generation / "store").rglob("*") if path.is_file()),
            "current": [index.path / "current"],
            "config": [index.config],
            "lock": [index.path / "lock"],
            "memories": [index.memories],
            "documents": [index.documents],
            "generation": [generation, generation.parent, generation / "store", index.vectors.parent],
        }
        return [path for path in found[place] if path.exists()]

    def _one(self, case: Case, asked: Asked, chance: random.Random, outcome: Outcome) -> None:
        self._mapped_is_cut = case.opened and case.path.endswith("-shm") and case.kind in {"truncated", "empty"}
        if case.opened:
            for root in (self._work, self._other):
                self._must(asked, "search_code", QUESTION, root)
        break_file(self._home / case.path, case.kind, chance, self._foreign(case))
        state = self._must(asked, "get_index_status").value
        if state["status"] == "failed" and not _advises(state.get("warning") or ""):
            raise Fault(f"status does not say what to do: {state.get('warning')}")
        self._judge(self._ask(asked, "search_code", QUESTION), outcome)
        said = self._take(asked, case.way)
        after = self._must(asked, "get_index_status").value
        if after["status"] != "ready":
            raise Fault(f"after {case.way} it is {after['status']}: {after.get('warning')}; {said}")
        self._compare(asked, case, outcome)

    def _judge(self, found: Said, outcome: Outcome) -> None:
        """Checks that a search answers as before, or says that its answer is incomplete, or says what to do."""
        if found.code:
            if found.code not in {"INDEX_CORRUPT", "INDEX_NOT_FOUND"} or not _advises(found.message):
                raise Fault(f"this says nothing of what to do: {found}")
            outcome.advised += 1
            return
        said = bool(found.value.get("notice"))
        if _hits(found) != self._hits and not said:
            raise Changed(f"search answers something else: {[hit[0] for hit in _hits(found)]}")
        outcome.healed += said
        outcome.unseen += not said

    def _take(self, asked: Asked, way: str) -> str:
        """Does what a person is advised to do, whatever state the index is in."""
        if way == "index":
            return str(self._must(asked, "index"))
        said = self._ask(asked, way, {})
        if said.code and said.code != "INDEX_NOT_FOUND":
            raise Fault(str(said))
        again = self._must(asked, "index") if said.code or way == "delete_index" else ""
        return f"{said}; {again}"

    def _compare(self, asked: Asked, case: Case, outcome: Outcome) -> None:
        self._compare_kept(asked, case)
        if case.path.startswith("vectors"):
            self._must(asked, "index", {}, self._other)  # both share them
        asked.end()
        fresh = OneProcess(self._home)
        try:
            for root in (self._work, self._other):
                if case.path.startswith("vectors"):
                    self._wait_for_vectors(fresh, root)
                if self._needs_mending(fresh, root):
                    outcome.late += 1
                    self._must(fresh, "index", {}, root)
                now, before = self._image(fresh, root), self._images[root]
                differs = [part.name for part in fields(Image) if getattr(now, part.name) != getattr(before, part.name)]
                if differs:
                    raise Changed(f"the index of {root.name} is not equal to one from nothing: {', '.join(differs)}")
        finally:
            fresh.end()

    def _wait_for_vectors(self, asked: Asked, root: Path) -> None:
        """Checks that lost vectors cost only time: every call is answered, and all vectors come back by themselves."""
        self._must(asked, "search_code", QUESTION, root)
        deadline = time.monotonic() + LIMIT_S
        while (state := self._must(asked, "get_index_status", {}, root).value)["status"] != "ready":
            if time.monotonic() > deadline:
                raise Fault(f"the vectors are not made again: {state}")
            time.sleep(0.1)

    def _compare_kept(self, asked: Asked, case: Case) -> None:
        """Checks that memories and documents are as before, except what a call has said to be lost or doubtful, and
        that more can be saved."""
        if _kept_in(IndexLayout(self._home, str(self._other))) != (MEMORIES, DOCUMENTS):
            raise Fault("memories or documents of the other workspace are gone")
        self._told = ""
        self._use_kept(asked, case)
        kept = _kept_in(IndexLayout(self._home, str(self._work)))
        for place, now, before in zip(("memories", "documents"), kept, (MEMORIES, DOCUMENTS), strict=True):
            differing = [name for name in before.keys() | now.keys() if now.get(name) != before.get(name)]
            if differing and case.place != place:
                raise Fault(f"{place} are gone: {len(now)} of {len(before)} are left")
            few = f"{len(now)} of the {place} have been rescued" in self._told or "file away" in self._told
            few = few or case.kind == "missing"  # then nothing is there that could say what is lost
            unsaid = [name for name in differing if name not in self._told and not (few and name not in now)]
            if unsaid:
                raise Fault(f"{place}: nothing said of {', '.join(unsaid)}; {self._told[:300]}")

    def _use_kept(self, asked: Asked, case: Case) -> None:
        """Uses them all; if one of their files cannot be read, does what the error says first."""
        listed = self._kept_call(asked, "memory_list", {"limit": 100})
        for one in listed.value["data"]["memories"]:
            self._kept_call(asked, "memory_get", {"key": one["key"]})
        self._kept_call(asked, "search_index", {"query": "handbook", "index_name": "kept", "k": 100})
        if case.place == "memories":
            self._kept_call(asked, "memory_search", {"query": "how to build"})
            self._kept_call(asked, "memory_save", {"key": "after/all", "text": "It goes on."})
            self._kept_call(asked, "memory_delete", {"key": "after/all"})
        if case.place == "documents":
            new = {"content": "It goes on.", "doc_id": "after", "index_name": "kept"}
            self._kept_call(asked, "search_add_document", new)
            self._kept_call(asked, "search_delete_document", {"doc_id": "after", "index_name": "kept"})

    def _kept_call(self, asked: Asked, tool: str, given: Mapping[str, Any]) -> Said:
        """Returns the answer to a call, or, if it says what has become of a damaged file, the answer to the next
        call."""
        said = self._ask(asked, tool, given)
        self._told += said.message
        if said.code == "INDEX_CORRUPT" and "Try again" in said.message:
            said = self._ask(asked, tool, given)
        elif said.code == "INDEX_CORRUPT" and "move the file away" in said.message:
            index = IndexLayout(self._home, str(self._work))
            away = index.memories if tool.startswith("memory") else index.documents
            away.rename(away.with_suffix(".away"))
            said = self._ask(asked, tool, given)
        if said.code not in {"", "DOCUMENT_INDEX_NOT_FOUND"}:
            raise Fault(str(said))
        return said

    # ------------------------------------------------------------ asking

    def _ask(
        self, asked: Asked, what: str, given: Mapping[str, Any] = MappingProxyType({}), root: Path | None = None
    ) -> Said:
        """Returns the answer. If SQLite's mapped file was truncated, which ends the process, returns the next process's
        answer."""
        said = asked.ask(what, root or self._work, dict(given))
        if said.code == "DAEMON_ENDED" and self._mapped_is_cut:
            self._mapped_is_cut = False
            said = asked.ask(what, root or self._work, dict(given))
        if said.code in {"INTERNAL", "DAEMON_ENDED"}:
            raise Fault(str(said))
        return said

    def _must(
        self, asked: Asked, what: str, given: Mapping[str, Any] = MappingProxyType({}), root: Path | None = None
    ) -> Said:
        said = self._ask(asked, what, given, root)
        if said.code:
            raise Fault(str(said))
        return said

    def _needs_mending(self, asked: Asked, root: Path) -> bool:
        """Whether a stored text has changed, which its first reading refuses to show, and which indexing then mends.

        Comparing all texts at each indexing would take longer than indexing an unchanged workspace."""
        said = self._ask(asked, "image", {"store": root == self._work}, root)
        return (
            said.code == "INDEX_CORRUPT" and "stored text has been changed" in said.message and _advises(said.message)
        )

    def _image(self, asked: Asked, root: Path) -> Image:
        made = self._must(asked, "image", {"store": root == self._work}, root).value
        assert isinstance(made, Image)
        return made

    def _foreign(self, case: Case) -> Path:
        """Returns the same file of the other workspace; for a file that both share, another file."""
        ours, theirs = (IndexLayout(self._home, str(root)).path for root in (self._work, self._other))
        path = self._home / case.path
        if not path.is_relative_to(ours):
            return theirs / "memories" / "memories.sqlite"
        other = theirs / path.relative_to(ours)
        return other if other.is_file() else theirs / "config.json"


def _started(processes: ForkServerContext, home: Path) -> tuple[Connection, BaseProcess]:
    ours, theirs = processes.Pipe()
    process = processes.Process(target=_answer, args=(home, theirs))
    process.start()
    theirs.close()
    return ours, process


def _answer(home: Path, asked: Connection) -> None:
    """Runs in the process that answers, until it is told to end."""
    env = {"SIDECAR_HOME": str(home), "HOME": str(home), "SIDECAR_CONFIRM": "never"}
    service = make_service(env=env, toolsets="all")
    while (question := asked.recv()) is not None:
        what, root, given = question
        try:
            asked.send((_result(service, what, root, given), "", ""))
        except SidecarError as error:
            asked.send(
                (None, error.code, f"{error.message} {_frames(error)}" if error.code == "INTERNAL" else error.message)
            )
        except Exception as error:
            asked.send((None, "INTERNAL", f"{type(error).__name__}: {error} {_frames(error)}"))
    service.close()


def _result(service: Service, what: str, root: str, given: Mapping[str, Any]) -> Any:
    if what == "index":
        done = service.call(REFRESH, {}, workspace=root)
        assert isinstance(done, Done)
        return done.value
    if what == "image":
        workspace = service.workspace(root)
        assert isinstance(workspace, IndexedWorkspace)
        return image(workspace, store=given["store"])
    done = service.call(what, given, workspace=root)
    assert isinstance(done, Done)
    return done.value


def _frames(error: BaseException) -> str:
    """Returns where the error came from, the last of our modules first."""
    cause = error.__cause__ or error
    frames = [f"{Path(f.filename).name}:{f.lineno}" for f in traceback.extract_tb(cause.__traceback__)]
    return f"{type(cause).__name__}: {cause} at {' < '.join(reversed(frames[-6:]))}"


def break_file(path: Path, kind: str, chance: random.Random, foreign: Path) -> None:
    """Damages the file in place, so that a process that has it open continues with it, as with a failing disk."""
    if kind in {"missing", "folder"}:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        if kind == "folder":
            path.mkdir()
        return
    if kind == "newer":
        _pretend_newer(path)
        return
    held = path.read_bytes()
    ways: dict[str, Callable[[], bytes]] = {
        "zeroed": lambda: _zeroed(held, chance),
        "flipped": lambda: _flipped(held, chance),
        "truncated": lambda: held[: chance.randrange(len(held) or 1)],
        "empty": lambda: b"",
        "foreign": foreign.read_bytes,
        "garbage": lambda: chance.randbytes(min(len(held), 100)) + held[100:],
    }
    new = ways[kind]()
    with path.open("r+b") as file:
        file.write(new)
        file.truncate()


def _zeroed(held: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(max(1, -(-len(held) // PAGE))) * PAGE
    return held[:start] + bytes(len(held[start : start + PAGE])) + held[start + PAGE :]


def _flipped(held: bytes, chance: random.Random) -> bytes:
    new = bytearray(held)
    for _ in range(chance.randrange(1, 9) if held else 0):
        new[chance.randrange(len(new))] ^= 1 << chance.randrange(8)
    return bytes(new)


def _pretend_newer(path: Path) -> None:
    with closing(sqlite3.connect(path, timeout=30)) as connection, connection:
        if path.name == "manifest.sqlite":
            connection.execute("UPDATE meta SET value = 99 WHERE key = 'schema'")
        else:
            connection.execute("PRAGMA user_version = 99")


def _write_back(home: Path) -> None:
    """Moves everything into the database files themselves, so that their logs are empty."""
    for path in home.rglob("*.sqlite"):
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _advises(text: str, steps: tuple[str, ...] = ADVICE) -> bool:
    return any(step in text for step in steps)


def _error_in(stderr: str) -> tuple[str, str]:
    """Returns the error's code and message."""
    plain = re.search(r"^sidecar: (.*) \[([A-Z_]+)\]$", stderr, re.MULTILINE | re.DOTALL)
    if plain:
        return plain[2], plain[1]
    error = json.loads(stderr[stderr.index("{") :])["error"]
    return error["code"], f"{error['userMessage']} {error.get('detail', '')}"


def _hits(found: Said) -> list[tuple[Any, ...]]:
    return [(hit["path"], hit["content"]) for hit in found.value["results"]]


def _kept_in(index: IndexLayout) -> tuple[dict[str, str], dict[str, str]]:
    """Returns the texts in the files; none where a file is gone."""
    return (
        _rows_in(index.memories, "SELECT key, text FROM memories"),
        _rows_in(index.documents, "SELECT doc_id, content FROM documents"),
    )


def _rows_in(path: Path, statement: str) -> dict[str, str]:
    if not path.is_file():
        return {}
    with closing(sqlite3.connect(path)) as connection:
        return dict(connection.execute(statement).fetchall())


def _write_workspace(root: Path, extra: str) -> None:
    more = {f"src/{extra}{n}.py": f"def {extra}_{n}(value):\n    return value + {n}\n" for n in range(60)}
    for name, text in {**FILES, **more}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
