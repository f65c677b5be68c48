"""The sealed blocks of a vector cache in files beside the manifest, so that opening a large index neither reads its
vectors one by one nor makes integers of them again.

A block never changes, and a chunk's id is never given to another text, so that a block stays true as long as the
manifest and the model are the same. It is taken only if both are, and if the manifest has had all its ids.
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
        """`identity`, values of JSON, says which manifest and which model the vectors are of; `highest_id` is the
        highest chunk id that the manifest has given so far."""
        self._folder = folder
        self._identity = {"format": _FORMAT, **identity}
        self._highest_id = highest_id

    def read(self) -> Iterator[Sealed]:
        """The blocks in their order, up to the first that is missing or cannot be believed."""
        highest = self._highest_id()
        number = 0
        while (found := read_arrays(self._folder / str(number))) is not None:
            arrays = found.arrays
            if found.facts["identity"] != self._identity or int(arrays["ids"].max(initial=0)) > highest:
                return
            yield Sealed(arrays["ids"], arrays["columns"].T, arrays["scales"])
            number += 1

    def write(self, number: int, block: Sealed) -> None:
        """Saves a block, in columns as they are compared. If that is not possible, it is made again at the next
        opening."""
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, exist_ok=True)
        arrays: dict[str, NDArray[Any]] = {"ids": block.ids, "columns": block.codes.T, "scales": block.scales}
        write_arrays(self._folder / str(number), ArrayFile({"identity": self._identity}, arrays))

    def forget(self) -> None:
        """Deletes all blocks."""
        with contextlib.suppress(OSError):
            for path in self._folder.iterdir():
                path.unlink()
