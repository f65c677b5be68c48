"""A client that has to answer the server's requests at once puts a question off, and answers it later."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.lsp_in_process import InProcessEditor
from tests.surfaces.test_sessions import ASK, Process, never_asked, own_yes, status_of


def puts_off(params: Any) -> Any:
    return {"later": True}


@pytest.fixture
def process(tmp_path: Path) -> Process:
    return Process(tmp_path)


async def asked_in(editor: InProcessEditor) -> str:
    """Waits for the question, and returns its id."""
    params = await editor.expect_method(ASK)
    return str(params["question"]["id"])


@pytest.mark.parametrize(
    ("chosen", "status"),
    [({"title": "Delete index"}, "deleted"), ({"title": "Keep"}, "cancelled"), (None, "cancelled"), (7, "cancelled")],
)
async def test_a_question_that_is_put_off_is_answered_later(process: Process, chosen: Any, status: str) -> None:
    editor = await process.editor("Neovim", puts_off)
    async with process.agent(elicit=never_asked) as agent:
        call = asyncio.ensure_future(agent.call_tool("delete_index", {}))
        question = await asked_in(editor)
        answer = {"question": question, "chosen": chosen}
        assert await editor.request("sidecar/answer", answer) == {"taken": True}
        assert status_of(await call) == status
        assert await editor.request("sidecar/answer", answer) == {"taken": False}


async def test_an_answer_to_a_question_that_is_not_open_is_not_taken(process: Process) -> None:
    editor = await process.editor("Neovim", puts_off)
    wrong: list[dict[str, Any]] = [
        {},
        {"question": "1" * 32, "chosen": {"title": "Delete index"}},
        {"question": [], "chosen": None},
    ]
    for params in wrong:
        assert await editor.request("sidecar/answer", params) == {"taken": False}


async def test_a_question_that_is_put_off_and_forgotten_is_a_no_and_is_said_to_be_closed(tmp_path: Path) -> None:
    process = Process(tmp_path, question_timeout_s=0.05)
    editor = await process.editor("Neovim", puts_off)
    async with process.agent(elicit=never_asked) as agent:
        assert status_of(await agent.call_tool("delete_index", {})) == "cancelled"
    closed = await editor.expect_method("sidecar/questionClosed")
    assert (closed["reason"], closed["question"]) == ("timeout", await asked_in(editor))
    late = {"question": closed["question"], "chosen": {"title": "Delete index"}}
    assert await editor.request("sidecar/answer", late) == {"taken": False}
    assert process.workspace.status().status == "ready"


async def test_a_question_that_is_put_off_is_closed_when_another_editor_answers(process: Process) -> None:
    editor = await process.editor("Neovim", puts_off)
    other = await process.editor("Code", puts_off)
    async with process.agent(elicit=never_asked) as agent:
        call = asyncio.ensure_future(agent.call_tool("delete_index", {}))
        question, elsewhere = await asked_in(editor), await asked_in(other)
        assert question != elsewhere
        assert await other.request("sidecar/answer", {"question": question, "chosen": None}) == {"taken": False}
        await other.request("sidecar/answer", {"question": elsewhere, "chosen": {"title": "Keep"}})
        closed = await editor.expect_method("sidecar/questionClosed")
        assert (closed["reason"], closed["question"], closed["answeredBy"]) == ("answered", question, "Code")
        assert status_of(await call) == "cancelled"


async def test_when_an_editor_leaves_with_a_question_put_off_the_caller_is_asked(process: Process) -> None:
    editor = await process.editor("Neovim", puts_off)
    async with process.agent(elicit=own_yes) as agent:
        call = asyncio.ensure_future(agent.call_tool("delete_index", {}))
        await asked_in(editor)
        await editor.die()
        assert status_of(await call) == "deleted"
