"""`--toolsets` and SIDECAR_TOOLSETS on every door: what is offered, what is refused, and that the refusal says what to
do."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from sidecar.errors import InvalidParams, UnknownTool
from sidecar.surfaces.cli.main import main
from sidecar.tools.assemble import make_service
from sidecar.tools.registry import TOOLSETS, tools_of
from sidecar.tools.service import Service
from tests.fakes import FakeWorkspaces
from tests.patience import PATIENCE_S
from tests.surfaces.http_client import Served, environment
from tests.surfaces.lsp_client import Failed, LspClient

MEMORY = {tool.name for tool in TOOLSETS["memory"]}


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def offered(env: dict[str, str], **options: Any) -> set[str]:
    service = make_service(env=env, **options)
    service.close()
    return {tool.name for tool in service.tools}


def test_a_flag_beats_the_environment_and_that_the_users_file_and_code_is_what_nobody_said(tmp_path: Path) -> None:
    env = {"SIDECAR_HOME": str(tmp_path)}
    assert offered(env) == {tool.name for tool in TOOLSETS["code"]}
    assert offered(env, unset_toolsets="all") == {tool.name for tool in tools_of("all")}
    (tmp_path / "config.json").write_text('{"toolsets": "semantic"}')
    assert offered(env, unset_toolsets="all") == {tool.name for tool in tools_of("semantic")}
    env["SIDECAR_TOOLSETS"] = " Memory , "
    assert offered(env) == MEMORY
    service = make_service(env=env, flags={"toolsets": "code"})
    service.close()
    assert {tool.name for tool in service.tools} == offered({"SIDECAR_HOME": str(tmp_path / "other")})


def test_an_editor_or_a_workspace_does_not_choose(tmp_path: Path) -> None:
    service = make_service(env={"SIDECAR_HOME": str(tmp_path)}, editor={"toolsets": "all"})
    service.close()
    assert not MEMORY & {tool.name for tool in service.tools}


@pytest.mark.parametrize(
    ("names", "advice"),
    [("memry", "memory"), ("zzz", "code, documents, document-lists, inline, memory, overview, semantic, all")],
)
def test_an_unknown_toolset_is_refused_and_the_known_ones_named(tmp_path: Path, names: str, advice: str) -> None:
    with pytest.raises(InvalidParams, match=advice):
        make_service(env={"SIDECAR_HOME": str(tmp_path), "SIDECAR_TOOLSETS": names})


def test_a_tool_of_a_toolset_that_is_not_enabled_says_how_to_enable_it() -> None:
    with pytest.raises(UnknownTool, match=r"belongs to the toolset memory.*--toolsets"):
        Service(FakeWorkspaces(), tools=tools_of("code")).tool("memory_search")


@pytest.mark.process
def test_the_shell_has_every_tool_unless_it_is_told_otherwise(work: Path, tmp_path: Path) -> None:
    def call(*words: str, **more: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "sidecar", "call", "memory_list", "--json", *words]
        done = subprocess.run(
            command, cwd=work, env=environment(tmp_path / "home", **more), capture_output=True, text=True,
            timeout=PATIENCE_S, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout or json.loads(done.stderr)["error"]["code"]

    assert json.loads(call()[1])["success"] is True
    assert call("--toolsets", "code") == (2, "UNKNOWN_TOOL")
    assert call(SIDECAR_TOOLSETS="inline") == (2, "UNKNOWN_TOOL")
    assert call("--toolsets", "all", SIDECAR_TOOLSETS="inline")[0] == 0


def test_a_wrong_toolset_on_the_command_line_is_refused(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--toolsets", "tools", "-w", str(work)]) == 2
    assert "There is no toolset" in capsys.readouterr().err


@pytest.mark.process
def test_an_editor_has_every_tool_whatever_the_setting_offers_agents(work: Path, tmp_path: Path) -> None:
    command = (sys.executable, "-m", "sidecar", "--stdio", "--standalone")
    with LspClient(command, env=environment(tmp_path / "home", SIDECAR_TOOLSETS="memory, nonsense")) as editor:
        editor.start(work)
        assert editor.request("sidecar/getIndexStatus", {})["status"] == "not_found"


@pytest.mark.process
async def test_an_agent_is_listed_what_was_asked_for(work: Path, tmp_path: Path) -> None:
    async def listed(*words: str, **more: str) -> set[str]:
        arguments = ["-m", "sidecar", "mcp", "--workspace", str(work), *words]
        program = StdioServerParameters(
            command=sys.executable, args=arguments, env=environment(tmp_path / "home", **more)
        )
        async with Client(program) as client:
            return {tool.name for tool in (await client.list_tools()).tools}

    assert await listed() == {tool.name for tool in TOOLSETS["code"]}
    assert await listed("--toolsets", "memory", SIDECAR_TOOLSETS="all") == MEMORY


@pytest.mark.process
async def test_a_script_is_served_what_was_asked_for_by_rest_and_by_mcp(work: Path, tmp_path: Path) -> None:
    def by_rest() -> tuple[set[str], set[str]]:
        with Served(work, environment(tmp_path / "home", SIDECAR_TOOLSETS="memory")) as served:
            tools = {tool["name"] for tool in served.get("/tools").json["tools"]}
            paths = set(served.get("/openapi.json").json["paths"])
            assert served.post("search_code", {"query": "x"}).status == 404
            return tools, paths

    tools, paths = await asyncio.to_thread(by_rest)
    assert tools == MEMORY
    assert {"/search", "/fulltext", "/tools/memory_save"} <= paths
    assert "/code/search" not in paths


@pytest.mark.process
def test_an_editor_may_call_every_tool_unless_it_was_told_otherwise(work: Path, tmp_path: Path) -> None:
    def listing(*words: str) -> object:
        command = [sys.executable, "-m", "sidecar", "--stdio", *words]
        with LspClient(command, env=environment(tmp_path / "home")) as client:
            client.start(work)
            try:
                return client.request("sidecar/memoryList", {})["success"]
            except Failed as failed:
                return failed.number
            finally:
                client.stop()

    assert listing() is True
    assert listing("--toolsets", "code") is not True
