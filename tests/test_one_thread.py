"""Products of arrays use the thread that asks for them, and no other that would keep a processor busy afterwards."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
_THREADS = """
import sidecar.model.files
import numpy as np
rows = np.ones((20_000, 256), np.float32)
rows[0] @ rows.T
from pathlib import Path
print(sum(1 for _ in Path("/proc/self/task").iterdir()))
"""


@pytest.mark.process
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted in /proc")
def test_a_comparison_of_vectors_leaves_no_other_thread_running(tmp_path: Path) -> None:
    line = [sys.executable, "-P", "-c", _THREADS]
    environment = {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert int(done.stdout) == 1
