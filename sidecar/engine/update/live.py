"""Live update: keeps an open index up to date with the files. It runs the change applier and the watcher, and starts
the vector store and the model upgrade.

It owns the index handle, which does not refer back to it. Code that reads or writes the index of a workspace gets the
generation here, so that no generation is open without live update.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from sidecar.engine.concurrency.right_of_way import QUESTIONS
from sidecar.engine.index.generation import Generation
from sidecar.engine.index.handle import IndexHandle
from sidecar.engine.ingest.workspace_files import WorkspaceFiles
from sidecar.engine.ports import Watching
from sidecar.engine.update.activity import Activity
from sidecar.engine.update.applier import ChangeApplier, Target
from sidecar.engine.update.change_queue import EVERYTHING, ChangeQueue, Pending
from sidecar.engine.update.model_upgrade import ModelUpgrade
from sidecar.engine.update.staleness import Staleness, one_line
from sidecar.errors import IndexCorrupt, IndexNotFound
from sidecar.locks import Rank, make_lock
from sidecar.logs import workspace_log
from sidecar.model.files import Checkout
from sidecar.parts.asking import Asking, WriterReply
from sidecar.settings.declare import DECLARATIONS
from sidecar.settings.load import Settings

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LiveTimes:
    """How long live update waits, in seconds.

    The vector store and the watcher start after `stay`, because a shell command usually ends before that and needs
    neither. A watcher reports a change within `lag`, usually within half a second; changes by git that are younger than
    that are looked for without it. A search waits up to `freshness` for changes that are known but not yet applied;
    then it answers and says that it may be stale. A pass over more than `in_time` files takes longer than that, so no
    search waits for it, and it is not begun before the watcher has been started. A process that only reads the index
    asks the one that writes it, and waits at most `hearing` for a sign that the question has been heard, because that
    process may not be watching. If somebody is shown its state, it looks every `turn` what that process has done, and
    whether it has left.
    """

    stay: float = 1.0
    freshness: float = 2.0
    in_time: int = 20_000
    lag: float = 5.0
    hearing: float = 0.5
    turn: float = 1.0


class LiveUpdate:
    """Live update of one index. It runs while a generation is open for writing, and applies known changes to `target`.

    After `times.stay` seconds it also starts the watcher, the vector store if searches need it, worker processes and
    the model upgrade. The applier's threads never take the index's gate, so a thread that holds the gate may wait for
    them.
    """

    def __init__(
        self,
        files: WorkspaceFiles,
        index: IndexHandle,
        target: Target,
        upgrade: ModelUpgrade,
        activity: Activity,
        times: LiveTimes,
        asking: Asking,
    ) -> None:
        self._log = workspace_log(__name__, files.root)
        self._files = files
        self._index = index
        self._target = target
        self._upgrade = upgrade
        self._activity = activity
        self._times = times
        self._asking = asking
        self._answered = WriterReply(fresh=True)
        """The last reply of the process that writes the index; used while this process only reads it."""
        self._queue = ChangeQueue()
        self._applier: ChangeApplier | None = None
        self._watcher: Watching | None = None
        self._stay: threading.Timer | None = None
        self._ended = False
        self._paused = False
        self._settling = False
        """Whether the watcher has not been started yet."""
        self._is_wanted_whole = False
        """Whether `take_up` was called and its pass has not been asked for yet."""
        self._large = False
        """Whether a pass over the workspace takes longer than a search waits."""
        self._applied: tuple[object, ...] = ()
        """The settings about files of the last or the coming pass over the whole workspace."""
        self._changing = make_lock(Rank.LIVE_UPDATE)
        self._looking = make_lock(Rank.LOOKING)
        self._seen: Checkout | None = None
        self._doubting: threading.Timer | None = None

    # ------------------------------------------------------------ the index, kept up to date

    def readable(self) -> Generation:
        """Returns the current generation, opened if necessary and then kept up to date. Raises IndexNotFound or
        IndexCorrupt."""
        try:
            return self._readable()
        except IndexNotFound:
            if self.running:  # the folder of the index has been removed
                self.end()
                self._activity.changed()
            raise

    def _readable(self) -> Generation:
        with self._index.gate:
            before = self._index.generation
            generation = self._index.readable()
            if generation is not before:
                self.start(reconcile=True)
            return generation

    def writable(self) -> Generation:
        """Like `readable`, but takes the lease first. Also raises IndexLocked, PermissionDenied or DiskFull."""
        with self._index.gate:
            if not self._index.exists():
                raise IndexNotFound("Run `create_index` first.")
            self._index.take_lease()
            return self.readable()

    def on_current(self, read: Callable[[Generation], T], asked: Generation | None = None) -> T:
        """Returns the result of `read` on the current generation.

        `asked` is the result of `readable` at the time of the request. If it is still current, the disk is not read
        again. If `read` raises IndexCorrupt because another generation has become current, it is called again with that
        one.
        """
        while True:
            generation = asked if asked is not None and self._index.generation is asked else self.readable()
            asked = None
            try:
                return read(generation)
            except IndexCorrupt:
                if self.readable() is generation:
                    raise

    # ------------------------------------------------------------ start and end

    def start(self, *, reconcile: bool) -> None:
        """Starts live update, or continues with pending changes if it is already running.

        Does nothing unless a generation is open for writing. With `reconcile`, a pass over the whole workspace is made
        according to the strategy; otherwise at the next search, or when the watcher starts.
        """
        with self._index.gate:
            generation, applier = self._index.written(), self._applier
            if self._ended or generation is None or generation.writer is None:
                return
            if applier is None:
                applier = self._make_applier()
                self._seen = self._files.checkout()
                self._queue.note(Pending.of(generation.writer.manifest.dirty()))
                # Covers changes that were not noticed, or that were applied to a generation that has since been
                # replaced.
                self._queue.note(Pending(rescan={EVERYTHING}))
                if not self._begin(applier):
                    return
            else:
                applier.go_on()
            applier.see_unread()
            self._large = generation.writer.manifest.count_files() > self._times.in_time
            if reconcile and not self._large_and_unwatched:
                applier.add(rescan=[EVERYTHING], now=applier.strategy != "lazy")

    def take_up(self) -> None:
        """Goes on with a pass over the workspace that ended early, with every strategy and without a search; in a large
        workspace as soon as it is watched. Raises IndexNotFound or IndexCorrupt."""
        self.readable()
        if self._paused:
            self.start(reconcile=True)
        self._is_wanted_whole = True
        self._apply_if_wanted_whole()

    def _apply_if_wanted_whole(self) -> None:
        applier = self._applier
        if self._is_wanted_whole and applier is not None and not self._large_and_unwatched:
            self._is_wanted_whole = False
            applier.add(now=True)

    def _make_applier(self) -> ChangeApplier:
        settings = self._files.settings()
        strategy, self._applied = settings.indexing_strategy, _about_files(settings)
        return ChangeApplier(self._files.root, self._queue, self._target, strategy, self._activity.changed)

    def _begin(self, applier: ChangeApplier) -> bool:
        """Starts the applier. Returns False if `end` was called for good before."""
        with self._changing:
            if self._ended:
                return False
            self._paused = False
            self._settling = True
            self._applier = applier
            applier.start()
            self._stay = threading.Timer(self._times.stay, self._settle_in)
            self._stay.daemon = True
            self._stay.start()
            return True

    def reload_settings(self) -> None:
        """Switches to the strategy in the current settings, and starts a pass over the whole workspace if the settings
        about files have changed. Cheap if nothing has changed."""
        settings, applier = self._files.settings(), self._applier
        strategy, about_files = settings.indexing_strategy, _about_files(settings)
        if applier is None or (applier.strategy == strategy and self._applied == about_files):
            return
        with self._index.gate:
            if applier is not self._applier:
                return
            looks_over, self._applied = self._applied != about_files, about_files
            applier.strategy = strategy
            if self._watcher is not None:
                self._watch(applier)
            if looks_over:
                applier.add(rescan=[EVERYTHING], now=True)
        self._activity.changed()

    def end(self, *, for_good: bool = False) -> None:
        """Stops the applier and the watcher until `start` or the next search; with `for_good`, they never start again.

        Pending changes stay in the queue.
        """
        with self._changing:
            self._paused = True
            self._ended = self._ended or for_good
            stay, self._stay = self._stay, None
            watcher, self._watcher = self._watcher, None
            applier, self._applier = self._applier, None
        if stay is not None:
            stay.cancel()
        if watcher is not None:
            watcher.stop()
        if applier is not None:
            applier.stop()

    def _settle_in(self) -> None:
        """Starts everything that is useful only in a process that does not end soon."""
        QUESTIONS.give_way()
        try:
            with self._index.gate:
                generation, applier = self._index.written(), self._applier
                if self._ended or generation is None or generation.writer is None or applier is None:
                    return
                generation.writer.store_sync.keep_up()
            # Without the gate, which every question takes: listing the folders of a large tree takes seconds.
            self._files.parts.preparers.warm()
            if self._watcher is None:
                self._watch(applier)
        finally:
            self._settling = False
        self._apply_if_wanted_whole()
        self.consider_upgrade()
        self._activity.changed()

    def _watch(self, applier: ChangeApplier) -> None:
        """Replaces the watcher by one with the current settings. Does nothing if `applier` has been stopped."""
        with self._changing:
            if self._applier is not applier:
                return
            watcher = self._files.watcher()
            watcher.start()
            # Covers changes before it was running, because searches rely on the watcher from now on. Nobody may see a
            # watcher before this is known.
            applier.note_everything()
            before, self._watcher = self._watcher, watcher
            applier.follow(watcher, partial(self._answer_soon, applier))
        if before is not None:
            before.stop()

    def consider_upgrade(self) -> None:
        """Starts a model upgrade if one is due and this process has been running long enough. Cheap."""
        if self.settled:
            self._upgrade.consider()

    # ------------------------------------------------------------ changes and searches

    def note_buffer(self, path: str) -> None:
        """Notes that the unsaved text of a path has changed or is gone."""
        applier = self._applier
        if applier is None:
            self._queue.note(Pending({path}))
        else:
            applier.add([path], now=True)

    @property
    def moment(self) -> int:
        """The present moment, for `freshen`. To be read before the index is opened for a question, because opening
        starts a pass over all files, and that one is then new enough."""
        return self._queue.moment

    def mark(self) -> int | None:
        """Marks this moment for `freshen`, if a watcher is running."""
        watcher = self._watcher
        return watcher.mark() if watcher is not None else None

    def freshen(self, asked: int, mark: int | None = None) -> bool:
        """Looks for changes until the moment `asked` that no event reports, and applies pending changes. Returns False
        if some may be left.

        Waits a bounded time, which is shorter if the caller has made a `mark` and done something else since. If another
        process writes the index, that process is asked to do this.
        """
        if self._paused:
            self.start(reconcile=True)
        self.reload_settings()
        applier = self._applier
        if applier is None:
            return self._ask() if self._index.kept_up_elsewhere else True
        return self._bring_in(applier, asked, mark)

    def _bring_in(self, applier: ChangeApplier, asked: int, mark: int | None = None) -> bool:
        if self._large_and_unwatched:
            return False
        known = self._look(applier, asked, mark)
        pending = self._queue.pending()
        in_vain = EVERYTHING in pending.rescan and self._takes_too_long(pending)
        return applier.flush(0 if in_vain else self._times.freshness) and known

    @property
    def pass_is_awaited(self) -> bool:
        """Whether a pass over the whole workspace is due or has begun for which the next search will wait."""
        pending = self._queue.pending()
        return EVERYTHING in pending.rescan and not self._takes_too_long(pending)

    def _takes_too_long(self, pending: Pending) -> bool:
        """Whether a pass over the whole workspace takes longer than a search waits."""
        # Beside a job on the whole index, which makes a pass of its own, no other is begun.
        return self._large or (bool(self._activity.kind) and not pending.count())

    @property
    def _large_and_unwatched(self) -> bool:
        """Whether only a long pass over the workspace could determine what has changed, and another will be made as
        soon as the watcher is running."""
        return self._large and self._settling

    def _ask(self) -> bool:
        """Asks the process that writes the index to look for changes and to apply pending ones. Returns False if some
        are left, if that process does not watch the files, or if it takes too long."""
        if self._index.doing_elsewhere() not in ("", "update"):
            return False
        with self._looking:  # so that `_answered` is the reply to the last question
            answer = self._asking.ask(self._times.hearing, self._times.freshness)
            self._answered = answer or WriterReply(fresh=False)
            return self._answered.fresh

    def _answer_soon(self, applier: ChangeApplier, names: Collection[str]) -> None:
        """Answers other processes on a new thread, because the watcher's thread must not wait for a `look`."""
        threading.Thread(target=self._answer, args=(applier, names), name="sidecar-asked", daemon=True).start()

    def _answer(self, applier: ChangeApplier, names: Collection[str]) -> None:
        try:
            if heard := self._asking.hear(names):
                fresh = self._bring_in(applier, self.moment)
                self._asking.answer(heard, WriterReply(fresh, tuple(self.awaiting_commit())))
        except Exception:  # the reader then reports that it may lack changes
            self._log.exception("A process that reads this index could not be answered")

    def _look(self, applier: ChangeApplier, asked: int, mark: int | None) -> bool:
        """Notes the changes until now, or until the mark at least: asks the watcher, and asks git, which may move HEAD
        before it writes files. If there is no watcher yet, notes EVERYTHING, unless that was done since `asked`.
        Returns False if the changes cannot be determined in time."""
        watcher = self._watcher
        if watcher is None:
            if not self._queue.has_everything_since(asked):
                applier.add(rescan=[EVERYTHING], now=True)
            return True
        if (moved := self._moved(applier)) is not None:
            self._seen = moved
            applier.add(rescan=[EVERYTHING], now=True)
        with self._looking:
            changes = watcher.look(mark)
            if changes:
                applier.note(changes)
        if changes:
            self._activity.changed()
        return changes is not None

    def _moved(self, applier: ChangeApplier) -> Checkout | None:
        """Returns the present checkout if git has touched the files since the last look and the last whole pass, in a
        way that matters to the strategy; else None."""
        now = self._files.checkout()
        same = [seen for seen in (self._seen, self._target.walked) if seen is not None and seen.head == now.head]
        if not same:
            return now
        touched = now.index_time not in {seen.index_time for seen in same} and applier.strategy != "git"
        # After `lag` the watcher has reported it, and a pass over a large workspace takes a second.
        return now if touched and time.time() - now.index_time < self._times.lag else None

    def take_in(self, paths: Collection[str]) -> bool:
        """Applies the changes of these paths, and waits a bounded time. Returns False if they are not in the index
        after that, or if the strategy leaves them to the next commit."""
        applier = self._applier
        if applier is None or applier.strategy == "git":
            return False
        applier.add(paths, now=True)
        return applier.flush(self._times.freshness)

    # ------------------------------------------------------------ facts for statuses and notices

    @property
    def waits_for_commits(self) -> bool:
        """Whether saved files wait for the next commit, checkout or merge."""
        applier = self._applier
        return applier is not None and applier.strategy == "git"

    def awaiting_commit(self) -> Collection[str]:
        """Returns the paths whose saved changes waited for the next commit, checkout or merge when they were reported.

        A job may have indexed them since. In a process that only reads the index, these come from the last reply of the
        process that writes it.
        """
        applier = self._applier
        if applier is None:
            return self._answered.awaiting if self._index.kept_up_elsewhere else ()
        return applier.awaiting.pending().paths if applier is not None and applier.strategy == "git" else ()

    def known_shortfall(self) -> Staleness | None:
        """Returns what the index lacks if changes are known, are being applied or have failed; else None. Does not
        wait."""
        applier = self._applier
        if applier is None:
            return None
        if self._queue.pending().count() or applier.last_error or applier.is_at_work:
            return self.shortfall()
        moved = self._moved(applier) if self._watcher is not None else None
        if moved is None:
            return None
        self._announce_after(moved)
        return Staleness(looks_over=True)

    def _announce_after(self, moved: Checkout) -> None:
        """Announces the state anew when `lag` has passed since git moved, because no event ends that doubt."""
        if self._doubting is None and time.time() - moved.index_time < self._times.lag:
            self._doubting = threading.Timer(self._times.lag, self._end_doubt)
            self._doubting.daemon = True
            self._doubting.start()

    def _end_doubt(self) -> None:
        self._doubting = None
        self._activity.changed()

    def pending(self) -> int:
        """Returns the number of paths and folders that are known to have changed, without those that wait for a commit;
        0 while live update is not running."""
        return self._queue.pending().count() if self.running else 0

    def shortfall(self) -> Staleness:
        """Returns what the index lacks; empty while live update is not running."""
        applier, pending = self._applier, self._queue.pending()
        if applier is None:
            return Staleness()
        return Staleness(pending.count(), EVERYTHING in pending.rescan, applier.last_error)

    @property
    def unread(self) -> str:
        """One line on what could not be read at the last attempt; empty if everything could be, or while live update is
        not running."""
        applier = self._applier
        return applier.unread if applier is not None else ""

    @property
    def running(self) -> bool:
        """Whether live update has been started and has not ended since."""
        return self._applier is not None

    @property
    def settled(self) -> bool:
        """Whether the watcher has been started, which happens only in a process that does not end soon. False after
        `end`."""
        return self._watcher is not None

    @property
    def watching(self) -> bool:
        """Whether the watcher is running."""
        watcher = self._watcher
        return watcher is not None and watcher.active

    @property
    def note(self) -> str:
        """One line on problems of live update; empty if there are none."""
        watcher, applier = self._watcher, self._applier
        failed = applier.last_error.rstrip(".") if applier is not None else ""
        return one_line(
            f"Changes could not be indexed ({failed}); sidecar will try again." if failed else "",
            watcher.note if watcher is not None else "",
        )


_ABOUT_FILES = tuple(one.attribute for one in DECLARATIONS if one.effect == "files")


def _about_files(settings: Settings) -> tuple[object, ...]:
    """Returns the values of the settings that decide which files are indexed, and in which collection."""
    return tuple(getattr(settings, name) for name in _ABOUT_FILES)
