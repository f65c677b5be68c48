"""An index made by patterns contains only what they name, until somebody creates the whole one."""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sidecar.engine.index.layout import IndexLayout
from sidecar.engine.index.stored_limit import StoredLimit
from sidecar.engine.workspace import IndexedWorkspace
from sidecar.errors import Cancelled, FileExcluded, IndexCorrupt, IndexExists, InvalidParams
from sidecar.model.answers import PatternReport, SearchRequest, StatusAnswer
from sidecar.model.files import Rule
from sidecar.model.terms import never_cancelled, no_progress
from sidecar.parts.pattern_limit import MAX_GLOBS, PathPattern, PatternLimit, read_pattern
from tests.engine.projects import FILES, Project
from tests.examples import examples
from tests.patience import PATIENCE_S, first_that, until

pytestmark = pytest.mark.process

PYTHON = ["src/cookies.py", "src/retry.py"]


def indexed(workspace: IndexedWorkspace) -> list[str]:
    """Returns the indexed files, after all pending changes have been applied."""
    return list(workspace.find_paths("**/*", 100).paths)


def by_patterns(workspace: IndexedWorkspace, *patterns: str) -> PatternReport:
    return workspace.index_matching(patterns, False, no_progress, never_cancelled)


def search(workspace: IndexedWorkspace, query: str) -> tuple[list[str], str]:
    answer = workspace.search(SearchRequest(query, mode="fts"), never_cancelled)
    return [hit.path for hit in answer.hits], answer.notice


def test_the_next_search_indexes_nothing_else_and_says_what_is_indexed(project: Project) -> None:
    workspace = project.open()
    by_patterns(workspace, "**/*.py")
    assert search(workspace, "parseQueryString") == (
        [],
        "Only **/*.py is indexed; `create_index` indexes the whole workspace.",
    )
    assert indexed(workspace) == PYTHON
    assert search(workspace, "retry_with_backoff")[0] == ["src/retry.py"]


def test_status_says_which_patterns(project: Project) -> None:
    workspace = project.open()
    by_patterns(workspace, "src/http", "**/*.py")
    status = workspace.status()
    assert (status.status, status.patterns) == ("ready", ("src/http", "**/*.py"))
    assert "Only src/http, **/*.py are indexed" in status.warning
    indexed(workspace)
    assert workspace.status().skipped["not-in-patterns"] == 3


@pytest.mark.parametrize("strategy", ["realtime", "lazy", "git"])
def test_every_strategy_keeps_to_the_patterns(project: Project, strategy: str) -> None:
    project.flags["indexingStrategy"] = strategy
    project.watcher = True
    project.git("init", "-q", "-b", "main")
    workspace = project.open()
    seen: queue.Queue[StatusAnswer] = queue.Queue()
    workspace.on_change(seen.put)
    by_patterns(workspace, "**/*.py")
    first_that(lambda status: status.watcher_active, seen)
    project.write("src/new.ts", "export function fresh() {\n  return 1\n}\n")
    project.write("src/new.py", "def fresh():\n    return 1\n")
    project.git("add", "-A")
    project.git("commit", "-qm", "more")
    until(lambda: "src/new.py" in indexed(workspace), lambda: seen.get(timeout=PATIENCE_S))
    assert indexed(workspace) == ["src/cookies.py", "src/new.py", "src/retry.py"]


def test_reopening_keeps_to_the_patterns(project: Project) -> None:
    by_patterns(project.open(), "**/*.py")
    project.close()
    again = project.open()
    assert again.status().patterns == ("**/*.py",)
    assert indexed(again) == PYTHON


def test_a_workspace_that_is_deleted_and_made_anew_keeps_to_the_patterns(project: Project) -> None:
    workspace = project.open()
    by_patterns(workspace, "**/*.py")
    for path in FILES:
        (project.root / path).unlink()
    assert indexed(workspace) == []
    for path, text in FILES.items():
        project.write(path, text)
    assert indexed(workspace) == PYTHON


def test_a_rebuild_keeps_to_the_patterns_unless_it_is_asked_for_the_whole(project: Project) -> None:
    workspace = project.open()
    by_patterns(workspace, "**/*.py")
    report = workspace.rebuild(no_progress, never_cancelled)
    assert report.code.files == 2
    assert report.notice == "Only **/*.py is indexed; `create_index` indexes the whole workspace."
    assert indexed(workspace) == PYTHON
    assert workspace.rebuild(no_progress, never_cancelled, whole=True).notice == ""
    assert indexed(workspace) == sorted(FILES)
    assert workspace.status().patterns == ()


