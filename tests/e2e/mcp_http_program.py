"""A program for the tests: the product's MCP server over streamable HTTP on loopback, for the conformance suite.

Besides the product's tools it serves the fixture tools whose names the suite prescribes. They are tools of the same
kind, so the suite tests the product's code for results, errors, progress and questions. The program prints its port on
one line and serves until stdin ends. Tests start it as a process.
"""

from __future__ import annotations

import socket
import sys
import threading
from typing import ClassVar

import uvicorn

from sidecar.errors import InvalidQuery
from sidecar.surfaces.mcp import make_server
from sidecar.tools.context import Context
from sidecar.tools.registry import DEFAULT_TOOLS
from sidecar.tools.result import Result
from sidecar.tools.service import Service
from sidecar.tools.spec import Answer, Params, Question, Run, ToolSpec
from tests.fakes import FakeWorkspace, FakeWorkspaces

PAUSE_SECONDS = 0.05
"""The suite requires this interval between progress reports, in seconds."""


class Nothing(Params):
    """No parameters."""


class Message(Params):
    message: str


class Told(Result):
    text: str


class FixtureTool(ToolSpec):
    """A tool without a description file."""

    description: ClassVar[str] = "A fixture of the conformance suite."


def simple_text(context: Context, params: Nothing) -> Told:
    return Told(text="This is a simple text response for testing.")


def error_handling(context: Context, params: Nothing) -> Told:
    raise InvalidQuery("This tool intentionally returns an error for testing")


def with_progress(context: Context, params: Nothing) -> Told:
    for done in (0, 50, 100):
        context.progress(done, 100, "")
        threading.Event().wait(PAUSE_SECONDS)
    return Told(text="done")


def asked(context: Context, params: Message) -> Question:
    return Question("fixture", "test_elicitation", params.message, "", "Yes", "No", destructive=False)


def answered(context: Context, params: Message) -> Told:
    return Told(text="accepted")


def declined(context: Context, params: Message, answer: Answer) -> Told:
    return Told(text=answer)


def fixture(name: str, run: Run, params: type[Params] = Nothing) -> ToolSpec:
    asks = params is Message
    return FixtureTool(
        name=name,
        family="conformance",
        summary="A fixture",
        params=params,
        result=Told,
        run=run,
        read_only=True,
        idempotent=True,
        question=asked if asks else None,
        declined=declined if asks else None,
    )


FIXTURES = (
    fixture("test_simple_text", simple_text),
    fixture("test_error_handling", error_handling),
    fixture("test_tool_with_progress", with_progress),
    fixture("test_elicitation", answered, Message),
)


def main() -> None:
    workspace = FakeWorkspace({"src/retry.py": "def retry():\n    pass\n"})
    server = make_server(
        Service(FakeWorkspaces(workspace), tools=DEFAULT_TOOLS + FIXTURES), workspace.root, one_client=False
    )
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    web = uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="error", lifespan="on"))

    def leave_with_the_test() -> None:
        sys.stdin.read()
        web.should_exit = True

    threading.Thread(target=leave_with_the_test, daemon=True).start()
    print(listening.getsockname()[1], flush=True)  # noqa: T201
    web.run(sockets=[listening])


if __name__ == "__main__":
    main()
