"""Tells overlapping runs which paths one of them has removed, since the manifest has no row that would show it.

If a run reads a file and another run removes its path from the manifest before the first one writes, the first run must
not write what it read. A changed row shows that by itself; a path without a row does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from sidecar.locks import Rank, make_lock


class Forgotten:
    """The paths that were removed while any run was active; empty when no run is active. Thread-safe."""

    def __init__(self) -> None:
        self._lock = make_lock(Rank.FORGOTTEN)
        self._runs = 0
        self._moment = 0
        self._since: dict[str, int] = {}

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """A block for the length of a run, during which removed paths are remembered."""
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
        """Returns the current moment, for `after`. Must be taken before a file is read."""
        return self._moment

    def add(self, paths: Iterable[str]) -> None:
        """Records that these paths were removed now. Does nothing if no run is active."""
        with self._lock:
            if self._runs:
                self._moment += 1
                self._since.update(dict.fromkeys(paths, self._moment))

    def after(self, moment: int, path: str) -> bool:
        """Whether the path was removed after this moment."""
        with self._lock:
            return self._since.get(path, 0) > moment
