"""The meaning of a caller's path, and what an agent may have indexed, at a daemon that was started elsewhere."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.types import ElicitResult, ListRootsResult, Root

from tests.daemon.data_folder import HANDSHAKE, SIDECAR, STATELESS, DataFolder, write_workspace

PATTERNS: dict[str, Any] = {"patterns": ["unit1.py"]}


@pytest.fixture
def there(data_folder: DataFolder, tmp_path: Path) -> DataFolder:
    """Returns a data folder whose daemon was started in another folder than any caller's."""
    (tmp_path / "other").mkdir()
    assert data_folder.run("daemon", "start", cwd=tmp_path / "other").returncode == 0
    return data_folder


def place_of(status: str) -> str:
    """The workspace that a status or an index names."""
    return str(json.loads(status)["projectPath"])


@pytest.mark.parametrize("command", ["status", "index"])
@pytest.mark.parametrize("daemon", [True, False])
def test_a_relative_workspace_is_the_callers(
    data_folder: DataFolder, tmp_path: Path, command: str, daemon: bool
) -> None:
    work = write_workspace(tmp_path / "home" / "work")
    (work / "deep" / "er").mkdir(parents=True)
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "link").symlink_to(work / "deep")
    if daemon:
        data_folder.run("daemon", "start", cwd=tmp_path)
    callers = [(work.parent, "work"), (work, "."), (work / "deep", ".."), (tmp_path, "./home/../home/work")]
    callers += [(tmp_path / "far", "link/.."), (tmp_path, "~/work"), (tmp_path, str(work))]
    for here, written in callers:
        done = data_folder.run("-w", written, command, "--json", cwd=here, env={"HOME": str(tmp_path / "home")})
        assert (done.returncode, written) == (0, written), done.stderr
        assert place_of(done.stdout) == str(work), (here, written)


def test_index_names_its_workspace_in_text_too(there: DataFolder, work: Path) -> None:
    assert there.run("-w", work.name, "index", cwd=work.parent).stdout.startswith(f"workspace {work}\n3 files")


def test_a_folder_that_the_caller_does_not_have_is_not_found_in_the_daemons(there: DataFolder, work: Path) -> None:
    assert (there.home / "logs").is_dir()
    done = there.run("-w", "logs", "status", cwd=work)
    assert done.returncode == 3
    assert f"{work}/logs" in done.stderr


@pytest.mark.parametrize("written", ["", "indexes", "run/../indexes"])
def test_our_own_data_is_no_workspace_at_any_door(there: DataFolder, work: Path, written: str) -> None:
    assert there.run("index", cwd=work).returncode == 0
    for words in (("index",), ("status",), ("--standalone", "search", "x"), ("serve",)):
        done = there.run("-w", f"./{written}", *words, cwd=there.home)
        assert (done.returncode, words) == (3, words), done.stderr
        assert "belongs to sidecar's own data" in done.stderr
    elsewhere = there.run("-w", str(there.home / written), "status", env={"SIDECAR_HOME": str(work / "another")})
    assert "belongs to sidecar's own data" in elsewhere.stderr


def test_an_empty_workspace_is_refused(there: DataFolder, work: Path) -> None:
    done = there.run("-w", "", "status", cwd=work)
    assert done.returncode == 2
    assert "--workspace is empty" in done.stderr


def test_a_relative_model_folder_is_the_callers(there: DataFolder, work: Path) -> None:
    (there.home / "mine").mkdir()  # the daemon works in the data folder
    assert there.run("index", cwd=work).returncode == 0
    named = {"SIDECAR_MODEL": "./mine"}
    assert '"model": "./mine",' in there.run("config", "--json", cwd=work, env=named).stdout
    (work / "mine").mkdir()
    assert f'"model": "{work}/./mine",' in there.run("config", "--json", cwd=work, env=named).stdout


class AnyRoot(Root):
    """A root whose URI is sent unchanged, valid or not."""

    uri: Any


class AnyRoots(ListRootsResult):
    """An answer with such roots."""

    roots: list[Any]


async def test_an_agents_roots_and_options_are_its_own(there: DataFolder, work: Path, tmp_path: Path) -> None:
    async def roots(ctx: Any) -> ListRootsResult:
        wanted: list[Any] = ["file:indexes", "file://./indexes", f"file://elsewhere{there.home}", work.as_uri()]
        return AnyRoots(roots=[AnyRoot(uri=uri) for uri in wanted])

    (there.home / "indexes").mkdir(exist_ok=True)
    starts: list[tuple[list[str], dict[str, Any]]] = [
        (["--workspace", work.name], {}),
        (["--workspace", f"../{work.parent.name}/{work.name}"], {}),
        ([], {"list_roots_callback": roots}),
    ]
    for words, more in starts:
        server = StdioServerParameters(
            command=SIDECAR[0], args=[*SIDECAR[1:], "mcp", *words], env=there.env, cwd=work.parent
        )
        async with Client(server, mode=HANDSHAKE, **more) as session:
            result = await session.call_tool("get_index_status", {})
        assert result.structured_content is not None, result.content
        assert result.structured_content["projectPath"] == str(work)


