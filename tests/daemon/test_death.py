"""Daemons and clients that die or are told to exit: which work continues, and what each of the others is told."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from tests.daemon.data_folder import HANDSHAKE, STATELESS, DataFolder, alive, call, eventually, request, write_workspace
from tests.patience import PATIENCE_S
from tests.surfaces.lsp_client import NO_ANSWER, Failed, LspClient

YES = {"window/showMessageRequest": lambda params: params["actions"][0]}
RETRY = -32010


def first_path(client: LspClient, query: str) -> str:
    path = request(client, "sidecar/searchCode", {"query": query})["results"][0]["path"]
    assert isinstance(path, str)
    return path


def opened(work: Path, name: str, text: str) -> dict[str, Any]:
    uri = (work / name).as_uri()
    return {"textDocument": {"uri": uri, "languageId": "python", "version": 1, "text": text}}


def edit(work: Path, name: str, version: int, line: int, text: str) -> dict[str, Any]:
    """Puts `text` at the beginning of a line."""
    place = {"line": line, "character": 0}
    change = {"range": {"start": place, "end": place}, "text": text}
    return {
        "textDocument": {"uri": (work / name).as_uri(), "version": version},
        "contentChanges": [change],
    }


@pytest.mark.usefixtures("indexed")
@pytest.mark.parametrize("era", [HANDSHAKE, STATELESS])
async def test_an_agents_session_goes_on_when_the_daemon_is_killed(
    data_folder: DataFolder, work: Path, era: str
) -> None:
    async with data_folder.mcp(work, era) as agent:
        before = await agent.call_tool("search_code", {"query": "convert_unit_1"})
        for _ in range(3):
            await asyncio.to_thread(data_folder.kill)
            again = await call(agent, "search_code", {"query": "convert_unit_1"})
            assert [hit["path"] for hit in again.structured_content["results"]] == [
                hit["path"] for hit in before.structured_content["results"]
            ]
        assert len(await asyncio.to_thread(data_folder.daemons)) == 1


@pytest.mark.usefixtures("indexed")
def test_an_editors_session_goes_on_with_its_unsaved_text_and_its_folders(
    data_folder: DataFolder, work: Path, tmp_path: Path
) -> None:
    second = write_workspace(tmp_path / "second")
    (second / "other.py").write_text("def in_the_second_folder():\n    return 2\n")
    data_folder.run("index", cwd=second)
    with data_folder.lsp(on_request=YES) as editor:
        editor.start(work)
        folder = {"uri": second.as_uri(), "name": "second"}
        editor.notify("workspace/didChangeWorkspaceFolders", {"event": {"added": [folder], "removed": []}})
        editor.notify("textDocument/didOpen", opened(work, "unit0.py", "x = 1\n"))
        editor.notify("textDocument/didChange", edit(work, "unit0.py", 2, 0, "# naïve 🦜 text\n"))
        editor.notify("textDocument/didChange", edit(work, "unit0.py", 3, 1, "def only_typed_here(): pass\n"))
        assert first_path(editor, "only_typed_here") == "unit0.py"
        answers = len(editor.messages)
        data_folder.kill()
        assert first_path(editor, "only_typed_here") == "unit0.py"
        editor.notify("textDocument/didChange", edit(work, "unit0.py", 4, 0, "def typed_afterwards(): pass\n"))
        assert first_path(editor, "typed_afterwards") == "unit0.py"
        found = editor.request("sidecar/searchCode", {"query": "in_the_second_folder"})["results"][0]["path"]
        assert found.endswith("other.py")
        assert not [m for m in editor.messages[answers:] if m.get("id") == "sidecar-again"]
        assert editor.stop() == 0


def test_a_search_whose_daemon_dies_of_a_cut_off_memory_file_is_answered_all_the_same(
    data_folder: DataFolder, work: Path
) -> None:
    """SQLite maps the `-shm` file into memory. Reading beyond the end of a truncated file ends the process (SIGBUS)."""
    data_folder.run("index", cwd=work)
    with data_folder.lsp(on_request=YES) as editor:
        editor.start(work)
        assert first_path(editor, "convert_unit_1") == "unit1.py"
        ended = data_folder.pid()
        (mapped,) = data_folder.home.glob("indexes/*/generations/*/manifest.sqlite-shm")
        os.truncate(mapped, 0)
        found = editor.request("sidecar/searchCode", {"query": "convert_unit_1"})
        assert found["results"][0]["path"] == "unit1.py"
        assert data_folder.pid() != ended
        assert editor.stop() == 0


def test_a_build_that_dies_with_the_daemon_is_told_to_be_retried_and_then_is_done(
    data_folder: DataFolder, tmp_path: Path
) -> None:
    work = write_workspace(tmp_path / "large", 600)
    with data_folder.lsp(on_request=YES) as editor:
        editor.start(work)
        asked = editor.send_request("sidecar/createIndex", {})
        editor.expect_method("$/progress", lambda params: params["value"].get("kind") == "report")
        data_folder.kill()
        with pytest.raises(Failed) as failed:
            editor.answer_to(asked)
        assert failed.value.number == RETRY
        assert failed.value.body["code"] == "DAEMON_ENDED"
        assert "Please try again" in failed.value.message
        begun = {params["token"] for params in editor.all_of("$/progress") if params["value"]["kind"] == "begin"}
        assert eventually(lambda: begun == ended(editor))
        outcome = editor.request("sidecar/reindexProject", {})
        assert outcome["status"] == "reindexed"
        assert first_path(editor, "convert_unit_567") == "unit567.py"
        assert editor.stop() == 0


def ended(editor: LspClient) -> set[Any]:
    return {params["token"] for params in editor.all_of("$/progress") if params["value"]["kind"] == "end"}


async def test_an_agents_call_that_dies_with_the_daemon_is_an_error_that_says_retry(
    data_folder: DataFolder, tmp_path: Path
) -> None:
    work = write_workspace(tmp_path / "large", 600)
    begun = asyncio.Event()

    async def note(progress: float, total: float | None, message: str | None) -> None:
        begun.set()

    async with data_folder.mcp(work) as agent:
        building = asyncio.create_task(agent.call_tool("create_index", {}, progress_callback=note))
        await asyncio.wait_for(begun.wait(), PATIENCE_S)
        await asyncio.to_thread(data_folder.kill)
        with pytest.raises(MCPError, match="Please try again"):
            await building
        again = await agent.call_tool("reindex_project", {})
        assert not again.is_error
        found = await agent.call_tool("search_code", {"query": "convert_unit_567"})
        assert found.structured_content["results"][0]["path"] == "unit567.py"


@pytest.mark.usefixtures("indexed")
def test_an_answer_that_was_given_to_a_dead_daemon_answers_no_other_question(
    data_folder: DataFolder, work: Path
) -> None:
    with data_folder.lsp(on_request={"window/showMessageRequest": lambda params: NO_ANSWER}) as editor:
        editor.start(work)
        first = editor.send_request("sidecar/deleteIndex", {})
        old = question(editor, 0)
        data_folder.kill()
        with pytest.raises(Failed):
            editor.answer_to(first)
        assert editor.expect_method("$/cancelRequest") == {"id": old["id"]}
        second = editor.send_request("sidecar/deleteIndex", {})
        new = question(editor, 1)
        assert new["id"] != old["id"]
        # The person clicks "yes" in the old box, which is still shown, and "no" in the new one.
        editor.send({"jsonrpc": "2.0", "id": old["id"], "result": old["params"]["actions"][0]})
        editor.send({"jsonrpc": "2.0", "id": new["id"], "result": new["params"]["actions"][1]})
        assert editor.answer_to(second)["status"] == "cancelled"
        assert first_path(editor, "convert_unit_1") == "unit1.py"


def question(editor: LspClient, number: int) -> dict[str, Any]:
    def asked() -> list[dict[str, Any]]:
        return [message for message in editor.messages if message.get("method") == "window/showMessageRequest"]

    assert eventually(lambda: len(asked()) > number)
    return asked()[number]


@pytest.mark.usefixtures("indexed")
async def test_after_a_stop_the_next_message_starts_another_daemon_and_not_before(
    data_folder: DataFolder, work: Path
) -> None:
    async with data_folder.mcp(work) as agent:
        await agent.call_tool("search_code", {"query": "convert_unit_1"})
        with data_folder.lsp() as editor:
            await asyncio.to_thread(editor.start, work)
            stopped = await asyncio.to_thread(data_folder.run, "daemon", "stop")
            assert stopped.returncode == 0
            assert data_folder.daemons() == []
            assert data_folder.status()["running"] is False
            found = await agent.call_tool("search_code", {"query": "convert_unit_1"})
            assert found.structured_content["results"][0]["path"] == "unit1.py"
            assert await asyncio.to_thread(first_path, editor, "convert_unit_2") == "unit2.py"
            assert len(data_folder.daemons()) == 1
            assert await asyncio.to_thread(editor.stop) == 0


@pytest.mark.usefixtures("indexed")
def test_an_edit_that_comes_after_a_stop_is_made_once(data_folder: DataFolder, work: Path) -> None:
    with data_folder.lsp() as editor:
        editor.start(work)
        editor.notify("textDocument/didOpen", opened(work, "unit0.py", "# nothing\n"))
        editor.request("sidecar/getIndexStatus")
        assert data_folder.run("daemon", "stop").returncode == 0
        editor.notify("textDocument/didChange", edit(work, "unit0.py", 2, 0, "def typed_after_the_stop(): pass\n"))
        contents: list[str] = []

        def is_found() -> bool:
            """A search waits two seconds for the edit, which are not enough for a new daemon on a busy machine."""
            hits = request(editor, "sidecar/searchCode", {"query": "typed_after_the_stop"})["results"]
            contents[:] = [hit["content"] for hit in hits if "typed_after_the_stop" in hit["content"]]
            return bool(contents)

        assert eventually(is_found)
        assert [content.count("typed_after_the_stop") for content in contents] == [1]
        assert editor.stop() == 0


def test_an_editor_that_ends_after_a_stop_starts_no_daemon(data_folder: DataFolder, work: Path) -> None:
    with data_folder.lsp() as editor:
        editor.start(work)
        assert data_folder.run("daemon", "stop").returncode == 0
        assert editor.stop() == 0
    assert data_folder.processes() == {}


def test_a_stop_in_the_middle_of_a_build_answers_who_waits_for_it(data_folder: DataFolder, tmp_path: Path) -> None:
    work = write_workspace(tmp_path / "large", 1500)
    with data_folder.lsp(on_request=YES) as editor:
        editor.start(work)
        asked = editor.send_request("sidecar/createIndex", {})
        editor.expect_method("$/progress", lambda params: params["value"].get("kind") == "report")
        assert data_folder.run("daemon", "stop").returncode == 0
        with pytest.raises(Failed):
            editor.answer_to(asked)
        assert data_folder.daemons() == []
        assert editor.request("sidecar/getIndexStatus")["status"] != "ready"


@pytest.mark.usefixtures("indexed")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_the_daemon_survives_a_client_and_forgets_it(data_folder: DataFolder, work: Path, number: int) -> None:
    async with data_folder.mcp(work) as agent:
        with data_folder.lsp() as editor:
            await asyncio.to_thread(editor.start, work)
            pid = data_folder.pid()
            assert eventually(lambda: len(data_folder.status()["sessions"]) == 2)
            assert editor.process is not None
            os.kill(editor.process.pid, number)
            await asyncio.to_thread(editor.process.wait)
            assert await asyncio.to_thread(eventually, lambda: len(data_folder.status()["sessions"]) == 1)
        found = await agent.call_tool("search_code", {"query": "convert_unit_1"})
        assert not found.is_error
        assert data_folder.pid() == pid


def test_a_client_that_dies_in_mid_call_leaves_nothing_running(data_folder: DataFolder, tmp_path: Path) -> None:
    work = write_workspace(tmp_path / "large", 600)
    with data_folder.lsp(on_request=YES) as editor:
        editor.start(work)
        editor.send_request("sidecar/createIndex", {})
        editor.expect_method("$/progress", lambda params: params["value"].get("kind") == "report")
        assert editor.process is not None
        editor.process.kill()
    assert eventually(lambda: data_folder.status()["sessions"] == [])
    assert data_folder.run("index", cwd=work).returncode == 0


def test_the_pipe_ends_with_the_editor_though_others_hold_its_pipe(data_folder: DataFolder, work: Path) -> None:
    editor_process = os.fork()
    if editor_process == 0:
        signal.pause()
        os._exit(0)
    with data_folder.lsp() as editor:
        editor.start(work, processId=editor_process)
        os.kill(editor_process, signal.SIGKILL)
        os.waitpid(editor_process, 0)
        assert editor.wait() == 1
    assert eventually(lambda: data_folder.status()["sessions"] == [])


@pytest.mark.usefixtures("indexed")
def test_a_daemon_told_to_end_by_a_signal_leaves_nothing_behind(data_folder: DataFolder, work: Path) -> None:
    data_folder.run("daemon", "start")
    status = data_folder.status()
    os.kill(status["pid"], signal.SIGTERM)
    assert eventually(lambda: not alive(status["pid"]))
    assert not Path(status["socket"]).exists()
    assert eventually(lambda: data_folder.processes() == {})


def test_a_daemon_without_sessions_leaves_after_its_idle_time_and_not_before(
    data_folder: DataFolder, work: Path
) -> None:
    data_folder.env["SIDECAR_DAEMON_IDLE_MINUTES"] = "0.02"
    with data_folder.lsp() as editor:
        editor.start(work)
        pid = data_folder.pid()
        assert not eventually(lambda: not alive(pid), 3.0)
        assert editor.stop() == 0
    assert eventually(lambda: not alive(pid))
    assert "leaving: idle" in data_folder.run("daemon", "logs").stdout
