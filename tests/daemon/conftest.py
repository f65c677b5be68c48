"""A house per test, empty again at its end, and a workspace whose index is made once and copied."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.daemon.house import House, write_workspace


@contextmanager
def made_house() -> Iterator[House]:
    """Under a short path, so that the socket lies in it."""
    home = Path(tempfile.mkdtemp(prefix="sch-")).resolve()
    house = House(home)
    yield house
    house.clear()
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def house() -> Iterator[House]:
    with made_house() as house:
        yield house


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the workspace of every test lies: an index belongs to a path."""
    return tmp_path_factory.mktemp("place") / "work"


@pytest.fixture
def work(place: Path) -> Path:
    return written_anew(place)


def written_anew(place: Path) -> Path:
    shutil.rmtree(place, ignore_errors=True)
    return write_workspace(place)


@pytest.fixture(scope="session")
def data_folder(place: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the workspace's index, which `sidecar index` made."""
    with made_house() as house:
        made = house.run("index", cwd=written_anew(place))
        assert made.returncode == 0, made.stderr
        return shutil.copytree(house.home, tmp_path_factory.mktemp("indexed") / "home")


@pytest.fixture
def indexed(data_folder: Path, house: House, work: Path) -> House:
    """The house, with `work` indexed."""
    shutil.copytree(data_folder, house.home, dirs_exist_ok=True)
    return house
