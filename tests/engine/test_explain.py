"""Why a path is or is not in the index, where it is no file that could be judged; and what the settings lack."""

from __future__ import annotations

import pytest

from tests.engine.projects import Project, index

pytestmark = pytest.mark.process


def test_a_folder_says_how_many_of_its_files_are_indexed(project: Project) -> None:
    workspace = project.open()
    assert workspace.explain("src").decision.detail == "there is no index yet"
    index(workspace)
    for path, count in (("src", 4), ("src/http/", 1), (".", 6), (str(project.root), 6)):
        explained = workspace.explain(path)
        assert (explained.decision.rule.value, explained.exists, explained.stale) == ("folder", True, False)
        assert explained.decision.detail == f"{count} of the files in it are indexed"


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


def test_a_link_is_told_by_where_it_leads(project: Project) -> None:
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
