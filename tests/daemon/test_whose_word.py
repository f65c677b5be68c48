"""Whose setting counts when a tool asks: an editor's and the user's, not that of a calling agent's environment."""

from __future__ import annotations

import contextlib
import json
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sidecar.engine.index.layout import IndexLayout
from tests.daemon.data_folder import HANDSHAKE, SIDECAR, STATELESS, DataFolder
from tests.daemon.terminal import terminal
from tests.daemon.test_questions_over_doors import ASK, agent, editor, never_asked, no, silent, status_of, yes
from tests.patience import PATIENCE_S
from tests.surfaces.lsp_client import LspClient

NEVER = {"SIDECAR_CONFIRM": "never"}


def user_says(data_folder: DataFolder, word: str) -> None:
    (data_folder.home / "config.json").write_text(json.dumps({"confirm": word}))


def is_indexed(data_folder: DataFolder, work: Path) -> bool:
    return data_folder.run("search", "convert_unit_1", cwd=work).returncode == 0


def questions(client: LspClient) -> list[str]:
    client.request("sidecar/activity", {})  # what was sent before has arrived
    return [params["message"] for params in client.all_of(ASK)]


@pytest.fixture
def headless_agent(indexed: DataFolder) -> DataFolder:
    """Configures an agent so that nobody would be asked."""
    return DataFolder(indexed.home, **NEVER)


@pytest.mark.parametrize("era", [HANDSHAKE, STATELESS])
@pytest.mark.parametrize("tool", ["delete_index", "reindex_project"])
async def test_an_agents_environment_does_not_keep_an_editor_from_being_asked(
    indexed: DataFolder, headless_agent: DataFolder, work: Path, era: str, tool: str
) -> None:
    with editor(indexed, work, no) as client:
        async with agent(headless_agent, work, era, never_asked) as session:
            assert status_of(await session.call_tool(tool, {})) == "cancelled"
        assert len(questions(client)) == 1
    assert is_indexed(indexed, work)


@pytest.mark.parametrize("word", ["auto", "never"])
async def test_with_nobody_to_ask_the_users_own_settings_decide_and_not_the_agents_environment(
    indexed: DataFolder, headless_agent: DataFolder, work: Path, word: str
) -> None:
    user_says(indexed, word)
    async with agent(headless_agent, work) as session:
        becomes = "deleted" if word == "never" else "cancelled"
        assert status_of(await session.call_tool("delete_index", {})) == becomes


async def test_an_agents_environment_may_make_it_stricter(indexed: DataFolder, work: Path) -> None:
    strict = DataFolder(indexed.home, SIDECAR_CONFIRM="always")
    user_says(indexed, "never")
    async with agent(strict, work) as session:
        assert status_of(await session.call_tool("reindex_project", {})) == "cancelled"


def test_a_scripts_environment_counts_as_little_as_an_agents(indexed: DataFolder, work: Path) -> None:
    serving = DataFolder(indexed.home, **NEVER)
    with editor(indexed, work, no) as client, served(serving, work) as post:
        assert post("delete_index")["status"] == "cancelled"
        assert len(questions(client)) == 1
    assert is_indexed(indexed, work)


@pytest.mark.parametrize("words", [("delete",), ("delete", "-y"), ("reindex", "-y"), ("call", "delete_index", "-y")])
def test_a_shell_without_a_terminal_asks_the_editor_whatever_it_claims(
    indexed: DataFolder, work: Path, words: tuple[str, ...]
) -> None:
    with editor(indexed, work, no) as client:
        done = indexed.run(*words, cwd=work, env=NEVER)
        assert (done.returncode, len(questions(client))) == (9, 1)
    assert is_indexed(indexed, work)


@pytest.mark.parametrize("ci", ["", "1"])
@pytest.mark.parametrize(("words", "env"), [(("delete", "-y"), {}), (("delete",), NEVER)])
def test_a_script_without_a_person_deletes_when_it_says_so(
    indexed: DataFolder, work: Path, words: tuple[str, ...], env: dict[str, str], ci: str
) -> None:
    assert indexed.run(*words, cwd=work, env={**env, "CI": ci}).returncode == 0
    assert not is_indexed(indexed, work)


def test_a_script_without_a_person_deletes_nothing_if_the_user_is_always_to_be_asked(
    indexed: DataFolder, work: Path
) -> None:
    user_says(indexed, "always")
    indexed.run("daemon", "start")
    for env in ({}, {"CI": "1"}):
        done = indexed.run("delete", "-y", cwd=work, env={**NEVER, **env})
        assert done.returncode == 9
        assert "Nobody could be asked" in done.stdout
    assert is_indexed(indexed, work)


