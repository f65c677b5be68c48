"""Watchers that report only what a test tells them to."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field

from sidecar.parts.watch import WatchedChanges
from sidecar.settings.load import Settings
from tests.patience import PATIENCE_S


@dataclass
class HeldWatchers:
    """The watchers of one workspace. At most one runs."""

    running: HeldWatcher | None = None
    changed: threading.Condition = field(default_factory=threading.Condition)

    def wait(self) -> None:
        """Returns once one runs."""
        with self.changed:
            assert self.changed.wait_for(lambda: self.running is not None, PATIENCE_S), "no watcher was started"

    def make(self, _: str, __: Settings) -> HeldWatcher:
        return HeldWatcher(self)

    def report(self, paths: Iterable[str], folders: Iterable[str] = (), *, head_moved: bool = False) -> None:
        """Returns once the change has been noted."""
        watcher = self.running
        if watcher is None:
            return
        if changes := WatchedChanges(frozenset(paths), frozenset(folders), head_moved):
            watcher.report(changes)


class HeldWatcher:
    """A watcher that notices nothing by itself; see `HeldWatchers`."""

    note = ""

    def __init__(self, watched: HeldWatchers) -> None:
        self._watched = watched
        self._reported: list[WatchedChanges] = []
        self._stopped = self._waited_for = False

    @property
    def active(self) -> bool:
        return self._watched.running is self

    def start(self) -> None:
        with self._watched.changed:
            self._watched.running = self
            self._watched.changed.notify_all()

    def next(self) -> WatchedChanges | None:
        with self._watched.changed:
            self._waited_for = True
            self._watched.changed.notify_all()
            self._watched.changed.wait_for(lambda: self._reported or self._stopped)
            self._waited_for = False
            return None if self._stopped else self._reported.pop(0)

    def report(self, changes: WatchedChanges) -> None:
        with self._watched.changed:
            self._reported.append(changes)
            self._watched.changed.notify_all()
            noted = self._watched.changed.wait_for(
                lambda: self._stopped or (self._waited_for and not self._reported), PATIENCE_S
            )
        assert noted, "nobody takes what the watcher reports"

    def stop(self) -> None:
        with self._watched.changed:
            self._stopped = True
            if self.active:
                self._watched.running = None
            self._watched.changed.notify_all()

    def mark(self) -> None:
        return None

    def look(self, mark: int | None = None) -> WatchedChanges:
        """Does nothing: this watcher reports everything as it happens."""
        return WatchedChanges()
