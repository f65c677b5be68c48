"""Indexes the files that globs, paths or folders name, at once, into the workspace's own index.

The patterns choose what is indexed now, not what belongs in the index: ignore files and settings decide that. The rest
of the workspace follows with the next update.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sidecar import shown
from sidecar.engine.index.generation import Generation, Writer
from sidecar.engine.ingest.indexer import Tally
from sidecar.engine.ingest.plan import Plan, batches, make_plan
from sidecar.engine.ports import Walker
from sidecar.errors import FileNotFound, IndexLocked, PathTraversal
from sidecar.model import FoundFile, IsCancelled, PatternReport, Progress, SkippedPath, WalkResult
from sidecar.parts.globs import compile_glob
from sidecar.parts.paths import normalise_root, relative_path

_GLOB = re.compile(r"[*?\[{]")


@dataclass(frozen=True)
class Matched:
    """The files that each pattern names, and (path, reason) for plain paths without any file that can be indexed."""

    files: tuple[tuple[FoundFile, ...], ...]
    failures: tuple[tuple[str, str], ...]
    walked: WalkResult


@dataclass
class _Counts:
    indexed: int = 0
    skipped: int = 0
    failed: int = 0
    chunks: int = 0
    done: set[str] = field(default_factory=set)


def match_patterns(root: str, walker: Walker, patterns: Sequence[str], cancelled: IsCancelled) -> Matched:
    """Walks the workspace and matches its files with the patterns.

    Raises InvalidPattern if a glob is malformed, PathTraversal if a pattern leads out of the workspace, and Cancelled.
    """
    relative = [_relative(root, pattern) for pattern in patterns]
    globs = {pattern: compile_glob(pattern) for pattern in relative if _GLOB.search(pattern)}
    walked = walker.walk(cancelled)
    by_path = {found.path: found for found in walked.files}
    matched: list[tuple[FoundFile, ...]] = []
    failures: list[tuple[str, str]] = []
    for pattern in relative:
        files = tuple(_named(pattern, by_path, globs.get(pattern)))
        matched.append(files)
        if not files and pattern not in globs:
            failures.append((pattern, _why_not(walker, pattern)))
    return Matched(tuple(matched), tuple(failures), walked)


def index_matched(
    generation: Generation,
    matched: Matched,
    buffers: Mapping[str, str],
    force: bool,
    progress: Progress,
    cancelled: IsCancelled,
) -> PatternReport:
    """Indexes the matched files, pattern by pattern.

    A file that two patterns name counts twice, the second time as skipped unless `force`. Raises IndexLocked if the
    generation is read-only, and Cancelled, after which committed work stays.
    """
    if generation.writer is None:
        raise IndexLocked("This process can only read it.")
    writer = generation.writer
    counts = _Counts(failed=len(matched.failures))
    for files in matched.files:
        _index(writer, files, matched.walked, buffers, force, counts, progress, cancelled)
    with writer.manifest.transaction():
        writer.manifest.set_meta(last_updated=time.time())
    named = {found.path for files in matched.files for found in files}
    unread = tuple((path, why) for path, why in writer.manifest.failures().items() if path in named)
    return PatternReport(counts.indexed, counts.skipped, counts.failed, counts.chunks, (*matched.failures, *unread))


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
        tally = _anew(writer, files, progress, cancelled)
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


def _anew(writer: Writer, files: Sequence[FoundFile], progress: Progress, cancelled: IsCancelled) -> Tally:
    tally = Tally()
    for batch in batches(files):
        some = writer.indexer.index_files(batch, cancelled, force=True)
        tally.files += some.files
        tally.chunks += some.chunks
        tally.errors += some.errors
        progress(tally.files + tally.errors, len(files), "Indexing")
    return tally


def _relative(root: str, pattern: str) -> str:
    """The pattern relative to the root, as the index spells paths. Raises PathTraversal.

    `_named` compares it with paths first, so that a path with the characters of a glob still names its file.
    """
    if not _GLOB.search(pattern):
        return relative_path(root, pattern)
    base = normalise_root(root).rstrip("/") + "/"
    relative = pattern.removeprefix(base)
    if relative.startswith("/") or ".." in relative.split("/"):
        raise PathTraversal(f"{shown.quoted(pattern)} leaves the workspace {shown.place(root)}.")
    return relative


def _named(
    pattern: str, by_path: Mapping[str, FoundFile], matches: Callable[[str], bool] | None
) -> Iterator[FoundFile]:
    if pattern in by_path:
        yield by_path[pattern]
        return
    folder = f"{pattern}/" if pattern else ""
    for path, found in by_path.items():
        if matches(path) if matches else path.startswith(folder):
            yield found


def _why_not(walker: Walker, path: str) -> str:
    try:
        answer = walker.found(path)
    except FileNotFound:
        return "There is no such file."
    if isinstance(answer, SkippedPath) and not answer.path.endswith("/"):
        return f"It is left out: {answer.decision.rule.value} ({answer.decision.detail})."
    return "This folder holds no file that can be indexed."
