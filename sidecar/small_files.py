"""Reads small files that others write and that affect sidecar (ignore rules, settings, git's own files), and replaces
small files atomically."""

from __future__ import annotations

import errno
import os
import stat as modes
import time
from pathlib import Path
from typing import BinaryIO, TypeAlias

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)


class TooLarge(ValueError):
    """The file has more bytes than the reader accepts."""


def read_small_file(path: str | os.PathLike[str], most: int, *, follow_links: bool = True) -> bytes | None:
    """Returns the whole content of a regular file of at most `most` bytes; None if the path is not a regular file.

    Never blocks and never reads without end: pipes, sockets, devices and folders are not opened. If `follow_links` is
    False, a link does not count as a regular file. Raises TooLarge, and OSError if something exists at the path but
    cannot be examined or read.
    """
    try:
        if not modes.S_ISREG(os.stat(path, follow_symlinks=follow_links).st_mode):  # noqa: PTH116
            return None
        descriptor = os.open(path, _FLAGS | (0 if follow_links else getattr(os, "O_NOFOLLOW", 0)))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValueError:  # a NUL, or a character that no file name can have
        return None
    except OSError as error:
        if is_a_link(error):
            return None
        raise
    with os.fdopen(descriptor, "rb") as file:
        # The path may name something else than at the time of the stat.
        found = os.fstat(descriptor)
        if not modes.S_ISREG(found.st_mode):
            return None
        content = _read(file, min(most, found.st_size), most)
    if len(content) > most:
        raise TooLarge(f"it has more than {most:,} bytes")
    return content


def replace_file(path: Path, content: bytes, mode: int) -> None:
    """Replaces a file atomically, so that no reader sees a part of it, or creates it. `mode` has its permissions.

    Raises OSError. The file then stays as it was, and nothing else is left in its folder, which must exist.
    """
    import tempfile  # slow to import, and most processes write no such file

    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    made = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        made.chmod(mode)
        made.replace(path)
    except BaseException:
        made.unlink(missing_ok=True)
        raise


def _read(file: BinaryIO, expected: int, most: int) -> bytes:
    """Returns the content, of at most `most` + 1 bytes. Python allocates at once what it is asked to read."""
    content = file.read(expected + 1)
    grown = len(content) > expected  # or a file of the kernel's, whose size is 0
    return content + file.read(most - expected) if grown else content


Look: TypeAlias = tuple[int, int, int, int]
"""Size in bytes, mtime and ctime in nanoseconds, and inode of a file. A file whose look differs has been changed or
replaced."""
_SETTLING_NS = 2_000_000_000
"""Two changes within one tick of the file system's clock leave the same mtime; FAT's tick is 2 s."""


def look_of(path: str | os.PathLike[str]) -> Look | None:
    """Returns the look of the file at a path; None if it cannot be determined. Every search calls this, and `Path.stat`
    would take twice as long."""
    try:
        found = os.stat(path)  # noqa: PTH116
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


def is_fresh(look: Look | None) -> bool:
    """Whether the file changed less than 2 seconds ago, so that another change could leave the same look."""
    return look is not None and time.time_ns() - max(look[1], look[2]) < _SETTLING_NS


def is_a_link(error: OSError) -> bool:
    """Whether opening failed because the path is a link that must not be followed, or a link that leads in a circle."""
    return error.errno in (errno.ELOOP, errno.EMLINK)


def stat_if_there(path: str | os.PathLike[str], *, follow_links: bool = True) -> os.stat_result | None:
    """Returns the stat; None if nothing exists at the path, or only a link that leads in a circle.

    Raises OSError if that cannot be determined.
    """
    try:
        return os.stat(path, follow_symlinks=follow_links)  # noqa: PTH116
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    except OSError as error:
        if is_a_link(error):
            return None
        raise
