"""Limits that a process puts on itself: its memory and the CPU time of one piece of work.

Linux enforces both, macOS only the CPU time, Windows neither. On Windows only the parent's timeout applies.
"""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

if sys.platform != "win32":
    import resource


def limit_memory(more_bytes: int) -> None:
    """Limits this process to `more_bytes` beyond its present memory, and disables core files.

    Allocations above the limit fail. The limit counts writable data, not mapped libraries (RLIMIT_DATA).
    """
    if sys.platform != "win32":
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if (held := memory_bytes()) is not None:
            most = held + more_bytes
            _, hard = resource.getrlimit(resource.RLIMIT_DATA)
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def memory_bytes() -> int | None:
    """Returns the memory of this process in bytes, as `limit_memory` counts it; None when the system does not report
    it."""
    with contextlib.suppress(OSError, ValueError, StopIteration), Path("/proc/self/status").open() as status:
        return int(next(line for line in status if line.startswith("VmData")).split()[1]) * 1024
    return None


@contextlib.contextmanager
def computing(seconds: float) -> Iterator[None]:
    """Ends the process by SIGPROF when the block uses more CPU time than `seconds`, even inside foreign code that
    cannot be interrupted.
    """
    if sys.platform == "win32":
        yield
        return
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def apply_limits() -> None:
    """Unblocks SIGPROF and restores its default action, which ends the process, whatever the parent set up."""
    if sys.platform != "win32":
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGPROF])
