"""What a tool gets besides its parameters, and what the service needs of the engine. Types only, no policy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from sidecar.model import IsCancelled, Progress, Workspace


@dataclass(frozen=True, slots=True)
class Context:
    """The context of one call: its workspace, how to report progress, how to learn that it is cancelled, and who asked.

    `asked_by` is the caller's name as a person is shown it (`Claude Code`, `the editor`); it may be empty. `goes_on`:
    the process outlives the call, so that what it keeps in memory can be used by another one.
    """

    workspace: Workspace
    progress: Progress
    cancelled: IsCancelled
    asked_by: str = ""
    goes_on: bool = True


class Workspaces(Protocol):
    """The open workspaces of this process. `engine/wiring.py` builds the real implementation."""

    def get(self, root: str) -> Workspace:
        """The workspace of folder `root`; opens it if it is not open. Opening is cheap: heavy parts load on first use.

        Raises `WorkspaceNotFound` when `root` is not a folder.
        """

    def close(self) -> None:
        """Closes every open workspace."""
