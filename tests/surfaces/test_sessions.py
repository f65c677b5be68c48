"""Several doors over one service: who is asked, who is shown the work, and what the log contains."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ResourceUpdated
from mcp.types import CallToolResult, ElicitResult, Implementation, ResourceUpdatedNotification, TextResourceContents

from sidecar.shown import quoted
from sidecar.surfaces.http.app import make_app
from sidecar.surfaces.http.faults import ANSWER_HEADER
from sidecar.surfaces.lsp.server import SharedService
from sidecar.surfaces.lsp.server import make_server as make_lsp
from sidecar.surfaces.mcp.server import make_server as make_mcp
from sidecar.tools.service import Service
from sidecar.tools.sessions import Sessions
from sidecar.tools.word import Confirm
from tests.fakes import FakeWorkspace, FakeWorkspaces
from tests.patience import PATIENCE_S
from tests.surfaces.lsp_client import NO_ANSWER
from tests.surfaces.lsp_in_process import InProcessEditor

FILES = {"src/retry.py": "def retry_with_backoff():\n    pass\n", "src/open.py": "def open_file():\n    pass\n"}
ASK = "window/showMessageRequest"
HANDSHAKE, STATELESS = "legacy", "2026-07-28"


def says(title: str) -> Callable[[Any], Any]:
    return lambda params: {"title": title}


def silent(params: Any) -> Any:
    return NO_ANSWER


YES, NO = says("Delete index"), says("Keep")


class Process:
    """One process: a service over a fake workspace at a real folder, and doors that share one registry."""

    def __init__(self, root: Path, confirm: Confirm = "auto", question_timeout_s: float = 60.0) -> None:
        self.root = root
        self.before_work: Callable[[str], None] = lambda path: None
        self.workspace = FakeWorkspace(FILES, root=str(root), before_work=self._before)
        self.workspace.refresh(lambda *_: None, lambda: False)
        self.service = Service(FakeWorkspaces(self.workspace), confirm=confirm)
        self.sessions = Sessions()
        self._timeout = question_timeout_s

    def _before(self, path: str) -> None:
        self.before_work(path)

    async def editor(self, name: str, answer: Callable[[Any], Any], **more: Any) -> InProcessEditor:
        server = make_lsp(
            SharedService(self.service),
            closes_service=False,
            sessions=self.sessions,
            question_timeout_s=self._timeout,
        )
        editor = InProcessEditor(server, {ASK: answer})
        await editor.start(self.root, name=name, **more)
        return editor

    def agent(self, era: str = HANDSHAKE, elicit: Any = None, name: str = "Claude", **more: Any) -> Client:
        return Client(
            make_mcp(self.service, str(self.root), sessions=self.sessions),
            mode=era,
            elicitation_callback=elicit,
            client_info=Implementation(name=name, version="7"),
            **more,
        )


@pytest.fixture
def process(tmp_path: Path) -> Process:
    return Process(tmp_path)


@pytest.fixture(params=[HANDSHAKE, STATELESS])
def era(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def posted(app: Any, tool: str, answer: str = "") -> dict[str, Any]:
    """Returns REST's answer to a call without parameters."""
    sent: list[dict[str, Any]] = []
    inbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    inbox.put_nowait({"type": "http.request", "body": b"{}", "more_body": False})
    headers = [(b"content-type", b"application/json"), (b"host", b"127.0.0.1")]
    headers += [(ANSWER_HEADER.lower().encode(), answer.encode())] if answer else []

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": f"/tools/{tool}", "headers": headers, "query_string": b""}
    await app({**scope, "root_path": "", "http_version": "1.1", "scheme": "http"}, inbox.get, send)
    body: dict[str, Any] = json.loads(b"".join(message.get("body", b"") for message in sent))
    return body


def status_of(result: CallToolResult) -> str:
    assert result.structured_content is not None, result.content
    return str(result.structured_content["status"])


