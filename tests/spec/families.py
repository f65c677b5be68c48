"""Doors that offer other toolsets than the default one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.spec.conftest import Drive


def open_drive(
    request: pytest.FixtureRequest, repository: Path, factory: pytest.TempPathFactory, toolsets: str
) -> Iterator[Drive]:
    """One door, named by the fixture's parameter, with a workspace and a data folder of its own."""
    folder = factory.mktemp(request.param)
    shutil.copytree(repository, folder / "work")
    drive = Drive(request.param, folder / "work", folder / "home", {"SIDECAR_TOOLSETS": toolsets})
    yield drive
    drive.close()
