"""`make test` runs Python's tests and the editor's side by side, and shows the output and the failure of either."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [pytest.mark.process, pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")]


@pytest.mark.parametrize("status", [0, 1, 7])
def test_what_the_editors_half_says_is_shown_whole_and_its_failure_fails(tmp_path: Path, status: int) -> None:
    half = tmp_path / "half"
    half.write_text(f"#!/bin/sh\necho one $2\necho two >&2\nexit {status}\n")
    half.chmod(0o755)
    command = ["make", "test-extension-shown-whole", f"MAKE={half}", f"EXTENSION_LOG={tmp_path / 'a/log'}"]
    # A make that was started by another one says which folder it enters and leaves.
    own = {name: value for name, value in os.environ.items() if name not in {"MAKELEVEL", "MAKEFLAGS", "MFLAGS"}}
    done = subprocess.run(command, cwd=ROOT, env=own, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.stdout.splitlines()[-2:] == ["one test-extension", "two"]
    assert (done.returncode == 0) == (status == 0)


def test_both_halves_are_run_to_their_end_side_by_side() -> None:
    rules = (ROOT / "Makefile").read_text("utf-8")
    recipe = re.search(r"^test: .*\n\t@(.*)$", rules, re.MULTILINE)
    assert recipe is not None
    assert {"--keep-going", "--jobs", "test-python", "test-extension-shown-whole"} <= set(recipe[1].split())
