"""The kept vectors of a home, opened once per process however many workspaces use them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sidecar.errors import DiskFull, IndexCorrupt, PermissionDenied
from sidecar.locks import Rank, make_lock
from sidecar.model import Ids, Vectors
from sidecar.parts.embed.kept import KeptVectors

_LOG = logging.getLogger(__name__)
_Key: TypeAlias = tuple[Path, str, int]


class SharedKept:
    """Lends the vectors of one file and model; the last one who gives them back closes the file. Thread-safe."""

    def __init__(self) -> None:
        self._lock = make_lock(Rank.EMBEDDING_CACHE_TABLE)
        self._open: dict[_Key, tuple[KeptVectors, int]] = {}

    def open(self, path: Path, model_id: str, dimension: int) -> LentKept:
        """Makes the folder, readable by its owner only. Raises what `KeptVectors` raises."""
        key = (path, model_id, dimension)
        with self._lock:
            kept, users = self._open.get(key, (None, 0))
            if kept is None or kept.damaged:
                _make_folder(path.parent)
                kept, users = _open(path, model_id, dimension), 0
            self._open[key] = kept, users + 1
        return LentKept(kept, lambda: self._give_back(key, kept))

    def _give_back(self, key: _Key, kept: KeptVectors) -> None:
        with self._lock:
            known, users = self._open.get(key, (None, 0))
            if known is not kept:
                return  # damaged, and another one has taken its place; its other users may still be at it
            if users > 1:
                self._open[key] = kept, users - 1
                return
            del self._open[key]
        kept.close()


class LentKept:
    """`KeptVectors` of which others may have a share. Closing it gives the share back, once."""

    def __init__(self, kept: KeptVectors, give_back: Callable[[], None]) -> None:
        self._kept = kept
        self._give_back = give_back
        self._closed = False

    @property
    def store_uuid(self) -> str:
        return self._kept.store_uuid

    @property
    def damaged(self) -> bool:
        """Whether damage was found in the file: who opens it next begins a new one."""
        return self._kept.damaged

    def find(self, hashes: Sequence[bytes]) -> dict[bytes, int]:
        return self._kept.find(hashes)

    def add(self, hashes: Sequence[bytes], vectors: Vectors) -> list[int]:
        return self._kept.add(hashes, vectors)

    def get(self, ids: Ids) -> tuple[Vectors, NDArray[np.bool_]]:
        return self._kept.get(ids)

    def count(self) -> int:
        return self._kept.count()

    def release(self, ids: Ids) -> int:
        return self._kept.release(ids)

    def trim(self, max_bytes: int, referenced: Callable[[], Ids]) -> int:
        return self._kept.trim(max_bytes, referenced)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._give_back()


def _open(path: Path, model_id: str, dimension: int) -> KeptVectors:
    """Begins a new file where the one that is there cannot be opened: nothing in it is the only copy."""
    try:
        return KeptVectors.open(path, model_id, dimension)
    except IndexCorrupt as error:
        _LOG.warning("%s", error.message)
        return KeptVectors.open(path, model_id, dimension)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        if error.errno in {28, 122}:
            raise DiskFull(f"Free some space on the disk that holds {folder} and try again.") from error
        raise PermissionDenied(f"{folder} cannot be made: {error.strerror or error}.") from error
