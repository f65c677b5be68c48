"""A house per test, empty again at its end."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.daemon.house import House, write_workspace


@pytest.fixture
def house() -> Iterator[House]:
    """Under a short path, so that the socket lies in it."""
    home = Path(tempfile.mkdtemp(prefix="sch-")).resolve()
    house = House(home)
    yield house
    house.clear()
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return write_workspace(tmp_path / "work")
