"""The file of the kept vectors beneath its tables: whether it may be written, and damage."""

from __future__ import annotations

import contextlib
import os
from contextlib import AbstractContextManager
from pathlib import Path

from sidecar.parts import database


def is_readonly(path: Path) -> bool:
    """Whether the file is there and cannot be written, or its folder cannot."""
    writable = os.access(path.parent, os.W_OK) and (not path.exists() or os.access(path, os.W_OK))
    return path.exists() and not writable


def _mark_of(path: Path) -> Path:
    return path.with_suffix(".damaged")


def mark_damaged(path: Path) -> None:
    """The next one who opens the file begins a new one."""
    with contextlib.suppress(OSError):
        _mark_of(path).touch(mode=0o600)


def set_damaged_aside(path: Path) -> None:
    mark = _mark_of(path)
    if mark.exists():
        with contextlib.suppress(OSError):
            for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
                path.with_name(name).unlink(missing_ok=True)
            mark.unlink()


def translated(path: Path) -> AbstractContextManager[None]:
    return database.translated(path, "{path} cannot be read ({error}). Reindex: nothing but time is lost.")