@pytest.mark.parametrize("word", ["auto", "always"])
def test_yes_typed_in_a_terminal_is_a_persons_answer(indexed: DataFolder, work: Path, word: str) -> None:
    user_says(indexed, word)
    with editor(indexed, work, silent) as client:
        with terminal(indexed, work, "delete", "-y") as shell:
            assert shell.ends() == 0, shell.text
        assert questions(client) == []
    assert not is_indexed(indexed, work)


async def test_the_strictest_of_the_attached_counts(data_folder: DataFolder, work: Path) -> None:
    """With `always`, nothing is made if the person does not answer, while `auto` would go on."""
    strict = DataFolder(data_folder.home, SIDECAR_CONFIRM="always")
    with editor(strict, work, no), editor(DataFolder(data_folder.home, **NEVER), work, silent) as careless:
        done = data_folder.run("index", cwd=work)
        assert done.returncode == 9
        assert len(questions(careless)) == 1
    assert not is_indexed(data_folder, work)


def test_index_asks_where_the_user_is_always_to_be_asked(data_folder: DataFolder, work: Path) -> None:
    user_says(data_folder, "always")
    for started in (False, True):
        if started:
            data_folder.run("daemon", "start")
        done = data_folder.run("index", cwd=work)
        assert (done.returncode, "No index was created" in done.stdout) == (9, True)
        assert not is_indexed(data_folder, work)
        with terminal(data_folder, work, "index") as shell:
            assert "Create a search index for" in shell.shows("[y/N] ")
            shell.type("n\n")
            assert shell.ends() == 9
    with terminal(data_folder, work, "index", "-y") as shell:
        assert shell.ends() == 0, shell.text
    assert is_indexed(data_folder, work)
    (work / "unit1.py").write_text("def convert_unit_17(value):\n    return value\n")
    assert data_folder.run("index", cwd=work).returncode == 0, "what only brings an index up to date asks nobody"


@pytest.mark.parametrize("name", [".sidecar/config", ".sidecar/config.json", "config.json", ".sidecar.json"])
async def test_nothing_in_a_workspace_says_who_is_asked(indexed: DataFolder, work: Path, name: str) -> None:
    (work / name).parent.mkdir(exist_ok=True)
    (work / name).write_text(json.dumps({"confirm": "never"}))
    with editor(indexed, work, no) as client:
        async with agent(indexed, work, HANDSHAKE, never_asked) as session:
            assert status_of(await session.call_tool("delete_index", {})) == "cancelled"
        assert len(questions(client)) == 1


@pytest.mark.parametrize(("word", "becomes"), [("never", "reindexed"), ("always", "cancelled")])
async def test_an_indexs_settings_and_an_editors_may_only_make_it_stricter(
    indexed: DataFolder, work: Path, word: str, becomes: str
) -> None:
    config = IndexLayout(indexed.home, str(work)).config
    config.write_text(json.dumps({"confirm": word}))
    async with agent(indexed, work) as session:
        assert status_of(await session.call_tool("reindex_project", {})) == becomes
        assert status_of(await session.call_tool("delete_index", {})) == "cancelled"


def test_an_editors_settings_may_make_it_stricter_and_not_looser(indexed: DataFolder, work: Path) -> None:
    with indexed.lsp(on_request={ASK: yes}) as client:
        client.start(work, initializationOptions={"confirm": "never"})
        assert client.request("sidecar/reindexProject", {})["status"] == "reindexed"
        assert len(questions(client)) == 1
    with indexed.lsp() as client:
        client.start(work, initializationOptions={"confirm": "always"}, capabilities={})
        assert client.request("sidecar/reindexProject", {})["status"] == "cancelled"


@contextlib.contextmanager
def served(folder: DataFolder, work: Path) -> Iterator[Callable[[str], dict[str, Any]]]:
    """Yields a function that calls a tool through a script's door."""
    command = [*SIDECAR, "serve", "--json", "-w", str(work)]
    with subprocess.Popen(command, env=folder.env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        answer = json.loads(process.stdout.readline())
        token = Path(answer["tokenFile"]).read_text().strip()

        def post(tool: str) -> dict[str, Any]:
            headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
            request = urllib.request.Request(f"{answer['url']}/tools/{tool}", b"{}", headers)
            with urllib.request.urlopen(request, timeout=PATIENCE_S) as response:
                return dict(json.load(response))

        yield post
        process.terminate()
