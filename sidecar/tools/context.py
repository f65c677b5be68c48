"""What a tool gets besides its parameters, and what the service needs of the engine. Types only, no policy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from sidecar.model.terms import IsCancelled, Progress
from sidecar.model.workspace import Workspace


@dataclass(frozen=True)
class Context:
    """The context of one call: its workspace, how to report progress, how to learn that it is cancelled, and who asked.

    `open` opens the workspaces that the caller may use, `place` is the one that the call is about. `several` are those
    of a search over several. `name` is what the caller calls the workspace where that is not its folder. `asked_by` is
    the caller's name as a person is shown it (`Claude Code`, `the editor`); it may be empty. `goes_on`: the process
    outlives the call, so that what it keeps in memory can be used by another one. `problems`: see
    `Workspaces.problems`.
    """

    open: Callable[[str], Workspace]
    place: str
    progress: Progress
    cancelled: IsCancelled
    asked_by: str = ""
    goes_on: bool = True
    problems: Callable[[], tuple[str, ...] | None] = lambda: None
    name: str = ""
    several: tuple[str, ...] = ()

    @cached_property
    def workspace(self) -> Workspace:
        """The workspace of the call. Raises `WorkspaceNotFound`."""
        return self.open(self.place)

    @property
    def workspace_shown(self) -> str:
        """What the caller is told the workspace is: its folder, or its name."""
        return self.name or self.workspace.root

    def problems_of(self, found: tuple[str, ...]) -> list[str]:
        """What is wrong with the caller's own settings. `found` is what the workspace found in those in force, which
        are another session's if the caller's own are known."""
        own = self.problems()
        return list(found if own is None else own)


class Workspaces(Protocol):
    """The open workspaces of this process. `engine/wiring.py` builds the real implementation."""

    def get(self, root: str) -> Workspace:
        """The workspace of folder `root`; opens it if it is not open. Opening is cheap: heavy parts load on first use.

        Raises `WorkspaceNotFound` when `root` is not a folder.
        """

    def problems(self, root: str) -> tuple[str, ...] | None:
        """What is wrong with the caller's own settings, one sentence each, where they may differ from those in force.

        None where they are the same: then the workspace says it.
        """

    def close(self) -> None:
        """Closes every open workspace."""
