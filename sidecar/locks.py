"""Makes every lock of the program, each with its rank in the one lock order.

A thread that holds a lock may take only locks of a higher rank (further down in `Rank`), so no two threads can wait for
each other. If SIDECAR_CHECK_LOCKS is set, as in the tests, a thread that takes locks in another order gets a
LockOrderError at once; otherwise the locks are the standard library's own.
"""

from __future__ import annotations

import os
import threading
from enum import IntEnum, auto
from types import TracebackType
from typing import Any, Protocol


class Rank(IntEnum):
    """The lock order and what each lock protects.

    Outermost first: a lock is taken before those below it, never after.
    """

    OPENING_ENGINE = auto()
    """tools: making the process's engine, or a session's view of it; one session at a time."""
    LAZY_WORKSPACES = auto()
    """tools: making the engine of a process without a daemon, once."""
    SESSIONS = auto()
    """tools: which sessions are attached, and which have been asked a question."""
    TOOL_WRITERS = auto()
    """tools: the workspaces that a tool is writing to."""
    JOB = auto()
    """One build, rebuild or deletion per workspace; held while it runs."""
    UPGRADE = auto()
    """Whether a model upgrade is running or on hold."""
    EMBEDDING = auto()
    """Embedding into a generation, one run at a time; held during the run."""
    FAIR_SLOT = auto()
    """Whether one job holds a fair slot."""
    FAIR_SLOTS = auto()
    """Which workspace's batch is next."""
    WORKSPACES = auto()
    """The table of open workspaces."""
    USAGE = auto()
    """How many calls use a workspace; held while the workspace goes to sleep."""
    LOOKING = auto()
    """Asking the watcher for the changes until now, until they are recorded."""
    INDEX_GATE = auto()
    """Opening, swapping and closing a generation."""
    GENERATION_WRITERS = auto()
    """Whether writers use a generation, or a swap has it exclusively (RwLock)."""
    LIVE_UPDATE = auto()
    """The parts of live update: queue, watcher, timer."""
    WATCHER = auto()
    """A watcher's events, while they are collected and interpreted."""
    CHANGE_APPLIER = auto()
    """Whether the applier's thread has work."""
    CHANGE_QUEUE = auto()
    """The changes that are known and not yet applied."""
    MODELS = auto()
    """The table of loaded models; held while one loads."""
    WORKER_LANE = auto()
    """The current crew of a group of worker processes, and how many of its requests are unfinished."""
    WORKER_CREW = auto()
    """The processes of one crew of worker threads, and whether the crew has ended."""
    PATIENCE = auto()
    """The deadline by which each worker process must answer."""
    HOPELESS = auto()
    """Texts that are not parsed again because parsing them failed."""
    STORE_SYNC = auto()
    """The state of bringing a vector store up to date."""
    VECTOR_STORE = auto()
    """Access to a vector store."""
    DOCUMENTS = auto()
    """The table of document indexes in memory."""
    DOCUMENT_INDEX = auto()
    """One document index in memory."""
    OWN_DATABASE = auto()
    """The SQLite file of memories or documents, one writer at a time."""
    MANIFEST = auto()
    """The manifest's writing connection."""
    MANIFEST_LOOK_UP = auto()
    """The manifest's read-only connection for look-ups."""
    FORGOTTEN = auto()
    """Paths that one run has removed while other threads still work on them."""
    EMBEDDING_CACHE_TABLE = auto()
    """The table of open embedding caches."""
    EMBEDDING_CACHE = auto()
    """The embedding cache's writing connection."""
    EMBEDDING_CACHE_IDLE = auto()
    """The embedding cache's idle connections for reading."""
    SNAPSHOTS = auto()
    """A generation's arrays and its idle connections for snapshots."""
    VECTOR_CACHE = auto()
    """The vectors held in memory."""
    RECENT_TERMS = auto()
    """What recent searches have read or computed for terms and names."""
    PATH_TABLE = auto()
    """The table of facts that follow from paths."""
    PARSED_PATTERNS = auto()
    """Which texts of ignore rules have been parsed."""
    PARSING_PATTERNS = auto()
    """Parsing one text of ignore rules, once."""
    RIGHT_OF_WAY = auto()
    """How many questions are being answered at the moment."""
    GPU = auto()
    """Loading the model onto the graphics card, once."""
    ACTIVITY = auto()
    """The progress of the job that is running."""
    CALL_LOG = auto()
    """tools: the calls through every door."""
    SETTINGS_CLAIMS = auto()
    """tools: which session's settings count for which workspace."""
    PIPE = auto()
    """The state of a session's pipe to the daemon."""
    PIPE_WRITING = auto()
    """Writing to the session's client, one message at a time."""
    CHANNEL = auto()
    """The number of bytes that are queued for a client."""


class LockOrderError(RuntimeError):
    """A thread took a lock while it held another of the same or a higher rank."""


class Lock(Protocol):
    """The methods that `threading.Lock` and `threading.RLock` have in common."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Takes the lock. Returns False if it is not free within `timeout` seconds (-1: no limit) or, if not
        `blocking`, at once."""

    def release(self) -> None:
        """Releases the lock."""

    def __enter__(self) -> bool: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


CHECKED = bool(os.environ.get("SIDECAR_CHECK_LOCKS"))
"""Whether locks check the lock order."""


class PlainLock(Lock, Protocol):
    """A lock that is not reentrant."""

    def locked(self) -> bool:
        """Whether any thread holds the lock."""


def make_lock(rank: Rank) -> PlainLock:
    """Makes a lock that is not reentrant."""
    return _Ranked(rank, threading.Lock()) if CHECKED else threading.Lock()


def make_rlock(rank: Rank) -> Lock:
    """Makes a reentrant lock: the thread that holds it may take it again."""
    return _Ranked(rank, threading.RLock()) if CHECKED else threading.RLock()


def make_condition(rank: Rank) -> threading.Condition:
    """Makes a condition over a reentrant lock of this rank."""
    ranked: Any = _Ranked(rank, threading.RLock()) if CHECKED else None
    return threading.Condition(ranked)


class _Held(threading.local):
    """The locks that the current thread holds, in the order in which it took them."""

    def __init__(self) -> None:
        self.locks: list[_Ranked] = []


_HELD = _Held()


class _Ranked:
    """A lock that checks the order. It also has the methods that `threading.Condition` needs."""

    def __init__(self, rank: Rank, lock: Any) -> None:
        self.rank = rank
        self._lock = lock

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        # A call that does not wait cannot deadlock.
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
