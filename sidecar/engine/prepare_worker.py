"""The process that `apart.py` starts: prepares the files it is told, until its stdin ends."""

from __future__ import annotations

import os
import pickle
import signal
import sys
from typing import BinaryIO

from sidecar.engine.apart import read_message, write_message
from sidecar.engine.prepare import Preparer
from sidecar.engine.wiring import real_parts

_NICENESS = 10
"""A person's typing and searching go before the reading of files."""


def main() -> int:
    """Exit status 0, or 1 when the other end has gone in mid-word."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    requests, replies = _own_pipes()
    try:
        root, settings = read_message(requests)
        preparer = Preparer(root, real_parts({}, {}, os.environ), settings, {})
        while True:
            outcomes = (preparer.prepare(found, known) for found, known in read_message(requests))
            write_message(replies, [pickle.dumps(outcome, pickle.HIGHEST_PROTOCOL) for outcome in outcomes])
    except EOFError:
        return 0
    except OSError:
        return 1


def _own_pipes() -> tuple[BinaryIO, BinaryIO]:
    """stdin and stdout for messages only: what a library prints goes to stderr."""
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return requests, replies
