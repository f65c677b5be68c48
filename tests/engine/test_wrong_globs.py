"""A wrong glob in the settings stops no update: what it may mean stays as it is, and everything else goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sidecar.engine.workspace import IndexedWorkspace
from sidecar.errors import InvalidPattern
from sidecar.model.answers import SearchRequest
from sidecar.model.terms import never_cancelled, no_progress
from tests.engine.projects import Project, index

pytestmark = pytest.mark.process

SAYS = (
    'The setting exclude has "keys/{a": Unbalanced braces: `{` without `}`. Until that is mended, a file that it may'
    " mean is not added to the index."
)


def exclude(workspace: IndexedWorkspace, *globs: str) -> None:
    config = Path(workspace.config().config_path)
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(json.dumps({"exclude": globs}))


def found(workspace: IndexedWorkspace, pattern: str) -> tuple[list[str], str]:
    """Returns the indexed paths that match, and the notice."""
    answer = workspace.find_paths(pattern, 50)
    return list(answer.paths), answer.notice


def words(workspace: IndexedWorkspace, query: str) -> set[str]:
    answer = workspace.search(SearchRequest(query, mode="fts"), never_cancelled)
    return {hit.path for hit in answer.hits}


def test_a_wrong_glob_of_exclude_adds_nothing_that_it_may_mean_and_stops_nothing_else(project: Project) -> None:
    project.write("keys/one.py", "def zyzzyva(): pass\n")
    workspace = project.open()
    index(workspace)
    exclude(workspace, "keys/{a")
    project.write("keys/one.py", "def quagga(): pass\n")
    project.write("keys/two.py", "def quagga_two(): pass\n")
    project.write("src/new.py", "def okapi(): pass\n")
    assert found(workspace, "keys/**") == (["keys/one.py"], SAYS)
    assert words(workspace, "quagga") == {"keys/one.py"}
    assert words(workspace, "okapi") == {"src/new.py"}
    status = workspace.status()
    assert (status.status, status.notice, status.unapplied) == ("ready", SAYS, SAYS)
    assert SAYS in status.warning
    assert workspace.explain("keys/two.py").decision.detail == "a glob of the setting exclude is wrong"
    assert workspace.explain("keys/one.py").decision.indexed
    assert SAYS in workspace.config().problems
    exclude(workspace)
    assert found(workspace, "keys/**") == (["keys/one.py", "keys/two.py"], "")
    assert workspace.config().problems == ()


def test_a_wrong_glob_refuses_a_new_index_and_a_rebuild_and_nothing_is_lost(project: Project) -> None:
    workspace = project.open()
    exclude(workspace, "keys/{a")
    with pytest.raises(InvalidPattern, match="The setting exclude has"):
        index(workspace)
    exclude(workspace)
    index(workspace)
    before = found(workspace, "**/*")
    exclude(workspace, "keys/{a")
    with pytest.raises(InvalidPattern, match="The setting exclude has"):
        workspace.rebuild(no_progress, never_cancelled)
    assert found(workspace, "**/*") == (before[0], SAYS)


def test_a_wrong_glob_of_doc_patterns_names_no_documentation_and_stops_nothing(project: Project) -> None:
    workspace = project.open()
    index(workspace)
    config = Path(workspace.config().config_path)
    config.write_text(json.dumps({"docPatterns": ["**/*.md", "notes/{a"]}))
    project.write("src/new.py", "def okapi(): pass\n")
    project.write("docs/new.md", "An okapi.\n")
    says = 'The setting docPatterns has "notes/{a": Unbalanced braces: `{` without `}`.'
    assert found(workspace, "**/new.*") == (["docs/new.md", "src/new.py"], says)
    assert words(workspace, "okapi") == {"src/new.py"}
