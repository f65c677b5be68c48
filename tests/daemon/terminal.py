"""A command in a person's terminal: what it shows, and what the person types."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.daemon.data_folder import SIDECAR, DataFolder
from tests.patience import PATIENCE_S

CTRL_C = "\x03"
_IN_FRONT = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)  # so that Ctrl-C arrives as a signal
os.execv(sys.argv[1], sys.argv[1:])
"""


class Terminal:
    """`text` is everything that was shown so far."""

    def __init__(self, process: subprocess.Popen[bytes], person: int) -> None:
        self.process = process
        self.text = ""
        self._person = person

    def type(self, text: str) -> None:
        os.write(self._person, text.encode())

    def shows(self, wanted: str) -> str:
        """Waits until it has shown this, and returns all that it has shown."""
        while wanted not in self.text:
            assert self._read(), f"it ended, and never showed {wanted!r}: {self.text!r}"
        return self.text

    def ends(self) -> int:
        """Waits until the command has ended, and returns its exit status."""
        while self._read():
            pass
        return self.process.wait(PATIENCE_S)

    def _read(self) -> bool:
        """Reads what comes next; False at the end."""
        deadline = time.monotonic() + PATIENCE_S
        while not select.select([self._person], [], [], 0.05)[0]:
            assert time.monotonic() < deadline, f"it hangs: {self.text!r}"
        try:
            piece = os.read(self._person, 4096)
        except OSError:  # the command's end is closed
            return False
        self.text += piece.decode().replace("\r\n", "\n")
        return bool(piece)


@contextmanager
def terminal(folder: DataFolder, work: Path, *words: str, env: Mapping[str, str] | None = None) -> Iterator[Terminal]:
    """Runs a sidecar command as the foreground process of a terminal."""
    person, there = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", _IN_FRONT, *SIDECAR, *words],
        cwd=work,
        env={**folder.env, "TERM": "xterm", **(env or {})},
        stdin=there,
        stdout=there,
        stderr=there,
        start_new_session=True,
    )
    os.close(there)
    try:
        yield Terminal(process, person)
    finally:
        os.close(person)
        process.kill()
        process.wait(PATIENCE_S)
