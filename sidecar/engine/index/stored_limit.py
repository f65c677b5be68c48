"""The patterns that one workspace's index is limited to, in a file beside its generations.

The file outlives generations and damage to them: an index that a person has allowed for some files must never grow by
being repaired. While it cannot be read, nothing is indexed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeAlias

from sidecar import shown
from sidecar.engine.index.layout import IndexLayout
from sidecar.errors import IndexCorrupt, disk_error
from sidecar.parts.pattern_limit import PatternLimit
from sidecar.small_files import read_small_file, stat_if_there

_MAX_BYTES = 64 * 1024 * 1024
_Version: TypeAlias = tuple[int, int, int]
"""Inode, size and time of change of the file, which is always replaced as a whole."""


class StoredLimit:
    """Reads and writes the limit. Only a process that holds the lease may write it. Thread-safe."""

    def __init__(self, directory: IndexLayout) -> None:
        self._directory = directory
        self._lifted = False
        self._read: tuple[_Version, PatternLimit] | None = None

    def current(self) -> PatternLimit | None:
        """The patterns; None if the index is of the whole workspace, becomes that at the moment, or does not exist.

        Raises IndexCorrupt if the file cannot be read.
        """
        # Every answer comes here, and few indexes are limited: the file is looked for first.
        if self._lifted or self._is_unlimited() or self._directory.current() is None:
            return None
        path = self._directory.patterns
        try:
            version, known = _version(path), self._read
            if known is not None and known[0] == version:
                return known[1]
            stored = read_small_file(path, _MAX_BYTES)
            if stored is None and os.path.lexists(path):
                raise ValueError("it is not a regular file")
            if stored is None or version is None:
                return None
            limit = PatternLimit.parsed(stored.decode("utf-8"))
        except (OSError, ValueError) as error:
            raise IndexCorrupt(
                f"The list of patterns that it is limited to, {shown.place(path)}, cannot be read"
                f" ({shown.reason(error)}). `create_index` indexes the whole workspace."
            ) from error
        self._read = version, limit
        return limit

    def _is_unlimited(self) -> bool:
        """Whether there is no file; False if that cannot be known."""
        with suppress(OSError):
            return stat_if_there(self._directory.patterns, follow_links=False) is None
        return False

    def set(self, limit: PatternLimit) -> None:
        """Limits the index to these patterns, atomically. Raises DiskFull or PermissionDenied."""
        path = self._directory.patterns
        new = path.with_suffix(".new")
        try:
            with new.open("w", encoding="utf-8") as file:
                file.write(limit.written())
                file.flush()
                os.fsync(file.fileno())
            new.replace(path)
        except OSError as error:
            raise disk_error(error, path) from error

    @contextmanager
    def lifted(self) -> Iterator[None]:
        """Within the block, this process treats the index as one of the whole workspace; other processes do so when the
        block has ended without an error. Raises DiskFull or PermissionDenied at that end.
        """
        self._lifted = True
        try:
            yield
            self._clear()
        finally:
            self._lifted = False

    def _clear(self) -> None:
        path = self._directory.patterns
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise disk_error(error, path) from error


def _version(path: Path) -> _Version | None:
    """The version of a file that is there; None if nothing is. Raises OSError."""
    stat = stat_if_there(path)
    return None if stat is None else (stat.st_ino, stat.st_size, stat.st_mtime_ns)
