"""Several clients of every kind on one workspace, through one daemon."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.daemon.data_folder import HANDSHAKE, STATELESS, DataFolder, eventually, write_workspace
from tests.surfaces.http_client import Served
from tests.surfaces.lsp_client import LspClient

YES = {"window/showMessageRequest": lambda params: params["actions"][0]}


def first_path(client: LspClient, query: str) -> str:
    path = client.request("sidecar/searchCode", {"query": query})["results"][0]["path"]
    assert isinstance(path, str)
    return path


async def test_two_editors_two_agents_and_a_shell_work_on_one_index(data_folder: DataFolder, work: Path) -> None:
    with data_folder.lsp(on_request=YES) as one, data_folder.lsp(on_request=YES) as other:
        await asyncio.to_thread(one.start, work)
        await asyncio.to_thread(other.start, work)
        async with data_folder.mcp(work, HANDSHAKE) as agent, data_folder.mcp(work, STATELESS) as second:
            made = await asyncio.to_thread(one.request, "sidecar/createIndex", {})
            assert made["status"] == "created"
            for client in (one, other):
                assert await asyncio.to_thread(first_path, client, "convert_unit_1") == "unit1.py"
            for session in (agent, second):
                result = await session.call_tool("search_code", {"query": "convert_unit_2"})
                assert result.structured_content["results"][0]["path"] == "unit2.py"
            shell = await asyncio.to_thread(data_folder.run, "search", "convert_unit_0", "--json", cwd=work)
            assert json.loads(shell.stdout)["results"][0]["path"] == "unit0.py"
            status = data_folder.status()
            assert sorted(session["kind"] for session in status["sessions"]) == ["lsp", "lsp", "mcp", "mcp"]
            assert len(data_folder.daemons()) == 1
        assert await asyncio.to_thread(one.stop) == 0
        assert await asyncio.to_thread(other.stop) == 0


def test_what_one_door_writes_every_other_finds(data_folder: DataFolder, work: Path) -> None:
    with data_folder.lsp(on_request=YES) as editor:
        editor.start(work)
        editor.request("sidecar/createIndex", {})
        (work / "fresh.py").write_text("def brand_new_function():\n    return 1\n")
        assert data_folder.run("index", cwd=work).returncode == 0
        assert first_path(editor, "brand_new_function") == "fresh.py"


def test_what_a_shell_has_indexed_is_shown_in_the_editor_as_it_goes(data_folder: DataFolder, tmp_path: Path) -> None:
    work = write_workspace(tmp_path / "large", 300)
    with data_folder.lsp(on_request=YES) as editor:
        editor.start(work)
        assert data_folder.run("index", cwd=work).returncode == 0
        begun = editor.expect_method("$/progress", lambda params: params["value"]["kind"] == "begin")
        assert "index" in begun["value"]["title"]
        editor.expect_method("$/progress", lambda params: params["value"]["kind"] == "end")
        editor.expect_method("sidecar/status", lambda params: params.get("totalFiles") == 300)


def test_unsaved_text_of_an_editor_is_found_from_the_shell(data_folder: DataFolder, work: Path) -> None:
    with data_folder.lsp(on_request=YES) as editor:
        editor.start(work)
        editor.request("sidecar/createIndex", {})
        text = "def only_in_the_buffer():\n    return 1\n"
        document = {"uri": (work / "unit0.py").as_uri(), "languageId": "python", "version": 1, "text": text}
        editor.notify("textDocument/didOpen", {"textDocument": document})
        assert first_path(editor, "only_in_the_buffer") == "unit0.py"
        assert "only_in_the_buffer" in data_folder.run("search", "only_in_the_buffer", cwd=work).stdout


@pytest.mark.usefixtures("indexed")
def test_a_script_is_served_by_the_daemon_and_outlives_it(data_folder: DataFolder, work: Path) -> None:
    with Served(work, data_folder.env) as served:
        assert [one["kind"] for one in data_folder.status()["sessions"]] == ["rest"]
        assert served.get("/status").json["status"] == "ready"
        data_folder.kill()
        assert served.post("search_code", {"query": "convert_unit_1"}).json["results"][0]["path"] == "unit1.py"
        assert data_folder.run("daemon", "stop").returncode == 0
        assert served.post("search_code", {"query": "convert_unit_2"}).json["results"][0]["path"] == "unit2.py"
        assert served.end() == (0, "")
    assert eventually(lambda: data_folder.status()["sessions"] == [])


@pytest.mark.parametrize("variable", ["CI", "--standalone"])
def test_with_ci_or_standalone_no_daemon_is_left_behind(data_folder: DataFolder, work: Path, variable: str) -> None:
    env = {"CI": "true"} if variable == "CI" else {}
    words = [] if variable == "CI" else ["--standalone"]
    done = data_folder.run("mcp", *words, env=env, cwd=work)
    assert done.returncode == 0
    assert data_folder.run("--stdio", *words, env=env, cwd=work).returncode == 1
    assert data_folder.run("index", *words, env=env, cwd=work).returncode == 0
    assert data_folder.processes() == {}
