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
