"""Reads one file consistently, in any encoding, and never through a link that leaves the root.

`walk` decides whether a file should be read at all.
"""

from __future__ import annotations

import codecs
import errno
import hashlib
import os
import re
import stat as modes
from collections.abc import Callable

from sidecar import errors, shown
from sidecar.model.files import FileContent, Stat
from sidecar.parts.encodings import BINARY, SNIFFED_BYTES, Reading, escaped_text, other_text, wide_text
from sidecar.parts.paths import disk_path, normalise_root

ATTEMPTS = 3
"""How many times a file that changes during reading is read."""

# UTF-32 comes first, because its little-endian mark begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROL = bytes(sorted(set(range(32)) - set(b"\t\n\r\x0b\x0c\x08\x1b")))
_NEWLINES = re.compile(r"\r\n?")


class ChangedWhileReading(Exception):
    """The file changed during every attempt to read it; read it again when it has stopped changing."""


def read_file(root: str, path: str, max_size: int, *, reread: Callable[[int, int], bytes] | None = None) -> FileContent:
    """Reads the file at a path relative to the root. `max_size` is in bytes.

    Raises FileNotFound, PermissionDenied, PathTraversal (the path is a link, or leads out of the root), FileExcluded
    (the file is larger than `max_size`, or not a regular file), ChangedWhileReading. `reread(descriptor, size)`
    replaces the function that reads the bytes.
    """
    try:
        full = _inside(normalise_root(root), path)
        for _ in range(ATTEMPTS):
            content = _read_once(full, path, max_size, reread or _read_all)
            if content is not None:
                return content
    except (FileNotFoundError, NotADirectoryError) as error:
        raise errors.FileNotFound(f"{shown.place(path)} does not exist.") from error
    except PermissionError as error:
        raise errors.PermissionDenied(f"{shown.place(path)} cannot be read: {error.strerror}.") from error
    except OSError as error:
        raise _translated(error, path) from error
    raise ChangedWhileReading(f"{path} changed during {ATTEMPTS} attempts to read it")


def read_with_blobs(root: str, path: str, max_size: int) -> tuple[FileContent, tuple[str, str]]:
    r"""Returns the same as `read_file`, and the ids (hexadecimal) that git may have for this content: that of the bytes
    as they are, and that of the bytes with `\n` newlines, which a checkout may have turned into `\r\n`."""
    raw = b""

    def read(descriptor: int, size: int) -> bytes:
        nonlocal raw
        raw = _read_all(descriptor, size)
        return raw

    content = read_file(root, path, max_size, reread=read)
    return content, (content.blob.hex(), _blob_id(raw.replace(b"\r\n", b"\n")).hex())


def _blob_id(raw: bytes) -> bytes:
    """Returns the id that git gives a file with these bytes (SHA-1 of the blob)."""
    made = hashlib.sha1(b"blob %d\0" % len(raw), usedforsecurity=False)
    made.update(raw)
    return made.digest()


def _translated(error: OSError, path: str) -> errors.SidecarError:
    if error.errno in (errno.ELOOP, errno.EMLINK):
        return errors.PathTraversal(
            f"{shown.place(path)} is a symbolic link. Its target is indexed under its own path."
        )
    if error.errno in (errno.ENAMETOOLONG, errno.EINVAL):
        return errors.FileNotFound(f"{shown.place(path)} is not a valid file name.")
    return errors.PermissionDenied(f"{shown.place(path)} cannot be read: {error.strerror or error}.")


def _inside(root: str, path: str) -> str:
    """Returns the absolute path with its folder's links resolved. Raises PathTraversal when that folder is outside the
    root."""
    if "\0" in path:
        raise errors.PathTraversal("The path contains a NUL character.")
    folder, name = os.path.split(disk_path(root, path) if path else root + os.sep)
    resolved = os.path.realpath(folder)
    if resolved != root and not resolved.startswith(root.rstrip(os.sep) + os.sep):
        raise errors.PathTraversal(f"{shown.place(path)} leads out of the workspace.")
    return os.path.join(resolved, name)  # noqa: PTH118


def _read_once(full: str, path: str, max_size: int, read: Callable[[int, int], bytes]) -> FileContent | None:
    # O_NONBLOCK: opening a named pipe must not wait for a writer.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(full, flags)
    try:
        before = os.fstat(descriptor)
        if not modes.S_ISREG(before.st_mode):
            raise errors.FileExcluded(f"{shown.place(path)} is not a regular file.")
        if before.st_size > max_size:
            raise errors.FileExcluded(f"{shown.place(path)} has {before.st_size} bytes; the limit is {max_size}.")
        raw = read(descriptor, before.st_size)
        after = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    if Stat.of(before) != Stat.of(after) or len(raw) != before.st_size or not _still_there(full, after):
        return None
    seen = decode(raw)
    digest = hashlib.sha256(raw).digest()
    return FileContent(seen.text, Stat.of(after), digest, seen.encoding, seen.reason, _blob_id(raw))


def _still_there(full: str, opened: os.stat_result) -> bool:
    """Whether the path still names the file that was opened: an atomic save replaces it by another."""
    now = os.stat(full, follow_symlinks=False)  # noqa: PTH116
    return Stat.of(now) == Stat.of(opened)


def _read_all(descriptor: int, size: int) -> bytes:
    """Reads one byte more than `size`, if there is one, to detect growth."""
    parts, wanted = [], size + 1
    while wanted > 0 and (part := os.read(descriptor, wanted)):
        parts.append(part)
        wanted -= len(part)
    return b"".join(parts)


def decode(raw: bytes) -> Reading:
    r"""Returns the text with `\n` newlines and without a byte order mark, and its encoding. The text is empty when the
    bytes are binary or their encoding cannot be determined."""
    for mark, encoding in _MARKS:
        if raw.startswith(mark):
            return Reading(_newlines(raw[len(mark) :].decode(encoding, "replace")), encoding)
    read = _without_mark(raw)
    return read._replace(text=_newlines(read.text))


def _without_mark(raw: bytes) -> Reading:
    escaped = escaped_text(raw)
    if escaped is not None:
        return escaped
    if binary_reason(raw):
        wide = wide_text(raw) if b"\0" in raw[:SNIFFED_BYTES] else None
        return wide or Reading("", BINARY)
    try:
        return Reading(raw.decode("utf-8"), "utf-8")
    except UnicodeDecodeError as error:
        return other_text(raw, error.start)


def binary_reason(raw: bytes) -> str:
    """Returns why bytes without a byte order mark are not text, judged by the first 8 KB; empty when they are text."""
    head = raw[:SNIFFED_BYTES]
    if b"\0" in head:
        return "it contains a NUL byte"
    controls = len(head) - len(head.translate(None, _CONTROL))
    if controls > len(head) * 0.02 + 1:
        return f"{controls} of its first {len(head)} bytes are control characters"
    return ""


def _newlines(text: str) -> str:
    return _NEWLINES.sub("\n", text) if "\r" in text else text
