"""Arrays that later revisions continue without copying what is there."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_SPARE = 8
"""An eighth of an array is spare. Pages of memory that nobody has written take none."""
_LEAST_SPARE = 4096


class Room:
    """An array with spare room behind it, of which each revision sees a part from the beginning.

    What a revision sees never changes: only what lies behind the longest part is written, and only once. Thread-safe.
    """

    def __init__(self, known: NDArray[Any], added: NDArray[Any]) -> None:
        """Copies two arrays, shape [any], one behind the other, with the type of the first. `first` is both."""
        size = len(known) + len(added)
        self._buffer = np.empty(size + max(size // _SPARE, _LEAST_SPARE), known.dtype)
        self.first = self._buffer[:size]
        self.first[: len(known)], self.first[len(known) :] = known, added
        # Whoever takes the number out may write behind it: taking it is one step, so no lock is needed.
        self._used = [size]

    def lengthened(self, known: NDArray[Any], added: NDArray[Any]) -> NDArray[Any] | None:
        """Returns `known`, a part of this array, followed by `added`, shape [any]. None if that would need a copy:
        another revision has been written behind it, the room is full, or `known` is not of this array."""
        if known.base is not self._buffer or len(known) + len(added) > len(self._buffer):
            return None
        try:
            used = self._used.pop()
        except IndexError:
            return None
        if used == len(known):
            used += len(added)
            self._buffer[len(known) : used] = added
            longer = self._buffer[:used]
        else:
            longer = None
        self._used.append(used)
        return longer


class Rooms:
    """The rooms of several arrays, by name. `copied` counts the elements that had to be copied so far."""

    def __init__(self) -> None:
        self._by_name: dict[str, Room] = {}
        self.copied = 0

    def followed_by(self, name: str, known: NDArray[Any], added: NDArray[Any]) -> NDArray[Any]:
        """Returns an array of this name, followed by `added`, without a copy where possible."""
        room = self._by_name.get(name)
        longer = room.lengthened(known, added) if room is not None else None
        return self.copied_anew(name, known, added) if longer is None else longer

    def copied_anew(self, name: str, known: NDArray[Any], added: NDArray[Any]) -> NDArray[Any]:
        """Returns a copy of an array of this name, followed by `added`. The caller may change it until it passes it
        on."""
        self._by_name[name] = room = Room(known, added)
        self.copied += len(known)
        return room.first


def continues(later: NDArray[Any], known: NDArray[Any]) -> bool:
    """Whether an array begins with that of a former revision, because it is a longer part of the same room."""
    return known.base is not None and later.base is known.base and len(later) >= len(known)
