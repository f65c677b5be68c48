"""What a tool is given besides its parameters, and what the service asks of the engine. Values only, no policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from sidecar.model import IsCancelled, Progress, Workspace


@dataclass(frozen=True, slots=True)
class Context:
    """One call's surroundings: the workspace it is about, where it reports to, and who asked for it.

    `asked_by` is the caller's name for a person to read (`Claude Code`, `the editor`); may be empty.
    """

    workspace: Workspace
    progress: Progress
    cancelled: IsCancelled
    asked_by: str = ""


class Workspaces(Protocol):
    """The open workspaces of this process. The concrete one is built in `engine/wiring.py`."""

    def get(self, root: str) -> Workspace:
        """Open the workspace (cheap: heavy parts load on first use) or return the open one.

        Raises `WorkspaceNotFound` when `root` is not a folder.
        """

    def close(self) -> None: ...
