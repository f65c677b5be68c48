"""The embedding cache of a data folder, opened once per process for all workspaces that use it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sidecar.errors import IndexCorrupt, disk_error
from sidecar.locks import Rank, make_lock
from sidecar.model.terms import Ids, Vectors
from sidecar.parts.embed.cache import EmbeddingCacheFile

_LOG = logging.getLogger(__name__)
_Key: TypeAlias = tuple[Path, str, int]


class SharedEmbeddingCaches:
    """Lends the embedding cache of one file and model to several users. The last one to close its share closes the
    file.

    Thread-safe.
    """

    def __init__(self) -> None:
        self._lock = make_lock(Rank.EMBEDDING_CACHE_TABLE)
        self._open: dict[_Key, tuple[EmbeddingCacheFile, int]] = {}

    def open(self, path: Path, model_id: str, dimension: int) -> EmbeddingCacheShare:
        """A share of the cache, which is opened if nobody has it open or if it is damaged.

        Makes the folder, readable only by its owner. Raises what `EmbeddingCacheFile` raises.
        """
        key = (path, model_id, dimension)
        with self._lock:
            kept, users = self._open.get(key, (None, 0))
            if kept is None or kept.damaged:
                _make_folder(path.parent)
                kept, users = _open(path, model_id, dimension), 0
            self._open[key] = kept, users + 1
        return EmbeddingCacheShare(kept, lambda: self._give_back(key, kept))

    def _give_back(self, key: _Key, kept: EmbeddingCacheFile) -> None:
        """Takes a share back, and closes the file after the last one."""
        with self._lock:
            known, users = self._open.get(key, (None, 0))
            if known is not kept:
                return  # a new file has replaced this damaged one, which others may still be using
            if users > 1:
                self._open[key] = kept, users - 1
                return
            del self._open[key]
        kept.close()


class EmbeddingCacheShare:
    """A share of a `EmbeddingCacheFile`, with its methods. Closing it again does nothing."""

    def __init__(self, kept: EmbeddingCacheFile, give_back: Callable[[], None]) -> None:
        self._kept = kept
        self._give_back = give_back
        self._closed = False

    @property
    def store_uuid(self) -> str:
        """See `EmbeddingCacheFile.store_uuid`."""
        return self._kept.store_uuid

    @property
    def damaged(self) -> bool:
        """See `EmbeddingCacheFile.damaged`."""
        return self._kept.damaged

    def find(self, hashes: Sequence[bytes]) -> dict[bytes, int]:
        """See `EmbeddingCacheFile.find`."""
        return self._kept.find(hashes)

    def add(self, hashes: Sequence[bytes], vectors: Vectors) -> list[int]:
        """See `EmbeddingCacheFile.add`."""
        return self._kept.add(hashes, vectors)

    def get(self, ids: Ids) -> tuple[Vectors, NDArray[np.bool_]]:
        """See `EmbeddingCacheFile.get`."""
        return self._kept.get(ids)

    def count(self) -> int:
        """See `EmbeddingCacheFile.count`."""
        return self._kept.count()

    def release(self, texts: Callable[[], Iterable[bytes]]) -> int:
        """See `EmbeddingCacheFile.release`."""
        return self._kept.release(texts)

    def releases(self) -> int:
        """See `EmbeddingCacheFile.releases`."""
        return self._kept.releases()

    def lost(self, ids: Ids) -> Ids:
        """See `EmbeddingCacheFile.lost`."""
        return self._kept.lost(ids)

    def trim(self, max_bytes: int, referenced: Callable[[], Ids]) -> int:
        """See `EmbeddingCacheFile.trim`."""
        return self._kept.trim(max_bytes, referenced)

    def close(self) -> None:
        """Gives the share back."""
        if not self._closed:
            self._closed = True
            self._give_back()


def _open(path: Path, model_id: str, dimension: int) -> EmbeddingCacheFile:
    """Opens the file. If that finds it damaged, opens it again, which begins a new one: nothing in it is
    the only copy.
    """
    try:
        return EmbeddingCacheFile.open(path, model_id, dimension)
    except IndexCorrupt as error:
        _LOG.warning("%s", error.message)
        return EmbeddingCacheFile.open(path, model_id, dimension)


def _make_folder(folder: Path) -> None:
    """Makes the folder, readable only by its owner. Raises DiskFull or PermissionDenied."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise disk_error(error, folder) from error
