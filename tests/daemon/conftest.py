"""A data folder per test, empty again at its end, and a workspace whose index is made once and copied."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.daemon.data_folder import DataFolder, write_workspace


@contextmanager
def made_data_folder() -> Iterator[DataFolder]:
    """Its path is short, so that the socket fits into the folder."""
    home = Path(tempfile.mkdtemp(prefix="sch-")).resolve()
    data_folder = DataFolder(home)
    yield data_folder
    data_folder.clear()
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def data_folder() -> Iterator[DataFolder]:
    with made_data_folder() as data_folder:
        yield data_folder


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workspace has the same path in every test, because an index belongs to a path."""
    return tmp_path_factory.mktemp("place") / "work"


@pytest.fixture
def work(place: Path) -> Path:
    return written_anew(place)


def written_anew(place: Path) -> Path:
    shutil.rmtree(place, ignore_errors=True)
    return write_workspace(place)


@pytest.fixture(scope="session")
def indexed_home(place: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with the workspace's index, which `sidecar index` made."""
    with made_data_folder() as data_folder:
        made = data_folder.run("index", cwd=written_anew(place))
        assert made.returncode == 0, made.stderr
        return shutil.copytree(data_folder.home, tmp_path_factory.mktemp("indexed") / "home")


@pytest.fixture
def indexed(indexed_home: Path, data_folder: DataFolder, work: Path) -> DataFolder:
    """The data folder, with `work` indexed."""
    shutil.copytree(indexed_home, data_folder.home, dirs_exist_ok=True)
    return data_folder
