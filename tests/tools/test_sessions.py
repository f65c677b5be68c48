"""The registry of attached clients and the log of their calls, without any protocol."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sidecar.errors import InvalidParams
from sidecar.tools.activity import ActivityLog, ActivityParams, activity_params, asked_of, outcome_of
from sidecar.tools.code_search import PathMatches
from sidecar.tools.confirm import call_with_questions
from sidecar.tools.memory import DeletedKey, DeletedResult
from sidecar.tools.registry import ALL_TOOLS
from sidecar.tools.search_results import CompactHit, CompactResult
from sidecar.tools.service import Service
from sidecar.tools.sessions import Closing, Sessions, WorkDisplay
from sidecar.tools.spec import Answer, Question, ToolSpec
from tests.fakes import FakeWorkspace, FakeWorkspaces

QUESTION = Question("id", "delete_index", "May I?", "All is lost.", "Yes", "No", destructive=True)
ROOT = "/fake/workspace"


class FakeEditor:
    """An editor's person, who answers as the test says, once the test allows it."""

    def __init__(self, answer: Answer, may_answer: asyncio.Event | None = None) -> None:
        self.closed: list[Closing] = []
        self.asked_on: list[int] = []
        self._answer = answer
        self._may_answer = may_answer

    def can_ask(self) -> bool:
        return True

    async def ask(self, question: Question, closing: Closing) -> Answer:
        self.asked_on.append(threading.get_ident())
        try:
            if self._may_answer is not None:
                await self._may_answer.wait()
        except asyncio.CancelledError:
            self.closed.append(closing)
            raise
        return self._answer

    def begin(self, title: str, cancel: Callable[[], None]) -> WorkDisplay:
        raise NotImplementedError

    def activity_changed(self) -> None:
        """Nobody looks."""


async def nobody(question: Question) -> Answer:
    return "nobody"


async def test_of_two_answers_that_come_together_the_no_counts() -> None:
    sessions = Sessions()
    sessions.attach("lsp", "one", workspaces=[ROOT], editor=FakeEditor("accept"))
    sessions.attach("lsp", "two", workspaces=[ROOT], editor=FakeEditor("decline"))
    answered = await sessions.ask(QUESTION, ROOT, None, nobody)
    assert (answered.answer, answered.by) == ("decline", "two")


async def test_silence_of_somebody_is_a_timeout_and_not_nobody() -> None:
    sessions = Sessions()
    sessions.attach("lsp", "silent", workspaces=[ROOT], editor=FakeEditor("timeout"))
    sessions.attach("lsp", "gone", workspaces=[ROOT], editor=FakeEditor("nobody"))
    assert (await sessions.ask(QUESTION, ROOT, None, nobody)).answer == "timeout"
    for session in sessions.attached():
        if session.name == "silent":
            session.detach()
    assert (await sessions.ask(QUESTION, ROOT, None, nobody)).answer == "nobody"


async def test_the_loser_is_told_who_has_answered() -> None:
    sessions = Sessions()
    slow = FakeEditor("accept", asyncio.Event())
    sessions.attach("lsp", "slow", workspaces=[ROOT], editor=slow)
    sessions.attach("lsp", "quick", workspaces=[ROOT], editor=FakeEditor("accept"))
    assert (await sessions.ask(QUESTION, ROOT, None, nobody)).by == "quick"
    assert [(closing.reason, closing.by) for closing in slow.closed] == [("answered", "quick")]


def test_a_session_covers_what_lies_in_its_folders_by_whatever_links_either_is_named(tmp_path: Path) -> None:
    (tmp_path / "real" / "inner").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "really").mkdir()
    for folder in ("real", "link"):
        session = Sessions().attach("rest", workspaces=[str(tmp_path / folder)])
        places = ("real", "link", "link/inner", "really", "")
        covered = [name for name in places if session.covers(str(tmp_path / name))]
        assert covered == ["real", "link", "link/inner"]


async def test_an_editor_on_another_loop_is_asked_on_its_own() -> None:
    sessions, editor = Sessions(), FakeEditor("accept")
    ready, over = threading.Event(), asyncio.Event()
    loops: list[asyncio.AbstractEventLoop] = []

    async def live() -> None:
        loops.append(asyncio.get_running_loop())
        sessions.attach("lsp", "elsewhere", workspaces=[ROOT], editor=editor)
        ready.set()
        await over.wait()

    thread = threading.Thread(target=asyncio.run, args=(live(),))
    thread.start()
    try:
        assert await asyncio.to_thread(ready.wait, 30)
        assert (await sessions.ask(QUESTION, ROOT, None, nobody)).answer == "accept"
        assert editor.asked_on == [thread.ident]
    finally:
        loops[0].call_soon_threadsafe(over.set)
        await asyncio.to_thread(thread.join, 30)