def test_creating_the_index_makes_it_whole_and_says_what_it_was(project: Project) -> None:
    workspace = project.open()
    by_patterns(workspace, "**/*.py")
    report = workspace.create(no_progress, never_cancelled)
    assert (report.code.files, report.unchanged) == (4, 2)
    assert report.notice == "It was limited to **/*.py until now."
    assert indexed(workspace) == sorted(FILES)
    assert search(workspace, "retry_with_backoff")[1] == ""
    with pytest.raises(IndexExists):
        workspace.create(no_progress, never_cancelled)
    by_patterns(workspace, "src/*.py")
    assert workspace.status().patterns == ()


def test_bringing_it_up_to_date_widens_it_only_when_that_is_said(project: Project) -> None:
    workspace = project.open()
    by_patterns(workspace, "**/*.py")
    workspace.refresh(no_progress, never_cancelled)
    assert indexed(workspace) == PYTHON
    workspace.refresh(no_progress, never_cancelled, whole=True)
    assert indexed(workspace) == sorted(FILES)


def test_a_cancelled_creation_leaves_the_limit(project: Project) -> None:
    workspace = project.open()
    by_patterns(workspace, "**/*.py")
    begun = threading.Event()
    with pytest.raises(Cancelled):
        workspace.create(lambda *_: begun.set(), begun.is_set)
    assert workspace.status().patterns == ("**/*.py",)
    assert indexed(workspace) == PYTHON


def test_later_patterns_are_added(project: Project) -> None:
    workspace = project.open()
    by_patterns(workspace, "**/*.py")
    by_patterns(workspace, "docs/")
    by_patterns(workspace, "src/retry.py", "**/*.py")
    assert workspace.status().patterns == ("**/*.py", "docs")
    assert indexed(workspace) == ["docs/guide.md", *PYTHON]


def test_what_a_call_would_add_is_known_before_it(project: Project) -> None:
    workspace = project.open()
    assert workspace.patterns_to_add(["**/*.py", "docs"]) == ("**/*.py", "docs")
    by_patterns(workspace, "**/*.py")
    assert workspace.patterns_to_add(["**/*.py", "src/retry.py", "src", "gone.ts"]) == ("src", "gone.ts")
    workspace.create(no_progress, never_cancelled)
    assert workspace.patterns_to_add(["docs"]) == ()


def test_a_file_outside_names_the_patterns_as_the_reason(project: Project) -> None:
    workspace = project.open()
    by_patterns(workspace, "**/*.py")
    explained = workspace.explain("docs/guide.md")
    assert explained.decision.rule is Rule.NOT_IN_PATTERNS
    assert "only **/*.py is indexed" in explained.decision.detail
    assert workspace.explain("src/retry.py").decision.indexed
    with pytest.raises(FileExcluded, match=r"not-in-patterns \(only \*\*/\*.py is indexed"):
        workspace.reindex_file("docs/guide.md")


def test_unsaved_text_outside_the_patterns_stays_outside(project: Project) -> None:
    workspace = project.open()
    by_patterns(workspace, "**/*.py")
    workspace.set_buffer("docs/guide.md", "# zebrafish\n")
    workspace.set_buffer("new.ts", "export const zebrafish = 1\n")
    workspace.set_buffer("new.py", "zebrafish = 1\n")
    assert search(workspace, "zebrafish")[0] == ["new.py"]


def test_two_workspaces_have_limits_of_their_own(project: Project, tmp_path: Path) -> None:
    other = Project(tmp_path / "other", project.home, {}, project.models, [])
    other.root.mkdir()
    other.write("a.py", "a = 1\n")
    other.write("b.ts", "const b = 1\n")
    one, two = project.open(), other.open()
    by_patterns(one, "**/*.py")
    two.create(no_progress, never_cancelled)
    assert indexed(one) == PYTHON
    assert indexed(two) == ["a.py", "b.ts"]
    other.close()


def test_a_deleted_index_leaves_no_limit_behind(project: Project) -> None:
    workspace = project.open()
    by_patterns(workspace, "**/*.py")
    workspace.delete()
    assert workspace.status().patterns == ()
    by_patterns(workspace, "docs")
    assert workspace.status().patterns == ("docs",)
    workspace.delete()
    workspace.create(no_progress, never_cancelled)
    assert indexed(workspace) == sorted(FILES)


