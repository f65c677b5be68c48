"""`sidecar install` as a person runs it: as a process, with a temporary home."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.installed import environment
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.process


def run(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sidecar", *words],
        cwd=home,
        env={**environment(home, home / "data"), "HOME": str(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def test_without_a_terminal_it_shows_the_change_and_ends_with_9(tmp_path: Path) -> None:
    done = run(tmp_path, "install", "cursor")
    assert done.returncode == 9, done.stderr
    assert '"mcpServers"' in done.stdout
    assert not (tmp_path / ".cursor").exists()


def test_with_yes_it_writes_and_remove_takes_everything_back(tmp_path: Path) -> None:
    assert run(tmp_path, "install", "cursor", "-y").returncode == 0
    entry = json.loads((tmp_path / ".cursor/mcp.json").read_text())["mcpServers"]["sidecar"]
    assert entry["args"] == ["mcp"]
    assert Path(entry["command"]).name == "sidecar"
    assert run(tmp_path, "install", "cursor", "-y", "--remove").returncode == 0
    assert not (tmp_path / ".cursor").exists()


def test_a_damaged_file_is_an_error_of_its_own_and_the_entry_is_on_standard_output(tmp_path: Path) -> None:
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".cursor/mcp.json").write_text("{ not json")
    done = run(tmp_path, "install", "cursor", "-y")
    assert done.returncode == 2
    assert "is not valid JSON in line 1, so nothing was changed" in done.stderr
    assert json.loads(done.stdout)["mcpServers"]["sidecar"]["args"] == ["mcp"]


def test_in_a_terminal_it_asks(tmp_path: Path) -> None:
    terminal, own = pytest.importorskip("pty").openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "sidecar", "install", "cursor"],
        cwd=tmp_path,
        env={**environment(tmp_path, tmp_path / "data"), "HOME": str(tmp_path)},
        stdin=own,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        os.write(terminal, b"y\n")
        _, said = process.communicate(timeout=PATIENCE_S)
    for descriptor in (terminal, own):
        os.close(descriptor)
    assert process.returncode == 0
    assert b"Write this to ~/.cursor/mcp.json? [y/N]" in said
    assert (tmp_path / ".cursor/mcp.json").exists()
