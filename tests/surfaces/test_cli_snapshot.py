"""`sidecar snapshot` as a real process: CI makes and sends one, a developer's new index starts from it by itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine.projects import FILES
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parents[2]


def sidecar(home: Path, folder: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "SIDECAR_HOME": str(home), "CI": "1", "PYTHONPATH": str(ROOT), **more}
    line = [sys.executable, "-P", "-m", "sidecar", *words, "--json"]
    return subprocess.run(
        line,
        cwd=folder,
        env=env,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def test_a_developer_starts_from_what_ci_has_made_and_is_told_where_the_index_came_from(tmp_path: Path) -> None:
    ci, clone, shelf, team = (tmp_path / name for name in ("ci", "clone", "shelf", "team"))
    for path, text in FILES.items():
        (ci / path).parent.mkdir(parents=True, exist_ok=True)
        (ci / path).write_text(text, "utf-8")
    git(ci, "init", "-q", "-b", "main")
    git(ci, "add", ".")
    git(ci, "commit", "-q", "-m", "one")
    git(tmp_path, "clone", "-q", "ci", "clone")
    home, other = tmp_path / "home-ci", tmp_path / "home"

    assert sidecar(home, ci, "index").returncode == 0
    made = sidecar(home, ci, "snapshot", "make", "--out", "../shelf")
    assert json.loads(made.stdout)["files"] == len(FILES)
    assert "as secret as the sources" in made.stderr
    pushed = sidecar(home, ci, "snapshot", "push", str(team), "--from", str(shelf))
    assert json.loads(pushed.stdout)["target"] == str(team)
    assert sorted(path.suffix for path in team.iterdir() if path.suffix) == [".json", ".zst"]

    indexed = sidecar(other, clone, "index", SIDECAR_SNAPSHOT_SOURCE=str(team))
    assert json.loads(indexed.stdout)["embedded"] == 0
    status = json.loads(sidecar(other, clone, "status").stdout)
    assert (status["origin"]["source"], status["origin"]["taken"]) == (str(team), len(FILES))

    refused = sidecar(other, clone, "snapshot", "get", "../nowhere")
    assert refused.returncode == 7
    assert "There are no snapshots at" in json.loads(refused.stderr)["error"]["detail"]
    assert json.loads(sidecar(other, clone, "status").stdout)["origin"] == status["origin"]
