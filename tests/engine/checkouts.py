"""Checkouts during jobs that end, are cancelled or die: real processes, the real watcher, real git, kill -9.

A child keeps a workspace up to date as a daemon does. The parent starts a job there, checks another branch out, and
lets the job end, cancels it or kills the child, each at a random moment. It then writes one more file, and waits for
this file only. After that the index must equal one made from nothing. Used by test_never_stale.py and
scripts/bench/check-stale.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
import shutil
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from sidecar.engine.models.loader import Models, make_embedder
from sidecar.errors import SidecarError
from sidecar.model.terms import no_progress
from tests.engine.kills import WORDS
from tests.engine.projects import Image, Project, image
from tests.engine.stale import Repository, differences, path_of, text_of
from tests.patience import PATIENCE_S

JOBS = ("refresh", "rebuild", "rebuild")
ENDS = ("finish", "cancel", "cancel", "kill")


class _Child:
    """Runs in the process that may be killed; answers one message after the other."""

    def __init__(self, project: Project) -> None:
        self._workspace = project.open()
        self._cancelled = threading.Event()
        self._job = threading.Thread()
        self._changed = threading.Condition()
        self._workspace.on_change(lambda _: self._tell())

    def answer(self, deed: str, what: str) -> Any:
        if deed in JOBS:
            self._cancelled.clear()
            self._job = threading.Thread(target=self._work, args=(deed,), daemon=True)
            return self._job.start()
        if deed == "cancel":
            self._cancelled.set()
        if deed in ("cancel", "join"):
            return self._job.join()
        if deed == "until":
            return self._until(what)
        return image(self._workspace, WORDS)

    def _work(self, job: str) -> None:
        with contextlib.suppress(SidecarError):
            getattr(self._workspace, job)(no_progress, self._cancelled.is_set)

    def _until(self, path: str) -> str:
        """Searches until an answer has this file and does not say that it is stale. Returns what the last answer
        says."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            answer = self._workspace.find_paths(path, 1)
            if not answer.notice and answer.paths and self._workspace.status().watcher_active:
                return ""
            if time.monotonic() > deadline:
                return answer.notice or f"{path} is not there, and nothing is said of it"
            with self._changed:
                self._changed.wait(0.2)

    def _tell(self) -> None:
        with self._changed:
            self._changed.notify_all()


def child(root: Path, home: Path, flags: dict[str, Any], said: Connection) -> None:
    project = Project(
        root,
        home,
        flags,
        Models(make_embedder),
        [],
        watcher=True,
        prepares_here=True,
    )
    answering = _Child(project)
    while True:
        deed, what = said.recv()
        said.send(answering.answer(deed, what))


@dataclass
class Outcome:
    """The result of a series of checkouts. `stale` describes the fault of each index that differed."""

    runs: int = 0
    by_kind: Counter[str] = field(default_factory=Counter)
    stale: list[str] = field(default_factory=list)


class Switcher:
    """One repository with one index, whose branches are checked out in turns during jobs."""

    def __init__(self, folder: Path, seed: int, models: Models, strategy: str = "realtime") -> None:
        self._random = random.Random(seed)
        self._folder = folder
        self._root, self._home = folder / "work", folder / "home"
        self._scratch = Project(Repository.make(self._root).root, folder / "scratch", {}, models, [])
        self._flags = {"indexingStrategy": strategy}
        self._branch = "main"
        self._processes = multiprocessing.get_context("forkserver")
        self._processes.set_forkserver_preload(["tests.engine.checkouts"])

    def run(self, numbers: Iterable[int]) -> Outcome:
        outcome = Outcome()
        with contextlib.ExitStack() as stack:
            talk = stack.enter_context(self._child())
            talk("refresh")
            talk("join")
            for number in numbers:
                job, end = self._random.choice(JOBS), self._random.choice(ENDS)
                outcome.by_kind[f"{job} {end}"] += 1
                talk("until", "README.md")
                talk(job)
                self._pause()
                self._switch(number)
                self._pause()
                if end == "kill":
                    stack.close()
                    talk = stack.enter_context(self._child())
                else:
                    talk("cancel" if end == "cancel" else "join")
                outcome.runs += 1
                if wrong := self._wrong(talk, number):
                    outcome.stale.append(f"run {number}, {job}, {end}: {wrong}")
                    talk("refresh")
                    talk("join")
        return outcome

    @contextlib.contextmanager
    def _child(self) -> Iterator[Any]:
        """Yields a function that asks the child, which is killed at the end of the block."""
        ours, theirs = self._processes.Pipe()
        process = self._processes.Process(target=child, args=(self._root, self._home, self._flags, theirs))
        process.start()
        theirs.close()

        def talk(deed: str, what: str = "") -> Any:
            ours.send((deed, what))
            return ours.recv()

        try:
            yield talk
        finally:
            assert process.pid is not None
            os.kill(process.pid, signal.SIGKILL)
            process.join()
            ours.close()

    def _pause(self) -> None:
        """Chooses the moment: within the next milliseconds, whatever the child is doing then."""
        threading.Event().wait(self._random.random() * 0.08)

    def _switch(self, number: int) -> None:
        self._branch = "other" if self._branch == "main" else "main"
        self._scratch.git("checkout", "-qf", self._branch)
        self._scratch.write(path_of(number % 5), text_of(number + 1000))

    def _wrong(self, talk: Any, number: int) -> str:
        last = f"last{number % 3}/mod{number}.py"
        self._scratch.write(last, text_of(number))
        if said := talk("until", last):
            return str(said)
        return "; ".join(differences(talk("image"), self._from_nothing()))

    def _from_nothing(self) -> Image:
        try:
            workspace = self._scratch.open()
            workspace.refresh(no_progress, lambda: False)
            return image(workspace, WORDS)
        finally:
            self._scratch.close()
            shutil.rmtree(self._folder / "scratch")
