"""What overlapping runs must know of each other beyond the rows that they write: paths that one of them has forgotten.

A path that is forgotten, or never was known, has no row by which a run could see that what it has read is no longer so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from sidecar.locks import Rank, make_lock


class Forgotten:
    """Remembers only while somebody has files in hand. Thread-safe."""

    def __init__(self) -> None:
        self._lock = make_lock(Rank.FORGOTTEN)
        self._runs = 0
        self._moment = 0
        self._since: dict[str, int] = {}

    @contextmanager
    def heeded(self) -> Iterator[None]:
        """For the length of a run."""
        with self._lock:
            self._runs += 1
        try:
            yield
        finally:
            with self._lock:
                self._runs -= 1
                if not self._runs:
                    self._since.clear()

    def now(self) -> int:
        """To be asked before a file is read."""
        return self._moment

    def add(self, paths: Iterable[str]) -> None:
        with self._lock:
            if self._runs:
                self._moment += 1
                self._since.update(dict.fromkeys(paths, self._moment))

    def after(self, moment: int, path: str) -> bool:
        """Whether the path was forgotten after this moment."""
        with self._lock:
            return self._since.get(path, 0) > moment
