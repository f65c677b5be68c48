"""Lists the indexes of a data folder, and removes indexes with the vectors that no other index needs."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from sidecar.engine.index.layout import IndexLayout, bytes_below
from sidecar.engine.index.vector_refs import named_texts
from sidecar.engine.ports import EmbeddingCache
from sidecar.errors import SidecarError, disk_error
from sidecar.parts.database import connect, translated
from sidecar.parts.lease import Lease
from sidecar.parts.paths import unpacked_path

_NAME_LENGTH = 32


@dataclass(frozen=True, slots=True)
class IndexFolder:
    """One index folder. `root` is its workspace; empty if the index cannot be read, or if none is left beside memories,
    documents or settings. `size` is in bytes. `used` is when a process last opened it for writing. `keeps` lists what
    the folder holds beside the index: memories, documents, edited settings. `is_gone`: the workspace's folder no longer
    exists.
    """

    path: Path
    root: str
    size: int
    used: datetime
    files: int
    chunks: int
    keeps: tuple[str, ...]
    is_gone: bool


@dataclass(frozen=True, slots=True)
class Removed:
    """The result of a removal. `kept` pairs each index folder that was not removed with the reason."""

    removed: tuple[IndexFolder, ...]
    kept: tuple[tuple[IndexFolder, str], ...]
    bytes_freed: int
    vectors_released: int


class EveryIndex:
    """The indexes below one data folder. `open_cache` opens the cache of vectors that they share."""

    def __init__(self, home: Path, default_config: str, open_cache: Callable[[Path, str, int], EmbeddingCache]) -> None:
        self._home = home
        self._default_config = default_config
        self._open_cache = open_cache

    def every(self) -> list[IndexFolder]:
        """Returns all index folders, the one used last first. An index that cannot be read has no root, and 0 files and
        chunks."""
        folders = (self._home / "indexes").glob("*") if (self._home / "indexes").is_dir() else ()
        found = [self._described(one) for one in folders if len(one.name) == _NAME_LENGTH and one.is_dir()]
        return sorted(found, key=lambda one: one.used, reverse=True)

    def of(self, root: str) -> IndexFolder | None:
        """Returns the index folder of one workspace; None if it has none."""
        path = IndexLayout(self._home, root).path
        return self._described(path) if path.is_dir() else None

    def above(self, root: str) -> str:
        """Returns the nearest folder above the workspace `root` that has an index; empty if none has one."""
        folders = (str(folder) for folder in Path(root).parents)
        return next((one for one in folders if IndexLayout(self._home, one).current() is not None), "")

    def remove(self, folders: Sequence[IndexFolder], all_data: bool) -> Removed:
        """Deletes these indexes, then the cached vectors that no index names. With `all_data`, also deletes memories,
        documents and edited settings. An index that another process has open stays and is reported with the reason."""
        if not folders:
            return Removed((), (), 0, 0)
        before = self._size()
        removed: list[IndexFolder] = []
        kept: list[tuple[IndexFolder, str]] = []
        for folder in folders:
            try:
                self._remove(folder, all_data)
                removed.append(folder)
            except SidecarError as error:
                kept.append((folder, error.message))
        released = self._release_vectors() if removed else 0
        return Removed(tuple(removed), tuple(kept), max(0, before - self._size()), released)

    def _described(self, path: Path) -> IndexFolder:
        layout = IndexLayout(self._home, "", path)
        root, files, chunks = _facts(layout)
        keeps = [
            name
            for name, is_there in (
                ("memories", layout.memories.exists()),
                ("documents", layout.documents.exists()),
                ("edited settings", layout.is_edited(self._default_config)),
            )
            if is_there
        ]
        used = datetime.fromtimestamp(_last_change(path), UTC)
        is_gone = bool(root) and not Path(root).is_dir()
        return IndexFolder(path, root, layout.size(), used, files, chunks, tuple(keeps), is_gone)

    def _remove(self, folder: IndexFolder, all_data: bool) -> None:
        layout = IndexLayout(self._home, "", folder.path)
        with Lease(folder.path):
            if not all_data:
                layout.delete(self._default_config)
                return
            try:
                shutil.rmtree(folder.path)
            except OSError as error:
                raise disk_error(error, folder.path) from error

    def _release_vectors(self) -> int:
        """Deletes the cached vectors that no index names. Returns how many; 0 if there is no cache."""
        path = self._home / "vectors" / "vectors.sqlite"
        model = _any_model(path)
        if model is None:
            return 0
        cache = self._open_cache(path, *model)
        try:
            return cache.release(lambda: named_texts(self._home / "indexes"))
        finally:
            cache.close()

    def _size(self) -> int:
        indexes, vectors = self._home / "indexes", self._home / "vectors"
        return bytes_below(indexes) + bytes_below(vectors)


def chunks_in(home: Path, root: str) -> int:
    """Returns how many chunks the index of one workspace has; 0 if there is none or it cannot be read."""
    return _facts(IndexLayout(home, root))[2]


def _facts(layout: IndexLayout) -> tuple[str, int, int]:
    """Returns the workspace of an index, and its numbers of files and chunks; empty and 0 if it cannot be read."""
    number = layout.current()
    if number is None:
        return "", 0, 0
    manifest = layout.manifest(number)
    with contextlib.suppress(SidecarError), translated(manifest):
        with contextlib.closing(connect(manifest, readonly=True)) as connection:
            (root,) = connection.execute("SELECT value FROM meta WHERE key = 'root'").fetchone() or ("",)
            (files,) = connection.execute("SELECT count(*) FROM files").fetchone()
            (chunks,) = connection.execute("SELECT count(*) FROM chunks").fetchone()
        return unpacked_path(root), int(files), int(chunks)
    return "", 0, 0


def _any_model(path: Path) -> tuple[str, int] | None:
    """Returns the id and dimension of any model in the cache file; None if there is no such file or model."""
    if not path.is_file():
        return None
    with contextlib.closing(connect(path, readonly=True)) as connection, contextlib.suppress(sqlite3.Error):
        row = connection.execute("SELECT model_id, dimension FROM models LIMIT 1").fetchone()
        return (str(row[0]), int(row[1])) if row else None
    return None


def _last_change(path: Path) -> float:
    """Returns when the lock file last changed, else when the folder did, in seconds since the epoch; 0 if unknown."""
    for one in (path / "lock", path):
        with contextlib.suppress(OSError):
            return one.stat().st_mtime
    return 0.0
