"""The service in this process, over the real engine."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from sidecar.errors import SidecarError, UnknownTool
from sidecar.tools.assemble import make_service
from sidecar.tools.confirm import call_with_questions
from sidecar.tools.spec import Answer as FullAnswer
from sidecar.tools.spec import Question
from tests.spec.doors import Answer, ToolFailed


class Door:
    name: ClassVar[str] = "direct"

    def __init__(self, workspace: Path, env: Mapping[str, str]) -> None:
        self._workspace = str(workspace)
        self._service = make_service(env=env)

    async def __aenter__(self) -> Door:
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self._service.close)

    async def call(self, tool: str, arguments: dict[str, Any], answer: Answer | None = None) -> dict[str, Any]:
        async def ask(question: Question) -> FullAnswer:
            return answer or "nobody"

        try:
            done = await call_with_questions(
                self._service, tool, arguments, workspace=self._workspace, ask=ask, asked_by="A test"
            )
            return done.value
        except SidecarError as error:
            raise ToolFailed(error.code, error.message, self._spelt(tool, arguments, error)) from error

    def _spelt(self, tool: str, arguments: dict[str, Any], error: SidecarError) -> dict[str, Any]:
        if isinstance(error, UnknownTool):
            return error.as_dict()
        return self._service.tool(tool).meant_by(arguments).dialect.shape_error(error)
