"""One daemon, a person's two editors, two agents and a shell, all at once and with real processes."""

from __future__ import annotations

import asyncio
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sidecar.shown import quoted
from tests.daemon.data_folder import HANDSHAKE, STATELESS, DataFolder, eventually, write_workspace
from tests.daemon.terminal import CTRL_C, terminal
from tests.daemon.test_questions_over_doors import ASK, agent, editor, never_asked, no, silent, status_of, yes
from tests.surfaces.lsp_client import LspClient

PATTERNS: dict[str, Any] = {"patterns": ["unit1.py"]}
LIMITED = "Only unit1.py is indexed; `sidecar index` indexes the whole workspace."


class Afternoon:
    """`mine` is the editor in the project. `other` is the editor in another folder, where the shell is used too."""

    def __init__(self, folder: DataFolder, work: Path, elsewhere: Path, mine: LspClient, other: LspClient) -> None:
        self.work, self.mine, self.other = work, mine, other
        self._folder, self._elsewhere = folder, elsewhere

    def shell(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Runs a command on the project, named by its path relative to the other folder."""
        return self._folder.run("-w", self._relative, *words, cwd=self._elsewhere)

    def terminal(self, *words: str) -> Any:
        return terminal(self._folder, self._elsewhere, "-w", self._relative, *words)

    def asked(self) -> list[str]:
        """Returns the questions that the project's editor got so far; the other editor must have got none."""
        for client in (self.mine, self.other):
            client.request("sidecar/activity", {})  # what was sent before has arrived
        assert self.other.all_of(ASK) == []
        return [box["message"].partition(" wants to ")[2] for box in self.mine.all_of(ASK)]

    def answers(self, answer: Callable[[Any], Any]) -> None:
        self.mine.on_request[ASK] = answer

    @property
    def _relative(self) -> str:
        return f"../{self.work.name}"


async def test_the_relative_path_the_question_the_agents_environment_and_the_silent_terminal_at_once(
    data_folder: DataFolder, work: Path, tmp_path: Path
) -> None:
    elsewhere = write_workspace(work.parent / "elsewhere")
    (data_folder.home / "config.json").write_text(json.dumps({"confirm": "always"}))
    assert data_folder.run("daemon", "start", cwd=tmp_path).returncode == 0
    daemon = data_folder.pid()
    careless = DataFolder(data_folder.home, SIDECAR_CONFIRM="never", SIDECAR_TOOLSETS="all")
    with editor(data_folder, elsewhere, silent, "Elsewhere") as other, editor(data_folder, work, no) as mine:
        async with (
            agent(careless, work, HANDSHAKE, never_asked) as first,
            agent(careless, work, STATELESS, never_asked) as second,
        ):
            afternoon = Afternoon(data_folder, work, elsewhere, mine, other)
            await _nobody_indexes_after_a_no(afternoon, first, second)
            await _what_was_allowed_in_part_stays_in_part(afternoon, first, second)
            await _one_ctrl_c_leaves_the_shell_and_not_the_agents(afternoon, first, second)
            assert data_folder.pid() == daemon


async def _nobody_indexes_after_a_no(afternoon: Afternoon, *agents: Any) -> None:
    refused = afternoon.shell("index")
    assert (refused.returncode, "The answer was no" in refused.stdout) == (9, True)
    for session in agents:
        for tool, arguments in (("search_index", PATTERNS), ("create_index", {})):
            assert await _called(session, tool, arguments) == "cancelled"
    assert len(afternoon.asked()) == 5
    answer = json.loads(afternoon.shell("status", "--json").stdout)
    assert (answer["projectPath"], answer["status"]) == (str(afternoon.work), "not_found")


async def _what_was_allowed_in_part_stays_in_part(afternoon: Afternoon, first: Any, second: Any) -> None:
    afternoon.answers(yes)
    assert await _called(first, "search_index", PATTERNS) == "indexed"
    assert afternoon.asked()[-1].startswith(f"create a search index for a part of {quoted(str(afternoon.work))}")
    found = await second.call_tool("search_code", {"query": "convert_unit_2", "mode": "fts"})
    limited = "Only unit1.py is indexed; create_index indexes the whole workspace."
    assert found.structured_content["notice"].startswith(limited)
    assert LIMITED in afternoon.shell("search", "convert_unit_2").stderr
    assert afternoon.shell("status").stdout.count(LIMITED) == 1
    assert "`sidecar index` indexes the whole workspace" in afternoon.shell("explain", "unit2.py").stdout
    afternoon.answers(no)
    assert afternoon.shell("index").returncode == 9
    assert LIMITED in afternoon.shell("search", "convert_unit_2").stderr
    afternoon.answers(yes)
    whole = afternoon.shell("index")
    assert whole.stdout.startswith(f"workspace {afternoon.work}\n3 files")
    assert "unit2.py" in afternoon.shell("search", "-m", "fts", "convert_unit_2").stdout


async def _one_ctrl_c_leaves_the_shell_and_not_the_agents(afternoon: Afternoon, first: Any, second: Any) -> None:
    afternoon.answers(silent)
    before = len(afternoon.asked())
    with afternoon.terminal("delete") as shell:
        assert 'Waiting for an answer in "Test Editor", Ctrl-C to leave, or answer here.' in shell.shows("[y/N] ")
        await _asked_in_all(afternoon, before + 1)
        waiting = asyncio.ensure_future(_called(first, "delete_index", {}))
        await _asked_in_all(afternoon, before + 2)
        shell.type(CTRL_C)
        assert shell.ends() == 130
        assert "The question is withdrawn, and nothing has changed." in shell.text
    assert (await asyncio.to_thread(afternoon.mine.expect_method, "sidecar/questionClosed"))["reason"] == "cancelled"
    assert not waiting.done()
    afternoon.answers(no)
    assert await _called(second, "reindex_project", {}) == "cancelled"
    waiting.cancel()
    assert json.loads(afternoon.shell("status", "--json").stdout)["status"] == "ready"


async def _asked_in_all(afternoon: Afternoon, number: int) -> None:
    assert await asyncio.to_thread(eventually, lambda: len(afternoon.asked()) == number)


async def _called(session: Any, tool: str, arguments: dict[str, Any]) -> str:
    return status_of(await session.call_tool(tool, arguments))
