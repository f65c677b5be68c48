"""An environment is made lean: what no door opens goes, its lists stay true, nothing else is touched."""

from __future__ import annotations

import ctypes
import py_compile
import re
import subprocess
import sys
import venv
from importlib.metadata import Distribution, PathDistribution
from pathlib import Path

import pytest
from watchfiles import _rust_notify

import sidecar
from sidecar.lean import UNUSED as REMOVED
from sidecar.lean import lean, what_is_loaded

SOURCES = Path(sidecar.__file__).parent
LIBRARY = Path(_rust_notify.__file__)
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="ELF is the format of Linux")
FILES = {
    "pkg/__init__.py": "",
    "pkg/__init__.pyi": "",
    "pkg/code.py": "VALUE = 1\n",
    "pkg/include/pkg.h": "",
    "pkg/include/deep/pkg.h": "",
    "pkg/tests/__init__.py": "",
    "pkg/tests/data/sample.json": "{}",
    "pkg/testing.py": "",
    "tests_of_ours/__init__.py": "",
    "numpy/random/__init__.py": "",
    "numpy/__init__.py": "",
}


def installed(site: Path, files: dict[str, str], more: tuple[str, ...] = ()) -> Distribution:
    """A distribution with these files, as an installer would leave it; `more` are further lines of its list."""
    for name, text in files.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text, "utf-8")
    info = site / "pkg-1.dist-info"
    info.mkdir(exist_ok=True)
    lines = [f"{name},sha256=x,{len(text)}" for name, text in files.items()]
    (info / "RECORD").write_text("\n".join([*lines, *more, "pkg-1.dist-info/RECORD,,"]) + "\n", "utf-8")
    (info / "METADATA").write_text("Name: pkg\nVersion: 1\n", "utf-8")
    return PathDistribution(info)


def everything(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def listed(distribution: Distribution) -> set[str]:
    return {str(path) for path in distribution.files or ()}


def test_tests_stubs_and_headers_go_with_their_folders_and_from_the_list(tmp_path: Path) -> None:
    distribution = installed(tmp_path, FILES)
    assert lean(tmp_path)[0] == 6
    assert listed(distribution) - {"pkg-1.dist-info/RECORD"} == {
        *("pkg/__init__.py", "pkg/code.py", "pkg/testing.py", "tests_of_ours/__init__.py", "numpy/__init__.py"),
    }
    assert not (tmp_path / "pkg" / "tests").exists()
    assert not (tmp_path / "pkg" / "include").exists()


def test_a_second_time_there_is_nothing_to_do(tmp_path: Path) -> None:
    installed(tmp_path, FILES)
    lean(tmp_path)
    before = everything(tmp_path)
    assert lean(tmp_path) == (0, 0)
    assert everything(tmp_path) == before


def test_a_file_that_no_distribution_lists_stays_and_so_does_its_folder(tmp_path: Path) -> None:
    installed(tmp_path, FILES)
    (tmp_path / "pkg" / "tests" / "mine.py").write_text("", "utf-8")
    (tmp_path / "loose.pyi").write_text("", "utf-8")
    lean(tmp_path)
    assert {"pkg/tests/mine.py", "loose.pyi"} <= everything(tmp_path)


def test_what_python_compiled_of_a_file_goes_with_it(tmp_path: Path) -> None:
    installed(tmp_path, {"pkg/tests/a.py": "A = 1\n"})
    assert py_compile.compile(str(tmp_path / "pkg" / "tests" / "a.py"))
    lean(tmp_path)
    assert not (tmp_path / "pkg").exists()


def test_files_outside_of_the_folder_of_libraries_stay(tmp_path: Path) -> None:
    site, outside = tmp_path / "site", tmp_path / "tests" / "outside.h"
    outside.parent.mkdir()
    outside.write_text("", "utf-8")
    linked = site / "pkg" / "linked.h"
    linked.parent.mkdir(parents=True)
    linked.symlink_to(outside)
    distribution = installed(site, {}, ("../tests/outside.h,,", f"{outside},,", "pkg/linked.h,,", "pkg/gone.py,,"))
    before = listed(distribution)
    assert lean(site) == (0, 0)
    assert outside.exists()
    assert linked.is_symlink()
    assert listed(distribution) == before


@on_linux
def test_another_name_of_a_file_keeps_what_it_has(tmp_path: Path) -> None:
    """Installers such as uv link files of an environment to those of a cache."""
    site, cached = tmp_path / "site", tmp_path / "cached.so"
    padded = LIBRARY.read_bytes() + b"symbols" * 1000
    cached.write_bytes(padded)
    installed(site, {"pkg/__init__.py": ""}, ("pkg/fast.so,sha256=x,1",))
    (site / "pkg" / "fast.so").hardlink_to(cached)
    assert lean(site)[0] == 1
    assert cached.read_bytes() == padded


@on_linux
def test_a_library_without_its_symbol_tables_is_loaded_as_before(tmp_path: Path) -> None:
    whole = LIBRARY.read_bytes()
    loaded = what_is_loaded(whole)
    assert len(loaded) < len(whole)
    assert what_is_loaded(loaded) == loaded
    copy = tmp_path / "copy.so"
    copy.write_bytes(loaded)
    assert ctypes.CDLL(str(copy)).PyInit__rust_notify


@pytest.mark.parametrize("data", [b"", b"MZ\x90", b"\x7fELF\x01\x01" + b"\0" * 100])
def test_what_is_no_library_of_64_bits_stays_as_it_is(data: bytes) -> None:
    assert what_is_loaded(data) == data


@pytest.mark.process
def test_only_the_environment_that_runs_it_is_made_lean(tmp_path: Path) -> None:
    venv.create(tmp_path / "one")
    venv.create(tmp_path / "other")
    done = subprocess.run(
        [tmp_path / "one" / "bin" / "python", "-m", "sidecar.lean", tmp_path / "other"],
        cwd=Path(__file__).resolve().parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "Nothing was removed" in done.stderr


def test_no_code_of_ours_uses_a_part_of_numpy_that_is_taken_out() -> None:
    gone = {match[1] for pattern in REMOVED if (match := re.fullmatch(r"numpy/([a-z0-9]+)/\*\*", pattern))}
    assert {"random", "fft"} <= gone
    used = re.compile(rf"\b(?:np|numpy)\.(?:{'|'.join(sorted(gone))})\b")
    lines = [
        f"{path.relative_to(SOURCES)}: {line.strip()}"
        for path in SOURCES.rglob("*.py")
        for line in path.read_text("utf-8").splitlines()
        if used.search(line)
    ]
    assert lines == []


@pytest.mark.process
def test_numpy_finds_what_is_unique_without_the_parts_that_are_taken_out() -> None:
    blocked = ", ".join(f"'numpy.{name}'" for name in ("f2py", "fft", "polynomial", "random"))
    program = (
        "import sys\n"
        f"sys.modules.update(dict.fromkeys(({blocked})))\n"
        "import numpy as np\n"
        "some, other = np.array([3, 1, 3]), np.array([1])\n"
        "np.unique(some, return_inverse=True), np.isin(some, other)\n"
        "assert [*np.unique(some), *np.setdiff1d(some, other)] == [1, 3, 3]\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
