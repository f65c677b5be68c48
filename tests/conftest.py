"""Every program that a test starts works in its own process and leaves no daemon behind, unless the test says otherwise
(tests/daemon)."""

from __future__ import annotations

import os
import signal

import sidecar.no_telemetry  # noqa: F401

os.environ["CI"] = "1"
os.environ["SIDECAR_CHECK_LOCKS"] = "1"
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # thousands of processes: each would compile the house anew
signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell starts in the background would ignore it
