"""What is known to have changed and is not yet in the index: the one place that knows it.

**Nothing that is noted is ever dropped.** A note leaves the queue in one way: `settle`, which is called once the work
that covers the note has been committed to the generation in force. A note that is renewed after that work looked at the
queue stays. So whatever ends a pass before its commit (an error, a cancellation, a job of a person that takes its turn,
the end of the thread) takes nothing out of the queue, and there is nothing to put back.

The queue lives as long as its workspace is open: it outlives the thread that applies it, the watcher that fills it and
the generation that it is applied to. A generation that takes the place of another one, and a process that opens an
index, begin with a note of EVERYTHING, which covers whatever nobody saw.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from sidecar.locks import Rank, make_lock

EVERYTHING = ""


@dataclass
class Pending:
    """Paths and folders to be looked at again. `rescan` holds folders; "" means the whole workspace."""

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

    def count(self) -> int:
        """Paths and folders known to have changed; looking at everything again is no change by itself."""
        return len(self.paths) + len(self.rescan - {EVERYTHING})


@dataclass(frozen=True)
class Batch:
    """What waited at one moment, and the number of that moment."""

    pending: Pending
    moment: int


class ChangeQueue:
    """Thread-safe; never waits."""

    def __init__(self) -> None:
        self._lock = make_lock(Rank.CHANGE_QUEUE)
        self._noted: dict[str, int] = {}
        self._moment = 0

    def __bool__(self) -> bool:
        return bool(self._noted)

    def note(self, pending: Pending) -> None:
        with self._lock:
            self._moment += 1
            self._noted.update(dict.fromkeys(pending.names(), self._moment))

    def look(self) -> Batch:
        """Everything that waits. It goes on waiting until it is settled."""
        with self._lock:
            return Batch(Pending.of(self._noted), self._moment)

    def settle(self, done: Pending, moment: int) -> Pending:
        """Work that covers `done` and began after this moment is committed. Returns what no longer waits."""
        with self._lock:
            names = [name for name in done.names() if self._noted.get(name, moment + 1) <= moment]
            for name in names:
                del self._noted[name]
        return Pending.of(names)

    def pending(self) -> Pending:
        return self.look().pending