def test_damage_to_the_index_does_not_widen_it(project: Project) -> None:
    by_patterns(project.open(), "**/*.py")
    project.close()
    [manifest] = project.home.rglob("manifest.sqlite")
    manifest.write_bytes(b"not a database" * 1000)
    again = project.open()
    again.refresh(no_progress, never_cancelled)
    assert indexed(again) == PYTHON


def test_while_its_patterns_cannot_be_read_nothing_is_indexed_until_somebody_creates_the_whole(
    project: Project,
) -> None:
    workspace = project.open()
    by_patterns(workspace, "**/*.py")
    [stored] = project.home.rglob("patterns.json")
    stored.write_text("{", encoding="utf-8")
    with pytest.raises(IndexCorrupt, match=r"patterns\.json.*create_index"):
        workspace.refresh(no_progress, never_cancelled)
    with pytest.raises(IndexCorrupt):
        by_patterns(workspace, "docs")
    status = workspace.status()
    assert status.status == "failed"
    assert "patterns.json" in status.warning
    workspace.create(no_progress, never_cancelled)
    assert indexed(workspace) == sorted(FILES)


def test_the_list_is_parsed_once_until_some_process_replaces_or_removes_it(tmp_path: Path) -> None:
    directory = IndexLayout(tmp_path, "/workspace")
    directory.make()
    directory.set_current(1)
    one, other = StoredLimit(directory), StoredLimit(directory)
    assert one.current() is None
    for name in ("src/a.py", "src/b.py", "src/longer.py"):
        other.set(PatternLimit((PathPattern(name, False),)))
        read = one.current()
        assert read is not None and read.texts == (name,)
        assert one.current() is read
    directory.patterns.write_text("no list", encoding="utf-8")
    with pytest.raises(IndexCorrupt):
        one.current()
    with other.lifted():
        pass
    assert one.current() is None


def test_a_glob_that_is_the_name_of_a_file_names_that_file_alone(project: Project) -> None:
    for name in ("[id]", "i", "d"):
        project.write(f"app/{name}.ts", f"export const page = '{name}'\n")
    workspace = project.open()
    by_patterns(workspace, "app/[id].ts")
    assert indexed(workspace) == ["app/[id].ts"]


def test_too_many_globs_are_refused(project: Project) -> None:
    with pytest.raises(InvalidParams, match=r"1,001 globs.*at most 1,000"):
        by_patterns(project.open(), *(f"{number}*" for number in range(MAX_GLOBS + 1)))


PATTERNS = st.lists(
    st.sampled_from(
        [
            "**/*",
            "**",
            "*.md",
            "src",
            "src/",
            "./src",
            "src/*",
            "**/*.{py,go}",
            "src/http/server.go",
            "README.md",
            ".",
            "docs/**",
            "[rR]*",
            "s?c/*.py",
            "nothing.py",
            "src/../docs",
            "**/[a-m]*",
            "docs/guide.md/",
        ]
    ),
    min_size=1,
    max_size=4,
)


@given(calls=st.lists(PATTERNS, min_size=1, max_size=3))
@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_the_patterns_the_index_holds_what_the_calls_named(
    project: Project, calls: Sequence[Sequence[str]]
) -> None:
    workspace = project.open()
    for patterns in calls:
        by_patterns(workspace, *patterns)
    # A call that names no file changes nothing.
    named = {
        path
        for patterns in calls
        for path in FILES
        if any(read_pattern(str(project.root), text).matcher()(path) for text in patterns)
    }
    if named:
        assert indexed(workspace) == sorted(named)
        workspace.delete()
    else:
        assert workspace.status().status == "not_found"
    project.close()


@given(
    texts=st.lists(st.tuples(st.text(min_size=1, max_size=8), st.booleans()), max_size=4),
    path=st.text("ab/*[]", min_size=1),
)
def test_a_limit_is_read_as_it_was_written(texts: list[tuple[str, bool]], path: str) -> None:
    limit = PatternLimit(tuple(PathPattern(text, is_glob and text.isalnum()) for text, is_glob in texts))
    again = PatternLimit.parsed(limit.written())
    assert again == limit
    assert again.names(path) == any(pattern.matcher()(path) for pattern in limit.patterns)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"patterns": 1}', '{"patterns": [{"text": 1}]}', "[" * 100_000])
def test_a_damaged_list_of_patterns_is_no_list(text: str) -> None:
    with pytest.raises(ValueError):
        PatternLimit.parsed(text)
