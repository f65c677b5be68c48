"""The patterns that one workspace's index is limited to, in a file beside its generations.

The file outlives generations and damage to them: an index that a person has allowed for some files only must never grow
because it is repaired. While the file cannot be read, nothing is indexed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeAlias

from sidecar import shown
from sidecar.engine.index.layout import IndexLayout
from sidecar.errors import IndexCorrupt, disk_error
from sidecar.parts.pattern_limit import PatternLimit
from sidecar.small_files import read_small_file, remove, replace_file, stat_if_there

_MAX_BYTES = 64 * 1024 * 1024
_Version: TypeAlias = tuple[int, int, int]
"""Inode, size and modification time of the file, which is always replaced as a whole."""


class StoredLimit:
    """Reads and writes the limit. Only a process that holds the lease may write it. Thread-safe."""

    def __init__(self, directory: IndexLayout) -> None:
        self._directory = directory
        self._lifted = False
        self._read: tuple[_Version, PatternLimit] | None = None

    def current(self) -> PatternLimit | None:
        """Returns the patterns; None if the index covers the whole workspace, is being extended to it, or does not
        exist.

        Raises IndexCorrupt if the file cannot be read.
        """
        if self._lifted:
            return None
        try:
            found = stat_if_there(self._directory.patterns, follow_links=False)
            # Every answer comes here, and few indexes are limited: the file is looked for before the index.
            return None if found is None or self._directory.current() is None else self._stored(found)
        except (OSError, ValueError) as error:
            if self._directory.current() is None:
                return None
            raise IndexCorrupt(
                f"The list of patterns that it is limited to, {shown.place(self._directory.patterns)}, cannot be read"
                f" ({shown.reason(error)}). `create_index` indexes the whole workspace."
            ) from error

    def _stored(self, found: os.stat_result) -> PatternLimit | None:
        """Returns the patterns in the file with this stat, which are read once; None if the file has just been removed.

        Raises OSError, and ValueError for a file with any other content.
        """
        path, version = self._directory.patterns, (found.st_ino, found.st_size, found.st_mtime_ns)
        if self._read is not None and self._read[0] == version:
            return self._read[1]
        stored = read_small_file(path, _MAX_BYTES)
        if stored is None:
            if os.path.lexists(path):
                raise ValueError("it is not a regular file")
            return None
        limit = PatternLimit.parsed(stored.decode("utf-8"))
        if stat.S_ISREG(found.st_mode):  # the stat of a link does not show whether the file has changed
            self._read = version, limit
        return limit

    def set(self, limit: PatternLimit) -> None:
        """Limits the index to these patterns, atomically. Raises DiskFull or PermissionDenied."""
        path = self._directory.patterns
        try:
            replace_file(path, limit.written().encode(), 0o600)
        except OSError as error:
            raise disk_error(error, path) from error

    @contextmanager
    def lifted(self) -> Iterator[None]:
        """Within the block, this process treats the index as one of the whole workspace; other processes do so after
        the block has ended without an error. Raises DiskFull or PermissionDenied at the end of the block."""
        self._lifted = True
        try:
            yield
            self._clear()
        finally:
            self._lifted = False

    def _clear(self) -> None:
        path = self._directory.patterns
        try:
            remove(path)
        except OSError as error:
            raise disk_error(error, path) from error
