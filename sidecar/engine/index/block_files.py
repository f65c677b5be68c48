"""The full blocks of a vector cache in files beside the manifest, so that opening a large index neither reads its
vectors one by one nor converts them to integers again.

Blocks are sealed, or exact if all vectors fit into memory as float32. A block never changes, and a chunk's id is never
given to another text, so a block stays valid as long as the manifest and the model are the same. It is used only if
both are, and if the manifest has given all ids in it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import Future, wait
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidecar.engine.concurrency.background import beside
from sidecar.engine.index.array_file import ArrayFile, read_arrays, write_arrays
from sidecar.engine.index.sealed_rows import Exact, Sealed
from sidecar.model.terms import Ids, Vectors

_FORMAT = 2


class BlockFiles:
    """The blocks of one manifest: file n contains the sealed block n, file `exact-n` the exact one. Not
    thread-safe."""

    def __init__(self, folder: Path, identity: Mapping[str, object], highest_id: Callable[[], int]) -> None:
        """`identity`, values of JSON, identifies the manifest and the model of the vectors; `highest_id` returns the
        highest chunk id that the manifest has given so far."""
        self._folder = folder
        self._identity = {"format": _FORMAT, **identity}
        self._highest_id = highest_id

    def read(self) -> Generator[Sealed, None, None]:
        """Yields the sealed blocks in order, up to the first that is missing or cannot be trusted."""
        for arrays in self._read("{}", lambda _: {}):
            yield Sealed(arrays["ids"], arrays["upper"], arrays["lower"], arrays["scales"])

    def read_exact(self, into: Vectors, rows: int) -> Generator[Ids, None, None]:
        """Reads the exact blocks in order, each into the next so many `rows`, and yields their ids, up to the first
        that is missing, cannot be trusted, or has another shape than the rows that are left for it."""
        with contextlib.closing(
            self._read("exact-{}", lambda number: {"vectors": into[number * rows : (number + 1) * rows]})
        ) as blocks:
            for arrays in blocks:
                if not np.may_share_memory(arrays["vectors"], into) or len(arrays["ids"]) != rows:
                    return
                yield arrays["ids"]

    def write(self, number: int, block: Sealed) -> None:
        """Saves a sealed block. If that fails, it is made again at the next opening."""
        halves: dict[str, NDArray[Any]] = {"upper": block.upper, "lower": block.lower}
        self._write(str(number), {"ids": block.ids, **halves, "scales": block.scales})

    def write_exact(self, number: int, block: Exact) -> None:
        """Saves an exact block. If that fails, its vectors are read one by one at the next opening."""
        self._write(f"exact-{number}", {"ids": block.ids, "vectors": block.vectors})

    def forget(self) -> None:
        """Deletes all blocks."""
        with contextlib.suppress(OSError):
            for path in self._folder.iterdir():
                path.unlink()

    def _read(
        self, name: str, into: Callable[[int], Mapping[str, NDArray[Any]]]
    ) -> Generator[Mapping[str, NDArray[Any]], None, None]:
        """Yields the arrays of the files with this name and a number, which starts at 0; they are read into those that
        `into` returns for it. While one is used, the next is read."""
        highest = self._highest_id()

        def start_reading(number: int) -> Future[ArrayFile | None]:
            return beside(partial(read_arrays, self._folder / name.format(number), into(number)))

        ahead = start_reading(0)
        try:
            for number in count(1):
                found = ahead.result()
                if found is None or found.facts["identity"] != self._identity:
                    return
                if int(found.arrays["ids"].max(initial=0)) > highest:
                    return
                ahead = start_reading(number)
                yield found.arrays
        finally:
            wait([ahead])  # otherwise it would write into memory that the caller uses for something else

    def _write(self, name: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, exist_ok=True)
        write_arrays(self._folder / name, ArrayFile({"identity": self._identity}, arrays))
