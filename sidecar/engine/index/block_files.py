"""The full blocks of a vector cache in files beside the manifest, so that opening a large index neither reads its
vectors one by one nor converts them to integers again.

Blocks are sealed, or exact if all vectors fit into memory as float32. A block never changes, and a chunk's id is never
given to another text, so a block stays valid as long as the manifest and the model are the same. It is used only if
both are, and if the manifest has given all ids in it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from sidecar.engine.concurrency.background import beside
from sidecar.engine.index.array_file import ArrayFile, read_arrays, write_arrays
from sidecar.engine.index.sealed_rows import Exact, Sealed

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

    def read(self) -> Iterator[Sealed]:
        """Yields the sealed blocks in order, up to the first that is missing or cannot be trusted."""
        for arrays in self._read("{}"):
            yield Sealed(arrays["ids"], arrays["upper"], arrays["lower"], arrays["scales"])

    def read_exact(self) -> Iterator[Exact]:
        """Yields the exact blocks in order, up to the first that is missing or cannot be trusted."""
        for arrays in self._read("exact-{}"):
            yield Exact(arrays["ids"], arrays["vectors"])

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

    def _read(self, name: str) -> Iterator[Mapping[str, NDArray[Any]]]:
        """Yields the arrays of the files with this name and a number, which starts at 0. While one is used, the next is
        read."""
        highest = self._highest_id()
        ahead = self._start_reading(name.format(0))
        for number in count(1):
            found = ahead.result()
            if found is None or found.facts["identity"] != self._identity:
                return
            if int(found.arrays["ids"].max(initial=0)) > highest:
                return
            ahead = self._start_reading(name.format(number))
            yield found.arrays

    def _start_reading(self, name: str) -> Future[ArrayFile | None]:
        return beside(partial(read_arrays, self._folder / name))

    def _write(self, name: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        with contextlib.suppress(OSError):
            self._folder.mkdir(mode=0o700, exist_ok=True)
        write_arrays(self._folder / name, ArrayFile({"identity": self._identity}, arrays))
