"""Programs start quickly: a fresh interpreter must not import libraries that take a second each."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parents[1]
PROBE = """
import contextlib, io, json, sys
from sidecar.surfaces.cli.main import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    try:
        status = main(sys.argv[1:])
    except SystemExit as leaving:
        status = leaving.code
print(json.dumps({"status": status, "modules": sorted(sys.modules)}))
"""


def imported(code: str, *argv: str, home: Path) -> tuple[object, set[str]]:
    """Runs code in a new process, and returns its exit status and the packages and modules that it loaded."""
    env = {**os.environ, "SIDECAR_HOME": str(home), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code, *argv]
    done = subprocess.run(command, cwd=home, env=env, capture_output=True, text=True, check=True)
    report = json.loads(done.stdout)
    return report.get("status"), {*report["modules"], *(name.split(".")[0] for name in report["modules"])}


def test_help_imports_neither_pydantic_nor_numpy_nor_anything_heavy(tmp_path: Path) -> None:
    status, packages = imported(PROBE, "search", "--help", home=tmp_path)
    assert status == 0
    assert not packages & {"pydantic", "numpy", "tqdm", "chromadb", "onnxruntime", "tokenizers", "mcp", "pygls"}


def test_a_search_from_the_shell_imports_neither_chroma_nor_mcp_nor_pygls_nor_masked_arrays(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.py").write_text("def open_socket():\n    return 1\n")
    work = str(tmp_path / "work")
    assert imported(PROBE, "index", "--quiet", "-w", work, home=tmp_path)[0] == 0
    status, packages = imported(PROBE, "search", "open", "socket", "-w", work, home=tmp_path)
    assert status == 0
    assert not packages & {"chromadb", "mcp", "pygls", "lsprotocol", "numpy.ma"}


def test_the_service_is_made_without_the_engine_or_a_heavy_library(tmp_path: Path) -> None:
    code = (
        "import json, sys\n"
        "from sidecar.tools.assemble import make_service\n"
        "make_service().close()\n"
        "print(json.dumps({'modules': sorted(sys.modules)}))"
    )
    _, packages = imported(code, home=tmp_path)
    assert not packages & {"chromadb", "onnxruntime", "tokenizers", "tree_sitter", "mcp", "pygls", "tqdm", "sqlite3"}


def test_a_worker_that_prepares_files_imports_neither_searches_nor_workspaces(tmp_path: Path) -> None:
    code = (
        "import json, os, sys\n"
        "from sidecar.engine.ingest import worker\n"
        "worker.load_parsers()\n"
        "worker.real_parts({}, {}, os.environ)\n"
        "engine = [name.removeprefix('sidecar.engine.') for name in sys.modules if 'sidecar.engine.' in name]\n"
        "print(json.dumps({'modules': engine}))"
    )
    _, packages = imported(code, home=tmp_path)
    assert "ingest" in packages
    assert not packages & {"search", "update", "index", "diagnostics", "team", "workspace", "workspaces"}


PIPES = """
import io, json, os, sys
stdout = os.dup(1)
ended, empty = os.pipe()
os.close(empty)
os.dup2(ended, 0)
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
from sidecar.__main__ import main
try:
    status = main()
except SystemExit as leaving:
    status = leaving.code
os.write(stdout, json.dumps({"status": status, "modules": sorted(sys.modules)}).encode())
"""
HEAVY = {"pydantic", "numpy", "tqdm", "chromadb", "onnxruntime", "tokenizers", "mcp", "pygls", "lsprotocol", "sqlite3"}
SLOW_TO_START = {"asyncio", "logging", "subprocess", "dataclasses", "inspect", "platformdirs", "tempfile"}


@pytest.fixture
def home_with_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yields a home folder with the workspace `work`, where daemons may be started."""
    monkeypatch.setenv("CI", "")
    monkeypatch.setenv("SIDECAR_DAEMON_IDLE_MINUTES", "2")
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.py").write_text("def open_socket():\n    return 1\n")
    yield tmp_path
    sidecar(tmp_path, "daemon", "stop")


@pytest.fixture
def with_daemon(home_with_work: Path) -> Path:
    """Returns a home folder in which a daemon serves the indexed workspace `work`."""
    sidecar(home_with_work, "daemon", "start")
    sidecar(home_with_work, "index", "-w", str(home_with_work / "work"))
    return home_with_work


def sidecar(home: Path, *words: str) -> None:
    env = {**os.environ, "SIDECAR_HOME": str(home), "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-m", "sidecar", *words], env=env, check=True, capture_output=True)


@pytest.mark.parametrize("words", [["--stdio"], ["mcp"], ["search", "open", "socket"], ["status"], ["--version"]])
def test_pipes_and_shell_commands_at_a_daemon_import_next_to_nothing(with_daemon: Path, words: list[str]) -> None:
    status, packages = imported(PIPES, *words, "-w", str(with_daemon / "work"), home=with_daemon)
    assert status == (1 if words == ["--stdio"] else 0)
    # A checkout asks git for its commit; an installed package has it in a file.
    assert packages & (HEAVY | SLOW_TO_START) - ({"subprocess"} if words == ["--version"] else set()) == set()


def test_the_pipe_that_starts_the_daemon_imports_no_more(home_with_work: Path) -> None:
    _, packages = imported(PIPES, "mcp", "-w", str(home_with_work / "work"), home=home_with_work)
    assert packages & (HEAVY | SLOW_TO_START) == set()
    assert list((home_with_work / "run").glob("*.start")), "it has taken the lock of who starts the daemon"
