"""One workspace over the real parts, and queries for it: what bench-query and bench-upgrade share."""

from __future__ import annotations

import os
import random
import re
import time
from pathlib import Path

from sidecar.engine.index.layout import IndexLayout
from sidecar.engine.ingest.store_sync import StoreSync
from sidecar.engine.models.loader import Models
from sidecar.engine.wiring import real_parts
from sidecar.engine.workspace import IndexedWorkspace
from sidecar.model.workspace import Workspace
from sidecar.parts.lease import Lease

QUERIES = 120
_DEFINED = re.compile(r"(?:def|class|function|fn|func)\s+([A-Za-z_]\w{7,40})")
_QUESTIONS = ("how does {} work", "{}", "where is {} checked before it is used", "error when {} fails", "test of {}")


def make_queries(root: Path) -> list[str]:
    """Different queries from names that the tree defines: a third as they are written, the others as words."""
    chance = random.Random(7)
    files = sorted(p for p in root.rglob("*") if p.is_file())
    names: list[str] = []
    for path in chance.sample(files, min(len(files), 400)):
        names += _DEFINED.findall(path.read_text("utf-8", "replace"))[:3]
    names = list(dict.fromkeys(names))
    chance.shuffle(names)
    queries = []
    for number, name in enumerate(names[: 2 * QUERIES]):
        words = re.sub(r"([a-z])([A-Z])", r"\1 \2", name).replace("_", " ").strip().lower()
        queries.append(name if number % 3 == 2 else _QUESTIONS[number % len(_QUESTIONS)].format(words))
    return queries


LONG = 4000
"""Characters of a long question."""
_REPORTS = (
    "When I {} on a machine with little memory, nothing happens for a while and then the whole run stops.",
    "I expected that {} would be called once; in the log it stands three times, each time with other arguments.",
    "The part that decides {} seems to be where it goes wrong, because without it the same input is read well.",
    "We have tried to change {} and to turn off the cache, which made no difference at all.",
)


def make_long_questions(root: Path) -> list[str]:
    """Returns a report of `LONG` characters for each third query: a question as the title, prose about other names of
    the tree, a traceback through its files, and an error message."""
    chance = random.Random(11)
    queries = make_queries(root)
    files = sorted(p.relative_to(root).as_posix() for p in root.rglob("*.py"))
    return [_report(query, queries, files, chance) for query in queries[::3]]


def _report(title: str, queries: list[str], files: list[str], chance: random.Random) -> str:
    frames = []
    for file in chance.sample(files, min(len(files), 8)):
        name = chance.choice(queries).replace(" ", "_")
        frames.append(f'  File "/srv/app/{file}", line {chance.randrange(1, 400)}, in {name}\n    return {name}(value)')
    failed = "\n".join(["Traceback (most recent call last):", *frames, f"ValueError: {chance.choice(queries)}: None"])
    prose: list[str] = []
    while sum(map(len, prose)) < LONG:
        prose.append(chance.choice(_REPORTS).format(chance.choice(queries)))
    told = " ".join(prose)[: LONG - len(title) - len(failed) - 4]
    return f"{title}\n\n{told}\n\n{failed}"


def store_sync_of(workspace: IndexedWorkspace) -> StoreSync:
    """Returns the object that fills the vector store of the current generation, which must be open for writing."""
    writer = workspace.index.readable().writer
    assert writer is not None
    return writer.store_sync


def wait_for_store(workspace: Workspace) -> None:
    """Waits until nothing is pending, nor in the vector store if it is in use. Exits after 300 s."""
    assert isinstance(workspace, IndexedWorkspace)
    deadline = time.monotonic() + 300
    while store_sync_of(workspace).is_behind() or workspace.status().pending_files:
        if time.monotonic() > deadline:
            raise SystemExit("the vector store did not start")
        time.sleep(0.1)
    time.sleep(1)


class OneWorkspace:
    """`tools.context.Workspaces` with a single workspace, over the real parts."""

    def __init__(self, root: str, home: Path) -> None:
        parts = real_parts({}, {}, {**os.environ, "SIDECAR_HOME": str(home)})
        models = Models(parts.make_embedder, home)
        self._workspace = IndexedWorkspace(root, IndexLayout(home, root), parts, models, Lease)

    def get(self, root: str) -> IndexedWorkspace:
        return self._workspace

    def problems(self, root: str) -> None:
        """Ignores the report: the workspace itself reports faults in its settings."""

    def close(self) -> None:
        self._workspace.close()
