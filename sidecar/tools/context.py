"""What a tool gets besides its parameters, and what the service needs from the engine. Types only, no policy."""

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

    `open` opens the workspaces that the caller may use, `place` is the one that the call concerns. `several` are the
    workspaces of a search over more than one. `name` is the caller's name for the workspace, if that is not its folder.
    `asked_by` is the caller's name as shown to a person (`Claude Code`, `the editor`); it may be empty. `goes_on`: the
    process outlives the call, so that later calls can use what it keeps in memory. `problems`: see
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
        """What the caller is shown as the workspace: its folder, or its name."""
        return self.name or self.workspace.root

    def problems_of(self, found: tuple[str, ...]) -> list[str]:
        """Returns the problems of the caller's own settings if these are known, otherwise `found`, the problems of the
        settings in force, which may be another session's."""
        own = self.problems()
        return list(found if own is None else own)


class Workspaces(Protocol):
    """The open workspaces of this process. `engine/wiring.py` builds the real implementation."""

    def get(self, root: str) -> Workspace:
        """Returns the workspace of folder `root`, which is opened if necessary. Opening is cheap: heavy parts load on
        first use.

        Raises `WorkspaceNotFound` if `root` is not a folder.
        """

    def problems(self, root: str) -> tuple[str, ...] | None:
        """Returns the problems of the caller's own settings, one sentence each, if these may differ from the settings
        in force.

        None if they are the same: then the workspace reports the problems.
        """

    def close(self) -> None:
        """Closes every open workspace."""
