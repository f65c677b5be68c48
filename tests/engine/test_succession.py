"""A process that only reads an index and that nobody asks anything: its state follows the process that writes the
index, and it keeps the index up to date itself once that process has left."""

from __future__ import annotations

import os
import queue
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sidecar.engine.workspace import IndexedWorkspace
from sidecar.errors import IndexLocked
from sidecar.model.answers import StatusAnswer
from tests.engine.projects import Project, find, index
from tests.patience import first_that, until

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]
NEW = "def tune_carburettor(engine):\n    return engine.mixture\n"
WRITING = """
import sys
from sidecar.engine.wiring import open_workspaces
from sidecar.model.answers import SearchRequest
from sidecar.model.terms import never_cancelled, no_progress
from tests.patience import until
root, home = sys.argv[1:]
workspaces = open_workspaces({}, {}, {"SIDECAR_HOME": home, "HOME": "/nowhere"})
workspace = workspaces.get(root)
deeds = {
    "rest": lambda: until(lambda: workspace.rest(0)),
    "index": lambda: workspace.refresh(no_progress, never_cancelled),
    "search": lambda: workspace.search(SearchRequest("expire cookies"), never_cancelled),
}
for line in sys.stdin:
    deeds[line.strip()]()
    print("done", flush=True)
workspaces.close()
"""


class Writer:
    """Another process, which has the right to write the index once it has searched or made it."""

    def __init__(self, project: Project) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", WRITING, str(project.root), str(project.home)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def does(self, what: str) -> None:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(f"{what}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def ends(self) -> None:
        self.process.communicate()

    def is_killed(self) -> None:
        self.process.kill()
        self.process.wait()

    def rests(self) -> None:
        self.does("rest")

    def is_paused_and_killed(self) -> None:
        self.process.send_signal(signal.SIGSTOP)
        self.is_killed()


@contextmanager
def writing(project: Project, *, exists: bool = True) -> Iterator[Writer]:
    writer = Writer(project)
    try:
        if exists:
            writer.does("search")
        yield writer
    finally:
        if writer.process.poll() is None:
            writer.process.kill()
            writer.process.communicate()


def reader_of(project: Project) -> tuple[IndexedWorkspace, queue.Queue[StatusAnswer]]:
    """Returns a workspace with an editor's unsaved text, opened while another process writes the index, with the states
    that it announces. Nobody asks it anything afterwards."""
    project.watcher = True
    workspace = project.open(turn=0.05)
    states: queue.Queue[StatusAnswer] = queue.Queue()
    workspace.on_change(states.put)
    workspace.set_buffer("src/cookies.py", NEW)
    assert workspace.status().behind
    assert "Another process keeps this index up to date" in workspace.status().notice
    return workspace, states


@pytest.fixture
def indexed(project: Project) -> Project:
    index(project.open())
    project.close()
    return project


@pytest.mark.parametrize("leaves", [Writer.ends, Writer.is_killed, Writer.rests, Writer.is_paused_and_killed])
def test_a_reader_whose_state_is_shown_takes_over_by_itself_when_the_writer_leaves(
    indexed: Project, leaves: Callable[[Writer], None]
) -> None:
    with writing(indexed) as writer:
        workspace, states = reader_of(indexed)
        leaves(writer)
        first_that(lambda state: state.watcher_active and not state.behind and state.status == "ready", states)
        assert find(workspace, "tune carburettor")[0] == "src/cookies.py", "the unsaved text is searched"
        indexed.write("src/herons.py", "def count_the_herons():\n    return 3\n")
        first_that(lambda state: state.files == 7 and not state.behind, states)
        assert find(workspace, "count the herons")[0] == "src/herons.py"
        indexed.close()


def test_text_that_came_while_another_process_wrote_is_searched_once_that_has_left(indexed: Project) -> None:
    with writing(indexed) as writer:
        workspace, states = reader_of(indexed)
        with pytest.raises(IndexLocked, match="Another process"):
            workspace.set_buffer("src/parse.ts", "export function openTheSluice(gate: Gate) {\n  gate.lift()\n}\n")
        writer.ends()
        first_that(lambda state: state.watcher_active and not state.behind, states)
        assert find(workspace, "open the sluice")[0] == "src/parse.ts"
        indexed.close()


def test_a_reader_announces_what_the_writer_commits(indexed: Project) -> None:
    with writing(indexed) as writer:
        workspace, states = reader_of(indexed)
        indexed.write("src/herons.py", "def count_the_herons():\n    return 3\n")
        writer.does("search")
        first_that(lambda state: state.files == 7, states)
        assert workspace.index.written() is None
        indexed.close()


def _is_removed(folder: Path) -> bool:
    """Removes the folder; returns False if something has been written in it meanwhile, such as by its watcher."""
    shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()


def test_an_index_folder_that_is_removed_and_made_anew_is_announced(indexed: Project) -> None:
    workspace = indexed.open(turn=0.05)
    states: queue.Queue[StatusAnswer] = queue.Queue()
    workspace.on_change(states.put)
    assert workspace.status().status == "ready"
    until(lambda: _is_removed(indexed.home / "indexes"))
    first_that(lambda state: state.status == "not_found", states)
    with writing(indexed, exists=False) as writer:
        writer.does("index")
        first_that(lambda state: state.status == "ready" and state.files == 6, states)
        writer.ends()
        until(lambda: workspace.index.written() is not None)
        indexed.close()
