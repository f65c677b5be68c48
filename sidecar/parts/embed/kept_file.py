"""The file of the embedding cache, below its tables: whether it can be written, and what to do when it is damaged."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from contextlib import AbstractContextManager
from pathlib import Path

from sidecar.errors import IndexCorrupt
from sidecar.parts import database

ADVICE = "Run reindex_project: it makes the vectors again, and nothing is lost but time."


def is_readonly(path: Path) -> bool:
    """Whether the file exists and cannot be written, or its folder cannot."""
    writable = os.access(path.parent, os.W_OK) and (not path.exists() or os.access(path, os.W_OK))
    return path.exists() and not writable


def _mark_of(path: Path) -> Path:
    """The empty file that marks the cache as damaged."""
    return path.with_suffix(".damaged")


def is_damage(error: IndexCorrupt) -> bool:
    """Whether the file itself is damaged. False if it was asked for the wrong dimension, or if the disk cannot be read
    now.
    """
    code = getattr(error.__cause__, "sqlite_errorcode", 0)
    unread = code & 0xFF == sqlite3.SQLITE_IOERR and code != sqlite3.SQLITE_IOERR_SHORT_READ
    return not (unread or error.facts.get("asked_wrongly"))


def mark_damaged(path: Path) -> None:
    """Marks the file as damaged, so that its next opener begins a new one."""
    with contextlib.suppress(OSError):
        _mark_of(path).touch(mode=0o600)


def set_damaged_aside(path: Path) -> None:
    """Deletes the file, with its journal, if it is marked as damaged."""
    mark = _mark_of(path)
    if mark.exists():
        with contextlib.suppress(OSError):
            for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
                _remove(path.with_name(name))
            mark.unlink()


def _remove(path: Path) -> None:
    """Deletes a file, or a folder in its place."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def translated(path: Path) -> AbstractContextManager[None]:
    """Turns SQLite's errors about this file into sidecar's."""
    return database.translated(path, f"{{path}} cannot be read ({{error}}). {ADVICE}")
