"""A process that prepares files; some files end it, and some keep it busy for ever."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading

from sidecar.engine.ingest.prepare import Gone, Job
from sidecar.engine.ingest.worker_process import Request, read_message, write_message

UNREAD = 1_000_000
"""How many bytes a talkative process writes before it ends."""


def main(nature: str = "") -> int:
    if nature == "stillborn":
        return 3
    if nature == "talkative":
        sys.stdout.buffer.write(bytes(UNREAD))
        sys.stdout.buffer.flush()
        return 0
    requests, replies = sys.stdin.buffer, sys.stdout.buffer
    read_message(requests)
    write_message(replies, os.getpid())
    try:
        while True:
            _answer(read_message(requests), nature)
    except EOFError:
        return 0


def _answer(request: Request, nature: str) -> None:
    for task in request.tasks:
        assert isinstance(task, Job)
        path = task.found.path
        if nature == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if "crash" in path and (not task.by_lines or "always" in path):
            os._exit(11)
        if "hang" in path and not task.by_lines:
            threading.Event().wait()
        if path.startswith("pipe "):
            os.close(os.open(path.removeprefix("pipe "), os.O_RDONLY))  # waits for ever for a writer
        outcome = Gone(f"{path} {task.by_lines}".strip())
        write_message(sys.stdout.buffer, (pickle.dumps(outcome), nature == "growing"))
        if nature == "growing":
            os._exit(0)
