"""The index of one workspace as this process holds it: its lease, its open generation, and the swap to another one.

`update/builder.py` writes into a generation; `update/live.py` keeps it up to date with the files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Protocol

from sidecar.engine.concurrency.rwlock import RwLock
from sidecar.engine.index.generation import Generation, Generations
from sidecar.engine.index.layout import IndexLayout
from sidecar.engine.index.model_selection import ModelChoice
from sidecar.engine.models.facts import ModelFacts
from sidecar.errors import (
    DiskFull,
    IndexCorrupt,
    IndexLocked,
    IndexNotFound,
    PermissionDenied,
    SidecarError,
)
from sidecar.locks import Rank, make_rlock
from sidecar.model.terms import IsCancelled, never_cancelled
from sidecar.parts.database import has_room
from sidecar.parts.globs import wrong_globs
from sidecar.settings.load import Settings


class LeaseLike(Protocol):
    """The right to write an index; see `parts.lease.Lease`."""

    def acquire(self, timeout: float = 0) -> None:
        """Takes the lease, waiting up to `timeout` seconds. Raises IndexLocked, PermissionDenied or DiskFull."""

    def release(self) -> None:
        """Releases the lease."""

    def is_current(self) -> bool:
        """Whether the lease is held, and the directory that it is for has not been removed since."""

    def announce(self, job: str) -> None:
        """Tells other processes what this one is doing while it has the lease."""

    def announced(self) -> str:
        """Returns what the process that has the lease is doing; empty if it has not announced anything."""


class IndexHandle:
    """Opens the index at first use: for writing if this process gets the lease, otherwise for searching only.

    `gate` is held while a generation is opened, swapped or closed; long work is done outside of it. `kept_up_elsewhere`
    is True if another process held the lease when this one last used the index. `doing` is the job of this process that
    writes the index or its successor: create, refresh, rebuild, delete, or update for a pass over the whole workspace
    in the background; empty if no such job runs.
    """

    def __init__(
        self,
        directory: IndexLayout,
        generations: Generations,
        settings: Callable[[], Settings],
        choice: ModelChoice,
        make_lease: Callable[[Path], LeaseLike],
        default_config: Callable[[], str],
    ) -> None:
        self.gate = make_rlock(Rank.INDEX_GATE)
        self._writers = RwLock()
        self.generation: Generation | None = None
        self._directory = directory
        self._generations = generations
        self._settings = settings
        self._choice = choice
        self._make_lease = make_lease
        self._default_config = default_config
        self._lease: LeaseLike | None = None
        self.kept_up_elsewhere = False
        self._disk_was_full = False
        """Whether the generation was opened for reading only, on a full disk."""
        self.doing = ""

    def exists(self) -> bool:
        """Whether an index exists on disk."""
        return self._directory.current() is not None

    def readable(self) -> Generation:
        """Returns the current generation, opened if necessary. Raises IndexNotFound or IndexCorrupt.

        Code that serves a workspace calls `LiveUpdate.readable` instead, which also keeps the generation up to date
        with the files.
        """
        with self.gate:
            self._leave_outdated()
            if self.generation is None:
                self.generation = self._open_current()
            elif self.kept_up_elsewhere:
                self._take_over()
                self.generation = self.generation or self._open_current()
            return self.generation

    def written(self) -> Generation | None:
        """Returns the generation that is open for writing, or None. It takes no lock: hold `writing` to keep the
        generation current."""
        generation = self.generation
        return generation if generation is not None and generation.writer is not None else None

    @contextmanager
    def writing(self, cancelled: IsCancelled = never_cancelled) -> Iterator[Generation | None]:
        """Yields `written()`. Within the block, no swap that holds `alone` replaces it. Raises Cancelled if cancelled
        while waiting."""
        with self._writers.writing(cancelled):
            yield self.written()

    @contextmanager
    def announcing(self, job: str) -> Iterator[None]:
        """Within the block, this process is `doing` this job, and other processes can see it."""
        self._tell(job)
        try:
            yield
        finally:
            self._tell("")

    def _tell(self, job: str) -> None:
        self.doing, lease = job, self._lease
        if lease is not None:
            lease.announce(job)

    def doing_elsewhere(self) -> str:
        """Returns what the process that has the lease is `doing`; empty if this process has the lease."""
        if self._lease is not None or not self.kept_up_elsewhere:
            return ""
        return self._make_lease(self._directory.path).announced()

    def sign(self) -> tuple[object, ...]:
        """Returns values that differ after another commit of any process, or if the process that has the lease does
        another job."""
        return self._directory.stamp(), self.doing_elsewhere()

    def fault_of_model(self, generation: Generation) -> SidecarError | None:
        """Returns why searches fail, or find words only, because of the model: the error of `check_model`, or the last
        error of loading it; None if neither is known."""
        try:
            self.check_model(generation)
        except SidecarError as error:
            return error
        return self._choice.failure(generation.model)

    def alone(self, cancelled: IsCancelled) -> AbstractContextManager[None]:
        """Within the block, no other thread is `writing`. Raises Cancelled if cancelled while waiting."""
        return self._writers.alone(cancelled)

    def ready(self) -> Generation:
        """Returns the current generation, open for writing, for a requested job. A build that was cancelled counts as
        wanted again.

        Creates an empty generation if no index exists yet. Raises IndexLocked, IndexCorrupt, ModelLoadFailed,
        PermissionDenied or DiskFull.
        """
        with self.gate:
            self.take_lease()
            self._directory.write_config_once(self._default_config())
            self._leave_outdated()
            if self.generation is not None:
                self._generations.check(self.generation.number)
                if not self.exists():  # no other process may delete it while this one holds the lease
                    self._directory.set_current(self.generation.number)
            if self.generation is None and self.exists():
                self.generation = self._generations.open(self._current(), self._settings())
            if self.generation is None:
                self.generation = self._generations.make(self._settings(), self._choice.first())
                self._directory.set_current(self.generation.number)
            self.check_model(self.generation)
            if self.generation.writer is not None:
                self.generation.writer.note_cancelled(False)
            return self.generation

    def aside(self, model: ModelFacts | None = None) -> Generation:
        """Creates an empty generation beside the current one, which stays current until `swap`. It is for this model
        or, if that is None, for the first model of a new generation by the settings."""
        with self.gate:
            self.take_lease()
            self._directory.write_config_once(self._default_config())
        return self._generations.make(self._settings(), model or self._choice.first(self._own_model()))

    def swap(self, fresh: Generation) -> None:
        """Makes `fresh` the current generation and deletes the former one.

        Searches that are reading the former generation finish undisturbed, and nothing waits for them.
        """
        with self.gate:
            self._directory.set_current(fresh.number)
            old, self.generation = self.generation, fresh
        if old is not None:
            old.close(clean=False)
        self._directory.sweep()

    def drop(self, fresh: Generation) -> None:
        """Discards a generation that never became current."""
        fresh.close()
        self._directory.sweep()

    def delete(self) -> None:
        """Deletes the index and the cached vectors of all texts that no other index has. Memories, documents and edited
        settings stay."""
        with self.gate:
            self.take_lease()
            self._close_generation(clean=False)
            self._generations.release(lambda: self._own_model() or self._choice.first())
            self._directory.delete(self._default_config())
            self._release()

    def close(self) -> None:
        """Closes the generation and releases the lease."""
        with self.gate:
            self._close_generation()
            self._release()

    def trim(self, generation: Generation) -> None:
        """Drops cached vectors that no index refers to, down to the size that the settings allow."""
        self._generations.trim(generation, self._settings().vectors_megabytes * 1024**2)

    def check_model(self, generation: Generation) -> None:
        """Raises IndexCorrupt if the generation's model is not the one that the settings name and no upgrade will
        replace it."""
        self._choice.check(generation.model)

    def unapplied(self, generation: Generation) -> str:
        """Returns one sentence for each changed setting that this generation does not follow: only a rebuild applies
        it, or a glob in it is wrong. Empty if there is none."""
        settings = self._settings()
        wrong = wrong_globs(settings.include, settings.exclude, settings.doc_patterns)
        wanted = settings.chunking_strategy
        if wanted == generation.chunking:
            return wrong
        rebuild = (
            f"The setting chunkingStrategy is now {wanted}, but the index was made with {generation.chunking}; run"
            " `reindex_project` to apply it."
        )
        return f"{rebuild} {wrong}".rstrip()

    def take_lease(self) -> None:
        """Takes the lease if this process does not have it. Raises IndexLocked, PermissionDenied or DiskFull.

        A generation that was open for reading only is closed, so that the next use opens it for writing.
        """
        self._leave_removed()
        if self._lease is not None:
            return
        self._directory.make()
        lease = self._make_lease(self._directory.path)
        lease.acquire()
        self._lease, self.kept_up_elsewhere = lease, False
        if self.doing:
            lease.announce(self.doing)
        self._directory.sweep()
        if self.generation is not None and self.generation.writer is None:
            self._close_generation()

    def _current(self) -> int:
        number = self._directory.current()
        if number is None:
            raise IndexNotFound("Run `create_index` first.")
        return number

    def _open_current(self) -> Generation:
        while True:
            number = self._current()
            try:
                return self._open_generation(number)
            except IndexCorrupt:
                # Another process may have swapped generations after `_current` was read.
                if self._directory.current() == number:
                    raise

    def _open_generation(self, number: int) -> Generation:
        """Opens a generation, for reading only if it cannot be written."""
        reason = self._read_only_reason()
        try:
            return self._generations.open(number, self._settings(), read_only_reason=reason)
        except DiskFull:
            if reason:
                raise
            self._release()
            return self._generations.open(number, self._settings(), read_only_reason=self._full_disk())

    def _own_model(self) -> ModelFacts | None:
        """Returns the model of the current generation, or None if it cannot be read."""
        if self.generation is not None:
            return self.generation.model
        try:
            return self._generations.model_of(self._current())
        except (SidecarError, KeyError, ValueError, TypeError):
            return None

    def _leave_removed(self) -> None:
        """Closes an index whose folder has been removed: its open files no longer belong to an index."""
        if self._lease is not None and not self._lease.is_current():
            self._close_generation(clean=False)
            self._release()

    def _leave_outdated(self) -> None:
        """Closes the open generation if it is outdated, so that the next use opens a valid one.

        It is outdated if another process, which holds the lease, has rebuilt or deleted the index, if the folder of the
        index has been removed (with the lease in it), if the file of the embedding cache has proved damaged, or if the
        disk was full and has room again.
        """
        self._leave_removed()
        generation = self.generation
        if generation is None:
            return
        replaced = generation.writer is None and self._directory.current() != generation.number
        roomy = self._disk_was_full and has_room(self._directory.path)
        if replaced or roomy or generation.kept.damaged:
            self._close_generation(clean=not generation.kept.damaged)

    def _read_only_reason(self) -> str:
        """Tries to take the lease. Returns one line with the reason if that failed; empty if it succeeded."""
        self.kept_up_elsewhere = self._disk_was_full = False
        try:
            self.take_lease()
        except IndexLocked as error:
            self.kept_up_elsewhere = True
            # The files may then be open as if nobody ever wrote them, which the other process will do.
            self._disk_was_full = not has_room(self._directory.path)
            return f"Another process keeps this index up to date; this one only searches it. {error.detail}"
        except DiskFull:
            return self._full_disk()
        except PermissionDenied:
            return (
                f"{self._directory.path} cannot be written, so the index is not kept up to date; results may be stale."
            )
        return ""

    def _full_disk(self) -> str:
        """Notes that the disk is full. Returns the line for it."""
        self._disk_was_full = True
        return (
            f"The disk that holds {self._directory.path} is full, so the index is not kept up to date; results may be"
            " stale. Free some space."
        )

    def _take_over(self) -> None:
        """Takes the lease if the process that kept the index up to date has ended; the generation is then closed."""
        with suppress(IndexLocked, PermissionDenied, DiskFull):
            self.take_lease()

    def _release(self) -> None:
        lease, self._lease = self._lease, None
        if lease is not None:
            lease.release()

    def _close_generation(self, *, clean: bool = True) -> None:
        generation, self.generation = self.generation, None
        if generation is not None:
            generation.close(clean=clean)