async def own_yes(ctx: Any, params: Any) -> ElicitResult:
    return ElicitResult(action="accept", content={"confirm": True})


async def never_asked(ctx: Any, params: Any) -> ElicitResult:
    raise AssertionError("the caller is not to be asked while an editor is there")


# ---------------------------------------------------------------- one editor


async def test_an_agents_delete_is_answered_in_the_editor_and_names_agent_workspace_and_loss(
    process: Process, era: str
) -> None:
    editor = await process.editor("Code", YES)
    async with process.agent(era, never_asked) as agent:
        assert status_of(await agent.call_tool("delete_index", {})) == "deleted"
    (box,) = editor.all_of(ASK)
    assert '"Claude" wants to permanently delete' in box["message"]
    assert quoted(str(process.root)) in box["message"]
    assert "own" not in box
    assert "2 files and 2 chunks" in box["message"]
    assert [action["title"] for action in box["actions"]] == ["Delete index", "Keep"]


@pytest.mark.parametrize("answer", [NO, lambda params: None, says("something else")])
async def test_a_no_in_the_editor_is_a_cancelled_result_for_the_agent(process: Process, era: str, answer: Any) -> None:
    await process.editor("Code", answer)
    async with process.agent(era, never_asked) as agent:
        result = await agent.call_tool("delete_index", {})
    assert status_of(result) == "cancelled"
    assert process.workspace.status().status == "ready"


async def test_without_an_editor_the_agents_own_client_is_asked(process: Process, era: str) -> None:
    async with process.agent(era, own_yes) as agent:
        assert status_of(await agent.call_tool("delete_index", {})) == "deleted"


async def test_with_nobody_at_all_delete_is_cancelled_and_rebuild_goes_ahead(process: Process, era: str) -> None:
    async with process.agent(era) as agent:
        assert status_of(await agent.call_tool("delete_index", {})) == "cancelled"
        assert status_of(await agent.call_tool("reindex_project", {})) == "reindexed"


async def test_an_editor_of_another_folder_is_not_asked(
    process: Process, tmp_path_factory: pytest.TempPathFactory
) -> None:
    server = make_lsp(SharedService(process.service), closes_service=False, sessions=process.sessions)
    elsewhere = InProcessEditor(server, {ASK: NO})
    await elsewhere.start(tmp_path_factory.mktemp("elsewhere"))
    async with process.agent(HANDSHAKE, own_yes) as agent:
        assert status_of(await agent.call_tool("delete_index", {})) == "deleted"
    assert elsewhere.all_of(ASK) == []


