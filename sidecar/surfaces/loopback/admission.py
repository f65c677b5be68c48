"""Limits the connections to a listening socket: those whose clients have not shown a token yet, and those of each
caller.

The former are closed after a short time, and never take the place of an admitted client. No caller can take the places
of all others. Everything runs on the event loop. `token.py` makes the token; each protocol decides how a client shows
it.
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
"""A connection is closed if its client has not shown the token within this time, or if a later request on it has begun
and its head is not complete within this time."""


class _Waiting(NamedTuple):
    peer: str
    close: Callable[[], None]
    timer: asyncio.TimerHandle


class _Admitted(NamedTuple):
    caller: str
    close: Callable[[], None]


class Admission:
    """The connections of one listening socket, each identified by a key that its protocol chooses.

    When too many wait, the oldest connection of the peer with the most waiting connections is closed. A flood therefore
    displaces only itself, and a client that shows its token at once waits only briefly. Likewise, a caller has at most
    `most_of_each` admitted connections, and when all places are taken, one with fewer takes a place of the caller with
    the most.
    """

    def __init__(
        self,
        *,
        most_unknown: int = MOST_UNKNOWN,
        most_admitted: int = MOST_ADMITTED,
        most_of_each: int = MOST_ADMITTED,
        seconds: float = SECONDS,
    ) -> None:
        self.seconds = seconds
        self._most_unknown = most_unknown
        self._most_admitted = most_admitted
        self._most_of_each = most_of_each
        self._waiting: dict[Hashable, _Waiting] = {}
        self._admitted: dict[Hashable, _Admitted] = {}

    def arrive(self, key: Hashable, peer: str, close: Callable[[], None]) -> None:
        """Registers a new connection from this peer; `close` is called if the connection is turned away.

        If the key is registered already, its deadline stays and only `close` is replaced.
        """
        if key in self._waiting:
            self._waiting[key] = self._waiting[key]._replace(close=close)
            return
        timer = asyncio.get_running_loop().call_later(self.seconds, self._turn_away, key)
        self._waiting[key] = _Waiting(peer, close, timer)
        if len(self._waiting) > self._most_unknown:
            self._turn_away(self._first_of_the_most_crowding_peer())

    def admit(self, key: Hashable, caller: str = "") -> bool:
        """Records that a request of this caller has come on the connection, and with it the token.

        Returns False if the maximum number of connections is being served, to all or to this caller. Returns True for a
        key that is already admitted, and for one that never arrived.
        """
        known = self._admitted.pop(key, None)
        if known is not None:
            self._admitted[key] = known._replace(caller=caller)  # as the last one: the first has rested longest
            return True
        if key not in self._waiting:
            return True
        if not self._has_place(caller):
            return False
        waiting = self._waiting.pop(key)
        waiting.timer.cancel()
        self._admitted[key] = _Admitted(caller, waiting.close)
        return True

    def _has_place(self, caller: str) -> bool:
        """Whether the caller may have one more connection. Closes one of another caller if there is no place."""
        counts = Counter(one.caller for one in self._admitted.values())
        if counts[caller] >= self._most_of_each:
            return False
        if len(self._admitted) < self._most_admitted:
            return True
        crowding, most = counts.most_common(1)[0]
        if most < counts[caller] + 2:
            return False
        key = next(key for key, one in self._admitted.items() if one.caller == crowding)
        self._admitted.pop(key).close()
        return True

    def leave(self, key: Hashable) -> None:
        """Forgets a connection that has ended."""
        self._admitted.pop(key, None)
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
