"""A message about a fault of sidecar's own names a log only if that log has the details."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from sidecar.logs import log_failure, workspace_log
from sidecar.surfaces.cli.log import LateFile


@pytest.fixture
def logger() -> Iterator[logging.Logger]:
    made = logging.getLogger("sidecar.logged_by_a_test")
    made.propagate = False
    yield made
    made.handlers.clear()


def failing(logger: logging.Logger) -> str:
    try:
        raise RuntimeError("the cause")
    except RuntimeError:
        return log_failure(workspace_log(logger.name, "/work"), "%s failed", "a tool")


def blocked(folder: Path) -> Path:
    """A log in a folder that is a file."""
    folder.write_text("")
    return folder / "sidecar.log"


def test_a_log_that_was_written_is_named(logger: logging.Logger, tmp_path: Path) -> None:
    logger.addHandler(LateFile(tmp_path / "sidecar.log"))
    assert failing(logger) == "The log (logs/sidecar.log in the data folder) has the details."
    written = (tmp_path / "sidecar.log").read_text()
    assert "a tool failed" in written
    assert "RuntimeError: the cause" in written


def test_a_log_that_could_not_be_opened_is_not_said_to_have_the_details(logger: logging.Logger, tmp_path: Path) -> None:
    logger.addHandler(LateFile(blocked(tmp_path / "logs")))
    said = failing(logger)
    assert "has the details" not in said
    assert "logs/sidecar.log in the data folder) cannot be written: File exists" in said


def test_the_daemons_log_is_named_if_only_that_was_written(logger: logging.Logger, tmp_path: Path) -> None:
    logger.addHandler(LateFile(blocked(tmp_path / "logs")))
    logger.addHandler(LateFile(tmp_path / "daemon.log"))
    assert failing(logger) == "The log (logs/daemon.log in the data folder) has the details."


def test_without_a_log_file_none_is_named(logger: logging.Logger) -> None:
    logger.addHandler(logging.NullHandler())
    assert failing(logger) == "Nothing has recorded the details, because this process writes no log file."
