"""The sealed blocks of a vector cache in files beside the manifest, so that opening a large index neither reads its
vectors one by one nor converts them to integers again.

A block never changes, and a chunk's id is never given to another text, so a block stays valid as long as the manifest
and the model are the same. It is used only if both are, and if the manifest has given all ids in it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from sidecar.engine.index.array_file import ArrayFile, read_arrays, write_arrays
from sidecar.engine.index.sealed_rows import Sealed

_FORMAT = 1


class SealedFiles:
    """The sealed files of one manifest: file n contains block n. Not thread-safe."""

    def __init__(self, folder: Path, identity: Mapping[str, object], highest_id: Callable[[], int]) -> None:
        """`identity`, values of JSON, identifies the manifest and the model of the vectors; `highest_id` returns the
        highest chunk id that the manifest has given so far."""
        self._folder = folder
        self._identity = {"format": _FORMAT, **identity}
        self._highest_id = highest_id

    def read(self) -> Iterator[Sealed]:
        """Yields the blocks in order, up to the first that is missing or cannot be trusted."""
        highest = self._highest_id()
        number = 0
        while (found := read_arrays(self._folder / str(number))) is not None:
            arrays = found.arrays
            if found.facts["identity"] != self._identity or int(arrays["ids"].max(initial=0)) > highest:
                return
            yield Sealed(arrays["ids"], arrays["columns"].T, arrays["scales"])
            number += 1

    def write(self, number: int, block: Sealed) -> None:
        """Saves a block in columns, the form in which it is compared. If that fails, the block is made again at the
        next opening."""
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, exist_ok=True)
        arrays: dict[str, NDArray[Any]] = {"ids": block.ids, "columns": block.codes.T, "scales": block.scales}
        write_arrays(self._folder / str(number), ArrayFile({"identity": self._identity}, arrays))

    def forget(self) -> None:
        """Deletes all blocks."""
        with contextlib.suppress(OSError):
            for path in self._folder.iterdir():
                path.unlink()
