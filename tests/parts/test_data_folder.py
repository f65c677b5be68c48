"""A data folder of sidecar's is recognised wherever it is, and no other folder is taken for one."""

from __future__ import annotations

from pathlib import Path

import pytest

from sidecar.engine.wiring import open_workspaces
from sidecar.engine.workspaces import OpenWorkspaces
from sidecar.errors import WorkspaceNotFound
from sidecar.parts.data_folder import data_folder_of
from sidecar.parts.walk import DiskWalker

INDEX = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def workspaces(tmp_path: Path) -> OpenWorkspaces:
    return open_workspaces({}, {}, {"SIDECAR_HOME": str(tmp_path / "data"), "HOME": str(tmp_path)})


def filled(home: Path) -> Path:
    """Returns a data folder with an index, as another process has left it."""
    (home / "indexes" / INDEX / "generations" / "1").mkdir(parents=True)
    (home / "indexes" / INDEX / "generations" / "1" / "notes.py").write_text("x = 1\n")
    (home / "vectors").mkdir()
    return home


@pytest.mark.parametrize("inner", ["", "indexes", f"indexes/{INDEX}", "vectors", f"indexes/{INDEX}/generations/1"])
def test_no_data_folder_is_a_workspace(workspaces: OpenWorkspaces, tmp_path: Path, inner: str) -> None:
    for home in (filled(tmp_path / "data"), filled(tmp_path / "elsewhere" / "data")):
        with pytest.raises(WorkspaceNotFound, match=r"sidecar's own data.*--workspace"):
            workspaces.get(str(home / inner))
    (tmp_path / "link").symlink_to(tmp_path / "data" / inner)
    with pytest.raises(WorkspaceNotFound, match="sidecar's own data"):
        workspaces.get(str(tmp_path / "link"))
    workspaces.close()


def test_the_data_folder_in_use_is_none_even_while_it_is_empty(workspaces: OpenWorkspaces, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with pytest.raises(WorkspaceNotFound, match="sidecar's own data"):
        workspaces.get(str(tmp_path / "data"))
    workspaces.close()


def test_a_relative_path_is_never_a_workspace(workspaces: OpenWorkspaces) -> None:
    for path in (".", "work", "../work", "~", "~/work"):
        with pytest.raises(WorkspaceNotFound, match="is not an absolute path"):
            workspaces.get(path)
    workspaces.close()


def test_a_project_in_a_data_folder_is_a_workspace_like_any_other(workspaces: OpenWorkspaces, tmp_path: Path) -> None:
    project = filled(tmp_path / "data") / "project"
    project.mkdir()
    assert workspaces.get(str(project)).root == str(project)
    workspaces.close()


@pytest.mark.parametrize("names", [["indexes"], ["indexes/users"], ["run/daemon-1.lock", "logs/a"], ["models/a.py"]])
def test_a_project_with_folders_of_such_names_is_none(tmp_path: Path, names: list[str]) -> None:
    for name in names:
        (tmp_path / name).mkdir(parents=True)
    assert data_folder_of(str(tmp_path)) == ""
    assert data_folder_of(str(tmp_path / names[0])) == ""


def test_a_walk_leaves_our_data_out(tmp_path: Path) -> None:
    filled(tmp_path / "state")
    (tmp_path / "state" / "mine.py").write_text("x = 1\n")
    (tmp_path / "indexes").mkdir()
    (tmp_path / "indexes" / "a.py").write_text("x = 1\n")
    walked = DiskWalker(str(tmp_path)).walk()
    assert [found.path for found in walked.files] == ["indexes/a.py", "state/mine.py"]
    assert [(skip.path, skip.decision.detail) for skip in walked.skipped] == [
        ("state/indexes/", "indexes/ (sidecar's own data)"),
        ("state/vectors/", "vectors/ (sidecar's own data)"),
    ]
