"""Which folder is the workspace when the caller names none. Cheap to import: the shell needs this first of all."""

from __future__ import annotations

from sidecar.parts.paths import find_project_root


def find_workspace(start: str) -> str:
    """The project root that `start` lies in, searching upwards, as an absolute path; `start` itself if there is no
    project root.

    Raises `WorkspaceNotFound` when `start` is not a folder.
    """
    return find_project_root(start)
