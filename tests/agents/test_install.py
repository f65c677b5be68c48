"""`sidecar install`: what it shows, asks, writes, keeps and takes out again, on real files in a temporary home."""

from __future__ import annotations

import io
import json
import os
import stat
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sidecar.agents.catalog import AGENTS
from sidecar.agents.machine import Machine
from sidecar.agents.program import Installation
from sidecar.agents.record import WriteRecord
from sidecar.errors import ConfigInvalid, InvalidParams, PermissionDenied
from sidecar.surfaces.cli.install import Circumstances, run_install
from sidecar.surfaces.cli.options import parse
from sidecar.surfaces.cli.session import CliSession, Reply, Tools
from sidecar.tools.service import Service

WITH_FILE = [agent.id for agent in AGENTS if agent.user is not None]
WITH_PROJECT = [agent.id for agent in AGENTS if agent.project is not None]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Ran(NamedTuple):
    status: int
    out: str
    err: str


class Home:
    """Returns a home and a project in it, with `sidecar` on the PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.project = folder / "project"
        self.project.mkdir()
        launcher = folder / "bin" / "sidecar"
        launcher.parent.mkdir()
        launcher.write_text("#!/bin/sh\n")
        launcher.chmod(0o755)
        self.launcher = launcher

    def install(
        self, *words: str, answer: str | None = None, path: bool = True, stdin: io.StringIO | None = None
    ) -> Ran:
        """Runs the command; `answer` is what is typed in a terminal, None for no terminal."""
        stdin = stdin or (io.StringIO() if answer is None else Terminal(answer))
        out, err = io.StringIO(), io.StringIO()
        environment = {"PATH": str(self.launcher.parent) if path else ""}
        here = Circumstances(
            Machine("linux", self.folder, environment, self.project),
            Installation(self.folder / "elsewhere", self.launcher),
            WriteRecord(self.folder / "data" / "agents.json"),
        )
        session = CliSession(parse(["install", *words]), NoTools(), no_service, str(self.project), stdin, out, err)
        status = run_install(session, here)
        return Ran(status, out.getvalue(), err.getvalue())

    def tree(self) -> dict[str, str]:
        """Returns every file and folder except the test's own, with the files' texts."""
        paths = (path for path in self.folder.rglob("*") if path.parts[len(self.folder.parts)] not in ("bin", "data"))
        return {str(path): path.read_text() if path.is_file() else "" for path in paths}

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


class NoTools(Tools):
    def call(self, *_: Any, **__: Any) -> Reply:
        raise AssertionError("no tool is called")

    def refresh(self, **_: Any) -> Reply:
        raise AssertionError("no tool is called")


def no_service() -> Service:
    raise AssertionError("no service is made")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_the_change_is_shown_and_nothing_is_written_without_a_terminal_or_yes(home: Home) -> None:
    before = home.tree()
    ran = home.install("cursor")
    assert ran.status == 9
    assert '+      "command": "sidecar",' in ran.out
    assert "Nothing was written" in ran.err
    assert home.tree() == before


@pytest.mark.parametrize(("answer", "status"), [("y\n", 0), ("n\n", 9), ("\n", 9), ("", 9)])
def test_in_a_terminal_the_person_is_asked_and_silence_means_no(home: Home, answer: str, status: int) -> None:
    ran = home.install("cursor", answer=answer)
    assert ran.status == status
    assert "Write this to ~/.cursor/mcp.json? [y/N]" in ran.err
    assert (home.folder / ".cursor/mcp.json").exists() == (status == 0)


class Meanwhile(Terminal):
    """A person who says yes only after another program has written the file."""

    def __init__(self, file: Path) -> None:
        super().__init__("y\n")
        self._file = file

    def isatty(self) -> bool:
        self._file.write_text('{"theme": "x"}')
        return True


def test_a_file_that_changes_while_the_person_thinks_is_not_overwritten(home: Home) -> None:
    file = home.write(".cursor/mcp.json", "{}")
    with pytest.raises(ConfigInvalid, match="has changed in the meantime"):
        home.install("cursor", stdin=Meanwhile(file))
    assert file.read_text() == '{"theme": "x"}'


@pytest.mark.parametrize("agent", WITH_FILE)
def test_what_was_made_is_taken_back_with_every_folder_that_was_made_for_it(home: Home, agent: str) -> None:
    before = home.tree()
    assert home.install(agent, "-y").status == 0
    assert home.tree() != before
    assert home.install(agent, "-y", "--remove").status == 0
    assert home.tree() == before


@pytest.mark.parametrize("agent", WITH_PROJECT)
def test_the_project_s_list_is_in_the_project_and_is_taken_back_too(home: Home, agent: str) -> None:
    before = home.tree()
    assert home.install(agent, "-y", "--project").status == 0
    assert {Path(path).is_relative_to(home.project) for path in home.tree().keys() - before.keys()} == {True}
    assert home.install(agent, "-y", "--project", "--remove").status == 0
    assert home.tree() == before


@pytest.mark.parametrize("agent", WITH_FILE)
def test_a_second_time_there_is_nothing_to_do(home: Home, agent: str) -> None:
    home.install(agent, "-y")
    before = home.tree()
    ran = home.install(agent)
    assert ran.status == 0
    assert "has sidecar already" in ran.out
    assert home.tree() == before
    home.install(agent, "-y", "--remove")
    assert "has no entry for sidecar" in home.install(agent, "--remove").out


def test_comments_and_layout_stay_and_come_back_to_the_byte(home: Home) -> None:
    text = '// mine\n{\n\t"theme": "x", // dark\n\t"context_servers": {\n\t\t"other": {"command": "y"},\n\t},\n}\n'
    file = home.write(".config/zed/settings.json", text)
    home.install("zed", "-y")
    written = file.read_text()
    assert '\t\t"sidecar": {\n\t\t\t"command": "sidecar",\n\t\t\t"args": ["mcp"]\n\t\t}' in written
    assert all(line in written for line in text.splitlines())
    home.install("zed", "-y", "--remove")
    assert file.read_text() == text


def test_after_somebody_else_wrote_only_the_entry_is_taken_out(home: Home) -> None:
    file = home.write(".gemini/settings.json", '{\n  "mcpServers": {}\n}\n')
    home.install("gemini", "-y")
    file.write_text(file.read_text().replace('"mcpServers"', '"theme": "x",\n  "mcpServers"'))
    home.install("gemini", "-y", "--remove")
    assert json.loads(file.read_text()) == {"theme": "x", "mcpServers": {}}


@pytest.mark.parametrize(
    ("agent", "file", "text"),
    [
        ("cursor", ".cursor/mcp.json", "{ not json"),
        ("codex", ".codex/config.toml", "model = \n"),
        ("vscode", ".config/Code/User/mcp.json", '{"servers": []}'),
    ],
)
def test_a_damaged_file_is_not_touched_and_what_to_paste_is_shown(home: Home, agent: str, file: str, text: str) -> None:
    path = home.write(file, text)
    with pytest.raises(ConfigInvalid, match=r"not valid|something else") as refused:
        home.install(agent, "-y")
    assert "nothing was changed" in refused.value.detail
    assert path.read_text() == text


def test_the_entry_to_paste_goes_to_standard_output(home: Home) -> None:
    ran = home.install("jetbrains")
    assert ran.status == 0
    assert json.loads(ran.out) == {"mcpServers": {"sidecar": {"command": "sidecar", "args": ["mcp"]}}}
    assert "AI Assistant" in ran.err
    assert home.install("jetbrains", "--json").out.startswith("{")


FOREIGN = '{"mcpServers": {"sidecar": {"command": "docker", "args": ["run", "envoy"]}}}'


def test_another_server_of_our_name_is_neither_overwritten_nor_removed(home: Home) -> None:
    file = home.write(".cursor/mcp.json", FOREIGN)
    with pytest.raises(ConfigInvalid, match=r"starts something else; --replace"):
        home.install("cursor", "-y")
    with pytest.raises(ConfigInvalid, match="not sidecar's to remove"):
        home.install("cursor", "-y", "--remove")
    assert file.read_text() == FOREIGN
    assert home.install("cursor", "-y", "--replace").status == 0
    assert json.loads(file.read_text())["mcpServers"]["sidecar"]["command"] == "sidecar"


def test_an_older_entry_of_ours_gets_the_new_command_and_keeps_what_was_added_to_it(home: Home) -> None:
    former = {"command": "/old/bin/sidecar", "args": ["mcp", "--toolsets", "all"], "env": {"SIDECAR_MODEL": "x"}}
    file = home.write(".cursor/mcp.json", json.dumps({"mcpServers": {"sidecar": former}}))
    assert home.install("cursor", "-y").status == 0
    assert json.loads(file.read_text()) == {
        "mcpServers": {"sidecar": {**former, "type": "stdio", "command": "sidecar"}}
    }


def test_a_link_is_followed_and_permissions_stay(home: Home) -> None:
    real = home.write("dotfiles/cursor.json", "{}")
    real.chmod(0o640)
    link = home.folder / ".cursor" / "mcp.json"
    link.parent.mkdir()
    link.symlink_to(real)
    home.install("cursor", "-y")
    assert link.is_symlink()
    assert "sidecar" in real.read_text()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert [path.name for path in real.parent.iterdir()] == ["cursor.json"]
    home.install("cursor", "-y", "--remove")
    assert link.is_symlink()
    assert real.read_text() == "{}"


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="the superuser may write everything")
def test_a_read_only_file_is_left_as_it_is(home: Home) -> None:
    file = home.write(".cursor/mcp.json", "{}")
    file.chmod(0o444)
    with pytest.raises(PermissionDenied, match="read-only"):
        home.install("cursor", "-y")
    assert file.read_text() == "{}"


def test_a_link_that_leads_back_to_itself_is_left_as_it_is(home: Home) -> None:
    link = home.folder / ".cursor" / "mcp.json"
    link.parent.mkdir()
    link.symlink_to("mcp.json")
    with pytest.raises(ConfigInvalid, match="leads back to itself"):
        home.install("cursor", "-y")
    assert link.is_symlink()


def test_a_very_long_blank_file_gets_the_entry_and_loses_it_again(home: Home) -> None:
    file = home.write(".cursor/mcp.json", " " * 1_000_000)
    assert home.install("cursor", "-y").status == 0
    assert "sidecar" in file.read_text()
    assert home.install("cursor", "-y", "--remove").status == 0
    assert json.loads(file.read_text()) == {"mcpServers": {}}


def test_a_folder_in_the_file_s_place_is_left_as_it_is(home: Home) -> None:
    (home.folder / ".cursor/mcp.json").mkdir(parents=True)
    with pytest.raises(ConfigInvalid, match="is no file"):
        home.install("cursor", "-y")


def test_where_the_path_has_no_sidecar_the_place_is_entered_and_said(home: Home) -> None:
    ran = home.install("cursor", "-y", "--project", path=False)
    assert "No sidecar is on the PATH" in ran.err
    assert "may be shared with people who have it elsewhere" in ran.err
    assert json.loads((home.project / ".cursor/mcp.json").read_text())["mcpServers"]["sidecar"]["command"] == str(
        home.launcher
    )


def test_where_it_is_on_the_path_no_place_of_this_machine_is_written(home: Home) -> None:
    for agent in WITH_FILE:
        home.install(agent, "-y")
    for agent in WITH_PROJECT:
        home.install(agent, "-y", "--project")
    assert not [path for path, text in home.tree().items() if str(home.folder) in text]


def test_the_list_says_who_is_here_where_the_file_is_and_who_has_sidecar(home: Home) -> None:
    home.install("codex", "-y")
    home.write(".cursor/mcp.json", FOREIGN)
    home.write(".gemini/settings.json", "{ not json")
    rows = {(row["agent"], row["scope"]): row for row in json.loads(home.install("--list", "--json").out)["agents"]}
    assert rows["codex", "user"]["state"] == "yes"
    assert rows["codex", "user"]["there"] is True
    assert rows["codex", "user"]["file"].endswith(".codex/config.toml")
    assert rows["codex", "project"]["state"] == "no"
    assert rows["cursor", "user"]["state"] == "another sidecar"
    assert "not valid JSON" in rows["gemini", "user"]["state"]
    assert rows["zed", "user"]["there"] is False
    assert {row["agent"] for row in rows.values()} == {agent.id for agent in AGENTS}
    shown = home.install("--list").out
    assert "~/.codex/config.toml" in shown
    assert len(shown.splitlines()) == len(rows) + 1


def test_an_agent_without_a_list_for_a_project_says_so(home: Home) -> None:
    with pytest.raises(InvalidParams, match="Windsurf has no list of servers for one project"):
        home.install("windsurf", "--project")


@pytest.mark.parametrize("words", [[], ["emacs"]])
def test_without_a_known_agent_all_are_named(home: Home, words: list[str]) -> None:
    with pytest.raises(InvalidParams, match="claude-code, codex, cursor"):
        home.install(*words)


def test_with_json_one_object_says_what_was_done(home: Home) -> None:
    done = json.loads(home.install("cursor", "-y", "--json").out)
    assert (done["agent"], done["changed"], done["written"]) == ("cursor", True, True)
    assert any("sidecar" in line for line in done["diff"])
    left = home.install("cursor", "--remove", "--json")
    assert left.status == 9
    assert json.loads(left.out)["written"] is False


def test_a_secret_of_another_entry_is_kept_nowhere_else(home: Home) -> None:
    home.write(".cursor/mcp.json", '{"mcpServers": {"x": {"command": "y", "env": {"KEY": "hunter2"}}}}')
    home.install("cursor", "-y")
    assert "hunter2" not in (home.folder / "data" / "agents.json").read_text()
