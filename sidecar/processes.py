"""Checks whether another process is running. Not for Windows, where the check itself would end the process."""

from __future__ import annotations

import os


def is_running(pid: int) -> bool:
    """Whether the process exists; another user's process counts, and so does one that has ended but was not waited
    for."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it belongs to another user
        return True
    return True
