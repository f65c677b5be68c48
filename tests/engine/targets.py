"""Targets for tests of the change applier alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sidecar.engine.update.change_queue import Pending
from sidecar.engine.update.staleness import Unread
from sidecar.model.files import Checkout
from sidecar.model.terms import IsCancelled


@dataclass
class FakeTarget:
    """An `applier.Target` that applies changes with a function, can read everything, and has no list on disk."""

    applied_by: Callable[[Pending, IsCancelled], Pending] = lambda pending, _: pending
    walked: Checkout | None = None
    tidied_by: Callable[[IsCancelled], None] = lambda _: None

    def apply(self, pending: Pending, cancelled: IsCancelled) -> Pending:
        return self.applied_by(pending, cancelled)

    def differing(self, changes: Pending) -> frozenset[str]:
        return frozenset(changes.paths)

    def unread(self) -> Unread:
        return Unread()

    def remember(self, names: Iterable[str]) -> None:
        pass

    def forget(self, names: Iterable[str]) -> None:
        pass

    def tidy(self, stop: IsCancelled) -> None:
        self.tidied_by(stop)
