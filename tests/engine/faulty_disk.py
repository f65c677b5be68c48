"""A program in which calls of the C library fail as `faulty_disk.c` says.

Asked by lines on its stdin, it indexes and searches a workspace, and answers each with a line of JSON; see `Answer`.
"""

from __future__ import annotations

import json
import queue
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypedDict

import sidecar.no_telemetry  # noqa: F401

from sidecar.engine.models.loader import Models, make_embedder
from sidecar.engine.workspace import IndexedWorkspace
from sidecar.model.answers import SearchRequest, StatusAnswer
from sidecar.model.terms import never_cancelled
from tests.engine.projects import FILES, Project, index


class Answer(TypedDict):
    """The indexed files, what a search by word finds and says, and what the status says."""

    paths: list[str]
    found: list[str]
    notice: str
    status: str
    warning: str
    errors: list[str]


def _answer(workspace: IndexedWorkspace, words: str) -> Answer:
    with workspace.index.readable().snapshots.open() as snapshot:
        paths = sorted(snapshot.paths)
    found = workspace.search(SearchRequest(words, mode="fts"), never_cancelled)
    status = workspace.status()
    return Answer(
        paths=paths,
        found=[hit.path for hit in found.hits],
        notice=found.notice,
        status=status.status,
        warning=status.warning,
        errors=[f"{path}: {reason}" for path, reason in status.errors],
    )


def _when(workspace: IndexedWorkspace, good: Callable[[StatusAnswer], bool]) -> None:
    seen: queue.Queue[StatusAnswer] = queue.Queue()
    workspace.on_change(seen.put)
    status = workspace.status()
    while not good(status):
        status = seen.get(timeout=60)


def main(folder: Path) -> None:
    """A request is `index`, `settled` (wait until the status says that the index is up to date), or words to search
    for."""
    models = Models(make_embedder)
    project = Project(folder / "work", folder / "home", {}, models, [], prepares_here=True)
    for path, text in FILES.items():
        project.write(path, text)
    project.write("src/.gitignore", "*.dat\n")
    workspace = project.open()
    for line in sys.stdin:
        asked, words = line.strip(), "retry with backoff"
        if asked == "index":
            index(workspace)
        elif asked == "settled":
            _when(workspace, lambda status: status.status == "ready" and not (status.behind or status.notice))
        else:
            words = asked
        sys.stdout.write(json.dumps(_answer(workspace, words)) + "\n")
        sys.stdout.flush()
    project.close()
    models.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
