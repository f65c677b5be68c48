"""Opens the embedding cache of a data folder once per process, for all workspaces that use it."""

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
from sidecar.small_files import make_folder

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
        """Returns a share of the cache. Opens the file if no share of it exists or it is damaged.

        Creates the folder, readable only by its owner. Raises the errors of `EmbeddingCacheFile`.
        """
        key = (path, model_id, dimension)
        with self._lock:
            cache, users = self._open.get(key, (None, 0))
            if cache is None or cache.damaged:
                _make_folder(path.parent)
                cache, users = _open(path, model_id, dimension), 0
            self._open[key] = cache, users + 1
        return EmbeddingCacheShare(cache, lambda: self._give_back(key, cache))

    def _give_back(self, key: _Key, cache: EmbeddingCacheFile) -> None:
        """Takes a share back, and closes the file after the last one."""
        with self._lock:
            known, users = self._open.get(key, (None, 0))
            if known is not cache:
                return  # a new file has replaced this damaged one, which others may still be using
            if users > 1:
                self._open[key] = cache, users - 1
                return
            del self._open[key]
        cache.close()


class EmbeddingCacheShare:
    """A share of an `EmbeddingCacheFile`, with its methods. Closing it again does nothing."""

    def __init__(self, cache: EmbeddingCacheFile, give_back: Callable[[], None]) -> None:
        self._cache = cache
        self._give_back = give_back
        self._closed = False

    @property
    def store_uuid(self) -> str:
        """See `EmbeddingCacheFile.store_uuid`."""
        return self._cache.store_uuid

    @property
    def damaged(self) -> bool:
        """See `EmbeddingCacheFile.damaged`."""
        return self._cache.damaged

    def find(self, hashes: Sequence[bytes]) -> dict[bytes, int]:
        """See `EmbeddingCacheFile.find`."""
        return self._cache.find(hashes)

    def add(self, hashes: Sequence[bytes], vectors: Vectors) -> list[int]:
        """See `EmbeddingCacheFile.add`."""
        return self._cache.add(hashes, vectors)

    def get(self, ids: Ids) -> tuple[Vectors, NDArray[np.bool_]]:
        """See `EmbeddingCacheFile.get`."""
        return self._cache.get(ids)

    def count(self) -> int:
        """See `EmbeddingCacheFile.count`."""
        return self._cache.count()

    def release(self, texts: Callable[[], Iterable[bytes]]) -> int:
        """See `EmbeddingCacheFile.release`."""
        return self._cache.release(texts)

    def releases(self) -> int:
        """See `EmbeddingCacheFile.releases`."""
        return self._cache.releases()

    def lost(self, ids: Ids) -> Ids:
        """See `EmbeddingCacheFile.lost`."""
        return self._cache.lost(ids)

    def trim(self, max_bytes: int, referenced: Callable[[], Ids]) -> int:
        """See `EmbeddingCacheFile.trim`."""
        return self._cache.trim(max_bytes, referenced)

    def close(self) -> None:
        """Gives the share back."""
        if not self._closed:
            self._closed = True
            self._give_back()


def _open(path: Path, model_id: str, dimension: int) -> EmbeddingCacheFile:
    """Opens the file. If it proves damaged, opens it again, which replaces it by a new one; its vectors can be computed
    again.
    """
    try:
        return EmbeddingCacheFile.open(path, model_id, dimension)
    except IndexCorrupt as error:
        _LOG.warning("%s", error.message)
        return EmbeddingCacheFile.open(path, model_id, dimension)


def _make_folder(folder: Path) -> None:
    """Creates the folder, readable only by its owner. Raises DiskFull or PermissionDenied."""
    try:
        make_folder(folder)
    except OSError as error:
        raise disk_error(error, folder) from error
