"""The command as a real process on a real workspace: pipes that close, interrupts, doctor, models."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine.projects import QUICK, SLOW
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a workspace `work` of many files, indexed by the real command."""
    folder = tmp_path_factory.mktemp("cli")
    (folder / "work" / ".git").mkdir(parents=True)
    for number in range(40):
        text = f"def convert_unit_{number}(value):\n    return value * {number}\n"
        (folder / "work" / f"unit{number}.py").write_text(text)
    done = run(folder, "index", "--json")
    assert json.loads(done.stdout)["files"] == 40
    return folder


def command(home: Path, *words: str) -> tuple[list[str], dict[str, str]]:
    env = {**os.environ, "SIDECAR_HOME": str(home / "kept"), "PYTHONPATH": str(ROOT)}
    return [sys.executable, "-m", "sidecar", *words], env


def run(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs the command in the workspace, without a terminal."""
    line, env = command(home, *words)
    return subprocess.run(
        line,
        cwd=home / "work",
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def test_the_workspace_is_found_upwards_and_unchanged_files_embed_nothing(home: Path) -> None:
    (home / "work" / "deep" / "er").mkdir(parents=True, exist_ok=True)
    line, env = command(home, "index", "--json")
    done = subprocess.run(line, cwd=home / "work/deep/er", env=env, capture_output=True, text=True, check=True)
    report = json.loads(done.stdout)
    assert (report["embedded"], report["unchanged"]) == (0, 40)


def test_a_search_prints_data_only(home: Path) -> None:
    done = run(home, "search", "convert_unit_7", "-m", "fts", "-k", "1")
    assert done.returncode == 0
    assert done.stdout.startswith("unit7.py:1-2  ")
    assert done.stderr == ""


def test_a_reader_that_goes_away_ends_it_quietly(home: Path) -> None:
    line, env = command(home, "search", "convert unit value", "-k", "50")
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            line, cwd=home / "work", env=env, stdout=writing, stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False
        )
    finally:
        os.close(writing)
    assert done.returncode == 141
    assert done.stderr == b""


def test_a_full_disk_behind_standard_output_is_one_sentence(home: Path) -> None:
    for words in ("indexes", "--help", "--version"):
        line, env = command(home, words)
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run(line, env=env, stdout=full, stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False)
        assert done.returncode == 8
        assert done.stderr.decode() == (
            "sidecar: There is no space left on the disk."
            " The result could not be written to standard output. [DISK_FULL]\n"
        )


def test_ctrl_c_ends_indexing_with_130_and_says_what_is_kept(home: Path, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    for number in range(1500):
        (work / f"m{number}.py").write_text(f"def f{number}(x):\n    return x\n" * 60)
    line, env = command(tmp_path, "index", "-w", str(work))
    with subprocess.Popen(line, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        first = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE_S)
    assert "of 1,500 files" in first
    assert process.returncode == 130
    assert out == ""
    assert "interrupted" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"])
def test_a_closed_standard_stream_is_no_fault(home: Path, closed: str) -> None:
    for words in ("search convert_unit_7 -m fts", "index", "search nothing --offset nine"):
        line, env = command(home, *words.split())
        done = subprocess.run(
            ["sh", "-c", f'"$@" {closed}', "sh", *line],
            cwd=home / "work",
            env=env,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert done.returncode == (2 if "nine" in words else 0)
        assert "Traceback" not in done.stderr


def test_doctor_finds_nothing_wrong_here(home: Path) -> None:
    done = run(home, "doctor", "--json")
    report = json.loads(done.stdout)
    assert {check["name"] for check in report["checks"]} >= {"python", "sqlite", "model", "vector store", "data folder"}
    assert [check for check in report["checks"] if not check["ok"] and check["name"] != "file watching"] == []
    assert done.returncode == (0 if report["ok"] else 1)


def test_doctor_names_a_wrong_value_of_the_workspaces_config(home: Path) -> None:
    config = Path(json.loads(run(home, "config", "--json").stdout)["configPath"])
    before = config.read_text()
    config.write_text(before.replace('"1MB"', '"1 tonne"'))
    done = run(home, "doctor")
    config.write_text(before)
    assert done.returncode == 1
    assert "problem  settings" in done.stdout
    assert "maxFileSize in " in done.stdout
    assert "digits followed by KB or MB" in done.stdout


def test_indexing_with_a_slow_model_waits_for_it_and_until_then_everybody_says_how_far_it_is(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    for number in range(3):
        (tmp_path / "work" / f"m{number}.py").write_text(f"def spin_{number}(x):\n    return x\n")
    assert run(tmp_path, "index").returncode == 0
    slow = ("--model", SLOW)
    assert f"{SLOW}: 0 % of 3 chunks" in run(tmp_path, "status", *slow).stdout
    assert f"answers from {QUICK}; {SLOW}: 0 % of 3 chunks" in run(tmp_path, "doctor", *slow).stdout
    report = json.loads(run(tmp_path, "index", *slow, "--json").stdout)
    assert (report["embedded"], report["upgraded"]) == (0, 3)
    for words in ((), slow):
        status = json.loads(run(tmp_path, "status", *words, "--json").stdout)
        assert status["model"].startswith(SLOW)
        assert "modelUpgrade" not in status
    assert f"meanings by {SLOW}" in run(tmp_path, "search", "spin", "--explain").stdout


def test_rebuilding_with_a_slow_model_waits_for_it_too(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    for number in range(3):
        (tmp_path / "work" / f"m{number}.py").write_text(f"def spin_{number}(x):\n    return x\n")
    assert run(tmp_path, "index").returncode == 0
    done = run(tmp_path, "reindex", "--yes", "--model", SLOW)
    assert done.stdout.startswith("reindexed: 3 files, 3 chunks")
    assert "3 chunks embedded again with the better model, which answers from now on" in done.stdout
    status = json.loads(run(tmp_path, "status", "--json").stdout)
    assert status["model"].startswith(SLOW)
    assert "upgraded" not in json.loads(run(tmp_path, "reindex", "--yes", "--json").stdout)


def test_doctor_names_a_model_that_is_not_there(home: Path) -> None:
    done = run(home, "doctor", "--model", "no-such-model")
    assert done.returncode == 1
    assert "problem  model" in done.stdout
    assert "no-such-model" in done.stdout


def test_models_lists_what_ships_and_marks_the_one_in_use(home: Path) -> None:
    models = json.loads(run(home, "models", "--json").stdout)["models"]
    assert [model["id"] for model in models if model["inUse"]] == ["static-code-256"]
    assert all(model["dimension"] > 0 and model["licence"] for model in models)
    assert [model["id"] for model in models if model["state"] == "ships" and model["size"] > 0] == ["static-code-256"]


def test_a_fault_of_ours_goes_to_the_log_and_not_to_the_terminal(tmp_path: Path) -> None:
    code = (
        "import logging, sys\n"
        "from sidecar.surfaces.cli.log import log_to_file\n"
        "log_to_file()\n"
        "try:\n"
        "    raise RuntimeError('broken inside')\n"
        "except RuntimeError:\n"
        "    logging.getLogger('sidecar.tools').exception('incident 7')\n"
    )
    env = {**os.environ, "SIDECAR_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout + done.stderr == ""
    log = (tmp_path / "logs" / "sidecar.log").read_text()
    assert "incident 7" in log
    assert "broken inside" in log


@pytest.mark.parametrize("words", [["status", "--json"], ["search", "anything"], ["mcp"], ["--stdio"]])
def test_modules_of_the_folder_it_is_run_in_are_not_ours_to_run(home: Path, tmp_path: Path, words: list[str]) -> None:
    hostile = tmp_path / "hostile"
    hostile.mkdir()
    for name in ("argparse", "json", "numpy", "asyncio", "pydantic", "typing_extensions", "tqdm", "mcp", "pygls"):
        (hostile / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write(__name__)\n")
    env = {**os.environ, "SIDECAR_HOME": str(home), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "sidecar", *words],
        cwd=hostile,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert not (tmp_path / "ran").exists()
    assert "Traceback" not in done.stderr
