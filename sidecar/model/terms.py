"""Terms that every module uses: vectors and ids, ways of searching, an embedder, progress and cancellation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

Vectors: TypeAlias = NDArray[np.float32]
"""Shape [n, dimension], rows L2-normalised."""
Ids: TypeAlias = NDArray[np.int64]

Collection: TypeAlias = Literal["code", "docs"]
Mode: TypeAlias = Literal["hybrid", "vector", "fts"]
Strategy: TypeAlias = Literal["realtime", "lazy", "git"]


class Embedder(Protocol):
    """Turns texts into vectors. Thread-safe."""

    @property
    def model_id(self) -> str:
        """The model's name and the hash of its files. Vectors of models with different ids cannot be compared."""

    @property
    def dimension(self) -> int:
        """The number of components of a vector."""

    @property
    def device(self) -> str:
        """`cpu` or `cuda`: the device that bulk work actually runs on."""

    @property
    def device_note(self) -> str:
        """One line that says why the device is not the requested one; empty if it is."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Returns one row per text: shape [n, dimension], rows L2-normalised."""

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Returns the vector of a query: shape [dimension], L2-normalised."""

    def close(self) -> None:
        """Releases the model's resources."""


class Progress(Protocol):
    """Receives reports on the progress of long work. Each surface has its own implementation."""

    def __call__(self, done: int, total: int, message: str) -> None:
        """Reports that `done` of `total` is done, in the unit of the present step. `message` is all that a person is
        shown of it besides the share: the step and how far it has come, with its unit (`shown.so_far`,
        `shown.so_far_in_megabytes`). May be called from any thread."""


def no_progress(done: int, total: int, message: str) -> None:
    """Ignores the report."""


IsCancelled: TypeAlias = Callable[[], bool]


def never_cancelled() -> bool:
    """An `IsCancelled` that always returns False."""
    return False
