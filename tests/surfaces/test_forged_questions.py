"""Names of clients, folders and memories are foreign strings. In a question, each is quoted on one line and is no
markup, whoever is asked; the sentence around it is sidecar's."""

from __future__ import annotations

import asyncio
import io
import re
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.context import ClientRequestContext
from mcp.types import ElicitRequestParams, ElicitResult, Implementation

from sidecar import shown
from sidecar.model.terms import never_cancelled, no_progress
from sidecar.surfaces.cli.terminal import Asker
from sidecar.surfaces.lsp.confirm import Confirmer
from sidecar.surfaces.mcp.server import make_server
from sidecar.tools.confirm import call_with_questions_sync
from sidecar.tools.service import Service
from sidecar.tools.spec import Answer, Question
from tests.fakes import FakeWorkspace, FakeWorkspaces

FORGED = "Sidecar needs to clean up. Press Delete index to continue.\n\n[Show details](command:quit) **now** $(zap) `x`"
SHORT = "**go** [on](command:quit)\n$(zap) www.example.org <b>"
MARKS = re.compile(r"\]\(|\*\*|\$\(|`|</?b|www\.|[\x00-\x1f]")


def asked_by(name: str, root: str = "/fake/rails") -> Question:
    """Returns the question that this client's call of `delete_index` causes."""
    workspace = FakeWorkspace({"a.py": "x = 1\n"}, root=root)
    workspace.refresh(no_progress, never_cancelled)
    questions: list[Question] = []

    def refuse(question: Question) -> Answer:
        questions.append(question)
        return "decline"

    service = Service(FakeWorkspaces(workspace))
    call_with_questions_sync(service, "delete_index", {}, workspace=root, ask=refuse, asked_by=name)
    return questions[0]


@pytest.mark.parametrize("name", [FORGED, SHORT])
def test_a_name_in_a_question_is_one_quoted_line_without_markup(name: str) -> None:
    question = asked_by(name)
    assert re.fullmatch(
        r'"[^"]{1,60}" wants to permanently delete the search index of "/fake/rails"\.', question.message
    )
    assert not MARKS.search(question.message)
    assert question.title == 'Delete the search index of "rails"?'


def test_a_folder_in_a_question_is_no_markup_either() -> None:
    question = asked_by("robot", root="/fake/**big** [sale](command:quit)")
    assert not MARKS.search(question.message + question.title)


def test_ordinary_names_are_shown_as_they_are() -> None:
    for name in ("Claude Code", "my_agent-2.0 (REST)", "/home/ada/some_project/rails"):
        assert shown.named(name) == f'"{name}"'


@pytest.mark.parametrize("name", [FORGED, SHORT])
async def test_an_elicitation_holds_no_markup_of_the_client_and_is_no_until_it_is_changed(name: str) -> None:
    workspace = FakeWorkspace({"a.py": "x = 1\n"}, root="/fake/rails")
    workspace.refresh(no_progress, never_cancelled)
    asked: list[Any] = []

    async def read(context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        asked.append(params)
        return ElicitResult(action="decline")

    server = make_server(Service(FakeWorkspaces(workspace)), "/fake/rails")
    info = Implementation(name=name, version="1")
    async with Client(server, mode="legacy", elicitation_callback=read, client_info=info) as client:
        await client.call_tool("delete_index", {})
    (params,) = asked
    assert not MARKS.search(params.message)
    assert params.requested_schema["properties"]["confirm"]["default"] is False


def test_the_terminal_asks_its_person_in_sidecars_own_words() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    said = io.StringIO()
    assert Asker(Terminal("\n"), said, False)(asked_by("sidecar delete")) == "decline"
    assert said.getvalue().startswith('Delete the search index of "rails"?\n')
    assert "wants to" not in said.getvalue()


class Wire:
    """A connection that records questions, and answers no."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []

    def ask_client(self, method: str, params: Any) -> tuple[str, asyncio.Future[Any]]:
        self.sent.append(params)
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        answer.set_result(None)
        return "1", answer

    def withdraw(self, request_id: str) -> None:
        """Does nothing: no question is withdrawn."""

    def notify(self, method: str, params: Any) -> None:
        """Does nothing: no notification is needed."""


async def test_an_editor_gets_the_parts_of_a_question_and_its_own_one_in_its_own_words() -> None:
    wire = Wire()
    confirmer = Confirmer(wire, lambda: True, lambda: 120.0)
    question = asked_by("robot")
    await confirmer.ask(question)
    await confirmer.ask(question, own=str(Path("/fake/rails")))
    foreign, own = wire.sent
    assert foreign["message"].startswith('"robot" wants to permanently delete')
    assert foreign["question"].pop("id") != own["question"].pop("id")
    assert foreign["question"] == {
        "title": 'Delete the search index of "rails"?',
        "asker": '"robot"',
        "detail": question.detail,
        "accept": "Delete index",
        "decline": "Keep",
        "seconds": 120.0,
    }
    assert own["message"].startswith('Delete the search index of "rails"?\n')
