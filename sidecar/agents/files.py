"""Reads and writes the settings files of other programs: whole files, through links, keeping their permissions."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from sidecar import shown
from sidecar.agents.damaged import NotChanged
from sidecar.errors import PermissionDenied
from sidecar.small_files import TooLarge, read_small_file, replace_file

_MOST = 64_000_000


def read(path: Path) -> str | None:
    """Returns the text of a file with its line ends; None if the file is missing. Raises NotChanged and
    PermissionDenied."""
    try:
        content = read_small_file(path, _MOST)
        if content is None and path.exists():
            raise NotChanged("is no file")
        if content is None and Path(os.path.realpath(path)).is_symlink():
            raise NotChanged("is a link that leads back to itself")
        return None if content is None else content.decode("utf-8")
    except UnicodeDecodeError:
        raise NotChanged("is not UTF-8") from None
    except TooLarge as error:
        raise NotChanged(f"is too large: {error}") from None
    except OSError as error:
        raise PermissionDenied(f"{shown.place(path)} cannot be read: {error.strerror or error}.") from error


def write(path: Path, text: str) -> str:
    """Replaces the content of a file atomically. If the path is a link, replaces the file that the link leads to.

    Returns the outermost folder or file that it has created; empty if the file existed. Raises PermissionDenied.
    """
    real = Path(os.path.realpath(path))
    made = "" if real.exists() else str(_first_missing(real))
    try:
        mode = stat.S_IMODE(real.stat().st_mode) if not made else 0o666 & ~_umask()
        if not made and not os.access(real, os.W_OK):
            raise PermissionError(None, "it is read-only")
        real.parent.mkdir(parents=True, exist_ok=True)
        replace_file(real, text.encode("utf-8"), mode)
    except OSError as error:
        raise PermissionDenied(
            f"{shown.place(path)} cannot be written: {error.strerror or error}. Nothing was changed."
        ) from error
    return made


def delete(path: Path, made: str) -> None:
    """Deletes a file, and the empty folders up to `made` that were made for it. Raises PermissionDenied."""
    try:
        real = Path(os.path.realpath(path))
        real.unlink()
        for folder in real.parents:
            if not folder.is_relative_to(made) or any(folder.iterdir()):
                return
            folder.rmdir()
    except OSError as error:
        raise PermissionDenied(f"{shown.place(path)} cannot be deleted: {error.strerror or error}.") from error


def _umask() -> int:
    """Returns the process's umask, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _first_missing(path: Path) -> Path:
    return path if path.parent.exists() else _first_missing(path.parent)
