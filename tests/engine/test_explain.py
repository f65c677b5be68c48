"""Why a path is or is not in the index, for paths that are no ordinary files; and what is missing in the settings."""

from __future__ import annotations

import pytest

from sidecar.errors import FileExcluded
from tests.daemon.data_folder import eventually
from tests.engine.projects import Project, find, index

pytestmark = pytest.mark.process


def test_a_folder_says_how_many_of_its_files_are_indexed(project: Project) -> None:
    workspace = project.open()
    assert workspace.explain("src").decision.detail == "there is no index yet"
    index(workspace)
    for path, count in (("src", 4), ("src/http/", 1), (".", 6), (str(project.root), 6)):
        explained = workspace.explain(path)
        assert (explained.decision.rule.value, explained.exists, explained.stale) == ("folder", True, False)
        says = "1 file in it is indexed" if count == 1 else f"{count} files in it are indexed"
        assert explained.decision.detail == says


def test_a_file_that_is_not_there_is_not_said_to_belong_in_the_index(project: Project) -> None:
    workspace = project.open()
    index(workspace)
    explained = workspace.explain("src/nowhere.py")
    assert explained.decision.rule.value == "no-such-file"
    assert (explained.decision.indexed, explained.exists) == (False, False)
    assert workspace.explain("node_modules/a.js").decision.rule.value == "deny-list"
    (project.root / "src/retry.py").unlink()
    gone = workspace.explain("src/retry.py")
    assert (gone.decision.rule.value, gone.in_index, gone.stale) == ("no-such-file", True, True)


@pytest.mark.parametrize("path", [".env", "node_modules/a.js", "gone/.env", "src/.env"])
def test_a_name_that_is_left_out_exists_only_if_something_has_it(project: Project, path: str) -> None:
    workspace = project.open()
    rule = workspace.explain(path).decision.rule
    assert not workspace.explain(path).exists
    project.write(path, "KEY=value\n")
    assert (workspace.explain(path).decision.rule, workspace.explain(path).exists) == (rule, True)


def test_nothing_is_said_to_exist_behind_a_link(project: Project) -> None:
    (project.root / "system").symlink_to("/etc")
    workspace = project.open()
    assert workspace.explain("system").exists
    assert not workspace.explain("system/hostname").exists


def test_a_link_is_explained_by_where_it_leads(project: Project) -> None:
    (project.root / "again.py").symlink_to("src/retry.py")
    (project.root / "passwords").symlink_to("/etc/hostname")
    workspace = project.open()
    index(workspace)
    assert workspace.explain("again.py").decision.rule.value == "symlink"
    assert workspace.explain("passwords").decision.rule.value == "symlink-out-of-workspace"
    assert workspace.status().skipped == {"symlink": 1, "symlink-out-of-workspace": 1}


def test_status_names_the_settings_that_cannot_be_used_and_what_is_allowed(project: Project) -> None:
    workspace = project.open()
    index(workspace)
    assert workspace.status().problems == ()
    config = workspace.config().config_path
    with open(config, "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write('{"maxFileSize": "12XB", "exclude": ["docs/**"], "nonsense": 1}')
    size, unknown = workspace.status().problems
    assert size.startswith("maxFileSize in ")
    assert "digits followed by KB or MB" in size
    assert unknown.startswith('"nonsense" in ')
    index(workspace)
    assert workspace.status().docs.files == 1


@pytest.mark.parametrize("indexed", [True, False])
def test_a_file_beyond_the_number_of_files_names_the_limit_and_what_to_set(project: Project, indexed: bool) -> None:
    project.flags["maxFiles"] = 2
    workspace = project.open()
    if indexed:
        index(workspace)
    answer = workspace.explain("README.md")
    assert (answer.decision.rule.value, answer.in_index, answer.stale) == ("too-many-files", False, False)
    assert "the setting maxFiles allows 2" in answer.decision.detail
    assert "raise it, or leave out other files with the setting exclude" in answer.decision.detail
    assert workspace.explain("src/parse.ts").decision.indexed


def test_a_file_beyond_the_number_of_files_stays_out_when_it_changes_or_is_asked_for(project: Project) -> None:
    project.flags["maxFiles"] = 2
    project.watcher = True
    workspace = project.open()
    index(workspace)
    assert eventually(lambda: workspace.status().watcher_active)
    project.write("README.md", "# Changed\n")
    project.write("src/parse.ts", "export const another_word_of_the_parser = 1\n")
    assert eventually(lambda: find(workspace, "another_word_of_the_parser", mode="fts"))
    assert workspace.find_paths("**", 10).paths == ("src/cookies.py", "src/parse.ts")
    with pytest.raises(FileExcluded, match="maxFiles"):
        workspace.reindex_file("README.md")


@pytest.mark.parametrize(
    ("size", "limit", "said"),
    [
        (3000, "1KB", "3,000 bytes; the setting maxFileSize allows 1,024 (1KB); raise it"),
        (2_000_000, "1MB", "2,000,000 bytes; the setting maxFileSize allows 1,048,576 (1MB); raise it"),
        (105_000_000, "100MB", "allows 104,857,600 (100MB); it cannot be raised further"),
    ],
)
def test_a_file_that_is_too_large_names_the_limit_and_what_to_set(
    project: Project, size: int, limit: str, said: str
) -> None:
    project.flags["maxFileSize"] = limit
    with (project.root / "large.py").open("wb") as file:
        file.truncate(size)
    workspace = project.open()
    assert said in workspace.explain("large.py").decision.detail


def test_documentation_that_is_turned_off_names_the_setting(project: Project) -> None:
    project.flags["indexDocs"] = False
    assert project.open().explain("README.md").decision.detail == "the setting indexDocs is false"


def test_a_file_cut_by_lines_names_the_limit(project: Project) -> None:
    project.flags["maxFileSize"] = "2MB"
    project.write("long.py", "value = 1\n" * 150_000)
    workspace = project.open()
    index(workspace)
    answer = workspace.explain("long.py")
    assert answer.in_index
    assert answer.parser == "lines: it is longer than 1,000,000 bytes, which no setting raises"
