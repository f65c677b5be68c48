"""One module per door: each has a class `Door` that opens the real program and calls its tools.

    class Door:
        name: ClassVar[str]
        def __init__(self, workspace: Path, env: Mapping[str, str]) -> None     # env: the whole environment
        async def __aenter__(self) -> Door                                      # starts the program
        async def __aexit__(self, *_) -> None                                   # ends it; nothing may be left running
        async def call(self, tool: str, arguments: dict[str, Any], answer: Answer | None = None) -> dict[str, Any]

`answer` is what the person says when asked: "accept" or "decline"; None means that nobody can be asked. A failure
of the tool raises `ToolFailed`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Literal, Protocol, TypeAlias

Answer: TypeAlias = Literal["accept", "decline"]


class ToolFailed(Exception):
    """What the door reported: the specification's code, the whole message for the user, and the raw answer."""

    def __init__(self, code: str, message: str, body: Mapping[str, Any] | None = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.body = dict(body or {})


class Door(Protocol):
    name: ClassVar[str]

    def __init__(self, workspace: Path, env: Mapping[str, str]) -> None: ...

    async def __aenter__(self) -> Door: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    async def call(self, tool: str, arguments: dict[str, Any], answer: Answer | None = None) -> dict[str, Any]: ...
