"""The lexical index is merged after saved files and further when a workspace is idle, and keeps its content."""

from __future__ import annotations

import queue
import sqlite3

import pytest

from sidecar.model.answers import StatusAnswer
from sidecar.parts.lexical import merge_choice
from sidecar.parts.lexical.merge_choice import MERGE_FACTOR
from sidecar.parts.lexical.stepped_merge import MOST_LEFT
from tests.engine.projects import Project, find, image, index
from tests.patience import first_that, until

pytestmark = pytest.mark.process


def test_a_first_index_of_several_commits_is_left_in_one_segment(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merge_choice, "SMALL", 200)
    for number in range(150):
        project.write(f"src/part{number}.py", f"def retry_backoff{number}():\n    return 'cookies'\n")
    index(project.open())
    assert segments_of(project) == 1


def test_segments_are_merged_when_a_workspace_comes_to_rest(project: Project) -> None:
    workspace = project.open()
    index(workspace)
    for number in range(6):
        project.write("src/retry.py", f"def retry_backoff{number}():\n    return 'cookies'\n" * 40 * (number + 1))
        workspace.reindex_file("src/retry.py")
    before = image(workspace)
    assert segments_of(project) > MOST_LEFT, "there is something to merge"
    assert workspace.rest(0.0)
    assert segments_of(project) <= MOST_LEFT
    assert image(workspace) == before


def test_resting_with_few_segments_writes_nothing(project: Project) -> None:
    workspace = project.open()
    index(workspace)
    before = revision_of(project)
    generation = workspace.index.readable()
    assert generation.writer is not None
    generation.writer.indexer.merge_in_steps(lambda: False, at_rest=True)
    assert revision_of(project) == before


def test_a_use_ends_the_merging(project: Project) -> None:
    workspace = project.open()
    index(workspace)
    for number in range(6):
        project.write("src/retry.py", f"def retry_backoff{number}():\n    return 1\n" * 40 * (number + 1))
        workspace.reindex_file("src/retry.py")
    generation = workspace.index.readable()
    assert generation.writer is not None
    before = segments_of(project)
    asked = iter((False, True))
    generation.writer.indexer.merge_in_steps(lambda: next(asked), at_rest=True)
    assert segments_of(project) == before, "one step of several"
    generation.writer.indexer.merge_in_steps(lambda: False, at_rest=True)
    assert segments_of(project) <= MOST_LEFT


def test_segments_of_saved_files_are_merged_once_they_are_found(project: Project) -> None:
    seen: queue.Queue[StatusAnswer] = queue.Queue()
    project.watcher = True
    workspace = project.open()
    workspace.on_change(seen.put)
    index(workspace)
    first_that(lambda status: status.watcher_active, seen)
    before = segments_of(project)
    for number in range(MERGE_FACTOR + 2):
        project.write("src/retry.py", f"def retry_backoff{number}():\n    return 'cookies'\n")
        assert "src/retry.py" in find(workspace, f"retry_backoff{number}")
    until(lambda: segments_of(project) < before + MERGE_FACTOR)


def test_merging_leaves_the_revision_so_that_what_searches_have_made_of_it_stays(project: Project) -> None:
    workspace = project.open()
    index(workspace)
    for number in range(6):
        project.write("src/retry.py", f"def retry_backoff{number}():\n    return 1\n" * 40 * (number + 1))
        workspace.reindex_file("src/retry.py")
    before, segments = revision_of(project), segments_of(project)
    generation = workspace.index.readable()
    assert generation.writer is not None
    generation.writer.indexer.merge_in_steps(lambda: False, at_rest=True)
    assert segments_of(project) < segments
    assert revision_of(project) == before


def segments_of(project: Project) -> int:
    return _number(project, "SELECT count(*) FROM lexical_segments")


def revision_of(project: Project) -> int:
    return _number(project, "SELECT value FROM meta WHERE key = 'revision'")


def _number(project: Project, select: str) -> int:
    (place,) = project.home.glob("indexes/*/generations/*/manifest.sqlite")
    with sqlite3.connect(place) as connection:
        return int(connection.execute(select).fetchone()[0])
