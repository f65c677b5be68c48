"""Sends the log of this process to a file in the data folder, so that no traceback appears in a person's terminal."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from sidecar.errors import SidecarError
from sidecar.logs import ShownFormatter, note_attempt
from sidecar.settings.load import data_home
from sidecar.small_files import open_to_append

MAX_BYTES = 1_000_000
"""A log file that is larger is renamed to `.log.old` before the next record."""


def log_to_file() -> None:
    """Writes sidecar's warnings and errors to `logs/sidecar.log`; without a usable data folder they are dropped.

    Warnings of libraries go to standard error. They may quote what a client sent, so they are formatted by
    `ShownFormatter`.
    """
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(ShownFormatter())
    logger = logging.getLogger("sidecar")
    try:
        path = data_home(os.environ) / "logs" / "sidecar.log"
        logger.addHandler(LateFile(path))
    except SidecarError:
        logger.addHandler(logging.NullHandler())


class LateFile(logging.Handler):
    """Opens the file for each record, so that no file exists before there is something to log, and none stays open."""

    def __init__(self, path: Path, level: int = logging.WARNING) -> None:
        super().__init__(level)
        self._path = path
        self.setFormatter(ShownFormatter("%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        """Appends the record. A file of more than `MAX_BYTES` is first renamed to `.log.old`, which replaces an older
        one."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            if self._path.exists() and self._path.stat().st_size > MAX_BYTES:
                self._path.replace(self._path.with_suffix(".log.old"))
            with open_to_append(self._path) as file:
                file.write(f"{self.format(record)}\n".encode("utf-8", "backslashreplace"))
            note_attempt(record, self._path.name)
        except OSError as error:  # a log that cannot be written must not stop anything
            note_attempt(record, self._path.name, error.strerror or str(error))
