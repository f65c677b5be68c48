"""What the first question after opening costs, counted in passes over all files."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from sidecar.engine.workspace import IndexedWorkspace
from tests.engine.projects import Project, find, index
from tests.patience import PATIENCE_S, until

STRATEGIES = ["realtime", "lazy", "git"]
ASK: dict[str, Callable[[IndexedWorkspace], Any]] = {
    "search": lambda workspace: find(workspace, "set cookie"),
    "paths": lambda workspace: workspace.find_paths("**/*", 5),
    "status": lambda workspace: workspace.status(up_to_date=True),
}


class Passes:
    """Counts the passes over all files."""

    def __init__(self, project: Project) -> None:
        self.count = 0
        project.after_walking = self._walked

    def _walked(self) -> None:
        self.count += 1


@pytest.fixture
def indexed(project: Project) -> Project:
    project.prepares_here = True
    index(project.open())
    project.close()
    return project


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("way", ASK)
def test_a_question_that_opens_the_index_makes_one_pass_over_all_files(
    indexed: Project, way: str, strategy: str
) -> None:
    indexed.flags["indexingStrategy"] = strategy
    passes = Passes(indexed)
    workspace = indexed.open()
    ASK[way](workspace)
    assert passes.count == 1


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_what_was_saved_before_the_first_question_is_in_its_answer(indexed: Project, strategy: str) -> None:
    indexed.flags["indexingStrategy"] = strategy
    workspace = indexed.open()
    indexed.write("src/later.py", "def came_later():\n    return 1\n")
    assert find(workspace, "came_later")[:1] == ["src/later.py"]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_without_a_watcher_a_later_question_makes_a_pass_of_its_own(indexed: Project, strategy: str) -> None:
    indexed.flags["indexingStrategy"] = strategy
    passes = Passes(indexed)
    workspace = indexed.open()
    find(workspace, "set cookie")
    indexed.write("src/later.py", "def came_later():\n    return 1\n")
    assert find(workspace, "came_later")[:1] == ["src/later.py"]
    assert passes.count == 2


def test_a_question_that_is_asked_during_the_first_pass_waits_for_one_that_began_later(indexed: Project) -> None:
    """The first pass has read the files already when the second question is asked, so it may lack what was saved."""
    walks, walked, go_on = 0, threading.Event(), threading.Event()

    def hold_the_first() -> None:
        nonlocal walks
        walks += 1
        if walks == 1:
            walked.set()
            assert go_on.wait(PATIENCE_S)

    indexed.after_walking = hold_the_first
    workspace = indexed.open()
    with ThreadPoolExecutor(2) as asking:
        opening = asking.submit(find, workspace, "set cookie")
        assert walked.wait(PATIENCE_S)
        indexed.write("src/later.py", "def came_later():\n    return 1\n")
        before = workspace.live_update.moment
        again = asking.submit(find, workspace, "came_later")
        until(lambda: workspace.live_update.moment > before)
        go_on.set()
        assert opening.result() and again.result()[:1] == ["src/later.py"]
    assert walks == 2


def test_a_workspace_that_has_rested_makes_one_pass_for_the_question_that_wakes_it(indexed: Project) -> None:
    passes = Passes(indexed)
    workspace = indexed.open()
    find(workspace, "set cookie")
    assert workspace.rest(0.0)
    passes.count = 0
    assert find(workspace, "set cookie")
    assert passes.count == 1
