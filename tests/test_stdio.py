"""A process that has taken its stdio can be reached through the new descriptors only."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SERVE = """
import os, subprocess, sys
print("before", end=" ")
from sidecar.stdio import take_stdio
reading, writing = take_stdio()
print("a library prints", flush=True)
child = [sys.executable, "-c", "import sys; print('a child prints', len(sys.stdin.read()))"]
subprocess.run(child, check=True)
os.write(writing, b"answer to " + os.read(reading, 100))
"""


@pytest.mark.process
def test_what_a_library_or_a_child_prints_goes_to_stderr_and_neither_reads_the_client_s_input() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SERVE],
        input=b"question",
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=True,
    )
    assert done.stdout == b"before answer to question"
    assert done.stderr.split() == b"a library prints a child prints 0".split()
