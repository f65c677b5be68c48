"""Reserves stdin and stdout for a protocol. Every pipe imports this module, so it imports next to nothing."""

from __future__ import annotations

import os
import sys


def take_stdio() -> tuple[int, int]:
    """Moves the streams at fds 0 and 1 to new descriptors and returns these, for reading and for writing.

    From then on fd 0 is empty and printed text goes to stderr, so neither a library nor a child process can read from
    the protocol's stream or write into it.
    """
    sys.stdout.flush()
    reading, writing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return reading, writing
