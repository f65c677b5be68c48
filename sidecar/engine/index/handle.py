"""The index of one workspace as this process holds it: its lease, its open generation, the swap to another.

Not here: what is written into a generation (building), what keeps it up to the files (upkeep).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

from sidecar.engine.index.generation import Generation, Generations
from sidecar.engine.index.layout import IndexLayout
from sidecar.engine.index.model_selection import ModelChoice
from sidecar.engine.models.facts import ModelFacts
from sidecar.errors import DiskFull, IndexCorrupt, IndexLocked, IndexNotFound, PermissionDenied, SidecarError
from sidecar.locks import Rank, make_rlock
from sidecar.settings.load import Settings

T = TypeVar("T")


class LeaseLike(Protocol):
    def acquire(self, timeout: float = 0) -> None: ...

    def release(self) -> None: ...


class IndexHandle:
    """Opens at first use. With the lease it may be written; without, another process writes and this one searches.

    `gate` is held while opening, swapping and closing; long work is done outside of it. `on_open` is called, under the
    gate, when a generation was opened for writing. `kept_up_elsewhere`: another process writes it.
    """

    def __init__(
        self,
        directory: IndexLayout,
        generations: Generations,
        settings: Callable[[], Settings],
        choice: ModelChoice,
        make_lease: Callable[[Path], LeaseLike],
        default_config: Callable[[], str],
        on_open: Callable[[], None],
    ) -> None:
        self.gate = make_rlock(Rank.INDEX_GATE)
        self.generation: Generation | None = None
        self._directory = directory
        self._generations = generations
        self._settings = settings
        self._choice = choice
        self._make_lease = make_lease
        self._default_config = default_config
        self._on_open = on_open
        self._lease: LeaseLike | None = None
        self.kept_up_elsewhere = False

    def exists(self) -> bool:
        return self._directory.current() is not None

    def readable(self) -> Generation:
        """The generation in force. Raises IndexNotFound, IndexCorrupt."""
        with self.gate:
            self._leave_outdated()
            if self.generation is None:
                self.generation = self._open_current()
                self._on_open()
            return self.generation

    def on_current(self, read: Callable[[Generation], T]) -> T:
        """`read` of the generation in force, once more where another has taken its place meanwhile."""
        while True:
            generation = self.readable()
            try:
                return read(generation)
            except IndexCorrupt:
                if self.readable() is generation:
                    raise

    def writable(self) -> Generation:
        """The same with the lease. Raises IndexLocked as well."""
        with self.gate:
            if not self.exists():
                raise IndexNotFound("Run create_index first.")
            self.take_lease()
            return self.readable()

    def ready(self) -> Generation:
        """The generation in force with the lease, made when there is none."""
        with self.gate:
            self.take_lease()
            self._directory.write_config_once(self._default_config())
            self._leave_outdated()
            if self.generation is not None:
                self._generations.check(self.generation.number)
            if self.generation is None and self.exists():
                self.generation = self._generations.open(self._current(), self._settings())
            if self.generation is None:
                self.generation = self._generations.make(self._settings(), self._choice.first())
                self._directory.set_current(self.generation.number)
            self.check_model(self.generation)
            return self.generation

    def aside(self) -> Generation:
        """A fresh generation beside the one in force."""
        with self.gate:
            self.take_lease()
        return self._generations.make(self._settings(), self._choice.first(self._own_model()))

    def swap(self, fresh: Generation) -> None:
        """Puts `fresh` in force and drops the former generation. Searches that still read it end undisturbed; nobody
        waits for it to close."""
        with self.gate:
            self._directory.set_current(fresh.number)
            old, self.generation = self.generation, fresh
        if old is not None:
            old.close(clean=False)
        self._directory.sweep()

    def drop(self, fresh: Generation) -> None:
        """Gives up a generation that was made aside."""
        fresh.close()
        self._directory.sweep()

    def delete(self) -> None:
        with self.gate:
            self.take_lease()
            self._close_generation(clean=False)
            number = self._directory.current()
            if number is not None:
                self._generations.release(number)
            self._directory.delete()
            self._release()

    def close(self) -> None:
        with self.gate:
            self._close_generation()
            self._release()

    def rest(self) -> None:
        """Gives the memory back and keeps the lease; the next use opens it again."""
        with self.gate:
            self._close_generation()

    def check_model(self, generation: Generation) -> None:
        """Raises IndexCorrupt when it cannot answer for the model that the settings name."""
        self._choice.check(generation.model)

    def take_lease(self) -> None:
        """Raises IndexLocked. A generation that was open for reading only is closed, to be opened anew."""
        if self._lease is not None:
            return
        self._directory.make()
        lease = self._make_lease(self._directory.path)
        lease.acquire()
        self._lease = lease
        self._directory.sweep()
        if self.generation is not None and self.generation.writer is None:
            self._close_generation()

    def _current(self) -> int:
        number = self._directory.current()
        if number is None:
            raise IndexNotFound("Run create_index first.")
        return number

    def _open_current(self) -> Generation:
        while True:
            number = self._current()
            try:
                return self._generations.open(number, self._settings(), read_only_reason=self._hindrance())
            except IndexCorrupt:
                # Another process may have put another one in its place between the two.
                if self._directory.current() == number:
                    raise

    def _own_model(self) -> ModelFacts | None:
        """Of the generation in force, as far as it can be read."""
        if self.generation is not None:
            return self.generation.model
        try:
            return self._generations.model_of(self._current())
        except (SidecarError, KeyError, ValueError, TypeError):
            return None

    def _leave_outdated(self) -> None:
        """Closes the generation where another process, which holds the lease, has rebuilt or deleted the index since,
        and where the file of its vectors proved damaged: opened again, it finds what a new one has."""
        generation = self.generation
        if generation is None:
            return
        replaced = generation.writer is None and self._directory.current() != generation.number
        if replaced or generation.kept.damaged:
            self._close_generation(clean=not generation.kept.damaged)

    def _hindrance(self) -> str:
        """Takes the lease; why that cannot be, where it can not."""
        self.kept_up_elsewhere = False
        try:
            self.take_lease()
        except IndexLocked:
            self.kept_up_elsewhere = True
            return "Another process holds this index: it is searched here, and changed there."
        except (PermissionDenied, DiskFull):
            return f"{self._directory.path} cannot be written: the index is searched as it was when that was possible."
        return ""

    def _release(self) -> None:
        lease, self._lease = self._lease, None
        if lease is not None:
            lease.release()

    def _close_generation(self, *, clean: bool = True) -> None:
        generation, self.generation = self.generation, None
        if generation is not None:
            generation.close(clean=clean)
