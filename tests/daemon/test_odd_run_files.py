"""What lies in place of the files of a daemon that has ended hinders no other one: a pipe, a device, a link to
nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sidecar import __version__
from sidecar.daemon.endpoint import Endpoint
from sidecar.daemon.replay_mcp import Hello
from tests.daemon.data_folder import DataFolder


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def an_endless_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def a_link_to_nothing(path: Path) -> None:
    path.symlink_to(path.parent / "nowhere" / "at all")


KINDS = (a_pipe, an_endless_device, a_link_to_nothing)


@pytest.mark.process
@pytest.mark.parametrize("kind", KINDS)
async def test_a_daemon_starts_answers_and_ends_whatever_has_the_names_of_its_files(
    data_folder: DataFolder, work: Path, kind: Callable[[Path], None]
) -> None:
    place = Endpoint(data_folder.home, __version__)
    hello = place.folder / f"hello-{__version__}.json"
    logs = [data_folder.home / "logs" / f"{name}.log" for name in ("daemon", "sidecar", "daemon-crash")]
    old = place.lock.with_name(place.lock.name.replace(__version__, "0.0.1"))
    odd = [place.lock, place.starting, old, hello, *logs, data_folder.home / "agents.json"]
    for path in odd:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        kind(path)
    assert data_folder.run("daemon", "status").stdout.startswith("No daemon is running")
    assert data_folder.run("-w", str(work), "status").returncode == 0
    async with data_folder.mcp(work) as session:
        result: Any = await session.call_tool("get_index_status", {})
    assert "not_found" in result.content[0].text
    assert hello.is_file() and not hello.is_symlink()
    assert data_folder.status()["running"]
    assert data_folder.run("daemon", "logs").returncode == 0
    assert data_folder.run("daemon", "stop").returncode == 0


@pytest.mark.parametrize("kind", KINDS)
def test_no_answer_is_known_from_what_is_not_a_file(tmp_path: Path, kind: Callable[[Path], None]) -> None:
    kind(tmp_path / "hello.json")
    hello = Hello(tmp_path / "hello.json")
    assert hello.known() == {}
    hello.learn("2026-01-01", {"tools": {}})
    assert hello.known() == {"2026-01-01": {"tools": {}}}
