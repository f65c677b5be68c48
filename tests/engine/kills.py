"""kill -9 at random moments: a child indexes, the parent kills it, reopens, and compares with an index from scratch.

Used by test_kills.py (30 kills) and scripts/bench/check-kills (any number).
"""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import signal
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidecar.engine.ingest.prepare import text_hash
from sidecar.engine.models.loader import Models, make_embedder
from sidecar.engine.wiring import make_store
from sidecar.model.terms import Embedder, Vectors, never_cancelled
from sidecar.settings.load import Settings
from tests.engine.projects import Image, Project, image, index

WORDS = tuple(
    "retry backoff cookie expire parse query string serve accept connection open close read write token stream buffer"
    " flush index search rank merge split encode decode format print load store cache evict lock wait signal".split()
)
ACTIONS = ("refresh", "refresh", "rebuild", "delete")


class AnnouncingEmbedder:
    """The shipped model, which first announces what it embeds."""

    def __init__(self, inner: Embedder, announce: Callable[[list[bytes]], None]) -> None:
        self._inner = inner
        self._announce = announce
        self.model_id, self.dimension = inner.model_id, inner.dimension
        self.device, self.device_note = inner.device, inner.device_note

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        model = self.model_id.encode()
        self._announce([model + text_hash(t) for t in texts])
        return self._inner.embed_documents(texts)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        return self._inner.embed_query(text)

    def close(self) -> None:
        self._inner.close()


@dataclass
class Outcome:
    """The result of a series of kills."""

    kills: int = 0
    finished: int = 0
    by_action: Counter[str] = field(default_factory=Counter)


def child(root: Path, home: Path, flags: dict[str, Any], asks_store: bool, action: str, said: Connection) -> None:
    """Runs in the process that will be killed. `asks_store`: the vectors do not fit into memory."""

    def announce(hashes: list[bytes]) -> None:
        said.send(("embed", hashes))

    def make(settings: Settings) -> Embedder:
        return AnnouncingEmbedder(make_embedder(settings), announce)

    project = Project(root, home, flags, Models(make), [])
    _use_chroma(project, asks_store)
    workspace = project.open()

    def progress(done: int, total: int, message: str) -> None:
        said.send(("progress", done))

    said.send(("open", 0))
    if action == "rebuild" and workspace.status().status != "not_found":
        workspace.rebuild(progress, never_cancelled)
        workspace.refresh(progress, never_cancelled)
    elif action == "delete" and workspace.status().status != "not_found":
        said.send(("delete", 0))
        workspace.delete()
        said.send(("deleted", 0))
        workspace.refresh(progress, never_cancelled)
    else:
        workspace.refresh(progress, never_cancelled)
    said.send(("done", 0))
    said.recv()


def _use_chroma(project: Project, asks_store: bool) -> None:
    if asks_store:
        project.keep_chroma()
    else:
        project.make_store = make_store