@pytest.mark.parametrize("era", [HANDSHAKE, STATELESS])
@pytest.mark.parametrize("confirmed", [True, False])
async def test_search_index_asks_the_person_of_the_agent(
    there: DataFolder, work: Path, era: str, confirmed: bool
) -> None:
    asked: list[str] = []

    async def answer(ctx: Any, params: Any) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"confirm": confirmed})

    there.env["SIDECAR_TOOLSETS"] = "all"
    async with there.mcp(work, era, elicitation_callback=answer) as session:
        for _ in range(2 if confirmed else 1):
            result = await session.call_tool("search_index", PATTERNS)
            assert result.structured_content is not None, result.content
            assert result.structured_content["status"] == ("indexed" if confirmed else "cancelled")
    assert len(asked) == 1
    assert "to create a search index for a part of" in asked[0]
    assert 'What "unit1.py" names is read' in asked[0]
    status = json.loads(there.run("status", "--json", cwd=work).stdout)
    assert status["status"] == ("ready" if confirmed else "not_found")
    assert status.get("patterns") == (["unit1.py"] if confirmed else None)


async def test_whoever_declines_to_create_the_index_gets_none_by_patterns(there: DataFolder, work: Path) -> None:
    there.env |= {"SIDECAR_CONFIRM": "always", "SIDECAR_TOOLSETS": "all"}
    async with there.mcp(work) as session:
        refused: list[tuple[str, dict[str, Any]]] = [("create_index", {}), ("search_index", PATTERNS)]
        for tool, arguments in (*refused, ("search_index", {**PATTERNS, "query": None})):
            result = await session.call_tool(tool, arguments)
            assert result.structured_content is not None, result.content
            assert result.structured_content["status"] == "cancelled"
            assert "Nobody could be asked" in result.structured_content["message"]
    by_shell = there.run("search", "index", "unit1.py", cwd=work)
    assert by_shell.returncode == 9
    assert json.loads(there.run("status", "--json", cwd=work).stdout)["status"] == "not_found"


async def test_an_agent_and_a_shell_see_the_same_limit_and_a_restart_keeps_it(
    there: DataFolder, work: Path, tmp_path: Path
) -> None:
    there.env["SIDECAR_TOOLSETS"] = "all"
    async with there.mcp(work) as session:
        await session.call_tool("search_index", PATTERNS)
        found = there.run("search", "-m", "fts", "convert_unit_2", cwd=work)
        assert "unit2.py" not in found.stdout
        assert "Only unit1.py is indexed; `sidecar index` indexes the whole workspace." in found.stderr
        there.kill()
        shutil.rmtree(work)
        write_workspace(work)
        assert "Only unit1.py is indexed" in there.run("search", "-m", "fts", "convert_unit_2", cwd=work).stderr
        result = await session.call_tool("reindex_project", {})
        assert result.structured_content is not None, result.content
        assert result.structured_content["stats"]["filesIndexed"] == 1
        status = there.run("status", cwd=work).stdout
        assert "patterns   unit1.py\n" in status
        assert "files      1 (0 of documentation)\n" in status
        config = there.run("config", cwd=work).stdout
        assert "chunkingStrategy when the index is rebuilt (`sidecar reindex`)" in config
        explained = there.run("explain", "unit2.py", cwd=work).stdout
        assert "not-in-patterns (only unit1.py is indexed; `sidecar index` indexes the whole workspace)" in explained
        assert "It was limited to unit1.py until now." in there.run("index", cwd=work).stderr
        result = await session.call_tool("search_code", {"query": "convert_unit_2", "mode": "fts"})
        assert result.structured_content is not None, result.content
        assert result.structured_content["results"][0]["path"] == "unit2.py"
        assert "notice" not in result.structured_content


def test_an_index_that_is_limited_is_made_whole_by_reindex_only_when_that_is_said(
    there: DataFolder, work: Path
) -> None:
    there.run("search", "index", "unit1.py", cwd=work)
    assert "reindexed: 1 file," in there.run("reindex", cwd=work).stdout
    assert "reindexed: 3 files" in there.run("reindex", "--whole", cwd=work).stdout
    assert "patterns" not in json.loads(there.run("status", "--json", cwd=work).stdout)
