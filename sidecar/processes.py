"""Whether another process is running. Not for Windows, where the question itself would end the process."""

from __future__ import annotations

import os


def is_running(pid: int) -> bool:
    """Whether the process exists, somebody else's and one that has ended without being waited for included."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it belongs to somebody else
        return True
    return True
