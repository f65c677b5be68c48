"""The life of a workspace as a model: edits, switches, jobs, cancels, deaths, rests, strategies, in any order.

One sentence must always be true: an answer that does not say that it is stale equals that of an index made from
nothing. Used by test_never_stale.py and scripts/bench/check-stale. The model controls the watcher, so that a run can be
repeated: it reports each change at once, and no change that happens while it is not running.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from sidecar.engine.models.loader import Models
from sidecar.engine.wiring import make_walker
from sidecar.engine.workspace import IndexedWorkspace
from sidecar.errors import Cancelled, FileExcluded, FileNotFound, IndexExists, IndexNotFound, SidecarError
from sidecar.model.terms import never_cancelled, no_progress
from sidecar.parts.vectors.in_memory import InMemoryStore
from sidecar.settings.load import Settings
from tests.engine.held_watcher import HeldWatchers
from tests.engine.kills import WORDS
from tests.engine.projects import Image, Project, image
from tests.patience import PATIENCE_S

FOLDERS = 8
FILES = 24
_OLD_S = 1_700_000_000


def text_of(number: int) -> str:
    """Returns a small file, different for each number."""
    words = [WORDS[(number * k + k) % len(WORDS)] for k in (1, 3, 5, 7)]
    return f"def {words[0]}_{words[1]}_{number}({words[2]}):\n    return {words[3]}({words[2]})\n"


def path_of(number: int) -> str:
    return f"pkg{number % FOLDERS}/mod{number}.py"


class LastingStore(InMemoryStore):
    """Keeps its content when it is closed, as a store on disk does."""

    def close(self) -> None:
        pass


class Moment:
    """A job calls it before each step. It does something at one step, and cancels at another."""

    def __init__(self, at: int, then: Callable[[], None], cancel_at: int | None) -> None:
        self._at, self._then, self._cancel_at = at, then, cancel_at
        self._asked = 0
        self._lock = threading.Lock()

    def __call__(self) -> bool:
        with self._lock:
            number, self._asked = self._asked, self._asked + 1
            if number == self._at:
                self._then()
            return self._cancel_at is not None and number >= self._cancel_at


@dataclass(frozen=True)
class Repository:
    """A repository on disk whose branches `main` and `other` differ in every third file, to be copied."""

    root: Path

    @classmethod
    def make(cls, root: Path) -> Repository:
        project = Project(root, root, {}, None, [])  # type: ignore[arg-type]  # only its files and its git are of use
        root.mkdir()
        for number in range(FILES):
            project.write(path_of(number), text_of(number))
        project.write("README.md", "# Example\n\nCookies expire.\n")
        project.git("init", "-q", "-b", "main")
        project.git("add", ".")
        project.git("commit", "-qm", "one")
        project.git("checkout", "-qb", "other")
        for number in range(0, FILES, 3):
            (root / path_of(number)).unlink() if number % 2 else project.write(path_of(number), text_of(number + 500))
            project.write(f"fresh/mod{number}.py", text_of(number + 900))
        project.git("add", "-A")
        project.git("commit", "-qm", "two")
        project.git("checkout", "-q", "main")
        return cls(root)


_NUMBERS = st.integers(0, FILES + 4)
_MOMENTS = st.integers(0, FOLDERS + 3)
_EDITS = st.sampled_from(["switch", "write", "delete", "rename", "buffer", "commit", "rules"])


class Life(RuleBasedStateMachine):
    """One workspace, from its creation to the comparison at its end."""

    def __init__(self, repository: Repository, models: Models, judge: Callable[[Life], None] | None = None) -> None:
        super().__init__()
        self._folder = Path(tempfile.mkdtemp(prefix="sidecar-life-"))
        shutil.copytree(repository.root, self._folder / "work", symlinks=True)
        self._watched = HeldWatchers()
        self._models = models
        self._stores: dict[Path, LastingStore] = {}
        self.project = Project(
            self._folder / "work",
            self._folder / "home",
            {},
            models,
            [],
            make_store=self._store,
            vector_memory_bytes=0,
            watcher=True,
            make_watcher=self._watched.make,
        )
        self._judge = judge
        self._buffers: dict[str, str] = {}
        self._strategy = "realtime"
        self._branch = "main"
        self._clock = 0
        self._uncommitted = False
        self.workspace: IndexedWorkspace = self.project.open()

    # ------------------------------------------------------------ what happens to the files

    @rule(number=_NUMBERS, text=st.integers(0, 99), old=st.booleans())
    def write(self, number: int, text: int, old: bool) -> None:
        path = path_of(number)
        if (self.project.root / path).is_dir():
            return
        self.project.write(path, text_of(text))
        if old:
            self._clock += 1
            os.utime(self.project.root / path, (_OLD_S + self._clock, _OLD_S + self._clock))
        self.report([path])

    @rule(number=_NUMBERS)
    def delete(self, number: int) -> None:
        (self.project.root / path_of(number)).unlink(missing_ok=True)
        self.report([path_of(number)])

    @rule(number=_NUMBERS, to=_NUMBERS)
    def rename(self, number: int, to: int) -> None:
        source, target = self.project.root / path_of(number), self.project.root / path_of(to)
        if source.exists():
            target.parent.mkdir(exist_ok=True)
            source.replace(target)
            self.report([path_of(number), path_of(to)])

    @rule(folder=st.integers(0, FOLDERS - 1))
    def move_folder(self, folder: int) -> None:
        source, target = self.project.root / f"pkg{folder}", self.project.root / f"moved{folder}"
        if source.is_dir() and not target.exists():
            source.rename(target)
            self.report([source.name, target.name], [source.name, target.name])

    @rule()
    def switch(self) -> None:
        """Changes many files at once, and HEAD."""
        self._branch = "other" if self._branch == "main" else "main"
        self.project.git("checkout", "-qf", self._branch)
        self._uncommitted = True  # what git does not know stays
        self._watched.report([path_of(0), "fresh"], ["fresh"], head_moved=True)

    @rule()
    def commit(self) -> None:
        self.project.git("add", "-A")
        self.project.git("commit", "-qm", "more", "--allow-empty")
        self._uncommitted = False
        self._watched.report([], head_moved=True)

    @rule(folder=st.integers(0, FOLDERS - 1))
    def write_rules(self, folder: int) -> None:
        self.project.write(".sidecarignore", f"pkg{folder}/\n")
        self.report([".sidecarignore"])

    @rule(number=_NUMBERS, text=st.integers(100, 199))
    def buffer(self, number: int, text: int) -> None:
        self._buffers[path_of(number)] = text_of(text)
        self.workspace.set_buffer(path_of(number), text_of(text))

    @rule(number=_NUMBERS)
    def drop_buffer(self, number: int) -> None:
        self._buffers.pop(path_of(number), None)
        self.workspace.drop_buffer(path_of(number))

    # ------------------------------------------------------------ what happens to the index

    @initialize()
    def first(self) -> None:
        self.workspace.create(no_progress, lambda: False)
        self._settle_in()

    @rule(
        job=st.sampled_from(["refresh", "rebuild", "rebuild", "match", "create"]),
        edit=_EDITS,
        number=_NUMBERS,
        at=_MOMENTS,
        cancelled_after=st.none() | st.integers(0, 3),
        look=st.booleans(),
    )
    def work(self, job: str, edit: str, number: int, at: int, cancelled_after: int | None, look: bool) -> None:
        """Runs a job, during which files change and somebody may search. It may be cancelled, as when its caller
        dies."""

        def then() -> None:
            self._edit(edit, number)
            if look:
                self.workspace.find_paths("**/*", 1)

        moment = Moment(at, then, None if cancelled_after is None else at + cancelled_after)
        with contextlib.suppress(Cancelled, IndexExists, IndexNotFound):
            self._start(job, moment)
        self._settle_in()

    @rule(job=st.sampled_from(["refresh", "rebuild"]), edit=_EDITS, number=_NUMBERS, at=_MOMENTS)
    def cut_short(self, job: str, edit: str, number: int, at: int) -> None:
        self.work(job, edit, number, at, 0, True)

    @rule(number=_NUMBERS)
    def reindex_file(self, number: int) -> None:
        with contextlib.suppress(FileNotFound, FileExcluded, IndexNotFound):
            self.workspace.reindex_file(path_of(number))
        self._settle_in()

    @rule()
    def delete_index(self) -> None:
        try:
            self.workspace.delete()
        except IndexNotFound:
            return
        self._strategy = "realtime"  # its config was deleted with it

    @rule()
    def rest(self) -> None:
        self.workspace.rest(0.0)

    @rule()
    def reopen(self) -> None:
        self.project.close()
        self._wake_anew()

    @rule()
    def die(self) -> None:
        """Leaves the state of a killed process: nothing is closed or remembered, and its lock is free."""
        generation, self.workspace.index.generation = self.workspace.index.generation, None
        self.project.close()
        if generation is not None and generation.writer is not None:
            generation.writer.store_sync.close()
        self._wake_anew()

    @precondition(lambda self: Path(self.workspace.config().config_path).exists())
    @rule(strategy=st.sampled_from(["realtime", "lazy", "git"]))
    def turn_to(self, strategy: str) -> None:
        config = Path(self.workspace.config().config_path)
        config.write_text(f'{{"indexingStrategy": "{strategy}"}}')
        self._strategy = strategy
        self.workspace.reload_settings()

    @rule()
    def search(self) -> None:
        try:
            notice = self.workspace.find_paths("**/*", 1).notice
        except IndexNotFound:
            return
        self._settle_in()
        if not notice:
            assert self._indexed() == self._on_disk(), "an answer that says nothing of it is stale"

    # ------------------------------------------------------------ the end

    def teardown(self) -> None:
        try:
            if self._judge is None:
                self.compare()
            else:
                self._judge(self)
        finally:
            self.project.close()
            shutil.rmtree(self._folder, ignore_errors=True)

    def compare(self) -> None:
        """Checks that, once nothing is pending, the index is that of the files as they are."""
        status = self.workspace.status()
        if status.status == "not_found" or status.patterns:  # one made by patterns alone stays limited to them
            self.workspace.create(no_progress, lambda: False)
        if self._strategy == "git":
            self.commit()
        self.workspace.find_paths("**/*", 1)
        self._settle_in()
        answer = self.workspace.find_paths("**/*", 1)
        assert answer.notice == "", answer.notice
        here, there = self._indexed(), self._on_disk()
        assert here == there, f"stale: {sorted(p for p in {*here, *there} if here.get(p) != there.get(p))}"
        different = differences(image(self.workspace, WORDS), self._from_nothing())
        assert not different, different

    # ------------------------------------------------------------ small things

    def _edit(self, edit: str, number: int) -> None:
        if edit == "write":
            self.write(number, number + 200, True)
        elif edit == "rename":
            self.rename(number, FILES - number % FILES)
        elif edit == "buffer":
            self.buffer(number, number + 300)
        elif edit == "rules":
            self.write_rules(number % FOLDERS)
        elif edit == "delete":
            self.delete(number)
        elif edit == "commit":
            self.commit()
        else:
            self.switch()

    def _store(self, _settings: Settings, folder: Path, dimension: int, *_: str) -> LastingStore:
        """Returns the store that an earlier opening has made in this folder; a new one if there is none."""
        mark = folder / "made"
        if not mark.exists():
            folder.mkdir(exist_ok=True)
            mark.touch()
            self._stores[folder] = LastingStore(dimension)
        return self._stores[folder]

    def _start(self, job: str, moment: Moment) -> Any:
        if job == "refresh":
            return self.workspace.refresh(no_progress, moment)
        if job == "rebuild":
            return self.workspace.rebuild(no_progress, moment)
        if job == "create":
            return self.workspace.create(no_progress, moment)
        return self.workspace.index_matching(["pkg1/**", "fresh/**"], False, no_progress, moment)

    def report(self, paths: list[str], folders: Iterable[str] = ()) -> None:
        self._uncommitted = True
        self._watched.report(paths, folders)

    def _wake_anew(self) -> None:
        self._buffers.clear()
        self.workspace = self.project.open()

    def _settle_in(self) -> None:
        """Waits for a watcher that is starting, so that every run of the model is the same."""
        with self._watched.changed:
            ready = self._watched.changed.wait_for(
                lambda: not self.workspace.live_update.running or self._watched.running is not None, PATIENCE_S
            )
        assert ready, "the watcher never came"

    def _indexed(self) -> dict[str, bytes]:
        with self.workspace.index.readable().snapshots.open() as snapshot:
            return dict(snapshot.connection.execute("SELECT path, sha256 FROM files"))

    def _on_disk(self) -> dict[str, bytes]:
        """Returns the files as a walk finds them, unsaved text included."""
        walker = make_walker(str(self.project.root), self.workspace.settings())
        files = walker.walk(never_cancelled).files
        found = {f.path: hashlib.sha256((self.project.root / f.path).read_bytes()).digest() for f in files}
        for path, text in self._buffers.items():
            if walker.decide(path).indexed:
                found[path] = hashlib.sha256(text.encode()).digest()
        return found

    def _from_nothing(self) -> Image:
        scratch = Project(self.project.root, self._folder / "scratch", {}, self._models, [])
        try:
            workspace = scratch.open()
            for path, text in self._buffers.items():
                workspace.set_buffer(path, text)
            workspace.refresh(no_progress, lambda: False)
            return image(workspace, WORDS)
        finally:
            scratch.close()
            shutil.rmtree(self._folder / "scratch", ignore_errors=True)


def differences(one: Image, other: Image) -> list[str]:
    """Returns which parts of two images differ, with examples."""
    found = []
    for part in fields(Image):
        mine, theirs = getattr(one, part.name), getattr(other, part.name)
        if mine != theirs:
            some = [x for x in mine if x not in theirs][:2], [x for x in theirs if x not in mine][:2]
            found.append(f"{part.name}: {len(mine)} and {len(theirs)}, {some}"[:160])
    return found


@dataclass
class Tally:
    """The result of many lives."""

    lives: int = 0
    stale: list[str] = field(default_factory=list)

    def judge(self, life: Life) -> None:
        self.lives += 1
        try:
            life.compare()
        except (AssertionError, SidecarError) as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            said = str(error).partition("\n")[0][:200]
            self.stale.append(f"{where.name}: {where.line or ''} {type(error).__name__} {said}")


def live(repository: Repository, models: Models, lives: int, steps: int, number: int) -> Tally:
    """Lives that many lives of at most so many steps. `number` distinguishes one series from another."""
    tally = Tally()
    some = settings(
        max_examples=lives,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )

    @seed(number)
    class Judged(Life):
        def __init__(self) -> None:
            super().__init__(repository, models, tally.judge)

    run_state_machine_as_test(Judged, settings=some)
    return tally
