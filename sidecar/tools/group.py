"""The tools and workspaces of one caller of a server for a group.

The tools are the ordinary ones with one more parameter: `workspace`, or `workspaces` for the searches. A caller knows
workspaces only by name, and the workspaces of others do not exist for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import Field

from sidecar.errors import (
    Cancelled,
    Conflict,
    FileExcluded,
    InvalidParams,
    NotFound,
    SidecarError,
    UnknownTool,
    WorkspaceNotFound,
)
from sidecar.logs import workspace_log
from sidecar.model.workspace import Workspace
from sidecar.tools.context import Context, Workspaces
from sidecar.tools.several import over_several, unknown_workspace
from sidecar.tools.spec import Answer, ToolSpec, widened

SEARCHES = frozenset({"search_code", "search_docs"})
"""The tools that search several workspaces at once."""
MOST_NAMED = 30
"""A parameter's description lists up to this many workspaces; an agent pays for each name in each tool."""
ABOUT_THE_CALL = (InvalidParams, UnknownTool, NotFound, Conflict, FileExcluded, Cancelled)
"""Errors whose details are about what the caller has sent, not about the server."""

_OTHERS = "Whoever runs the server can give you another."


def tools_for_group(tools: Sequence[ToolSpec], names: Sequence[str]) -> tuple[ToolSpec, ...]:
    """Returns these tools for a caller who may use the workspaces with these names."""
    listed = f": {', '.join(names)}" if len(names) <= MOST_NAMED else ""
    return tuple(
        over_several(tool, names, listed, _OTHERS) if tool.name in SEARCHES else _in_one(tool, tuple(names), listed)
        for tool in tools
    )


def _in_one(tool: ToolSpec, names: tuple[str, ...], listed: str) -> ToolSpec:
    """Returns the tool with the parameter `workspace`, which is optional if there is only one workspace."""
    about = Field(
        "" if len(names) == 1 else ..., min_length=0, description=f"Which workspace{listed}.", examples=["app"]
    )

    def inside(context: Context, given: Any) -> Context:
        name = given.workspace or (names[0] if len(names) == 1 else "")
        if name not in names:
            raise unknown_workspace(name, names, _OTHERS)
        return replace(context, place=name, name=name)

    def question(context: Context, given: Any) -> Any:
        return tool.question(inside(context, given), given) if tool.question else None

    def declined(context: Context, given: Any, answer: Answer) -> Any:
        return tool.declined(inside(context, given), given, answer) if tool.declined else None

    return replace(
        tool,
        params=widened(tool.params, workspace=(str, about)),
        run=lambda context, given: tool.run(inside(context, given), given),
        question=question if tool.question else None,
        declined=declined if tool.declined else None,
    )


@dataclass(frozen=True)
class GroupWorkspaces(Workspaces):
    """The workspaces of a caller, by name. `folders` maps each name to its folder; `close` leaves all of them open."""

    shared: Workspaces
    folders: Mapping[str, str]

    def get(self, root: str) -> Workspace:
        """Returns the workspace with this name. Raises `InvalidParams` for any other name."""
        if root not in self.folders:
            raise unknown_workspace(root, tuple(self.folders), _OTHERS)
        return self.shared.get(self.folders[root])

    def problems(self, root: str) -> tuple[str, ...] | None:
        """Returns None: the workspace itself reports the problems of its settings."""
        return None

    def close(self) -> None:
        """Does nothing: the workspaces are shared with other callers."""


_QUOTED_PLACE = re.compile(r"""(["'])(?:/|[A-Za-z]:\\)[^"']*\1""")


@dataclass(frozen=True)
class Veil:
    """Removes places of the server from what a caller is shown. `folders`: by name of workspace; `others`: the server's
    own folders, such as its data folder."""

    folders: Mapping[str, str]
    others: Sequence[str] = ()
    _known: list[tuple[str, str]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        known = [(folder, name) for name, folder in self.folders.items()]
        known += [(folder, "…") for folder in self.others if len(folder) > 1]
        object.__setattr__(self, "_known", sorted(known, key=lambda pair: -len(pair[0])))

    def sentence(self, said: str) -> str:
        """Returns the sentence with each workspace's folder replaced by its name, and any other quoted place by `…`."""
        for folder, name in self._known:
            said = said.replace(folder, name)
        return _QUOTED_PLACE.sub(r"\1…\1", said)

    def place(self, path: str) -> str:
        """Returns a path as the caller may see it: a name, a path below a name, or `…`."""
        if not Path(path).is_absolute():
            return path
        hidden = self.sentence(path)
        return "…" if Path(hidden).is_absolute() else hidden

    def error(self, error: SidecarError) -> SidecarError:
        """Returns an error as the caller may see it. Details about the server itself go to the log instead."""
        if isinstance(error, ABOUT_THE_CALL) and not isinstance(error, WorkspaceNotFound):
            shown = type(error)(self.sentence(error.detail))
            shown.facts = {key: value for key, value in error.facts.items() if key in ("fields", "incident")}
            return shown
        workspace_log("sidecar.group", "").warning("a caller got %s without details: %s", error.code, error.detail)
        return type(error)("The log of the server has the details." if error.detail else "")
