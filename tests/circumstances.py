"""Difficult circumstances for a process: no file descriptor left, and files that it may not read."""

from __future__ import annotations

import ctypes
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_NOBODY = 65534


@contextmanager
def without_descriptors() -> Iterator[None]:
    """Within the block, every attempt of this process to open something fails with EMFILE."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken: list[int] = []
    highest = os.open(os.devnull, os.O_RDONLY)
    taken.append(highest)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1, hard))
        while True:
            try:
                taken.append(os.dup(highest))
            except OSError:
                break
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for descriptor in taken:
            os.close(descriptor)


@contextmanager
def as_somebody() -> Iterator[None]:
    """Within the block, permissions apply to what this thread opens, even if the tests run as the superuser. On Linux,
    other threads keep their user: meanwhile they read the index, which only its owner may read.
    """
    if os.geteuid() != 0:
        yield
        return
    become = ctypes.CDLL(None).setfsuid if sys.platform == "linux" else os.seteuid
    become(_NOBODY)
    try:
        yield
    finally:
        become(0)
