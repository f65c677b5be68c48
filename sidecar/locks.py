"""Every lock of the program is made here, with its rank: the one written lock order.

A thread that holds a lock may take only locks of a higher rank (further down in `Rank`), so no two threads can wait for
each other. With SIDECAR_CHECK_LOCKS set, as the tests set it, taking them in another order raises LockOrderError at
once, on whichever thread it happens; without it the locks are the standard library's own.
"""

from __future__ import annotations

import os
import threading
from enum import IntEnum, auto
from types import TracebackType
from typing import Any, Protocol


class Rank(IntEnum):
    """Outermost first: a lock is taken before those below it, never after."""

    OPENING_ENGINE = auto()
    """tools: one session at a time makes the process's engine, or its view of it."""
    LAZY_WORKSPACES = auto()
    """tools: the engine of a process without a daemon is made once."""
    SESSIONS = auto()
    """tools: who is attached, who is asked."""
    TOOL_WRITERS = auto()
    """tools: in which workspaces a tool writes."""
    JOB = auto()
    """One build, rebuild or deletion per workspace; held while it runs."""
    UPGRADE = auto()
    """Whether a model upgrade runs, or must not."""
    EMBEDDING = auto()
    """One run at a time embeds into a generation; held while it does."""
    FAIR_SLOT = auto()
    FAIR_SLOTS = auto()
    """Which workspace's batch is next."""
    WORKSPACES = auto()
    """The table of open workspaces."""
    USAGE = auto()
    """Who uses a workspace; held while it goes to sleep."""
    INDEX_GATE = auto()
    """Opening, swapping and closing a generation."""
    GENERATION_WRITERS = auto()
    """Whether writers are in a generation or a swap is alone in it (RwLock)."""
    LIVE_UPDATE = auto()
    """The parts of live update: queue, watcher, timer."""
    CHANGE_APPLIER = auto()
    """Whether the applier's thread has something to do."""
    CHANGE_QUEUE = auto()
    """What is known to have changed."""
    MODELS = auto()
    """The table of loaded models; held while one loads."""
    WORKER_LANE = auto()
    """Which worker processes there are, and who waits for them."""
    WORKER_CREW = auto()
    PATIENCE = auto()
    HOPELESS = auto()
    """Texts that are not parsed again."""
    STORE_SYNC = auto()
    VECTOR_STORE = auto()
    DOCUMENTS = auto()
    DOCUMENT_INDEX = auto()
    OWN_DATABASE = auto()
    """Memories, documents: one writer at a time."""
    MANIFEST = auto()
    MANIFEST_LOOK_UP = auto()
    FORGOTTEN = auto()
    """Paths that a run has forgotten while others have them in hand."""
    EMBEDDING_CACHE_TABLE = auto()
    EMBEDDING_CACHE = auto()
    EMBEDDING_CACHE_IDLE = auto()
    SNAPSHOTS = auto()
    VECTOR_CACHE = auto()
    PATH_TABLE = auto()
    GPU = auto()
    ACTIVITY = auto()
    CALL_LOG = auto()
    """tools: what was asked through every door."""
    SETTINGS_CLAIMS = auto()
    """tools: which session's settings hold for which workspace."""
    PIPE = auto()
    PIPE_WRITING = auto()
    CHANNEL = auto()
    """What has been queued for a client."""


class LockOrderError(RuntimeError):
    """A thread took a lock while it held one that comes after it in `Rank`."""


class Lock(Protocol):
    """What `threading.Lock` and `threading.RLock` have in common."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool: ...

    def release(self) -> None: ...

    def __enter__(self) -> bool: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


CHECKED = bool(os.environ.get("SIDECAR_CHECK_LOCKS"))


class PlainLock(Lock, Protocol):
    """What only `threading.Lock` can tell."""

    def locked(self) -> bool: ...


def make_lock(rank: Rank) -> PlainLock:
    """Not reentrant."""
    return _Ranked(rank, threading.Lock()) if CHECKED else threading.Lock()


def make_rlock(rank: Rank) -> Lock:
    """Reentrant: the thread that holds it may take it again."""
    return _Ranked(rank, threading.RLock()) if CHECKED else threading.RLock()


def make_condition(rank: Rank) -> threading.Condition:
    """Over a reentrant lock of this rank."""
    ranked: Any = _Ranked(rank, threading.RLock()) if CHECKED else None
    return threading.Condition(ranked)


class _Held(threading.local):
    """The locks that this thread holds, in the order in which it took them."""

    def __init__(self) -> None:
        self.locks: list[_Ranked] = []


_HELD = _Held()


class _Ranked:
    """A lock that checks the order. Also what `threading.Condition` asks of a lock."""

    def __init__(self, rank: Rank, lock: Any) -> None:
        self.rank = rank
        self._lock = lock

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        # One that does not wait cannot end up waiting for another thread.
        if blocking:
            self._check()
        taken: bool = self._lock.acquire(blocking, timeout)
        if taken:
            _HELD.locks.append(self)
        return taken

    def release(self) -> None:
        self._lock.release()
        self._forget()

    def locked(self) -> bool:
        taken: bool = self._lock.locked()
        return taken

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def _check(self) -> None:
        held = _HELD.locks
        if self in held:
            return
        above = [lock.rank for lock in held if lock.rank >= self.rank]
        if above:
            raise LockOrderError(f"{self.rank.name} was taken while {', '.join(r.name for r in above)} was held.")

    def _forget(self) -> None:
        held = _HELD.locks
        for place in range(len(held) - 1, -1, -1):
            if held[place] is self:
                del held[place]
                return

    # ------------------------------------------------------------ for threading.Condition

    def _is_owned(self) -> bool:
        owned: bool = self._lock._is_owned()
        return owned

    def _release_save(self) -> tuple[Any, int]:
        count = sum(lock is self for lock in _HELD.locks)
        _HELD.locks = [lock for lock in _HELD.locks if lock is not self]
        return self._lock._release_save(), count

    def _acquire_restore(self, saved: tuple[Any, int]) -> None:
        state, count = saved
        self._lock._acquire_restore(state)
        _HELD.locks += [self] * count
