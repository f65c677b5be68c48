"""A process that prepares files, save that some files end it and some keep it for ever."""

from __future__ import annotations

import os
import pickle
import sys
import threading

from sidecar.engine.apart import read_message, write_message
from sidecar.engine.prepare import Gone


def main() -> int:
    requests, replies = sys.stdin.buffer, sys.stdout.buffer
    read_message(requests)
    try:
        while True:
            paths = [found.path for found, _ in read_message(requests)]
            if any("crash" in path for path in paths):
                os._exit(11)
            if any("hang" in path for path in paths):
                threading.Event().wait()
            write_message(replies, [pickle.dumps(Gone(path)) for path in paths])
    except EOFError:
        return 0
