"""A team for the tests of snapshots: the checkout of CI, with a folder of snapshots, and clones of it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from sidecar.engine.models.loader import Models
from sidecar.engine.workspace import IndexedWorkspace
from sidecar.model.answers import BuildReport, SnapshotReport, SnapshotRequest
from sidecar.model.terms import never_cancelled, no_progress
from tests.engine.projects import FILES, Project, index


class Team:
    """The checkout of CI, with an index, and clones of it. All snapshots are in the folder `shelf`."""

    def __init__(self, folder: Path, models: Models) -> None:
        self._folder = folder
        self._models = models
        self._projects: list[Project] = []
        self.shelf = folder / "shelf"
        self.ci = self._project("ci")
        self.ci.root.mkdir()
        for path, text in FILES.items():
            self.ci.write(path, text)
        self.ci.git("init", "-b", "main")
        self.commit("one")

    def _project(self, name: str, **flags: Any) -> Project:
        project = Project(self._folder / name, self._folder / f"home-{name}", flags, self._models, [])
        project.prepares_here = True
        self._projects.append(project)
        return project

    def commit(self, message: str) -> None:
        self.ci.git("add", ".")
        self.ci.git("commit", "-m", message)

    def make(
        self, *, texts: bool = False, key: Path | None = None, base: Path | str = "", shelf: Path | None = None
    ) -> SnapshotReport:
        workspace = self.ci.open()
        index(workspace)
        try:
            return workspace.make_snapshot(
                SnapshotRequest(shelf or self.shelf, texts, key, str(base)), no_progress, never_cancelled
            )
        finally:
            self.ci.close()

    def clone(self, name: str = "developer", **flags: Any) -> Project:
        project = self._project(name, **flags)
        line = ["git", "clone", "-q", str(self.ci.root), str(project.root)]
        subprocess.run(line, check=True, env={**os.environ, "HOME": "/"})
        return project

    def nothing_like(self, project: Project) -> Project:
        """Returns another index of the same checkout, made from nothing."""
        other = Project(project.root, self._folder / "home-nothing", {}, self._models, [], prepares_here=True)
        self._projects.append(other)
        index(other.open())
        return other

    def close(self) -> None:
        for project in self._projects:
            project.close()


def get(workspace: IndexedWorkspace, source: Path | str = "") -> BuildReport:
    return workspace.refresh(no_progress, never_cancelled, True, str(source))
