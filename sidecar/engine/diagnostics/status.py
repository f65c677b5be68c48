"""The status of an index: the running job and its progress, what the index contains, and what it leaves out and why."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Literal, TypeAlias

import numpy as np

from sidecar.engine.index.generation import Generation, is_bare, read_meta
from sidecar.engine.index.layout import IndexLayout
from sidecar.engine.ingest.prepare import BY_LINES
from sidecar.engine.update.activity import Activity
from sidecar.engine.update.staleness import Standing, limit_notice, one_line, unread_notice
from sidecar.engine.update.standing import Standings
from sidecar.errors import IndexCorrupt, ModelLoadFailed, SidecarError
from sidecar.model.answers import CollectionCounts, Origin, StatusAnswer, UpgradeProgress
from sidecar.model.files import COULD_NOT_BE, Rule, SkippedPath
from sidecar.model.terms import Embedder
from sidecar.parts.coverage import why_no_files
from sidecar.parts.manifest_reads import read_failures, read_masked, read_skips
from sidecar.parts.pattern_limit import PatternLimit
from sidecar.settings.load import Settings
from sidecar.shown import count
from sidecar.small_files import parse_json

_ORIGIN = {"commit": str, "made": str, "source": str, "files": int, "taken": int}
_State: TypeAlias = Literal["ready", "indexing", "not_found", "incomplete", "failed"]


class Reporter:
    """Makes the `StatusAnswer`s of one workspace."""

    def __init__(
        self,
        root: str,
        directory: IndexLayout,
        activity: Activity,
        standings: Standings,
        limit: Callable[[], PatternLimit | None],
    ) -> None:
        self._standings = standings
        self._root = root
        self._directory = directory
        self._activity = activity
        self._limit = limit

    def is_complete(self) -> bool:
        """Whether an index exists that has been brought up to date with the whole workspace at least once.

        A damaged index is not complete. An index that cannot be read for another reason counts as complete.
        """
        number = self._directory.current()
        if number is None:
            return False
        try:
            return bool(read_meta(self._directory.manifest(number)).get("complete"))
        except IndexCorrupt:
            return False
        except SidecarError:
            return True

    def is_bare(self) -> bool:
        """Whether there is no index yet, or one whose first pass ended before it had indexed a file, as on a full
        disk. An index that cannot be read is not bare."""
        number = self._directory.current()
        with suppress(SidecarError):
            return number is None or is_bare(self._directory.manifest(number))
        return False

    def is_limited(self) -> bool:
        """Whether the index is limited to patterns. An index whose patterns cannot be read counts as limited."""
        try:
            return self._limit() is not None
        except IndexCorrupt:
            return True

    def limited_to(self) -> str:
        """Returns the patterns that the index is limited to, on one line; empty if it has none or they cannot be
        read."""
        try:
            limit = self._limit()
        except IndexCorrupt:
            return ""
        return limit.summary if limit is not None else ""

    def status(
        self,
        generation: Generation | None,
        settings: Settings,
        problem: str,
        fault: SidecarError | None,
        pending: int,
        watching: bool,
        embedder: Embedder | None,
        model_upgrade: UpgradeProgress | None,
    ) -> StatusAnswer:
        """Returns the status of the index, read from `generation`.

        `generation` is None if the index is not open; `problem` then says why. `fault`: what is wrong with the model,
        if anything is. `embedder` is None if the model is not loaded. Raises IndexCorrupt and other storage errors.
        """
        answer = StatusAnswer(
            status="not_found",
            workspace=self._root,
            index_path=str(self._directory.path),
            config_path=str(self._directory.config),
            strategy=settings.indexing_strategy,
            hybrid_enabled=settings.hybrid_enabled,
            default_alpha=settings.default_alpha,
            pending_files=pending,
            watcher_active=watching,
            model=settings.model,
            device=embedder.device if embedder else settings.device,
            device_note=embedder.device_note if embedder else "",
            busy=bool(self._activity.kind),
            progress_done=self._activity.done,
            progress_total=self._activity.total,
            progress_says=self._activity.says,
            seconds_left=self._activity.seconds_left(),
            problems=settings.problems,
            model_upgrade=model_upgrade,
        )
        if self._directory.current() is None:
            return replace(answer, status="indexing") if self._activity.kind else answer
        try:
            limit = self._limit()
        except IndexCorrupt as error:
            return replace(answer, status="failed", warning=one_line(problem, error.message))
        answer = replace(answer, patterns=limit.texts if limit is not None else ())
        if generation is None:
            return replace(answer, status="failed", warning=problem)
        described = self._describe(answer, generation, problem, fault)
        return replace(described, warning=one_line(described.warning, limit_notice(limit)))

    def _describe(
        self, answer: StatusAnswer, generation: Generation, problem: str, fault: SidecarError | None
    ) -> StatusAnswer:
        meta = read_meta(self._directory.manifest(generation.number))
        with generation.snapshots.open() as snapshot:
            # A chunk's vector is final only if its file's path has one too.
            embedded = int(((snapshot.chunk_vector != 0) & (snapshot.file_vector[snapshot.chunk_file] != 0)).sum())
            files = np.bincount(snapshot.file_collection, minlength=2)
            chunks = np.bincount(snapshot.file_collection[snapshot.chunk_file], minlength=2)
            standing = self._standings.now(generation, snapshot)
            nothing = _why_nothing(snapshot.connection, standing)
            languages = Counter(snapshot.languages)
            skips = read_skips(snapshot.connection)
            failures = read_failures(snapshot.connection)
            masked = read_masked(snapshot.connection)
            cut = snapshot.connection.execute(
                "SELECT path, parser FROM files WHERE substr(parser, 1, ?) = ? ORDER BY path", (len(BY_LINES), BY_LINES)
            ).fetchall()
        total = int(chunks.sum())
        last = float(str(meta.get("last_updated") or 0))
        done, expected, says = standing.progress
        return replace(
            answer,
            progress_done=done,
            progress_total=expected,
            progress_says=says,
            elsewhere=standing.builds and standing.job.elsewhere,
            status=self._state(standing, bool(meta.get("complete")), embedded == total, fault),
            words_only=isinstance(fault, ModelLoadFailed),
            pending_files=answer.pending_files + standing.awaiting,
            files=int(files.sum()),
            chunks=total,
            code=CollectionCounts(int(files[0]), int(chunks[0])),
            docs=CollectionCounts(int(files[1]), int(chunks[1])),
            lexical_chunks=total,
            embedded_chunks=embedded,
            coverage=embedded / total if total else 1.0,
            last_updated=datetime.fromtimestamp(last, UTC).isoformat(timespec="seconds") if last else "",
            storage_bytes=self._directory.size(),
            model=generation.model.model_id,
            languages=dict(languages.most_common()),
            skipped=dict(Counter(s.decision.rule.value for s in skips).most_common()),
            withheld=tuple(s for s in skips if _is_secret(s)),
            masked=tuple(masked),
            errors=(*failures, *((s.path, s.decision.detail) for s in skips if s.decision.rule in COULD_NOT_BE)),
            cut_by_lines=tuple((path, parser.removeprefix("lines: ")) for path, parser in cut),
            warning=one_line(
                fault.message if fault is not None else "",
                problem or self._warning(generation),
                _lost_vectors(total - embedded, total) if generation.relinked else "",
                unread_notice(_unread(skips)),
                nothing,
            ),
            generation=generation.number,
            holds=standing.coverage,
            notice=standing.notice(),
            behind=standing.behind,
            origin=origin_of(meta.get("origin")),
        )

    def _state(self, standing: Standing, complete: bool, embedded: bool, fault: SidecarError | None) -> _State:
        if fault is not None and not isinstance(fault, ModelLoadFailed):
            return "failed"
        if standing.job.kind not in ("", "update"):
            return "indexing"
        if fault is not None:  # searches find words
            return "incomplete"
        if complete and embedded and not standing.coverage.lacks("not-read-yet"):
            return "ready"
        if self._activity.failure:
            return "failed"
        return "indexing" if standing.builds else "incomplete"

    def _warning(self, generation: Generation) -> str:
        if self._activity.failure:
            return self._activity.failure
        if generation.writer is None:
            return generation.read_only_reason
        return generation.writer.store_sync.note


def origin_of(packed: object) -> Origin | None:
    """Returns the team snapshot that the meta table names; None if it names none or cannot be parsed."""
    with suppress(ValueError, AttributeError):  # the latter for any other value than an object
        facts = parse_json(str(packed)) if packed else {}
        if {name: type(value) for name, value in facts.items()} == _ORIGIN:
            return Origin(**facts)
    return None


def _lost_vectors(lost: int, total: int) -> str:
    if not lost:
        return ""
    verb = "is" if total == 1 else "are"
    return (
        f"The embedding cache was damaged or lost: {lost:,} of {count(total, 'chunk')} {verb} found by word only"
        " until new vectors have been made, which happens in the background."
    )


def _why_nothing(connection: sqlite3.Connection, standing: Standing) -> str:
    """Returns why a complete index of the whole workspace has no files; empty if it has some or is not such an
    index."""
    holds, is_limited = standing.coverage, standing.limit is not None
    return "" if holds.indexed or is_limited or not holds.complete else why_no_files(connection)


def _unread(skips: Sequence[SkippedPath]) -> list[tuple[str, str]]:
    return [(s.path, s.decision.detail) for s in skips if s.decision.rule is Rule.NOT_READ]


def _is_secret(skipped: SkippedPath) -> bool:
    return skipped.decision.rule.value.startswith("secret")
