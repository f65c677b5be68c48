"""Where each agent keeps its list of servers on each system, and which command is written there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sidecar.agents.catalog import AGENTS, BY_NAME
from sidecar.agents.change import is_there, place_of
from sidecar.agents.machine import Machine
from sidecar.agents.program import Installation, find_program

HOME = Path("/home/ada")
PROJECT = Path("/work/engine")


def machine(platform: str = "linux", **environment: str) -> Machine:
    return Machine(platform, HOME, environment, PROJECT)


def file_of(agent: str, here: Machine, project: bool = False) -> str:
    place = place_of(BY_NAME[agent], project, here)
    assert place is not None
    return place.file.as_posix()


@pytest.mark.parametrize(
    ("agent", "platform", "file"),
    [
        *(("claude-code", system, "/home/ada/.claude.json") for system in ("linux", "darwin", "win32")),
        *(("codex", system, "/home/ada/.codex/config.toml") for system in ("linux", "darwin", "win32")),
        *(("cursor", system, "/home/ada/.cursor/mcp.json") for system in ("linux", "darwin", "win32")),
        ("vscode", "linux", "/home/ada/.config/Code/User/mcp.json"),
        ("vscode", "darwin", "/home/ada/Library/Application Support/Code/User/mcp.json"),
        ("vscode", "win32", "/home/ada/AppData/Roaming/Code/User/mcp.json"),
        ("zed", "linux", "/home/ada/.config/zed/settings.json"),
        ("zed", "darwin", "/home/ada/.config/zed/settings.json"),
        ("zed", "win32", "/home/ada/AppData/Roaming/Zed/settings.json"),
        *(("opencode", system, "/home/ada/.config/opencode/opencode.json") for system in ("linux", "darwin", "win32")),
        *(("windsurf", system, "/home/ada/.codeium/windsurf/mcp_config.json") for system in ("linux", "win32")),
        *(("neovim", system, "/home/ada/.config/mcphub/servers.json") for system in ("linux", "darwin")),
    ],
)
def test_the_file_is_where_the_program_looks_for_it_on_this_system(agent: str, platform: str, file: str) -> None:
    assert file_of(agent, machine(platform)) == file


def test_a_variable_that_moves_a_program_s_settings_moves_the_file() -> None:
    assert file_of("claude-code", machine(CLAUDE_CONFIG_DIR="/etc/claude")) == "/etc/claude/.claude.json"
    assert file_of("codex", machine(CODEX_HOME="/etc/codex")) == "/etc/codex/config.toml"
    assert file_of("zed", machine(XDG_CONFIG_HOME="/etc/xdg")) == "/etc/xdg/zed/settings.json"
    assert file_of("zed", machine("darwin", XDG_CONFIG_HOME="/etc/xdg")) == "/home/ada/.config/zed/settings.json"
    assert file_of("vscode", machine("win32", APPDATA="/d/roaming")) == "/d/roaming/Code/User/mcp.json"
    assert file_of("zed", machine(XDG_CONFIG_HOME="relative")) == "/home/ada/.config/zed/settings.json"


def test_every_file_of_a_project_lies_in_the_project() -> None:
    here = machine()
    files = [place.file for agent in AGENTS if (place := place_of(agent, True, here)) is not None]
    assert len(files) >= 8
    assert all(file.is_relative_to(PROJECT) for file in files)


def test_of_two_possible_files_the_one_that_exists_is_meant(tmp_path: Path) -> None:
    here = Machine("linux", tmp_path, {}, tmp_path / "project")
    assert file_of("opencode", here).endswith("opencode.json")
    (tmp_path / ".config/opencode").mkdir(parents=True)
    (tmp_path / ".config/opencode/opencode.jsonc").write_text("{}")
    assert file_of("opencode", here).endswith("opencode.jsonc")


def test_an_agent_is_here_if_its_folder_or_its_program_is(tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    here = Machine("linux", tmp_path, {"PATH": str(programs)}, tmp_path)
    assert not is_there(BY_NAME["gemini"], here)
    launcher(programs / "gemini")
    assert is_there(BY_NAME["gemini"], here)
    assert not is_there(BY_NAME["cursor"], here)
    (tmp_path / ".cursor").mkdir()
    assert is_there(BY_NAME["cursor"], here)


def launcher(path: Path, text: str = "#!/bin/sh\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def own(tmp_path: Path) -> Installation:
    environment = tmp_path / "tools" / "sidecar-search"
    return Installation(environment, launcher(environment / "bin" / "sidecar", "#!/tools/python\n"))


def words(here: Machine, own: Installation) -> tuple[list[str], str]:
    program = find_program(here, own)
    return list(program.words), program.note


def on_path(tmp_path: Path, *folders: Path, **environment: str) -> Machine:
    return Machine("linux", tmp_path, {"PATH": os.pathsep.join(map(str, folders)), **environment}, tmp_path)


def test_the_bare_name_is_entered_where_the_path_leads_to_this_program(tmp_path: Path, own: Installation) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "sidecar").symlink_to(own.launcher)
    assert words(on_path(tmp_path, tmp_path / "bin"), own) == (["sidecar"], "")


def test_a_copied_launcher_is_this_program_too(tmp_path: Path, own: Installation) -> None:
    launcher(tmp_path / "bin" / "sidecar", own.launcher.read_text())
    assert words(on_path(tmp_path, tmp_path / "bin"), own) == (["sidecar"], "")


def test_its_place_is_entered_where_the_path_has_none_or_another_one(tmp_path: Path, own: Installation) -> None:
    entered, note = words(on_path(tmp_path, tmp_path / "bin"), own)
    assert entered == [str(own.launcher)]
    assert "No sidecar is on the PATH" in note
    other = launcher(tmp_path / "bin" / "sidecar", "#!/another/python\n")
    entered, note = words(on_path(tmp_path, tmp_path / "bin"), own)
    assert entered == [str(own.launcher)]
    assert str(other) in note


def test_its_place_is_entered_where_the_path_has_it_only_while_an_environment_is_active(
    tmp_path: Path, own: Installation
) -> None:
    folder = own.launcher.parent
    entered, note = words(on_path(tmp_path, folder, VIRTUAL_ENV=str(own.prefix)), own)
    assert entered == [str(own.launcher)]
    assert "only while its environment is active" in note
    assert words(on_path(tmp_path, folder), own) == (["sidecar"], "")


def test_uvx_is_entered_where_uvx_runs_it(tmp_path: Path) -> None:
    environment = tmp_path / "uv" / "archive-v0" / "x1y2"
    own = Installation(environment, launcher(environment / "bin" / "sidecar"))
    entered, note = words(on_path(tmp_path, own.launcher.parent), own)
    assert entered == ["uvx", "--from", "sidecar-search", "sidecar"]
    assert "uv tool install sidecar-search" in note