class Killer:
    """One folder under one index, changed, indexed by a child and killed again and again.

    `flags`: its settings; `length`: how many times as long as usual each file is. For every `store_every`-th kill, the
    vectors do not fit into memory: Chroma's process runs, is killed too, and what it holds is compared. For the others
    they fit, so it does not run, as in most workspaces.
    """

    def __init__(
        self,
        folder: Path,
        seed: int,
        models: Models,
        files: int = 60,
        flags: Mapping[str, Any] = MappingProxyType({}),
        *,
        length: int = 1,
        store_every: int = 1,
    ) -> None:
        self._flags = dict(flags)
        self._store_every = store_every
        # The messages within which a child is killed. Those of the model upgrade come after those of the first stage.
        self._most = 40 if flags else 12
        self._length = length
        self._random = random.Random(seed)
        self._root, self._home, self._scratch = folder / "work", folder / "home", folder / "scratch"
        self._root.mkdir(parents=True)
        self._models = models
        self._embedders: dict[tuple[str, str], Embedder] = {}
        self._files = files
        self._seen: set[bytes] = set()
        self._deleting = False
        self._processes = multiprocessing.get_context("forkserver")
        self._processes.set_forkserver_preload(["tests.engine.kills"])
        for number in range(files):
            self._write(number)

    def run(self, kills: Iterable[int], say: Callable[[str], None] = lambda line: None) -> Outcome:
        """Kills as often as `kills` has numbers. `say` gets a line for each kill whose index was equal to one from
        scratch; an index that is not equal raises AssertionError."""
        outcome = Outcome()
        for number in kills:
            action = self._random.choice(ACTIONS)
            outcome.by_action[action] += 1
            asks_store = number % self._store_every == 0
            in_flight = self._kill_one(action, outcome, asks_store)
            chunks = self._check(in_flight, asks_store)
            stored = "with the store" if asks_store else "without the store"
            say(f"kill {outcome.kills}: {action}, {chunks:,} chunks, {stored}: equal to one from scratch")
            self._change()
        return outcome

    def _kill_one(self, action: str, outcome: Outcome, asks_store: bool) -> set[bytes]:
        ours, theirs = self._processes.Pipe()
        given = (self._root, self._home, self._flags, asks_store, action, theirs)
        process = self._processes.Process(target=child, args=given)
        process.start()
        theirs.close()
        last: list[bytes] = []
        self._deleting = False
        messages = self._random.randrange(1, self._most)
        try:
            for _ in range(messages):
                kind, what = ours.recv()
                last = self._note(kind, what, last)
                if kind == "done":
                    break
            # The moment: within the next milliseconds, whatever the child is doing then.
            if ours.poll(self._random.random() * 0.04):
                kind, what = ours.recv()
                last = self._note(kind, what, last)
        except EOFError:
            raise AssertionError(f"the child crashed by itself during {action}") from None
        outcome.finished += kind == "done"
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        outcome.kills += 1
        while ours.poll(0):
            try:
                kind, what = ours.recv()
            except EOFError:
                break
            last = self._note(kind, what, last)
        ours.close()
        return set(last)

    def _note(self, kind: str, what: Any, last: list[bytes]) -> list[bytes]:
        """Counts what was embedded, and returns the batch in flight."""
        if kind in ("delete", "deleted"):
            self._seen.clear()
            self._deleting = kind == "delete"
            return []
        if kind != "embed":
            return last
        if self._deleting:
            return []  # an update in progress: what it embeds may be deleted with the rest
        again = self._seen & set(what)
        assert not again, f"{len(again)} texts were embedded twice"
        self._seen |= set(last)
        return list(what)

    def _check(self, in_flight: set[bytes], asks_store: bool) -> int:
        """Returns the number of chunks."""
        project = Project(self._root, self._home, self._flags, Models(self._announcing(in_flight)), [])
        _use_chroma(project, asks_store)
        try:
            workspace = project.open()
            if workspace.status().status == "not_found":
                self._seen.clear()
            index(workspace)
            status = workspace.status()
            assert (status.status, status.coverage, status.model_upgrade) == ("ready", 1.0, None)
            reopened = image(workspace, store=asks_store)
        finally:
            project.close()
        assert reopened == self._from_scratch(asks_store)
        return status.chunks

    def _announcing(self, in_flight: set[bytes]) -> Callable[[Settings], Embedder]:
        def announce(hashes: list[bytes]) -> None:
            again = (self._seen & set(hashes)) - in_flight
            assert not again, f"{len(again)} texts were embedded twice, beyond the batch in flight"
            self._seen.update(hashes)

        return lambda settings: AnnouncingEmbedder(self._embedder(settings), announce)

    def _embedder(self, settings: Settings) -> Embedder:
        """Kept here: `Models` is locked while it makes one, and must not ask another `Models` then."""
        key = (settings.model, settings.device)
        if key not in self._embedders:
            self._embedders[key] = make_embedder(settings)
        return self._embedders[key]

    def _from_scratch(self, asks_store: bool) -> Image:
        flags = {**self._flags, "twoStage": False}
        project = Project(self._root, self._scratch, flags, self._models, [])
        try:
            workspace = project.open()
            index(workspace)
            return image(workspace, store=asks_store)
        finally:
            project.close()
            shutil.rmtree(self._scratch)

    def _change(self) -> None:
        numbers = self._random.sample(range(self._files), 12)
        for number in numbers[:8]:
            self._write(number)
        for number in numbers[8:10]:
            self._path(number).unlink(missing_ok=True)
        source, target = self._path(numbers[10]), self._root / "moved" / f"m{self._random.randrange(30)}.py"
        target.parent.mkdir(exist_ok=True)
        if source.exists():
            source.replace(target)

    def _path(self, number: int) -> Path:
        return self._root / f"pkg{number % 5}" / (f"note{number}.md" if number % 6 == 0 else f"mod{number}.py")

    def _write(self, number: int) -> None:
        path = self._path(number)
        path.parent.mkdir(exist_ok=True)
        words = [self._random.choice(WORDS) for _ in range(20 + 40 * self._length)]
        if path.suffix == ".md":
            sections = "\n".join(
                f"## {w}\n\n{' '.join(words[i : i + 6])}\n" for i, w in enumerate(words[: 6 * self._length])
            )
            path.write_text(f"# {words[0]}\n\n{sections}")
            return
        functions = "\n\n".join(
            f"def {words[i]}_{words[i + 1]}({words[i + 2]}):\n    return {words[i + 3]}({words[i + 2]})"
            for i in range(0, 40 * self._length, 4)
        )
        path.write_text(f'"""{words[-1]} {words[-2]}"""\n\n\n{functions}\n')
