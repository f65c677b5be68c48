"""The cost of a short question, counted in calls: SQL statements, stats of files, and calls of functions.

Unlike seconds, these numbers do not depend on the machine and its other work.
"""

from __future__ import annotations

import queue
import sys
from collections import Counter
from contextlib import AbstractContextManager
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from sidecar.engine.index.snapshot import Snapshot, Snapshots
from sidecar.engine.workspace import IndexedWorkspace
from sidecar.model.answers import StatusAnswer
from sidecar.small_files import is_fresh, look_of
from tests.engine.projects import Project, find, index
from tests.patience import first_that, until

pytestmark = pytest.mark.process

SHORT = "expire cookies"
LONGER = "where does the cookie jar set and expire every cookie, and which function parses the query string of a call"
STATEMENTS = 12
"""BEGIN, the revision, postings, definitions, file names, texts to compare, texts to show, stats of the files shown,
COMMIT; and one each for a typing error, for stored asterisks and for an index that was written within two seconds."""
LOOKS = 16
"""In addition to one stat for each file shown and for each folder above the workspace, which may contain git's
folder."""
FUNCTIONS = 1320
CALLS_INTO_LIBRARIES = 1500


class Calls:
    """Counts the calls that this thread makes within the block."""

    def __init__(self) -> None:
        self.functions = 0
        self.by_name: Counter[str] = Counter()

    def __enter__(self) -> Calls:
        sys.setprofile(self._count)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    @property
    def statements(self) -> int:
        return self.by_name["execute"] + self.by_name["executemany"]

    @property
    def looks(self) -> int:
        """Counts stats of files and folders, and files and folders that were opened."""
        return sum(self.by_name[name] for name in ("stat", "lstat", "fstat", "open", "scandir", "listdir"))

    def _count(self, _frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            self.functions += 1
        elif event == "c_call":
            self.by_name[argument.__name__] += 1


@pytest.fixture
def watched(project: Project) -> IndexedWorkspace:
    """An indexed and watched workspace that has answered before. Its settings files are old enough that their stats are
    trusted."""
    seen: queue.Queue[StatusAnswer] = queue.Queue()
    project.watcher = project.prepares_here = True
    workspace = project.open()
    workspace.on_change(seen.put)
    index(workspace)
    first_that(lambda status: status.watcher_active, seen)
    (config,) = project.home.glob("indexes/*/config.json")
    until(lambda: not is_fresh(look_of(config)))
    for question in (SHORT, LONGER, SHORT, LONGER):
        find(workspace, question)
    return workspace


def asked(workspace: IndexedWorkspace, question: str, **fields: Any) -> tuple[Calls, int]:
    """Returns the calls of one question, and the number of files that it showed."""
    with Calls() as calls:
        shown = find(workspace, question, **fields)
    assert shown
    return calls, len(set(shown))


def test_a_question_makes_no_more_statements_the_more_words_it_has(watched: IndexedWorkspace) -> None:
    for question in (SHORT, LONGER):
        calls, _ = asked(watched, question)
        assert 0 < calls.statements <= STATEMENTS, question


def test_a_question_opens_one_snapshot(watched: IndexedWorkspace, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Snapshots] = []
    really_open = Snapshots.open

    def counted(snapshots: Snapshots) -> AbstractContextManager[Snapshot]:
        opened.append(snapshots)
        return really_open(snapshots)

    monkeypatch.setattr(Snapshots, "open", counted)
    for question in (SHORT, LONGER):
        asked(watched, question)
    assert len(opened) == 2


def test_a_page_makes_no_more_statements_the_more_definitions_it_names(watched: IndexedWorkspace) -> None:
    for hits in (1, 10):
        calls, shown = asked(watched, LONGER, top_k=hits, named=True)
        assert shown > 1 or hits == 1
        assert calls.statements <= STATEMENTS, hits


def test_a_question_looks_at_the_files_it_shows_and_at_little_else(project: Project, watched: IndexedWorkspace) -> None:
    above = len(Path(project.root).parents) + 1
    for question in (SHORT, LONGER):
        calls, shown = asked(watched, question)
        assert shown <= calls.looks <= shown + above + LOOKS, question


def test_a_short_question_makes_a_bounded_number_of_calls(watched: IndexedWorkspace) -> None:
    for question in (SHORT, LONGER):
        # A question that has to wait for the watcher, as on a busy machine, makes some fifty calls more.
        calls = min((asked(watched, question)[0] for _ in range(4)), key=lambda made: made.functions)
        assert 0 < calls.functions <= FUNCTIONS, question
        assert 0 < calls.by_name.total() <= CALLS_INTO_LIBRARIES, question
