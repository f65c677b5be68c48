"""Holds the changes that are known and not yet in the index. They are held nowhere else.

**A change is never lost.** It leaves the queue only through `settle`, which is called after the work that covers it has
been committed to the current generation. A change that was noted again after that work had read the queue stays. So if
a pass ends before its commit (by an error, a cancellation, a person's job that takes precedence, or the end of the
thread), nothing is removed from the queue, and nothing has to be put back.

The queue exists as long as its workspace is open: longer than the thread that applies it, the watcher that fills it and
the generation to which it is applied. Whenever live update starts, also after a rebuild, it notes EVERYTHING, which
covers changes that were not noticed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from sidecar.locks import Rank, make_lock

EVERYTHING = ""


@dataclass
class Pending:
    """Paths and folders to look at again. `rescan` holds the folders; "" is the whole workspace."""

    paths: set[str] = field(default_factory=set)
    rescan: set[str] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.paths or self.rescan)

    def names(self) -> list[str]:
        """Returns paths and folders as one list, as the manifest stores them: folders end in `/`; the whole workspace
        is `/`."""
        return [*self.paths, *(f"{folder}/" for folder in self.rescan)]

    @classmethod
    def of(cls, names: Iterable[str]) -> Pending:
        """Makes a `Pending` from the result of `names`."""
        names = list(names)
        return cls({n for n in names if not n.endswith("/")}, {n[:-1] for n in names if n.endswith("/")})

    def count(self) -> int:
        """Returns how many paths and folders have changed. EVERYTHING does not count, because it is not a known
        change."""
        return len(self.paths) + len(self.rescan - {EVERYTHING})


@dataclass(frozen=True)
class Batch:
    """The changes that were pending at one moment, and the number of that moment."""

    pending: Pending
    moment: int


class ChangeQueue:
    """The queue. Thread-safe; every call returns at once."""

    def __init__(self) -> None:
        self._lock = make_lock(Rank.CHANGE_QUEUE)
        self._noted: dict[str, int] = {}
        self._moment = 0
        self._everything = 0

    def __bool__(self) -> bool:
        return bool(self._noted)

    def note(self, pending: Pending) -> None:
        """Adds changes, or renews those that are noted already."""
        with self._lock:
            self._moment += 1
            self._noted.update(dict.fromkeys(pending.names(), self._moment))
            if EVERYTHING in pending.rescan:
                self._everything = self._moment

    @property
    def moment(self) -> int:
        """The number of the present moment. It grows with every change that is noted."""
        return self._moment

    def has_everything_since(self, moment: int) -> bool:
        """Whether EVERYTHING was noted after this moment. The pass that covers it began after that, and has been
        committed if it is no longer pending."""
        return self._everything > moment

    def look(self) -> Batch:
        """Returns everything that is pending. It stays pending until it is settled."""
        with self._lock:
            return Batch(Pending.of(self._noted), self._moment)

    def settle(self, done: Pending, moment: int) -> Pending:
        """Removes the changes in `done`, except those that were noted again after `moment`. Returns those removed.

        To be called after the commit of work that covers `done` and had read the queue at `moment`.
        """
        with self._lock:
            names = [name for name in done.names() if self._noted.get(name, moment + 1) <= moment]
            for name in names:
                del self._noted[name]
        return Pending.of(names)

    def pending(self) -> Pending:
        """Returns everything that is pending, without the moment."""
        return self.look().pending
