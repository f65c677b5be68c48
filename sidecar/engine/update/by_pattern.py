"""Indexes the files that globs, paths or folders name, at once, into the workspace's own index.

In an index of the whole workspace, the patterns choose which files are indexed now. An index that is created by
patterns contains only the files that they name (`index/stored_limit.py`). Ignore files and settings apply to both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sidecar.engine.index.generation import Generation, Writer
from sidecar.engine.ingest.plan import Plan, make_plan
from sidecar.engine.ingest.workspace_files import WorkspaceFiles
from sidecar.engine.ports import Walker
from sidecar.errors import FileNotFound, IndexLocked
from sidecar.model.answers import PatternReport
from sidecar.model.files import FoundFile, SkippedPath, WalkResult
from sidecar.model.terms import IsCancelled, Progress
from sidecar.parts.pattern_limit import PathPattern, PatternLimit


@dataclass(frozen=True)
class Matched:
    """The files that each pattern names; in `failures` (path, reason) for each plain path without any file that can be
    indexed; in `unmatched` the globs that no file matches."""

    files: tuple[tuple[FoundFile, ...], ...]
    failures: tuple[tuple[str, str], ...]
    walked: WalkResult
    unmatched: tuple[str, ...] = ()


@dataclass
class _Counts:
    indexed: int = 0
    skipped: int = 0
    failed: int = 0
    chunks: int = 0
    done: set[str] = field(default_factory=set)


def match_patterns(
    files: WorkspaceFiles, limit: PatternLimit | None, patterns: Sequence[PathPattern], cancelled: IsCancelled
) -> Matched:
    """Walks the workspace within the limit, and returns the files that match each pattern, in the order of reading.

    Raises InvalidPattern and Cancelled.
    """
    files.check_globs()
    walker = files.walker_within(limit)
    walked = walker.walk(cancelled)
    by_path = {found.path: found for found in files.in_order(walked.files)}
    matched: list[tuple[FoundFile, ...]] = []
    failures: list[tuple[str, str]] = []
    unmatched: list[str] = []
    for pattern in patterns:
        named = tuple(_named(pattern, by_path))
        matched.append(named)
        if named:
            continue
        if pattern.is_glob:
            unmatched.append(pattern.text)
        else:
            failures.append((pattern.text, _why_not(walker, pattern.text)))
    return Matched(tuple(matched), tuple(failures), walked, tuple(unmatched))


def patterns_to_add(limit: PatternLimit, walker: Walker, patterns: Sequence[PathPattern]) -> tuple[PathPattern, ...]:
    """Returns those of the patterns that the limit does not cover.

    It covers its own patterns, and each path of a file that they name. `walker` must apply the limit.
    """

    def is_covered(pattern: PathPattern) -> bool:
        if not {pattern, PathPattern(pattern.text, False)}.isdisjoint(limit.patterns):
            return True
        try:
            return not pattern.is_glob and isinstance(walker.found(pattern.text), FoundFile)
        except FileNotFound:
            return False

    return tuple(dict.fromkeys(pattern for pattern in patterns if not is_covered(pattern)))


def index_matched(
    generation: Generation,
    matched: Matched,
    buffers: Mapping[str, str],
    force: bool,
    progress: Progress,
    cancelled: IsCancelled,
    completed_at: str | None,
) -> PatternReport:
    """Indexes the matched files, pattern by pattern.

    A file that two patterns name counts twice, the second time as skipped unless `force`. `completed_at` is the state
    of git's HEAD before the walk (`Checkout.head`) if the index is complete afterwards; else None. Raises IndexLocked
    if the generation is read-only, and Cancelled, after which committed work stays.
    """
    if generation.writer is None:
        raise IndexLocked(generation.read_only_reason)
    writer = generation.writer
    counts = _Counts(failed=len(matched.failures))
    for files in matched.files:
        _index(writer, files, matched.walked, buffers, force, counts, progress, cancelled)
    if completed_at is not None:
        writer.finish(completed_at)
    else:
        writer.note_update()
    named = {found.path for files in matched.files for found in files}
    unread = tuple((path, why) for path, why in writer.manifest.failures().items() if path in named)
    failures = (*matched.failures, *unread)
    return PatternReport(
        counts.indexed, counts.skipped, counts.failed, counts.chunks, failures, unmatched=matched.unmatched
    )


def _index(
    writer: Writer,
    files: Sequence[FoundFile],
    walked: WalkResult,
    buffers: Mapping[str, str],
    force: bool,
    counts: _Counts,
    progress: Progress,
    cancelled: IsCancelled,
) -> None:
    if force:
        tally = writer.indexer.index_anew(files, progress, cancelled)
    else:
        manifest = writer.manifest
        new = [found for found in files if found.path not in counts.done]
        plan = make_plan(
            WalkResult(tuple(new), ()),
            manifest.known_files(),
            manifest.known_skips(),
            manifest.failures(),
            buffers.keys(),
        )
        only = Plan(plan.changed, {}, walked.skipped, plan.unchanged, walked.unread, plan.new, whole=False)
        tally = writer.indexer.carry_out(only, progress, cancelled)
    counts.done |= {found.path for found in files}
    counts.indexed += tally.files
    counts.failed += tally.errors
    counts.skipped += len(files) - tally.files - tally.errors
    counts.chunks += tally.chunks


def _named(pattern: PathPattern, by_path: Mapping[str, FoundFile]) -> Iterator[FoundFile]:
    """Yields the files that a pattern names. A pattern that equals the path of a file names that file, even if it has
    the characters of a glob."""
    if pattern.text in by_path:
        yield by_path[pattern.text]
        return
    matches = pattern.matcher()
    for path, found in by_path.items():
        if matches(path):
            yield found


def _why_not(walker: Walker, path: str) -> str:
    try:
        answer = walker.found(path)
    except FileNotFound:
        return "There is no such file."
    if isinstance(answer, SkippedPath) and not answer.path.endswith("/"):
        return f"It is left out: {answer.decision.rule.value} ({answer.decision.detail})."
    return "This folder holds no file that can be indexed."
