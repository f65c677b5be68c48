"""Whether another process is running, and how many processors there are for this one."""

from __future__ import annotations

import os
from collections.abc import Mapping

_HIGHEST_PID = 2**31 - 1


def is_running(pid: int) -> bool:
    """Whether the process exists; another user's process counts, and so does one that has ended but was not waited
    for. Not for Windows, where the check itself would end the process."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it belongs to another user
        return True
    return True


def pid_in(record: Mapping[str, object]) -> int:
    """Returns the process id in a record; 0 if it has none. A signal to a number below 1 would reach other
    processes."""
    pid = record.get("pid")
    return pid if isinstance(pid, int) and not isinstance(pid, bool) and 0 < pid <= _HIGHEST_PID else 0


def usable_processors() -> int:
    """Returns how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
