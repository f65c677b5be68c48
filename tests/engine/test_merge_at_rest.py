"""An idle workspace merges its lexical index further, and the index keeps its content."""

from __future__ import annotations

import sqlite3

import pytest

from sidecar.parts.lexical.rest_merge import MOST_LEFT
from tests.engine.projects import Project, image, index

pytestmark = pytest.mark.process


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
    generation.writer.indexer.merge_at_rest(lambda: False)
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
    generation.writer.indexer.merge_at_rest(lambda: next(asked))
    assert segments_of(project) == before, "one step of several"
    generation.writer.indexer.merge_at_rest(lambda: False)
    assert segments_of(project) <= MOST_LEFT


def segments_of(project: Project) -> int:
    return _number(project, "SELECT count(*) FROM lexical_segments")


def revision_of(project: Project) -> int:
    return _number(project, "SELECT value FROM meta WHERE key = 'revision'")


def _number(project: Project, select: str) -> int:
    (place,) = project.home.glob("indexes/*/generations/*/manifest.sqlite")
    with sqlite3.connect(place) as connection:
        return int(connection.execute(select).fetchone()[0])
