"""Counts the uses of a workspace, so that an idle one can free its memory."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from sidecar.locks import Rank, make_lock

_MOST_POOLS = -8
"""M_ARENA_MAX of glibc's malloc.h."""
GIVE_BACK_S = 3.0
"""How often, in seconds, memory is given back while many files are indexed. The allocator would keep a fifth of the
process free; giving it back takes ten milliseconds."""

P = ParamSpec("P")
T = TypeVar("T")


class Usage:
    """Counts how many threads use something, so that it is closed only while nobody does. A new use waits while a
    thread is inside `resting`. Thread-safe."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = make_lock(Rank.USAGE)
        self._uses = 0
        self._last = now()

    @contextmanager
    def use(self) -> Iterator[None]:
        """Counts as a use while the block runs."""
        with self._lock:
            self._uses += 1
        try:
            yield
        finally:
            with self._lock:
                self._uses -= 1
                self._last = self._now()

    def calm(self, for_s: float) -> bool:
        """Whether the workspace is unused now, and has been for `for_s` seconds."""
        with self._lock:
            return not self._uses and self._now() - self._last >= for_s

    @contextmanager
    def resting(self, after_s: float) -> Iterator[bool]:
        """Yields whether the workspace has been unused for `after_s` seconds. No use can begin until the block ends."""
        with self._lock:
            yield not self._uses and self._now() - self._last >= after_s


class HasUsage(Protocol):
    """An object with methods that `counted` can decorate."""

    usage: Usage


S = TypeVar("S", bound=HasUsage)


def counted(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Makes a method count as a use of its object while it runs."""

    @functools.wraps(method)
    def counting(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with self.usage.use():
            return method(self, *args, **kwargs)

    return counting


def share_memory_pools() -> None:
    """Lets all threads of this process take memory from two pools of the C allocator (glibc), which otherwise has eight
    for each core and keeps free memory in each. Does nothing with another allocator."""
    with contextlib.suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).mallopt(_MOST_POOLS, 2)


def give_memory_back() -> None:
    """Asks the C allocator to return free memory to the system. Does nothing if that is impossible."""
    with contextlib.suppress(OSError, AttributeError, TypeError):
        trim: Any = ctypes.CDLL(None).malloc_trim
        trim(0)