async def test_an_editor_whose_folder_holds_the_workspace_is_asked(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    process = Process(tmp_path / "inner")
    server = make_lsp(SharedService(process.service), closes_service=False, sessions=process.sessions)
    outer = InProcessEditor(server, {ASK: NO})
    await outer.start(tmp_path)
    async with process.agent(HANDSHAKE, never_asked) as agent:
        assert status_of(await agent.call_tool("delete_index", {})) == "cancelled"
    assert len(outer.all_of(ASK)) == 1


async def test_an_editor_that_cannot_show_a_question_leaves_it_to_the_caller(process: Process) -> None:
    editor = await process.editor("Plain", NO, capabilities={})
    async with process.agent(HANDSHAKE, own_yes) as agent:
        assert status_of(await agent.call_tool("delete_index", {})) == "deleted"
    assert editor.all_of(ASK) == []


async def test_an_editor_that_dies_while_asked_hands_the_question_on(process: Process) -> None:
    editor = await process.editor("Code", silent)
    async with process.agent(HANDSHAKE, own_yes) as agent:
        call = asyncio.ensure_future(agent.call_tool("delete_index", {}))
        await editor.expect_method(ASK)
        await editor.die()
        assert status_of(await call) == "deleted"


async def test_an_editor_that_dies_while_asked_is_nobody_where_the_caller_cannot_be_asked(
    process: Process,
) -> None:
    editor = await process.editor("Code", silent)
    async with process.agent() as agent:
        call = asyncio.ensure_future(agent.call_tool("delete_index", {}))
        await editor.expect_method(ASK)
        await editor.die()
        result = await call
    assert status_of(result) == "cancelled"
    assert "Nobody could be asked" in str(result.structured_content)


async def test_no_answer_in_time_goes_to_the_caller_and_without_one_is_a_no(tmp_path: Path) -> None:
    process = Process(tmp_path, question_timeout_s=0.2)
    editor = await process.editor("Code", silent)
    async with process.agent() as agent:
        result = await agent.call_tool("reindex_project", {})
    assert status_of(result) == "cancelled"
    assert "not answered in time" in str(result.structured_content)
    closed = await editor.expect_method("sidecar/questionClosed")
    assert closed["reason"] == "timeout"
    assert closed["message"] == editor.all_of(ASK)[0]["message"]
    async with process.agent(HANDSHAKE, own_yes) as agent:
        assert status_of(await agent.call_tool("delete_index", {})) == "deleted"


async def test_a_caller_that_gives_up_takes_the_box_back(process: Process) -> None:
    editor = await process.editor("Code", silent)
    async with process.agent() as agent:
        call = asyncio.ensure_future(agent.call_tool("delete_index", {}))
        asked = await editor.expect(lambda m: m.get("method") == ASK)
        call.cancel()
        taken_back = await editor.expect_method("$/cancelRequest")
        assert taken_back == {"id": asked["id"]}
        assert (await editor.expect_method("sidecar/questionClosed"))["reason"] == "cancelled"
    assert process.workspace.status().status == "ready"


# ---------------------------------------------------------------- two editors


async def test_of_two_editors_the_first_answer_counts_and_the_other_box_is_withdrawn(process: Process) -> None:
    slow = await process.editor("Window 1", silent)
    await process.editor("Window 2", YES)
    async with process.agent() as agent:
        assert status_of(await agent.call_tool("delete_index", {})) == "deleted"
    asked = await slow.expect(lambda m: m.get("method") == ASK)
    assert await slow.expect_method("$/cancelRequest") == {"id": asked["id"]}
    closed = await slow.expect_method("sidecar/questionClosed")
    assert (closed["reason"], closed["answeredBy"], closed["request"]) == ("answered", "Window 2", asked["id"])
    slow.answer(asked["id"], {"title": "Delete index"})  # a late answer has no effect
    assert (await slow.request("sidecar/getIndexStatus", {}))["status"] == "not_found"


async def test_when_one_of_two_editors_dies_the_other_still_answers(process: Process) -> None:
    dying, other = await process.editor("Window 1", silent), await process.editor("Window 2", silent)
    async with process.agent() as agent:
        call = asyncio.ensure_future(agent.call_tool("delete_index", {}))
        await dying.expect_method(ASK)
        asked = await other.expect(lambda m: m.get("method") == ASK)
        await dying.die()
        other.answer(asked["id"], {"title": "Delete index"})
        assert status_of(await call) == "deleted"


async def test_an_editor_that_calls_is_the_only_one_that_is_asked(process: Process) -> None:
    caller, other = await process.editor("Window 1", YES), await process.editor("Window 2", NO)
    assert (await caller.request("sidecar/deleteIndex", {}))["status"] == "deleted"
    assert caller.all_of(ASK)[0]["own"] == str(process.root)
    assert other.all_of(ASK) == []


# ---------------------------------------------------------------- REST


async def test_a_rest_call_is_answered_in_the_editor(process: Process) -> None:
    editor = await process.editor("Code", YES)
    app = make_app(process.service, str(process.root), sessions=process.sessions)
    assert (await posted(app, "delete_index"))["status"] == "deleted"
    assert '(REST)" wants to' in editor.all_of(ASK)[0]["message"]


async def test_an_answer_over_rest_counts_only_once(process: Process) -> None:
    app = make_app(process.service, str(process.root), sessions=process.sessions)
    answer = f"{(await posted(app, 'delete_index'))['question']['id']}=accept"
    await process.editor("Code", NO)
    assert (await posted(app, "delete_index", answer))["status"] == "deleted"
    process.workspace.refresh(lambda *_: None, lambda: False)
    assert (await posted(app, "delete_index", answer))["status"] == "cancelled"


# ---------------------------------------------------------------- what the others see


async def test_a_job_that_an_agent_started_is_shown_in_the_editor_and_can_be_ended_there(
    process: Process,
) -> None:
    go_on = threading.Event()
    process.before_work = lambda path: None
    editor = await process.editor("Code", says("Rebuild"))
    reached = threading.Event()

    def hold(path: str) -> None:
        if path == "src/retry.py":  # the second file: one report has been made
            reached.set()
            assert go_on.wait(PATIENCE_S)

    process.before_work = hold
    async with process.agent() as agent:
        call = asyncio.ensure_future(agent.call_tool("reindex_project", {}))
        begun = await editor.expect_method("$/progress", lambda p: p["value"]["kind"] == "begin")
        assert begun["value"]["title"] == 'sidecar: reindex project (for "Claude")'
        assert await asyncio.to_thread(reached.wait, 30)
        editor.notify("window/workDoneProgress/cancel", {"token": begun["token"]})
        await editor.request("sidecar/getConfig", {})
        go_on.set()
        result = await call
    assert result.is_error
    assert 'A person cancelled it in "Code".' in result.content[0].text  # type: ignore[union-attr]
    await editor.expect_method("$/progress", lambda p: p["value"] == {"kind": "end", "message": "cancelled"})


async def test_every_editor_of_the_folder_hears_of_a_changed_index(process: Process) -> None:
    one, two = (
        await process.editor("Window 1", says("Rebuild")),
        await process.editor("Window 2", says("Rebuild")),
    )
    async with process.agent() as agent:
        await agent.call_tool("reindex_project", {})
    for editor in (one, two):
        status = await editor.expect_method("sidecar/status", lambda p: p.get("generation") == 2)
        assert status["workspace"] == str(process.root)


async def test_activity_lists_agents_and_what_each_asked_got_and_was_refused(process: Process, era: str) -> None:
    editor = await process.editor("Code", NO)
    async with process.agent(era) as agent:
        await agent.call_tool("search_code", {"query": "retry with backoff"})
        await agent.call_tool("delete_index", {})
        await agent.call_tool("explain_path", {"path": "../outside"})
        await editor.request("sidecar/searchCode", {"query": "open"})
        await editor.expect_method("sidecar/activityChanged", lambda p: p["running"] == 0 and p["revision"] > 4)
        activity = await editor.request("sidecar/activity", {})
        only = await editor.request("sidecar/activity", {"agent": "Claude", "tool": "search_code"})
        later = await editor.request("sidecar/activity", {"after": activity["revision"]})
    by_name = {session["name"]: session for session in activity["sessions"]}
    assert by_name["Code"]["you"] and by_name["Code"]["asks"] and by_name["Code"]["door"] == "lsp"
    assert by_name["Claude"]["version"] == "7" and by_name["Claude"]["calls"] == 3
    mine, failed, refused, search = activity["entries"]
    assert (mine["agent"], mine["tool"], mine["asked"]) == ("Code", "search_code", "open")
    assert failed["state"] == "failed" and failed["message"].startswith("PATH_TRAVERSAL")
    assert (refused["state"], refused["answeredBy"]) == ("refused", "Code")
    assert (search["state"], search["asked"], search["results"]) == ("done", "retry with backoff", 1)
    assert search["paths"] == ["src/retry.py"]
    assert isinstance(search["tookMs"], float)
    assert only["entries"] == [search]
    assert later["entries"] == []


async def test_a_session_that_has_left_is_no_longer_listed_but_its_calls_are(process: Process) -> None:
    editor = await process.editor("Code", NO)
    async with process.agent() as agent:
        await agent.call_tool("search_code", {"query": "retry"})
        assert len((await editor.request("sidecar/activity", {}))["sessions"]) == 2
    await editor.expect_method("sidecar/activityChanged", lambda p: p["sessions"] == 1 and p["revision"] > 0)
    activity = await editor.request("sidecar/activity", {})
    assert [session["name"] for session in activity["sessions"]] == ["Code"]
    assert activity["entries"][0]["agent"] == "Claude"


async def test_what_editors_ask_by_themselves_is_left_out_of_the_log(process: Process) -> None:
    editor = await process.editor("Code", NO)
    await editor.request("sidecar/getIndexStatus", {})
    await editor.request("sidecar/getConfig", {})
    assert (await editor.request("sidecar/activity", {}))["entries"] == []


async def test_a_question_that_stands_is_seen_as_asking(process: Process) -> None:
    editor = await process.editor("Code", silent)
    async with process.agent() as agent:
        call = asyncio.ensure_future(agent.call_tool("delete_index", {}))
        asked = await editor.expect(lambda m: m.get("method") == ASK)
        await editor.expect_method("sidecar/activityChanged", lambda p: p["asking"] == 1)
        (entry,) = (await editor.request("sidecar/activity", {}))["entries"]
        assert entry["state"] == "asking"
        editor.answer(asked["id"], {"title": "Keep"})
        assert status_of(await call) == "cancelled"


async def test_a_folder_without_an_index_is_named_in_an_answer_over_several(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    indexed, bare = FakeWorkspace(FILES, root=str(one)), FakeWorkspace(FILES, root=str(two))
    indexed.refresh(lambda *_: None, lambda: False)
    server = make_lsp(SharedService(Service(FakeWorkspaces(indexed, bare))), closes_service=False)
    editor = InProcessEditor(server)
    await editor.start(one, two)
    for method, params in (("sidecar/searchCode", {"query": "retry"}), ("sidecar/searchByPath", {"pattern": "*.py"})):
        answer = await editor.request(method, params)
        assert answer["notice"] == f"{quoted(str(two))}: not searched, no index."
    bare.refresh(lambda *_: None, lambda: False)
    assert "notice" not in await editor.request("sidecar/searchCode", {"query": "retry"})


# ---------------------------------------------------------------- the index's state as a resource


async def test_an_agent_may_read_the_index_state(process: Process, era: str) -> None:
    async with process.agent(era) as agent:
        (resource,) = (await agent.list_resources()).resources
        read = await agent.read_resource(resource.uri)
        (status,) = read.contents
        assert isinstance(status, TextResourceContents)
        assert json.loads(status.text)["status"] == "ready"
        with pytest.raises(MCPError, match="no resource"):
            await agent.read_resource("sidecar://other")


@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
async def test_an_agent_that_has_subscribed_hears_of_a_changed_index(process: Process) -> None:
    heard = asyncio.Event()

    async def message(received: Any) -> None:
        if isinstance(received, ResourceUpdatedNotification):
            heard.set()

    async with process.agent(message_handler=message) as agent:
        await agent.session.subscribe_resource("sidecar://index/status")
        await asyncio.to_thread(process.workspace.refresh, lambda *_: None, lambda: False)
        async with asyncio.timeout(30):
            await heard.wait()


async def test_an_agent_of_the_newer_protocol_listens_for_a_changed_index(process: Process) -> None:
    async with (
        process.agent(STATELESS) as agent,
        agent.listen(resource_subscriptions=["sidecar://index/status"]) as changes,
    ):
        await asyncio.to_thread(process.workspace.refresh, lambda *_: None, lambda: False)
        async with asyncio.timeout(30):
            event = await anext(aiter(changes))
        assert event == ResourceUpdated("sidecar://index/status")
