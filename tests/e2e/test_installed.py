"""The package as people install it, without libraries that nothing imports: every door works, and the size is measured.

An environment is made from the wheel: the one that the editor's extension makes (exact versions with hashes, without
following dependencies, made lean). It needs the package index, or pip's cache of it.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import subprocess
import sys
import venv
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Installed:
    """An environment as the extension makes it: its Python, and its megabytes before it was made lean."""

    python: str
    whole: float

    @property
    def folder(self) -> Path:
        return Path(self.python).parents[1]


@pytest.fixture(scope="module")
def exact(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("exact") / "environment"
    python = new_environment(folder)
    pip(python, *_EXACT, "-r", str(ROOT / "requirements.txt"))
    pip(python, "install", "--quiet", "--no-deps", "--no-compile", str(wheel))
    whole = megabytes(folder)
    subprocess.run([python, "-I", "-m", "sidecar.lean", str(folder)], timeout=PATIENCE_S, check=True)
    return Installed(python, whole)


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


def test_what_is_imported_has_at_most_355_mb_and_lean_at_most_280(exact: Installed) -> None:
    weight = megabytes(exact.folder)
    assert exact.whole <= 355
    assert weight <= 280
    says = json.loads((ROOT / "extension" / "environment.json").read_text("utf-8"))["installed"]
    assert abs(weight - says) <= 20, f"the extension says {says} MB before it installs {weight:.0f}"


def test_the_lists_of_installed_files_are_true_of_a_lean_environment(exact: Installed) -> None:
    (site,) = exact.folder.glob("lib/python*/site-packages")
    lists = sorted(site.glob("*.dist-info/RECORD"))
    untrue = [
        row[0] for listed in lists for row in csv.reader(listed.open("r", encoding="utf-8")) if not is_true(site, row)
    ]
    assert len(lists) > 50
    assert untrue == []


def is_true(site: Path, row: list[str]) -> bool:
    """Whether a file is there and has the hash that `RECORD` lists. Files that Python compiles have none."""
    path, said, _ = row
    if not said:
        return path.endswith((".pyc", "RECORD")) or (site / path).exists()
    method, _, digest = said.partition("=")
    found = hashlib.new(method, (site / path).read_bytes()).digest()
    return base64.urlsafe_b64encode(found).rstrip(b"=").decode() == digest


def test_every_door_works_in_a_lean_environment(
    exact: Installed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take_tour(exact.python, tmp_path, monkeypatch)


def test_the_store_is_filled_and_asked_by_chroma_there(exact: Installed, tmp_path: Path) -> None:
    store = ChromaStore(tmp_path / "store", 8, "a-model", python=exact.python)
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
        [exact.python, "-I", "-m", "sidecar", "doctor"],
        env={**environment(tmp_path, tmp_path / "home"), "PYTHONPATH": ""},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert "wrote and found three vectors" in doctor.stdout
