"""Ctrl-C while the command line is being imported: the process ends, and shows no traceback."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.process


@pytest.mark.parametrize(
    ("then", "status", "said"), [("", -signal.SIGINT, ""), ("ready()", -signal.SIGINT, "KeyboardInterrupt")]
)
def test_ctrl_c_before_the_command_line_is_ready_ends_it_silently(then: str, status: int, said: str) -> None:
    early = f"from sidecar.early_interrupt import ready; {then}\nimport os, signal; os.kill(os.getpid(), signal.SIGINT)"
    done = subprocess.run([sys.executable, "-c", early], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip().rpartition("\n")[2]) == (status, said)


def test_the_command_imports_it_before_what_takes_long() -> None:
    look = "import sys, sidecar.__main__; print(*(name for name in sys.modules if name.startswith('sidecar')))"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert loaded.index("sidecar.early_interrupt") < min(loaded.index(one) for one in loaded if "surfaces" in one)
