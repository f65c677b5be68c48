"""Preparing files in processes of their own: the same outcomes, and one bad file harms nobody else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sidecar.engine.apart import Piece, PreparersApart
from sidecar.engine.prepare import Failed, Gone, Prepared, Preparer, path_of
from sidecar.engine.wiring import real_parts
from sidecar.errors import Cancelled
from sidecar.model import FoundFile, Stat, no_progress
from sidecar.parts.child import start_child
from sidecar.settings.load import Settings
from tests.engine.rooms import Room, image, index

STDLIB = Path(sysconfig.get_path("stdlib"))
PACKAGES = ("asyncio", "email", "http", "importlib", "json", "logging", "multiprocessing", "unittest", "xml")
"""More than a megabyte of Python: enough for a process of its own."""


@pytest.fixture
def library(room: Room) -> Room:
    for package in PACKAGES:
        shutil.copytree(STDLIB / package, room.root / package, ignore=shutil.ignore_patterns("__pycache__"))
    for path in room.root.rglob("*"):
        os.utime(path, (1_700_000_000, 1_700_000_000))  # so long ago that its time stamp is trusted
    assert sum(path.stat().st_size for path in room.root.rglob("*.py")) > 1_500_000
    return room


def fragile(started: list[subprocess.Popen[bytes]]) -> Any:
    def start(_: str) -> subprocess.Popen[bytes]:
        started.append(start_child("tests.engine.fragile_worker"))
        return started[-1]

    return start


def piece(*paths: str) -> Piece:
    return [(FoundFile(path, Stat(1, 1, 1, 1), "code"), None) for path in paths]


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def test_files_are_prepared_in_another_process_as_they_are_in_this_one(library: Room) -> None:
    parts = real_parts({}, {}, {"SIDECAR_HOME": str(library.home), "HOME": str(library.home)})
    settings = parts.load_settings(library.home / "config.json")
    walked = parts.make_walker(str(library.root), settings).walk(lambda: False)
    files = [(found, None) for found in walked.files]
    pieces = [files[start : start + 20] for start in range(0, len(files), 20)]
    here = Preparer(str(library.root), parts, settings, {})
    with PreparersApart(str(library.root), settings, 2) as apart:
        answered = list(apart.prepare(pieces))
    assert [asked for asked, _ in answered] == pieces
    there = {path_of(o): o for _, outcomes in answered for o in outcomes}
    assert len(there) == len(files)
    for found, known in files:
        expected = here.prepare(found, known)
        assert isinstance(expected, Prepared)
        assert plain(asdict(there[found.path])) == plain(asdict(expected))


def test_a_big_workspace_is_indexed_apart_as_it_is_in_one_process(library: Room) -> None:
    apart = image(_indexed(library))
    library.close()
    shutil.rmtree(library.home)
    library.apart = False
    assert image(_indexed(library)) == apart


def _indexed(room: Room) -> Any:
    workspace = room.open()
    index(workspace)
    return workspace


def test_unsaved_text_is_indexed_though_other_files_are_prepared_elsewhere(library: Room) -> None:
    workspace = library.open()
    workspace.set_buffer("json/decoder.py", "def unsaved_quokka():\n    return 1\n")
    index(workspace)
    generation = workspace._index.readable()
    with generation.snapshots.open() as snapshot:
        row = snapshot.connection.execute(
            "SELECT c.text FROM chunks c JOIN files f ON f.id = c.file_id WHERE f.path = 'json/decoder.py'"
        ).fetchall()
    assert [text for (text,) in row] == ["def unsaved_quokka():\n    return 1"]


def test_a_file_that_ends_the_process_is_told_and_all_others_are_prepared() -> None:
    started: list[subprocess.Popen[bytes]] = []
    pieces = [piece("a", "b"), piece("c", "crash", "d"), piece("e"), piece("crash too"), piece("f")]
    with PreparersApart("/", Settings(), 1, start=fragile(started)) as apart:
        answered = [outcome for _, outcomes in apart.prepare(pieces) for outcome in outcomes]
    assert [path_of(o) for o in answered] == ["a", "b", "c", "crash", "d", "e", "crash too", "f"]
    assert [path_of(o) for o in answered if isinstance(o, Failed)] == ["crash", "crash too"]
    assert all(process.poll() is not None for process in started)


def test_a_file_that_never_ends_is_given_up() -> None:
    started: list[subprocess.Popen[bytes]] = []
    with PreparersApart("/", Settings(), 2, patience_s=3.0, start=fragile(started)) as apart:
        answered = [o for _, outcomes in apart.prepare([piece("a"), piece("hang"), piece("b")]) for o in outcomes]
    assert [type(o) for o in answered] == [Gone, Failed, Gone]
    assert all(process.poll() is not None for process in started)


def test_a_cancelled_run_leaves_no_process_behind(library: Room) -> None:
    workspace = library.open()
    seen: list[int] = []

    def cancelled() -> bool:
        seen.append(len(_children()))
        return len(_children()) > 0

    with pytest.raises(Cancelled):
        workspace.refresh(no_progress, cancelled)
    workspace.close()
    assert max(seen) > 0
    assert _children() == []


def _children() -> list[str]:
    """Command lines of living processes that prepare files for this one."""
    own = subprocess.run(
        ["ps", "-ww", "--ppid", str(os.getpid()), "-o", "stat=,args="], capture_output=True, text=True, check=False
    ).stdout
    return [line for line in own.splitlines() if "prepare_worker" in line and not line.startswith("Z")]
