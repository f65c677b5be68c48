"""Whether anybody uses a workspace, so that an idle one may give its memory back."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from sidecar.locks import Rank, make_lock

P = ParamSpec("P")
T = TypeVar("T")


class Usage:
    """Counts uses. While `resting` holds, a new use waits. Thread-safe."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._lock = make_lock(Rank.USAGE)
        self._uses = 0
        self._last = now()

    @contextmanager
    def use(self) -> Iterator[None]:
        with self._lock:
            self._uses += 1
        try:
            yield
        finally:
            with self._lock:
                self._uses -= 1
                self._last = self._now()

    def calm(self, for_s: float) -> bool:
        """Whether nobody uses it, nor has for so long."""
        with self._lock:
            return not self._uses and self._now() - self._last >= for_s

    @contextmanager
    def resting(self, after_s: float) -> Iterator[bool]:
        """Yields whether nobody has used it for so long; nobody begins to until the block ends."""
        with self._lock:
            yield not self._uses and self._now() - self._last >= after_s


class HasUsage(Protocol):
    usage: Usage


S = TypeVar("S", bound=HasUsage)


def counted(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """A method that counts as a use while it runs."""

    @functools.wraps(method)
    def counting(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with self.usage.use():
            return method(self, *args, **kwargs)

    return counting


def give_memory_back() -> None:
    """Asks the allocator to return what is free to the system; where it cannot be asked, nothing happens."""
    with contextlib.suppress(OSError, AttributeError, TypeError):
        trim: Any = ctypes.CDLL(None).malloc_trim
        trim(0)
