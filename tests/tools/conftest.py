"""The tools over a real workspace: real files, the shipped model, the real engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from sidecar.engine.workspace import IndexedWorkspace
from sidecar.errors import WorkspaceNotFound
from sidecar.tools.registry import tools_of
from sidecar.tools.service import Done, Service
from sidecar.tools.spec import Answer, Question
from sidecar.tools.word import Confirm
from tests.engine.conftest import models, project
from tests.engine.projects import Project

__all__ = ["models", "project"]


class OneWorkspace:
    """Implements `sidecar.tools.context.Workspaces` over one real workspace."""

    def __init__(self, workspace: IndexedWorkspace) -> None:
        self._workspace = workspace

    def get(self, root: str) -> IndexedWorkspace:
        if root != self._workspace.root:
            raise WorkspaceNotFound(root)
        return self._workspace

    def problems(self, root: str) -> None:
        """Ignores the report: the workspace itself reports faults in its settings."""

    def close(self) -> None:
        self._workspace.close()


class RealTools:
    """Calls tools by name on one real workspace."""

    def __init__(self, project: Project, toolsets: str, confirm: Confirm) -> None:
        self.project = project
        self.workspace = project.open()
        self.service = Service(OneWorkspace(self.workspace), confirm=confirm, tools=tools_of(toolsets))

    def __call__(self, tool: str, /, **arguments: object) -> dict[str, Any]:
        done = self.answer(tool, arguments, {})
        assert isinstance(done, Done)
        return done.value

    def answer(self, name: str, arguments: Mapping[str, object], answers: Mapping[str, Answer]) -> Done | Question:
        return self.service.call(name, arguments, workspace=self.workspace.root, answers=answers, asked_by="A test")


@pytest.fixture
def real_tools(project: Project) -> Iterator[Callable[..., RealTools]]:
    """`real_tools("memory")` opens the tools of these toolsets on the project's workspace."""
    opened: list[RealTools] = []

    def open_tools(toolsets: str, confirm: Confirm = "auto") -> RealTools:
        opened.append(RealTools(project, toolsets, confirm))
        return opened[-1]

    yield open_tools
    for tools in opened:
        tools.service.close()
