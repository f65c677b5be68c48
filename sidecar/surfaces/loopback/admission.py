"""Limits the connections whose clients have not shown the token yet.

Their number is limited, they are closed after a short time, and they never take the place of an admitted client.
Everything runs on the event loop. `token.py` makes the token; each protocol decides how a client shows it.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Hashable
from typing import NamedTuple

MOST_UNKNOWN = 64
"""Maximum number of connections whose clients have yet to show the token."""
MOST_ADMITTED = 256
"""Maximum number of connections that are served at a time."""
SECONDS = 10.0
"""A connection is closed if its client has not shown the token within this time."""


class _Waiting(NamedTuple):
    peer: str
    close: Callable[[], None]
    timer: asyncio.TimerHandle


class Admission:
    """The connections of one listening socket, each identified by a key that the caller chooses.

    When too many wait, the oldest connection of the peer with the most waiting connections is closed. A flood therefore
    displaces only itself, and a client that shows its token at once waits only briefly.
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
        """Registers a new connection from this peer; `close` is called if the connection is turned away.

        If the key is registered already, its deadline stays and only `close` is replaced.
        """
        if key in self._waiting:
            self._waiting[key] = self._waiting[key]._replace(close=close)
            return
        timer = asyncio.get_running_loop().call_later(self._seconds, self._turn_away, key)
        self._waiting[key] = _Waiting(peer, close, timer)
        if len(self._waiting) > self._most_unknown:
            self._turn_away(self._first_of_the_most_crowding_peer())

    def admit(self, key: Hashable) -> bool:
        """Records that the connection's client has shown the token.

        Returns False if the maximum number of connections is being served. Returns True for a key that is already
        admitted, and for one that never arrived.
        """
        if key in self._admitted or key not in self._waiting:
            return True
        if len(self._admitted) >= self._most_admitted:
            return False
        self._waiting.pop(key).timer.cancel()
        self._admitted.add(key)
        return True

    def leave(self, key: Hashable) -> None:
        """Forgets a connection that has ended."""
        self._admitted.discard(key)
        waiting = self._waiting.pop(key, None)
        if waiting is not None:
            waiting.timer.cancel()

    def _turn_away(self, key: Hashable) -> None:
        """Forgets a waiting connection and closes it."""
        waiting = self._waiting.get(key)
        self.leave(key)
        if waiting is not None:
            waiting.close()

    def _first_of_the_most_crowding_peer(self) -> Hashable:
        crowding = Counter(one.peer for one in self._waiting.values()).most_common(1)[0][0]
        return next(key for key, one in self._waiting.items() if one.peer == crowding)