def test_the_log_is_bounded_and_counts_what_it_forgot() -> None:
    log = ActivityLog(lambda: 3)
    for number in range(10):
        call = log.begin(1, "Agent", "mcp", "search_code", ROOT, f"query {number}")
        log.update(call, state="done")
    entries = log.select(ActivityParams(), [ROOT])
    assert [entry.asked for entry in entries] == ["query 9", "query 8", "query 7"]
    assert log.forgotten == 7
    log.update(1, state="failed")  # has fallen out
    assert log.select(ActivityParams(limit=1), [ROOT])[0].asked == "query 9"


async def test_with_a_capacity_of_nothing_no_call_is_remembered() -> None:
    sessions = Sessions(lambda: 0)
    workspace = FakeWorkspace({"a.py": "def a():\n    pass\n"})
    workspace.refresh(lambda *_: None, lambda: False)
    service = Service(FakeWorkspaces(workspace))
    agent = sessions.attach("mcp", "Agent", workspaces=[ROOT])
    await call_with_questions(service, "search_code", {"query": "a"}, workspace=ROOT, ask=nobody, session=agent)
    activity = sessions.activity(ActivityParams())
    assert (activity.entries, activity.capacity, activity.sessions[0].calls) == ([], 0, 1)
    service.close()


def test_the_log_is_asked_by_agent_tool_time_and_what_is_new() -> None:
    times = iter([1000.0, 2000.0, 3000.0])
    log = ActivityLog(now=lambda: next(times))
    for agent, tool in (("A", "search_code"), ("B", "search_code"), ("A", "delete_index")):
        log.begin(1, agent, "mcp", tool, ROOT, "")

    def found(**narrow: Any) -> list[tuple[str, str]]:
        return [(one.agent, one.tool) for one in log.select(activity_params(narrow), [ROOT])]

    assert found(agent="A") == [("A", "delete_index"), ("A", "search_code")]
    assert found(tool="search_code") == [("B", "search_code"), ("A", "search_code")]
    assert found(since="1970-01-01T00:50:00Z") == [("A", "delete_index")]
    assert found(after=2) == [("A", "delete_index")]
    log.update(1, state="done")
    assert found(after=3) == [("A", "search_code")]
    assert log.select(ActivityParams(), ["/another"]) == []
    assert len(log.select(ActivityParams(everywhere=True), [])) == 3


@pytest.mark.parametrize("wrong", [{"since": "yesterday"}, {"limit": 0}, {"agent": 3}, {"nonsense": 1}])
def test_wrong_parameters_of_activity_name_the_field(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidParams, match=next(iter(wrong))):
        activity_params(wrong)


def test_what_a_caller_wants_kept_is_never_in_the_log() -> None:
    assert asked_of({"key": "notes", "text": "secret", "content": "secret"}) == "notes"
    assert asked_of({"doc_id": "a", "content": "secret"}) == ""
    assert asked_of({"query": "two\nlines  here"}) == "two lines here"
    assert len(asked_of({"query": "x" * 10_000})) == 300


def test_the_log_tells_how_many_results_there_were_and_the_first_paths() -> None:
    paths = [f"{n}.py" for n in (1, 1, 2, 3, 4, 5, 6)]
    full = outcome_of(PathMatches(matches=paths, pattern="*", total_matches=7, notice="Partial."))
    assert (full["results"], full["paths"], full["message"]) == (
        7,
        ("1.py", "2.py", "3.py", "4.py", "5.py"),
        "Partial.",
    )
    compact = CompactResult(r=[CompactHit(l="a.py:1-2", t="x", s=0.5, a=1)], n=1, ms=1.0)
    assert outcome_of(compact)["paths"] == ("a.py",)
    kept = DeletedResult(status="cancelled", data=DeletedKey(key="k"), message="No.")
    assert outcome_of(kept, declined=True) == {"state": "refused", "message": "No."}


def made(kind: Any, inner: Any, **fields: Any) -> Any:
    """Returns a result with only these fields, also in its `data` if that is an `inner` result."""
    return kind.model_construct(None, **fields, data=inner and inner.model_construct(None, **fields))


@pytest.mark.parametrize("tool", ALL_TOOLS, ids=lambda tool: tool.name)
def test_every_kind_of_result_with_rows_a_notice_or_a_refusal_tells_the_log_of_them(tool: ToolSpec) -> None:
    for kind in (tool.result, *tool.other_results):
        fields = dict(kind.model_fields)
        inner: Any = fields["data"].annotation if "data" in fields else None
        fields |= getattr(inner, "model_fields", {})
        if {"results", "r", "matches", "symbols", "memories"} & fields.keys():
            assert "row_paths" in vars(kind), kind.__name__
        if "notice" in fields:
            assert made(kind, inner, notice="Partial.", message="Partial.").remark() == "Partial.", kind.__name__
        if "status" in fields and "cancelled" in str(fields["status"].annotation):
            assert made(kind, None, status="cancelled", message="No.", notice=None).remark() == "No.", kind.__name__
