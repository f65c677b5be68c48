"""A daemon, two editors, an agent and a shell at once, where folders and callers are odd: real processes."""

from __future__ import annotations

import asyncio
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from tests.daemon.data_folder import HANDSHAKE, SIDECAR, DataFolder, eventually, write_workspace
from tests.daemon.terminal import CTRL_C, terminal
from tests.daemon.test_questions_over_doors import ASK, agent, editor, never_asked, no, silent, status_of, yes
from tests.surfaces.lsp_client import LspClient

ODD = "Ein Projekt, das ü heißt — 名前 $(x)"


@pytest.fixture
def odd(data_folder: DataFolder, tmp_path: Path) -> Path:
    """An indexed workspace with a name that shells and URIs have to quote; the daemon was started elsewhere."""
    work = write_workspace(tmp_path / "many of them" / ODD)
    (tmp_path / "elsewhere").mkdir()
    assert data_folder.run("daemon", "start", cwd=tmp_path / "elsewhere").returncode == 0
    assert data_folder.run("index", cwd=work).returncode == 0
    return work


def place(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stderr
    return str(json.loads(done.stdout)["projectPath"])


def is_ready(data_folder: DataFolder, work: Path) -> bool:
    return bool(json.loads(data_folder.run("status", "--json", cwd=work).stdout)["status"] == "ready")


def boxes(*clients: LspClient) -> list[int]:
    for client in clients:
        client.request("sidecar/activity", {})  # what was sent before has arrived
    return [len(client.all_of(ASK)) for client in clients]


async def test_everybody_means_the_same_odd_folder_and_one_no_is_a_no(
    data_folder: DataFolder, odd: Path, tmp_path: Path
) -> None:
    other = write_workspace(tmp_path / "other")
    (tmp_path / "link to it").symlink_to(odd)
    linked = {"PWD": str(tmp_path / "link to it")}
    careless = DataFolder(data_folder.home, SIDECAR_CONFIRM="never", SIDECAR_TOOLSETS="all")
    with (
        editor(data_folder, odd, silent, "Silent Editor") as first,
        editor(data_folder, tmp_path / "link to it", no, "Declining Editor") as second,
        editor(data_folder, other, yes, "Yes Editor") as third,
    ):
        assert place(data_folder.run("-w", ".", "status", "--json", cwd=tmp_path / "link to it", env=linked)) == str(
            odd
        )
        assert place(data_folder.run("-w", ODD, "status", "--json", cwd=odd.parent)) == str(odd)
        assert place(data_folder.run("-w", f"./{ODD}/", "status", "--json", cwd=odd.parent)) == str(odd)
        for session_at in (odd, tmp_path / "link to it", tmp_path / "elsewhere" / ".." / "link to it"):
            async with agent(careless, session_at, elicit=never_asked) as session:
                assert status_of(await session.call_tool("delete_index", {})) == "cancelled"
        assert boxes(first, second, third) == [3, 3, 0]
        assert eventually(lambda: len(first.all_of("$/cancelRequest")) == 3)
        assert is_ready(data_folder, odd)


def test_where_the_current_folder_is_gone_it_says_so(data_folder: DataFolder, odd: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    for words, status in (
        (("status",), 3), (("-w", ".", "status"), 3), (("search", "convert_unit_1"), 3), (("index",), 3),
        (("-w", str(odd), "status", "--json"), 0),
    ):  # fmt: skip
        gone.mkdir()
        script = 'cd "$1" && rmdir "$1" && shift && exec "$@"'
        done = data_folder.run("-c", script, "sh", str(gone), *SIDECAR, *words, program=("/bin/sh",))
        assert done.returncode == status, (words, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        assert status == 0 or "the current folder no longer exists" in done.stderr, done.stderr


@pytest.mark.parametrize("alone", [{}, {"CI": "1"}])
async def test_an_agent_whose_folder_is_gone_is_given_that_reason_and_not_another_folder(
    data_folder: DataFolder, odd: Path, tmp_path: Path, alone: dict[str, str]
) -> None:
    for words, expected in (((), "no longer exists"), (("-w", str(odd)), '"status":"ready"')):
        gone = tmp_path / "gone"
        gone.mkdir()
        script = 'cd "$1" && rmdir "$1" && shift && exec "$@"'
        started = ["-c", script, "sh", str(gone), *SIDECAR, "mcp", *words]
        server = StdioServerParameters(command="/bin/sh", args=started, env={**data_folder.env, **alone})
        async with Client(server, mode=HANDSHAKE) as session:
            result: Any = await session.call_tool("get_index_status", {})
        assert expected in result.content[0].text


def test_two_ctrl_c_leave_as_one_does(data_folder: DataFolder, odd: Path) -> None:
    with editor(data_folder, odd, silent) as client:
        with terminal(data_folder, odd, "delete") as shell:
            shell.shows("[y/N] ")
            shell.type(CTRL_C + CTRL_C)
            assert shell.ends() == 130, shell.text
            assert "Traceback" not in shell.text
        assert client.expect_method("sidecar/questionClosed")["reason"] == "cancelled"
    assert is_ready(data_folder, odd)


@pytest.mark.parametrize("words", [("delete",), ("delete", "-y"), ("reindex", "-y"), ("call", "delete_index", "-y")])
def test_yes_through_a_pipe_is_no_person(data_folder: DataFolder, odd: Path, words: tuple[str, ...]) -> None:
    with editor(data_folder, odd, no) as client:
        options: dict[str, Any] = {"input": "y\n" * 100, "capture_output": True, "text": True}
        done = subprocess.run([*SIDECAR, *words], check=False, cwd=odd, env=data_folder.env, **options)
        assert (done.returncode, boxes(client)) == (9, [1]), done.stderr
    assert is_ready(data_folder, odd)


async def test_an_agent_with_a_data_folder_of_its_own_reaches_no_index_of_the_person(
    data_folder: DataFolder, odd: Path, tmp_path: Path
) -> None:
    """Its settings say that nobody need be asked: they are those of another data folder, with other indexes."""
    own = DataFolder(tmp_path / "agents own")
    own.home.mkdir()
    (own.home / "config.json").write_text(json.dumps({"confirm": "never"}))
    try:
        with editor(data_folder, odd, no) as client:
            async with agent(own, odd, elicit=never_asked) as session:
                gone: Any = await session.call_tool("delete_index", {})
                assert gone.is_error
                assert "INDEX_NOT_FOUND" in gone.content[0].text
            assert boxes(client) == [0]
        assert is_ready(data_folder, odd)
    finally:
        await asyncio.to_thread(own.clear)
