"""Checks by their stat whether the files of an answer are still those that were indexed, in order to notice changes
that no event has reported yet.

This takes a few microseconds per file. A file that was only touched is distinguished from a changed one by its digest.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection, Iterable
from itertools import islice
from pathlib import Path

from sidecar.engine.ingest.prepare import Look
from sidecar.engine.ingest.workspace_files import WorkspaceFiles
from sidecar.model.files import Stat
from sidecar.parts.one_step import rows_in_one_step

_MOST = 500
"""The maximum number of files of an answer that are checked."""
_MOST_READ = 20
"""The maximum number of files that are read; further ones count as changed."""


class ShownFiles:
    """Compares files with the index of one workspace."""

    def __init__(self, files: WorkspaceFiles) -> None:
        self._files = files

    def seem_changed(self, connection: sqlite3.Connection, paths: Iterable[str]) -> dict[str, bytes]:
        """Returns those of these indexed paths whose file on disk is gone or has another stat than in the index, with
        the SHA-256 of the indexed content. Paths with unsaved text are left out."""
        wanted = [path for path in dict.fromkeys(paths) if path not in self._files.buffers][:_MOST]
        rows = rows_in_one_step(
            connection,
            "path, hex(sha256), size, mtime_ns, ctime_ns, inode",
            f"FROM files WHERE buffered = 0 AND path IN ({', '.join('?' * len(wanted))})",
            wanted,
        )
        root = self._files.root
        return {path: bytes.fromhex(digest) for path, digest, *stat in rows if not _has(root, path, stat)}

    def count_changed(self, seeming: dict[str, bytes]) -> int:
        """Returns how many of the files that `seem_changed` returned are gone or have other bytes than the indexed
        ones."""
        beyond = max(0, len(seeming) - _MOST_READ)
        return beyond + sum(self._digest(path) != digest for path, digest in islice(seeming.items(), _MOST_READ))

    def _digest(self, path: str) -> bytes:
        try:
            size = (Path(self._files.root) / path).lstat().st_size
        except OSError:
            return b""
        return self._files.parts.preparers.judge(self._files.root, self._files.settings(), Look(path, size)).sha256


def count_lacking(connection: sqlite3.Connection, root: str, paths: Collection[str]) -> int:
    """Returns how many of these paths are files that the index lacks, have another stat than in the index, or are gone
    but still in it. Beyond `_MOST` paths, all count."""
    looked_at = list(islice(paths, _MOST))
    source = f"FROM files WHERE path IN ({', '.join('?' * len(looked_at))})"
    rows = rows_in_one_step(connection, "path, size, mtime_ns, ctime_ns, inode", source, looked_at)
    known = {path: stat for path, *stat in rows}
    lacking = sum(
        not _has(root, path, known[path]) if path in known else os.path.lexists(f"{root}/{path}") for path in looked_at
    )
    return lacking + len(paths) - len(looked_at)


def _has(root: str, path: str, stat: list[int]) -> bool:
    """Whether the file has this stat, whose values are in the order of the fields of `Stat`."""
    try:
        found = os.lstat(f"{root}/{path}")  # a Path would take ten times as long
        if [found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino] == stat:
            return True
        return Stat.of(found) == Stat(*stat)  # numbers that SQLite cannot store are stored changed
    except (FileNotFoundError, NotADirectoryError):
        # The index has composed names (NFC), and the disk may have decomposed ones.
        return not path.isascii()
    except OSError:
        return True
