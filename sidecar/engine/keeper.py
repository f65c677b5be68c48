"""Keeps an open index up to the files: collects changes, applies them by the strategy, flushes for searches.

realtime: changes are applied as they come. lazy: they queue up (on disk) and are applied right before a search.
git: a commit, checkout or merge reconciles everything. Unsaved editor text never waits longer than the next search.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from sidecar.engine.retries import Retries
from sidecar.errors import Cancelled, SidecarError
from sidecar.logs import workspace_log
from sidecar.model import IsCancelled, Strategy

EVERYTHING = ""
_RULE_FILES = (".gitignore", ".sidecarignore", ".gitattributes")


@dataclass
class Pending:
    """What is known to have changed and is not yet applied. `rescan` holds folders; "" means all."""

    paths: set[str] = field(default_factory=set)
    rescan: set[str] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.paths or self.rescan)

    def names(self) -> list[str]:
        """As the manifest remembers them: folders end in `/`, all is `/`."""
        return [*self.paths, *(f"{folder}/" for folder in self.rescan)]

    @classmethod
    def of(cls, names: Iterable[str]) -> Pending:
        names = list(names)
        return cls({n for n in names if not n.endswith("/")}, {n[:-1] for n in names if n.endswith("/")})

    def add(self, other: Pending) -> None:
        self.paths |= other.paths
        self.rescan |= other.rescan

    def count(self) -> int:
        """Paths and folders known to have changed; looking at everything again is no change by itself."""
        return len(self.paths) + len(self.rescan - {EVERYTHING})


class Keeper:
    """One thread that applies pending changes through `apply(pending, cancelled)`. `strategy` may change meanwhile."""

    def __init__(
        self,
        root: str,
        apply: Callable[[Pending, IsCancelled], None],
        strategy: Strategy,
        remember: Callable[[Iterable[str]], None],
        on_change: Callable[[], None],
        retries: Retries | None = None,
    ) -> None:
        self._retries = retries or Retries()
        self._log = workspace_log(__name__, root)
        self.strategy = strategy
        self._apply = apply
        self._remember = remember
        self._on_change = on_change
        self._pending = Pending()
        self._applying = Pending()
        self._lock = threading.Condition()
        self._wanted = False
        self._busy = False
        self._stopping = False
        self._runs = 0
        self._thread: threading.Thread | None = None
        self.last_error = ""

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="sidecar-keeper", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread after the batch in flight."""
        with self._lock:
            self._stopping = True
            self._lock.notify_all()
        if self._thread is not None:
            self._thread.join()

    def add(self, paths: Iterable[str] = (), rescan: Iterable[str] = (), *, now: bool = False) -> None:
        """Notes changes; applies them at once under realtime, or when `now`."""
        added = Pending(set(paths), set(rescan))
        if any(p.rsplit("/", 1)[-1] in _RULE_FILES for p in added.paths):
            added.rescan.add(EVERYTHING)
        with self._lock:
            self._pending.add(added)
            if now or self.strategy != "lazy":
                self._wanted = True
                self._lock.notify_all()
        if self.strategy == "lazy" and not now:
            self._remember(added.names())
        self._on_change()

    def recall(self, names: Iterable[str]) -> None:
        """What an earlier process has remembered and not applied; it waits for the next search."""
        with self._lock:
            self._pending.add(Pending.of(names))

    def try_later(self, names: Iterable[str]) -> None:
        """These, named as the manifest does, could not be read, and no others."""
        with self._lock:
            self._retries.replace(names)
            self._lock.notify_all()

    def flush(self, timeout: float) -> bool:
        """Applies what is pending, waiting at most `timeout` seconds; False when some is left. What fails is tried once
        each time."""
        with self._lock:
            if not self._pending and not self._busy:
                return True
            if self._thread is None:
                return False
            self._wanted = True
            self._lock.notify_all()
            enough = self._runs + (2 if self._busy else 1)
            self._lock.wait_for(
                lambda: self._stopping or (not self._busy and (not self._pending or self._runs >= enough)), timeout
            )
            return not (self._pending or self._busy)

    def pending(self) -> int:
        with self._lock:
            return self._pending.count()

    def looks_over(self) -> bool:
        """Whether the whole workspace is, or waits, to be looked over."""
        with self._lock:
            return EVERYTHING in self._pending.rescan or EVERYTHING in self._applying.rescan

    @property
    def busy(self) -> bool:
        return self._busy

    def _run(self) -> None:
        while (pending := self._next()) is not None:
            try:
                self._apply(pending, lambda: self._stopping)
                self.last_error = ""
            except Cancelled:
                pass
            except SidecarError as error:
                self._put_back(pending, error.message)
                self._log.warning("keeping the index up to date: %s", error.message)
            except Exception as error:
                self._put_back(pending, f"{type(error).__name__}: {error}")
                self._log.exception("keeping the index up to date")
            with self._lock:
                self._busy = False
                self._applying = Pending()
                self._runs += 1
                self._lock.notify_all()
            self._on_change()

    def _put_back(self, pending: Pending, error: str) -> None:
        """It is tried again when something changes or somebody searches."""
        with self._lock:
            self._pending.add(pending)
            self.last_error = error

    def _next(self) -> Pending | None:
        with self._lock:
            while not (self._stopping or (self._wanted and self._pending)):
                self._lock.wait(self._retries.wait_s())
                again = self._retries.take_due()
                self._pending.add(Pending.of(again))
                self._wanted = self._wanted or bool(again)
            if self._stopping:
                return None
            pending, self._pending = self._pending, Pending()
            self._wanted = False
            self._busy = True
            self._applying = pending
            return pending
