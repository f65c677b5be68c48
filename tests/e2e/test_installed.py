"""The package as people install it, without libraries that nothing imports: every door works, and the size is measured.

An environment is made from the wheel: the one that the editor's extension makes (exact versions with hashes, without
following dependencies). It needs the package index, or pip's cache of it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path

import numpy as np
import pytest

from sidecar.parts.vectors.chroma import ChromaStore
from tests.installed import environment
from tests.network_tour import Tour
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.process, pytest.mark.slow, pytest.mark.e2e]

ROOT = Path(__file__).resolve().parents[2]
MEGABYTE = 1e6
_PIP = ("-I", "-m", "pip", "--disable-pip-version-check")
_EXACT = ("install", "--quiet", "--no-deps", "--require-hashes", "--only-binary=:all:", "--no-compile")
_FILES = {
    "socket.py": "def open_socket(host, port):\n    return connect(host, port)\n",
    "README.md": "# Example\n\n## How to configure\n\nWrite a file.\n",
}


def pip(python: str, *words: str) -> None:
    done = subprocess.run([python, *_PIP, *words], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def new_environment(folder: Path) -> str:
    venv.create(folder, with_pip=True)
    return str(folder / "bin" / "python")


def megabytes(folder: Path) -> float:
    """Returns what is installed below the folder, except pip itself and compiled files."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    own = (path for path in files if not {"pip", "setuptools", "pkg_resources"} & set(path.parts))
    return sum(path.stat().st_size for path in own) / MEGABYTE


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip(sys.executable, "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT))
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def exact(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The Python of an environment as the extension makes it."""
    python = new_environment(tmp_path_factory.mktemp("exact") / "environment")
    pip(python, *_EXACT, "-r", str(ROOT / "requirements.txt"))
    pip(python, "install", "--quiet", "--no-deps", "--no-compile", str(wheel))
    return python


def take_tour(python: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Uses every door once: shell, daemon, agents, editors, scripts."""
    work = folder / "work"
    work.mkdir()
    for name, text in _FILES.items():
        (work / name).write_text(text, "utf-8")
    own = environment(folder, folder / "home")
    for name in ("PYTHONPATH", "CI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SIDECAR_HOME", own["SIDECAR_HOME"])
    tour = Tour(python, work, ())
    tour.shell()
    tour.doors()
    tour.serve()


def test_every_door_works_where_only_what_is_imported_is_installed_and_that_is_at_most_400_mb(
    exact: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weight = megabytes(Path(exact).parents[1])
    assert weight <= 400
    says = json.loads((ROOT / "extension" / "environment.json").read_text("utf-8"))["installed"]
    assert abs(weight - says) <= 20, f"the extension says {says} MB before it installs {weight:.0f}"
    take_tour(exact, tmp_path, monkeypatch)


def test_the_store_is_filled_and_asked_by_chroma_there(exact: str, tmp_path: Path) -> None:
    store = ChromaStore(tmp_path / "store", 8, "a-model", python=exact)
    vectors = np.eye(8, dtype=np.float32)
    try:
        store.add("code", np.arange(8, dtype=np.int64), vectors)
        found, cosines = store.query("code", vectors[3], 1)
        store.remove("code", np.arange(2, dtype=np.int64))
        assert store.ids("code").tolist() == list(range(2, 8))
    finally:
        store.close()
    assert found.tolist() == [3]
    assert cosines[0] == pytest.approx(1.0)
    doctor = subprocess.run(
        [exact, "-I", "-m", "sidecar", "doctor"],
        env={**environment(tmp_path, tmp_path / "home"), "PYTHONPATH": ""},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert "wrote and found three vectors" in doctor.stdout
