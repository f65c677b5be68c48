"""Limits that a process puts on itself: memory, computing time of one piece of work, no core files.

Linux holds all of them, macOS all but that of memory, Windows none: there a parent's patience is what is left.
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
    """From now on this process gets so much beyond what it has, and an allocation above it fails; it dumps no core.

    Counted is what it may write to, not the libraries that it maps.
    """
    if sys.platform != "win32":
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if (held := memory_bytes()) is not None:
            most = held + more_bytes
            _, hard = resource.getrlimit(resource.RLIMIT_DATA)
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def memory_bytes() -> int | None:
    """What this process has of the memory that `limit_memory` counts; None where the system does not tell."""
    with contextlib.suppress(OSError, ValueError, StopIteration), Path("/proc/self/status").open() as status:
        return int(next(line for line in status if line.startswith("VmData")).split()[1]) * 1024
    return None


@contextlib.contextmanager
def computing(seconds: float) -> Iterator[None]:
    """Ends the process by SIGPROF when the block computes for longer: also in foreign code that nothing interrupts."""
    if sys.platform == "win32":
        yield
        return
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def heed_limits() -> None:
    """Makes SIGPROF end this process, whatever the one that started it did with signals."""
    if sys.platform != "win32":
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGPROF])
