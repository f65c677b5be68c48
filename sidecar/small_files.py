"""Opens files of which nobody knows what is at their path: files of rules, settings and git's, and sidecar's own.

Anything may lie there: a pipe, on which opening or reading waits for ever; a device, which never ends; a folder; a link
to nothing, through which a file would be made somewhere else. Only regular files are opened, and none is waited for.
"""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import stat as modes
import time
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

AT_ONCE = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
"""Flags of `os.open` that keep it from waiting, whatever is at the path."""
_FLAGS = os.O_RDONLY | AT_ONCE
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | AT_ONCE
_MORE = os.O_WRONLY | os.O_CREAT | os.O_APPEND | AT_ONCE
_PRIVATE = 0o600
A_FOLDER = "a folder"
_KINDS = (
    (modes.S_ISDIR, A_FOLDER),
    (modes.S_ISFIFO, "a pipe"),
    (modes.S_ISSOCK, "a socket"),
    (modes.S_ISLNK, "a link that leads to no file"),
)


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


def parse_json(content: str | bytes) -> Any:
    """Returns the value that is written as JSON. Raises ValueError, also if it is nested too deeply."""
    try:
        return json.loads(content)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def read_record(path: str | os.PathLike[str], most: int) -> dict[str, Any]:
    """Returns the JSON object in a small file of sidecar's own that can be made again; empty if the file is missing,
    cannot be read, or contains anything else."""
    try:
        found = parse_json(read_small_file(path, most) or b"")
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def what_else(path: str | os.PathLike[str], *, follow_links: bool = True) -> str:
    """Returns what is at a path in place of a regular file, such as "a pipe"; empty if nothing or a regular file is
    there, or if that cannot be determined. If `follow_links`, a link to a regular file counts as one."""
    try:
        mode = os.lstat(path).st_mode  # alone in most cases, and every opening of a database asks four times
    except OSError:
        return ""
    if modes.S_ISLNK(mode) and follow_links:
        with contextlib.suppress(OSError):
            mode = os.stat(path).st_mode  # noqa: PTH116
    if modes.S_ISREG(mode):
        return ""
    return next((kind for holds, kind in _KINDS if holds(mode)), "a device")


def remove(path: Path) -> None:
    """Removes whatever is at a path: a file, a folder with all that is in it, or a link, but not what it leads to.
    Raises OSError."""
    if path.is_dir() and not path.is_symlink():
        import shutil  # slow to import, and seldom needed

        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def open_new(path: Path) -> BinaryIO:
    """Opens a new file of sidecar's own for writing, in place of whatever is at its path. Raises OSError.

    Only its owner can read it.
    """
    remove(path)
    return os.fdopen(os.open(path, _NEW, _PRIVATE), "wb")


def make_folder(path: Path) -> None:
    """Makes a folder of sidecar's own, which only its owner can enter, in place of whatever else is at its path. Raises
    OSError."""
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
    except FileExistsError:
        remove(path)
        path.mkdir(mode=0o700)


def open_to_append(path: Path, *, existing: bool = False) -> BinaryIO:
    """Opens a file of sidecar's own for writing at its end; makes it if it is missing, unless it must be `existing`.
    Raises OSError, also if something else than a regular file is there."""
    flags = _MORE & ~os.O_CREAT if existing else _MORE
    return os.fdopen(_regular(path, os.open(path, flags, _PRIVATE)), "ab")


def open_to_read(path: Path) -> io.BufferedReader:
    """Opens a file of any size. Raises OSError, also if something else than a regular file is there."""
    return os.fdopen(_regular(path, os.open(path, _FLAGS)), "rb")


def _regular(path: Path, descriptor: int) -> int:
    """Returns the descriptor if it is a regular file's; else closes it and raises OSError."""
    if modes.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise OSError(errno.EINVAL, f"it is {what_else(path) or 'no regular file'}", str(path))


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
