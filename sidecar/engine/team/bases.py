"""Bases, the whole snapshots to which others add: keeps them on this machine, checks them, and reads which rows a
snapshot on a base leaves out."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sidecar.errors import SnapshotUnusable

if TYPE_CHECKING:
    from sidecar.engine.team.gather import BaseRows
    from sidecar.engine.team.held import Unpacked
    from sidecar.parts.team.heads import Head

MOST_KEPT = 3


class KeptBases:
    """Bases that were fetched, in a folder that all workspaces of the user share. For the next snapshot on the same
    base, only its own file is fetched. The `MOST_KEPT` bases that were used last are kept; a damaged one is dropped and
    fetched again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def has(self, sha256: str) -> bool:
        """Whether a file with this name is kept. Only `bring` checks its content."""
        return self._file(sha256).is_file()

    def bring(self, sha256: str, target: Path) -> bool:
        """Puts the base at `target` if it is kept and its bytes have this hash. Returns whether it did."""
        from sidecar.parts.team.container import sha256_of

        kept = self._file(sha256)
        try:
            _copy(kept, target)
            is_whole = sha256_of(target) == sha256
        except OSError:
            is_whole = False
        with suppress(OSError):
            if is_whole:
                self._note_use(kept)
            else:
                target.unlink(missing_ok=True)
                kept.unlink(missing_ok=True)
        return is_whole

    def keep(self, file: Path) -> None:
        """Keeps a base whose bytes have the hash in its name. If the disk is full, the base is not kept and is
        downloaded again later."""
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if not (self._folder / file.name).exists():
                fresh = self._folder / f".{file.name}.{os.getpid()}"
                try:
                    _copy(file, fresh)
                    fresh.replace(self._folder / file.name)
                finally:
                    fresh.unlink(missing_ok=True)
            self._note_use(self._folder / file.name)
            for other in sorted(self._folder.glob("*.zst"), key=_last_used, reverse=True)[MOST_KEPT:]:
                other.unlink(missing_ok=True)

    def _note_use(self, kept: Path) -> None:
        """Makes this base the one that was used last, also if the clock was ahead when others were used. Raises
        OSError, for example if another process has just removed it."""
        now = max([time.time_ns(), *(_last_used(one) + 1 for one in self._folder.glob("*.zst"))])
        os.utime(kept, ns=(now, now))

    def _file(self, sha256: str) -> Path:
        from sidecar.parts.team.container import name_of

        return self._folder / name_of(sha256)


def _last_used(kept: Path) -> int:
    """Returns the time in nanoseconds; 0 if another process has just removed the file."""
    try:
        return kept.stat().st_mtime_ns
    except OSError:
        return 0


def _copy(source: Path, target: Path) -> None:
    """Makes a hard link if the file system has them, else a copy."""
    target.unlink(missing_ok=True)
    try:
        os.link(source, target)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copyfile(source, target)


def check_headers(head: Head, headers: list[Mapping[str, Any]]) -> None:
    """Raises SnapshotUnusable unless these are the headers of the files that the snapshot `head` needs: its own header
    last, and if it has a base, before it that of a whole snapshot of the same folder and kind, which it names."""
    from sidecar.engine.team.rows import without_base

    own = headers[-1]
    counts = ("files", "chunks") if head.base is None else ("allFiles", "allChunks")
    stated = tuple(own.get(name) for name in ("commit", "folder", "kind", *counts))
    if stated != (head.commit, head.folder, head.kind, head.files, head.chunks):
        raise SnapshotUnusable("It is not the snapshot that the list says: its header states something else.")
    if own.get("base") != (None if head.base is None else head.base.sha256):
        raise SnapshotUnusable("It was made on another base than the list says.")
    if head.base is None:
        return
    base = headers[0]
    if (base.get("base"), base.get("folder"), base.get("kind")) != (None, head.folder, without_base(head.kind)):
        raise SnapshotUnusable("Its base is no whole snapshot of the same folder, made in the same way.")


def rows_of_base(base: Unpacked, dimension: int) -> BaseRows:
    """Returns the rows that a snapshot on this base leaves out. Raises SnapshotUnusable if the base is not valid."""
    from sidecar.engine.team.gather import BaseRows
    from sidecar.engine.team.held import Held

    held = Held([base], dimension)
    (piece,) = held.pieces
    blobs = dict(zip(piece.files.paths, piece.files.blobs, strict=True))
    return BaseRows(blobs, frozenset(held.vectors[0].hashes), piece.after)
