"""Who has connected and not shown the token yet: few, not for long, and never in the way of who has.

Lives on the event loop. Not here: what a token is (`token.py`), and how a protocol is shown one.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Hashable
from typing import NamedTuple

MOST_UNKNOWN = 64
MOST_ADMITTED = 256
SECONDS = 10.0
"""A connection is closed when its client has not shown the token after so long."""


class _Waiting(NamedTuple):
    peer: str
    close: Callable[[], None]
    timer: asyncio.TimerHandle


class Admission:
    """The connections of one listening socket, each known by a key of its own.

    When too many wait, the oldest of the peer that has most of them waiting is closed: a flood displaces itself, and a
    client that shows its token at once needs no room for long.
    """

    def __init__(
        self, *, most_unknown: int = MOST_UNKNOWN, most_admitted: int = MOST_ADMITTED, seconds: float = SECONDS
    ) -> None:
        self._most_unknown = most_unknown
        self._most_admitted = most_admitted
        self._seconds = seconds
        self._waiting: dict[Hashable, _Waiting] = {}
        self._admitted: set[Hashable] = set()

    def arrive(self, key: Hashable, peer: str, close: Callable[[], None]) -> None:
        """A new connection from this peer, which `close` ends."""
        timer = asyncio.get_running_loop().call_later(self._seconds, self._turn_away, key)
        self._waiting[key] = _Waiting(peer, close, timer)
        if len(self._waiting) > self._most_unknown:
            self._turn_away(self._first_of_the_most_crowding_peer())

    def admit(self, key: Hashable) -> bool:
        """The connection has shown the token. False when as many as may be served are being served."""
        if key in self._admitted or key not in self._waiting:
            return True
        if len(self._admitted) >= self._most_admitted:
            return False
        self._waiting.pop(key).timer.cancel()
        self._admitted.add(key)
        return True

    def leave(self, key: Hashable) -> None:
        """The connection has ended."""
        self._admitted.discard(key)
        waiting = self._waiting.pop(key, None)
        if waiting is not None:
            waiting.timer.cancel()

    def _turn_away(self, key: Hashable) -> None:
        waiting = self._waiting.get(key)
        self.leave(key)
        if waiting is not None:
            waiting.close()

    def _first_of_the_most_crowding_peer(self) -> Hashable:
        crowding = Counter(one.peer for one in self._waiting.values()).most_common(1)[0][0]
        return next(key for key, one in self._waiting.items() if one.peer == crowding)
