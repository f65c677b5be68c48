"""One workspace, behind `sidecar.model.workspace.Workspace`: it connects indexing, search, live update and model
upgrade.

`ingest/` makes an index of files, `index/` opens it, `update/` keeps it up to date with the files, and `diagnostics/`
computes status and explanations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Protocol, TypeAlias

from sidecar.engine.concurrency.fair_slots import FairSlots
from sidecar.engine.concurrency.usage import Usage, counted
from sidecar.engine.diagnostics.explain import explain_path
from sidecar.engine.diagnostics.status import Reporter
from sidecar.engine.extras.documents import DocumentIndexes
from sidecar.engine.extras.memory import WorkspaceMemories
from sidecar.engine.index.generation import Generation, Generations
from sidecar.engine.index.handle import IndexHandle, LeaseLike
from sidecar.engine.index.layout import IndexLayout
from sidecar.engine.index.model_selection import ModelChoice
from sidecar.engine.index.stored_limit import StoredLimit
from sidecar.engine.ingest.workspace_files import WorkspaceFiles
from sidecar.engine.models.facts import ModelFacts
from sidecar.engine.ports import Parts
from sidecar.engine.query_service import QueryService
from sidecar.engine.team.team import TeamSnapshots, blaming_snapshot_too, source_error
from sidecar.engine.update.activity import Activity
from sidecar.engine.update.backfill import Pace
from sidecar.engine.update.builder import Builder
from sidecar.engine.update.by_pattern import index_matched, match_patterns, patterns_to_add
from sidecar.engine.update.follower import Follower
from sidecar.engine.update.jobs import Jobs
from sidecar.engine.update.live import LiveTimes, LiveUpdate
from sidecar.engine.update.model_upgrade import ModelUpgrade
from sidecar.engine.update.renewal import Build, build_and_swap, make_anew, up_to_date_or_anew
from sidecar.engine.update.requested import RequestedJobs
from sidecar.engine.update.shown_files import ShownFiles
from sidecar.engine.update.staleness import limit_notice, one_line
from sidecar.engine.update.standing import Standings
from sidecar.errors import (
    Cancelled,
    IndexCorrupt,
    IndexExists,
    IndexLocked,
    IndexNotFound,
    ModelLoadFailed,
    SidecarError,
)
from sidecar.model.answers import (
    BuildReport,
    ConfigAnswer,
    Explanation,
    FileReport,
    HybridDefaults,
    OverviewAnswer,
    PathsAnswer,
    PatternReport,
    SearchAnswer,
    SearchRequest,
    SnapshotOffer,
    SnapshotReport,
    SnapshotRequest,
    StatusAnswer,
    SymbolsAnswer,
)
from sidecar.model.terms import Embedder, IsCancelled, Progress
from sidecar.parts.asking import Asking
from sidecar.parts.paths import relative_path
from sidecar.parts.pattern_limit import PathPattern, PatternLimit, read_pattern
from sidecar.settings.load import Settings
from sidecar.settings.remembered import SteadySettings

_Start: TypeAlias = Callable[[Progress, IsCancelled], tuple[Generation | None, str]]
"""What a build begins with, None for nothing; and a sentence about it."""


def _start_empty(progress: Progress, stop: IsCancelled) -> tuple[None, str]:
    return None, ""


class WorkspaceModels(Protocol):
    """The models that the workspaces of a process share; see `models.loader.Models`."""

    def embedder(self, settings: Settings) -> Embedder:
        """Returns the model that the settings name, loaded at the first call. Raises ModelLoadFailed."""

    def facts(self, settings: Settings) -> ModelFacts:
        """Returns what an index records of that model, without loading it. Raises ModelLoadFailed."""

    def loaded(self, settings: Settings) -> Embedder | None:
        """Returns that model if it has been loaded, else None."""


class IndexedWorkspace:
    """See `sidecar.model.workspace.Workspace`. The unsaved text of editors (`buffers`) is held here and outlives
    generations.
    """

    def __init__(
        self,
        root: str,
        directory: IndexLayout,
        parts: Parts,
        models: WorkspaceModels,
        make_lease: Callable[[Path], LeaseLike],
        times: LiveTimes | None = None,
        fair_slots: FairSlots | None = None,
    ) -> None:
        self.usage = Usage()
        self._rested: StatusAnswer | None = None
        self._rested_at: tuple[int, ...] = ()
        self._root = root
        self._directory = directory
        self._parts = parts
        self._models = models
        self._buffers: dict[str, str] = {}
        self._opened: Counter[str] = Counter()
        self._closed = False
        self._listeners: list[Callable[[StatusAnswer], None]] = []
        settings = self._settings = SteadySettings(partial(parts.load_settings, directory.config))
        self._limit = StoredLimit(directory)
        self._files = WorkspaceFiles(root, self._buffers, parts, settings, self._limit.current, self._opened)
        self.activity = Activity(self._announce)
        self._jobs = Jobs(self.activity, fair_slots or FairSlots())
        choice = ModelChoice(settings, models.embedder, models.facts)
        generations = Generations(root, directory, parts, choice.embedder, self._buffers, self.activity.commit)
        self._index = IndexHandle(directory, generations, settings, choice, make_lease, parts.default_config_text)
        self._builder = Builder(self._files, self._index, self._jobs)
        pace = Pace(self.usage, self._jobs.fair_slots)
        self._upgrade = ModelUpgrade(self._files, self._index, generations, choice, pace, self._builder, self.activity)
        times, asking = times or LiveTimes(), Asking(directory.watch_mark)
        self._live_update = LiveUpdate(
            self._files, self._index, self._builder, self._upgrade, self.activity, times, asking
        )
        self._follower = Follower(root, self._index, self._live_update, self.activity, times.turn)
        self._team = TeamSnapshots(self._files, self._index, directory, choice)
        self._memories = WorkspaceMemories(parts.open_memories(directory.memories), lambda: models.embedder(settings()))
        self._documents = DocumentIndexes(parts.open_documents(directory.documents))
        standings = Standings(self._files, self._index, self._live_update, self.activity)
        self._reporter = Reporter(root, directory, self.activity, standings, self._limit.current)
        complete = self._reporter.is_complete
        self._requested = RequestedJobs(
            self._jobs, self._index, self._live_update, self._upgrade, self._builder, complete
        )
        shown = ShownFiles(self._files)
        self._queries = QueryService(self._index, self._live_update, shown, standings, parts.make_searcher())

    @property
    def root(self) -> str:
        """The root folder."""
        return self._root

    @property
    def index(self) -> IndexHandle:
        """The index handle, for tests and measurements of more than the tools show."""
        return self._index

    @property
    def live_update(self) -> LiveUpdate:
        """The live update, which keeps the index up to date with the files, for tests that wait for it."""
        return self._live_update

    @property
    def upgrade(self) -> ModelUpgrade:
        """The model upgrade, for measurements with and without it."""
        return self._upgrade

    def settings(self) -> Settings:
        """Returns the current settings of this workspace."""
        return self._files.settings()

    def reload_settings(self) -> None:
        """Applies a changed indexing strategy. All other settings are read each time they are needed."""
        self._live_update.reload_settings()

    # ------------------------------------------------------------ building

    @counted
    def create(self, progress: Progress, cancelled: IsCancelled, from_snapshot: bool = True) -> BuildReport:
        """Creates the index of the whole workspace, or completes one that was interrupted or is limited to patterns.

        Raises IndexExists if there is a complete one.
        """
        if self._reporter.is_complete() and not self._reporter.is_limited():
            raise IndexExists("Use `reindex_project` to rebuild it.")
        return self._first_stage(progress, cancelled, True, self._start_as_set if from_snapshot else _start_empty)

    @counted
    def refresh(
        self, progress: Progress, cancelled: IsCancelled, whole: bool = False, snapshot: str | None = None
    ) -> BuildReport:
        """See `sidecar.model.workspace.Workspace.refresh`."""
        asked = snapshot is not None
        start = (lambda *given: self._team.start(snapshot or "", *given)) if asked else self._start_as_set
        report = self._first_stage(progress, cancelled, whole, start)
        return replace(report, upgraded=self._upgrade.finish(progress, cancelled))

    def _first_stage(self, progress: Progress, cancelled: IsCancelled, whole: bool, start: _Start) -> BuildReport:
        with (
            self._requested.only("refresh" if self._index.exists() else "create"),
            self._jobs.fair_slots.taking(self._jobs.or_cancelled(cancelled)) as stop,
            self._lifting_limit(whole) as ended,
        ):
            builds = self._builds(progress, stop)
            replaces = not self._reporter.is_bare()
            fresh, said = start(self.activity.reporting(progress), stop)
            if fresh is not None and replaces:
                report = build_and_swap(self._index, fresh, builds, self._live_update.end)
            else:
                if fresh is not None:
                    self._index.swap(fresh)  # it answers searches while the files that differ are being read
                with blaming_snapshot_too(said if fresh is None else ""):
                    report = up_to_date_or_anew(self._index, builds, self._live_update.end)
            return replace(report, notice=one_line(said, report.notice, ended))

    def _start_as_set(self, progress: Progress, stop: IsCancelled) -> tuple[Generation | None, str]:
        """Returns a generation that starts from a snapshot of the source that the settings name, and a sentence about
        it; None if it does not start from one.

        Only a new index of the whole workspace starts from a snapshot, or one without any file yet. A snapshot that
        cannot be used is reported in the sentence and is no error.
        """
        if not self._reporter.is_bare() or self._reporter.is_limited() or not self.settings().snapshot_source:
            return None, ""
        try:
            return self._team.start("", progress, stop)
        except Cancelled:
            raise
        except SidecarError as error:
            return None, source_error(error)

    @counted
    def find_snapshot(self) -> SnapshotOffer | None:
        """See `sidecar.model.workspace.Workspace.find_snapshot`."""
        return self._team.look()

    @counted
    def make_snapshot(self, request: SnapshotRequest, progress: Progress, cancelled: IsCancelled) -> SnapshotReport:
        """See `sidecar.model.workspace.Workspace.make_snapshot`."""
        return self._team.make(self._live_update.readable(), request, progress, cancelled)

    @contextmanager
    def _lifting_limit(self, whole: bool) -> Iterator[str]:
        """Within the block an index that is limited to patterns is built as one of the whole workspace, if `whole`.

        Yields one line on the limit that ends; empty if there is none. If the block raises, the limit stays.
        """
        if not (whole and self._reporter.is_limited()):
            yield ""
            return
        said = self._reporter.limited_to()
        self._index.take_lease()
        with self._limit.lifted():
            yield f"It was limited to {said} until now." if said else ""

    @counted
    def index_matching(
        self, patterns: Sequence[str], force: bool, progress: Progress, cancelled: IsCancelled
    ) -> PatternReport:
        """See `sidecar.model.workspace.Workspace.index_matching`."""
        asked = [read_pattern(self._root, pattern) for pattern in patterns]
        head = self._files.checkout().head
        matched = match_patterns(self._files, self._limit_with(asked), asked, self.activity.or_stopped(cancelled))
        if not any(matched.files):
            return PatternReport(0, 0, len(matched.failures), 0, matched.failures, unmatched=matched.unmatched)
        is_new = not self._index.exists()
        with self._requested.only("create" if is_new else "refresh"):
            self._index.take_lease()
            limit = self._limit_with(asked)
            if limit is not None:  # set first, so that no process takes the index for one of the whole workspace
                self._limit.set(limit.with_paths({found.path for files in matched.files for found in files}))
            generation = self._index.ready()
            report = self.activity.reporting(progress)
            stop = self.activity.or_stopped(self._jobs.or_cancelled(cancelled))
            return index_matched(generation, matched, self._buffers, force, report, stop, head if is_new else None)

    def patterns_to_add(self, patterns: Sequence[str]) -> tuple[str, ...]:
        """See `sidecar.model.workspace.Workspace.patterns_to_add`."""
        asked = [read_pattern(self._root, pattern) for pattern in patterns]
        limit = self._limit_with(asked)
        before = self._limit.current() or PatternLimit(())
        return () if limit is None else PatternLimit(limit.patterns[len(before.patterns) :]).texts

    def _limit_with(self, asked: Sequence[PathPattern]) -> PatternLimit | None:
        """Returns the limit of the index once these patterns are added; None for an index of the whole workspace."""
        before = self._limit.current() if self._index.exists() else PatternLimit(())
        if before is None:
            return None
        return before.with_more(patterns_to_add(before, self._files.walker_within(before), asked))

    @counted
    def rebuild(self, progress: Progress, cancelled: IsCancelled, whole: bool = False) -> BuildReport:
        """Builds the index anew beside the current one, then swaps them. Raises IndexNotFound.

        With `whole`, an index that is limited to patterns becomes one of the whole workspace.
        """
        if not self._index.exists():
            raise IndexNotFound("Run `create_index` first.")
        with (
            self._requested.only("rebuild"),
            self._jobs.fair_slots.taking(self._jobs.or_cancelled(cancelled)) as stop,
            self._lifting_limit(whole),
        ):
            report = make_anew(self._index, self._builds(progress, stop), self._live_update.end)
            return replace(report, notice=one_line(report.notice, limit_notice(self._limit.current())))

    def _builds(self, progress: Progress, stop: IsCancelled) -> Build:
        return lambda generation: self._builder.bring_up_to_date(generation, progress, stop)

    @counted
    def cancel(self, by: str) -> bool:
        """See `sidecar.model.workspace.Workspace.cancel`."""
        return self._requested.cancel(by)

    @counted
    def stay_cancelled(self) -> None:
        """See `sidecar.model.workspace.Workspace.stay_cancelled`."""
        self._requested.stay_cancelled()

    @counted
    def reindex_file(self, path: str) -> FileReport:
        """Indexes one file again, or removes it if it no longer exists.

        Raises FileNotFound, FileExcluded, IndexNotFound or IndexLocked.
        """
        relative = relative_path(self._root, path)
        with self._index.writing():
            return self._builder.reindex(self._live_update.writable(), relative)

    @counted
    def delete(self) -> None:
        """Deletes the index; memories, documents and edited settings stay. Raises IndexNotFound."""
        if not self._index.exists():
            raise IndexNotFound("There is nothing to delete.")
        with self._requested.only("delete"), self._index.gate:
            self._index.take_lease()
            self._live_update.end()
            self._memories.close()
            self._documents.close()
            self._index.delete()

    # ------------------------------------------------------------ reading

    @counted
    def search(self, request: SearchRequest, cancelled: IsCancelled) -> SearchAnswer:
        """See `sidecar.model.workspace.Workspace.search`."""
        with self._settings.steady():
            self._live_update.consider_upgrade()
            return self._queries.search(request, cancelled)

    @counted
    def find_paths(self, pattern: str, limit: int) -> PathsAnswer:
        """See `sidecar.model.workspace.Workspace.find_paths`."""
        return self._queries.find_paths(pattern, limit)

    @counted
    def find_paths_by_letters(self, letters: str, limit: int) -> PathsAnswer:
        """See `sidecar.model.workspace.Workspace.find_paths_by_letters`."""
        return self._queries.find_paths_by_letters(letters, limit)

    @counted
    def find_symbols(self, name: str, kinds: Sequence[str], limit: int) -> SymbolsAnswer:
        """See `sidecar.model.workspace.Workspace.find_symbols`."""
        return self._queries.find_symbols(name, kinds, limit)

    @counted
    def overview(self, central: int) -> OverviewAnswer:
        """See `sidecar.model.workspace.Workspace.overview`."""
        return self._queries.overview(central)

    @counted
    def find_similar(self, path: str, line: int, end_line: int, limit: int, cancelled: IsCancelled) -> SearchAnswer:
        """See `sidecar.model.workspace.Workspace.find_similar`."""
        return self._queries.find_similar(relative_path(self._root, path), line, end_line, limit, cancelled)

    @counted
    def find_closest(self, query: str, limit: int, threshold: float, cancelled: IsCancelled) -> SearchAnswer:
        """See `sidecar.model.workspace.Workspace.find_closest`."""
        return self._queries.find_closest(query, limit, threshold, cancelled)

    def status(self, up_to_date: bool = False) -> StatusAnswer:
        """Returns the status of the index. Opens the index if necessary, but does not wake a workspace that rests.
        `up_to_date`: see `sidecar.model.workspace.Workspace.status`.

        Errors of the index are reported in the answer, not raised.
        """
        if not self._index.exists() or self.resting:
            return self._status_of(None, "")
        asked = self._live_update.moment
        try:
            self._live_update.readable()
            self._live_update.consider_upgrade()
            self.reload_settings()
            if up_to_date:
                self._live_update.freshen(asked)
            return self._live_update.on_current(lambda generation: self._status_of(generation, ""))
        except SidecarError as error:
            return self._status_of(None, error.message)

    def config(self) -> ConfigAnswer:
        """Returns the current settings, and where each of them comes from."""
        self.reload_settings()
        settings = self.settings()
        return ConfigAnswer(
            exists=self._directory.config.exists(),
            config_path=str(self._directory.config),
            index_path=str(self._directory.path),
            config=settings.as_config(),
            origins=dict(settings.origins),
            problems=(*settings.problems, *self._files.wrong_globs()),
            model_problem=self._model_problem(settings),
        )

    def hybrid_defaults(self) -> HybridDefaults:
        """See `sidecar.model.workspace.Workspace.hybrid_defaults`."""
        settings = self.settings()
        return HybridDefaults(settings.hybrid_enabled, settings.default_alpha)

    def _model_problem(self, settings: Settings) -> str:
        try:
            self._models.facts(settings)
        except ModelLoadFailed as error:
            return error.detail
        return ""

    @counted
    def explain(self, path: str) -> Explanation:
        """Explains why a path is or is not in the index."""
        relative = relative_path(self._root, path)
        generation = self._live_update.readable() if self._index.exists() else None
        return explain_path(self._files, relative, generation)

    @property
    def documents(self) -> DocumentIndexes:
        """The document indexes of this workspace."""
        self._directory.rescue()
        return self._documents

    @property
    def memories(self) -> WorkspaceMemories:
        """The memories of this workspace."""
        self._directory.rescue()
        return self._memories

    # ------------------------------------------------------------ editors, listeners, end

    def open_file(self, path: str) -> None:
        """See `sidecar.model.workspace.Workspace.open_file`."""
        self._opened[relative_path(self._root, path)] += 1

    def close_file(self, path: str) -> None:
        """See `sidecar.model.workspace.Workspace.open_file`."""
        relative = relative_path(self._root, path)
        self._opened[relative] -= 1
        if self._opened[relative] <= 0:
            del self._opened[relative]

    def set_buffer(self, path: str, text: str) -> None:
        """Sets the unsaved text of a path. Raises IndexLocked if the open index is read-only: the text is searched once
        this process may write it."""
        relative = relative_path(self._root, path)
        if self._buffers.get(relative) == text:
            return
        self._buffers[relative] = text
        self._live_update.note_buffer(relative)
        generation = self._index.generation
        if generation is not None and generation.writer is None:
            raise IndexLocked(generation.read_only_reason)

    def drop_buffer(self, path: str) -> None:
        """Forgets the unsaved text of a path."""
        relative = relative_path(self._root, path)
        if self._buffers.pop(relative, None) is not None:
            self._live_update.note_buffer(relative)

    def on_change(self, listener: Callable[[StatusAnswer], None]) -> Callable[[], None]:
        """See `sidecar.model.workspace.Workspace.on_change`."""
        self._listeners.append(listener)
        self._follower.start()
        self._take_up()
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    @counted
    def _take_up(self) -> None:
        """Goes on with a first build that ended early, such as with the last window: somebody is shown the index
        again."""
        if self.activity.kind or not self._index.exists() or self._reporter.is_complete():
            return
        with suppress(SidecarError):  # the status says it too
            self._live_update.take_up()

    @property
    def resting(self) -> bool:
        """Whether the workspace has freed its memory, and neither it nor another process has used the index since."""
        return (
            self._rested is not None and self._index.generation is None and self._rested_at == self._directory.stamp()
        )

    def rest(self, after_s: float) -> bool:
        """Frees the workspace's memory and its lease if it has not been used for `after_s` seconds; the next use opens
        the index again.

        Merges the lexical index and fills the vector store first, until a use interrupts that. Returns whether the
        workspace is idle with its index closed; False while it is used or works in the background.
        """
        self._tidy_up(after_s)
        with self.usage.resting(after_s) as idle:
            generation = self._index.generation
            if not idle or generation is None or self._jobs.lock.locked() or self._upgrade.active:
                return idle and generation is None
            status = replace(self._status_of(generation, ""), watcher_active=False)
            if generation.writer is None and status.behind:
                return False  # it would be shown as the state, also when the process that writes the index is done
            self._rested = status
            self._live_update.end()
            self._index.close()  # with the lease: whoever needs the index meanwhile keeps it up to date
            self._rested_at = self._directory.stamp()
        self.activity.changed()
        return True

    def _tidy_up(self, after_s: float) -> None:
        """Merges the lexical index, which makes the next searches quicker, and then brings the vector store up to date,
        as long as no call uses the workspace and no other work is done in it."""

        def is_at_rest() -> bool:
            return self.usage.calm(after_s) and not (self._closed or self._jobs.lock.locked() or self._upgrade.active)

        generation = self._index.generation
        if generation is not None and generation.writer is not None and is_at_rest():
            with suppress(SidecarError):  # the index has been closed meanwhile, or its next use reports the error
                generation.writer.indexer.merge_in_steps(lambda: not is_at_rest(), at_rest=True)
                generation.writer.store_sync.fill(lambda: not is_at_rest())

    def close(self) -> None:
        """Stops background work and any running job, and closes everything."""
        self._closed = True
        self._follower.end()
        self.activity.stop()
        self._upgrade.end()
        self._live_update.end(for_good=True)
        with self._jobs.lock:
            self._index.close()
        self._memories.close()
        self._documents.close()

    # ------------------------------------------------------------ helpers

    def _status_of(self, generation: Generation | None, problem: str) -> StatusAnswer:
        if self._rested is not None and self.resting and self._index.exists() and not problem:
            return replace(self._rested, strategy=self.settings().indexing_strategy, gone=self._is_gone())
        self._rested = None
        settings = self.settings()
        setting = self._index.unapplied(generation) if generation is not None else ""
        fault = self._index.fault_of_model(generation) if generation is not None else None
        status = self._reporter.status(
            generation,
            settings,
            problem or one_line(self._live_update.note, setting, self._team_note(settings)),
            fault,
            self._live_update.pending(),
            self._live_update.watching,
            self._models.loaded(replace(settings, model=generation.model.name) if generation is not None else settings),
            self._upgrade.state(generation) if generation is not None and not self.activity.kind else None,
        )
        # If the settings name another model than the index has, only a rebuild applies that. A model that cannot be
        # loaded is in the warning.
        model = fault.detail if isinstance(fault, IndexCorrupt) else ""
        return replace(status, unapplied=one_line(setting, model), gone=self._is_gone())

    def _is_gone(self) -> bool:
        """Whether the folder is not there now."""
        return not Path(self._root).is_dir()

    def _team_note(self, settings: Settings) -> str:
        """Returns why the team's vectors are not asked for at the moment; empty if they are."""
        shared = self._parts.shared_vectors(settings)
        return shared.note if shared is not None else ""

    def _announce(self) -> None:
        if not self._listeners or self._closed:
            return
        generation = self._index.generation
        try:
            status = self._status_of(generation, "")
        except SidecarError as error:
            if generation is not self._index.generation:
                return  # the swap to another generation reports the status again
            status = self._status_of(None, error.message)
        for listener in list(self._listeners):
            listener(status)
