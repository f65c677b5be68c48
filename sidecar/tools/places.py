"""Which folder is the workspace where nobody names one. Light: the shell asks this before all else."""

from __future__ import annotations

from sidecar.parts.paths import find_project_root


def find_workspace(start: str) -> str:
    """The project root that `start` lies in, found upwards; `start` itself where there is none. Absolute.

    Raises `WorkspaceNotFound` when `start` is not a folder.
    """
    return find_project_root(start)
