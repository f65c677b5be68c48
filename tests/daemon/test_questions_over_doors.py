"""The person in the editor answers the question of an agent's call: real pipes, one daemon, real clients."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.types import CallToolResult, ElicitResult, Implementation

from sidecar.shown import quoted
from tests.daemon.data_folder import HANDSHAKE, STATELESS, DataFolder, eventually
from tests.surfaces.lsp_client import NO_ANSWER, LspClient

pytestmark = pytest.mark.usefixtures("indexed")
ASK = "window/showMessageRequest"


def yes(params: Any) -> Any:
    return params["actions"][0]


def no(params: Any) -> Any:
    return params["actions"][1]


def dismissed(params: Any) -> Any:
    return None


def silent(params: Any) -> Any:
    return NO_ANSWER


async def own_yes(ctx: Any, params: Any) -> ElicitResult:
    return ElicitResult(action="accept", content={"confirm": True})


async def never_asked(ctx: Any, params: Any) -> ElicitResult:
    raise AssertionError("the caller is not to be asked")


@contextmanager
def editor(
    data_folder: DataFolder, work: Path, answer: Callable[[Any], Any], name: str = "Test Editor"
) -> Iterator[LspClient]:
    with data_folder.lsp(on_request={ASK: answer}) as client:
        client.start(work, clientInfo={"name": name, "version": "1"})
        client.request("sidecar/activity", {})  # attached from here on
        yield client


def agent(data_folder: DataFolder, work: Path, era: str = HANDSHAKE, elicit: Any = None) -> Any:
    who = Implementation(name="Claude Code", version="9")
    return data_folder.mcp(work, era, elicitation_callback=elicit, client_info=who)


def status_of(result: CallToolResult) -> str:
    assert result.structured_content is not None, result.content
    return str(result.structured_content["status"])


async def asked(client: LspClient) -> dict[str, Any]:
    """Returns the request that carried the question."""
    return await asyncio.to_thread(client.expect, lambda m: m.get("method") == ASK)


@pytest.mark.parametrize("era", [HANDSHAKE, STATELESS])
@pytest.mark.parametrize(("answer", "becomes"), [(yes, "deleted"), (no, "cancelled"), (dismissed, "cancelled")])
async def test_the_editor_answers_an_agents_delete(
    data_folder: DataFolder, work: Path, era: str, answer: Callable[[Any], Any], becomes: str
) -> None:
    with editor(data_folder, work, answer) as client:
        async with agent(data_folder, work, era, never_asked) as session:
            assert status_of(await session.call_tool("delete_index", {})) == becomes
        box = (await asked(client))["params"]["message"]
        assert box.startswith(f'"Claude Code" wants to permanently delete the search index of {quoted(str(work))}.')
        assert "3 files" in box
        there = "not_found" if becomes == "deleted" else "ready"
        assert client.request("sidecar/getIndexStatus", {})["status"] == there


async def test_no_answer_in_time_is_a_no(data_folder: DataFolder, work: Path) -> None:
    data_folder.env["SIDECAR_QUESTION_SECONDS"] = "1"
    with editor(data_folder, work, silent) as client:
        async with agent(data_folder, work) as session:
            result = await session.call_tool("delete_index", {})
        assert status_of(result) == "cancelled"
        assert "not answered in time" in str(result.structured_content)
        assert client.expect_method("sidecar/questionClosed")["reason"] == "timeout"
        assert client.request("sidecar/getIndexStatus", {})["status"] == "ready"


@pytest.mark.parametrize(("elicit", "becomes"), [(own_yes, "deleted"), (None, "cancelled")])
async def test_an_editor_that_is_killed_while_asked_hands_the_question_on(
    data_folder: DataFolder, work: Path, elicit: Any, becomes: str
) -> None:
    with editor(data_folder, work, silent) as client:
        async with agent(data_folder, work, HANDSHAKE, elicit) as session:
            call = asyncio.ensure_future(session.call_tool("delete_index", {}))
            await asked(client)
            assert client.process is not None
            client.process.kill()
            assert status_of(await call) == becomes


async def test_of_two_editors_the_first_answer_counts_and_the_other_box_is_withdrawn(
    data_folder: DataFolder, work: Path
) -> None:
    with editor(data_folder, work, silent, "Window 1") as slow, editor(data_folder, work, yes, "Window 2"):
        async with agent(data_folder, work) as session:
            assert status_of(await session.call_tool("delete_index", {})) == "deleted"
        number = (await asked(slow))["id"]
        assert slow.expect_method("$/cancelRequest") == {"id": number}
        closed = slow.expect_method("sidecar/questionClosed")
        assert (closed["reason"], closed["answeredBy"]) == ("answered", "Window 2")


async def test_an_agent_that_leaves_while_the_person_thinks_takes_its_question_back(
    data_folder: DataFolder, work: Path
) -> None:
    with editor(data_folder, work, silent) as client:
        async with agent(data_folder, work) as session:
            call = asyncio.ensure_future(session.call_tool("delete_index", {}))
            await asked(client)
            call.cancel()
            closed = await asyncio.to_thread(client.expect_method, "sidecar/questionClosed")
        assert closed["reason"] == "cancelled"
        assert client.request("sidecar/getIndexStatus", {})["status"] == "ready"


async def test_a_daemon_killed_in_mid_question_deletes_nothing_and_the_call_says_to_retry(
    data_folder: DataFolder, work: Path
) -> None:
    with editor(data_folder, work, silent) as client:
        async with agent(data_folder, work) as session:
            call = asyncio.ensure_future(session.call_tool("delete_index", {}))
            await asked(client)
            data_folder.kill()
            with pytest.raises(Exception, match="again"):
                raise_if_failed(await call)
            client.on_request[ASK] = yes
            found = await session.call_tool("search_code", {"query": "convert_unit_1"})
            assert found.structured_content["results"][0]["path"] == "unit1.py"
            assert await asyncio.to_thread(eventually, lambda: knows_itself(client))
            assert status_of(await session.call_tool("delete_index", {})) == "deleted"


def raise_if_failed(result: CallToolResult) -> None:
    if result.is_error:
        raise RuntimeError(str(result.content))


def knows_itself(client: LspClient) -> bool:
    """Whether the editor is attached (again)."""
    try:
        return any(one["you"] for one in client.request("sidecar/activity", {})["sessions"])
    except Exception:
        return False


async def test_the_editor_sees_who_is_attached_and_what_each_asked_got_and_was_refused(
    data_folder: DataFolder, work: Path
) -> None:
    with editor(data_folder, work, no) as client:
        async with agent(data_folder, work) as session:
            await session.call_tool("search_code", {"query": "convert_unit_2"})
            await session.call_tool("delete_index", {})
            data_folder.run("search", "convert_unit_0", cwd=work)
            activity = client.request("sidecar/activity", {})
            assert {(one["door"], one["name"]) for one in activity["sessions"]} >= {
                ("lsp", "Test Editor"),
                ("mcp", "Claude Code"),
            }
        doors = [(one["door"], one["tool"], one["state"]) for one in activity["entries"]]
        assert doors == [
            ("shell", "search_code", "done"),
            ("mcp", "delete_index", "refused"),
            ("mcp", "search_code", "done"),
        ]
        refused, got = activity["entries"][1], activity["entries"][2]
        assert refused["answeredBy"] == "Test Editor"
        assert (got["asked"], got["paths"][0]) == ("convert_unit_2", "unit2.py")
        client.expect_method("sidecar/activityChanged", lambda p: p["revision"] >= activity["revision"])


async def test_a_job_that_an_agent_started_is_shown_in_every_editor_of_the_folder(
    data_folder: DataFolder, work: Path
) -> None:
    with editor(data_folder, work, yes, "Window 1") as one, editor(data_folder, work, silent, "Window 2") as two:
        async with agent(data_folder, work) as session:
            assert status_of(await session.call_tool("reindex_project", {})) == "reindexed"
        for client in (one, two):
            begun = client.expect_method("$/progress", lambda p: p["value"]["kind"] == "begin")
            assert begun["value"]["title"] == 'sidecar: reindex project (for "Claude Code")'
            client.expect_method("$/progress", lambda p: p["value"]["kind"] == "end")
            client.expect_method("sidecar/status", lambda p: p.get("generation") == 2)
