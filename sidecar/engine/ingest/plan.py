"""Compares the files on disk with the manifest and plans the work that brings the manifest up to date."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Set
from collections.abc import Collection as Sized
from dataclasses import dataclass, replace

from sidecar.model.files import Decision, FoundFile, IndexedBlob, Rule, SkippedPath, Stat, WalkResult
from sidecar.parts.left_out import is_at_or_below
from sidecar.parts.manifest import KnownFile

_ASK_GIT_FROM = 50
"""Reading git's index of 10,000 files takes as long as reading a hundred files, so fewer files than this are read."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The work of one pass over a workspace.

    `changed` are the files to read: new, changed, or possibly changed. `unchanged` counts the indexed files that need
    no reading. `removed` maps each path to remove to its row in the manifest, or None; a path whose row has changed
    since then stays, because an overlapping run may have found the file again. `left_out` are the paths that the rules
    exclude. `unread` are paths that could not be examined: their entries and those of everything below them stay. `new`
    are those of `changed` that are not in the manifest at all. `whole`: all files of the workspace were compared;
    `first_beyond` is then that of the walk. `same` are files with another stat than the manifest has but, according to
    git, the same content; they count as unchanged.
    """

    changed: tuple[FoundFile, ...]
    removed: Mapping[str, KnownFile | None]
    left_out: tuple[SkippedPath, ...]
    unchanged: int
    unread: Sized[str] = frozenset()
    new: Sized[str] = frozenset()
    whole: bool = True
    first_beyond: str | None = None
    same: tuple[tuple[FoundFile, KnownFile], ...] = ()


def make_plan(
    walked: WalkResult,
    known: Mapping[str, KnownFile],
    skips: Mapping[str, tuple[Stat, bool]],
    failures: Sized[str],
    buffers: Sized[str],
) -> Plan:
    """Compares a complete walk with the content of the manifest before the walk.

    `known` are the indexed files. `skips` are the files that preparation left out, each with its stat and whether that
    is settled. `failures` are the paths whose preparation failed, and `buffers` those with unsaved text in an editor. A
    file is unchanged if its recorded stat is settled and equals the one on disk, or if it was indexed from an editor's
    text and the editor still has it open. Files that failed, and files that now belong in the other collection, are
    always read again.
    """
    changed: list[FoundFile] = []
    present: set[str] = set()
    unchanged = 0
    for found in walked.files:
        present.add(found.path)
        if found.path in failures or not _is_unchanged(found, known.get(found.path), skips, found.path in buffers):
            changed.append(found)
        else:
            unchanged += found.path in known
    missing = {p: known.get(p) for p in (*known, *skips, *failures) if p not in present}
    removed = {p: file for p, file in missing.items() if not is_at_or_below(p, walked.unread)}
    left_out = tuple(tried_again(walked, [p for p in missing if p not in removed]))
    new = frozenset(f.path for f in changed if f.path not in known and f.path not in skips and f.path not in failures)
    return Plan(tuple(changed), removed, left_out, unchanged, walked.unread, new, first_beyond=walked.first_beyond)


def without_same(
    plan: Plan,
    known: Mapping[str, KnownFile],
    not_these: Container[str],
    unmodified: Callable[[Mapping[str, IndexedBlob]], Set[str]],
) -> Plan:
    """Returns the plan without the files that, according to git, have the content that was indexed.

    `unmodified` returns those of some files that have it. It is called only for many files: a few are read as quickly.
    Files in `not_these` are read in any case.
    """
    doubtful = {
        found.path: (found, file)
        for found in plan.changed
        if (file := known.get(found.path)) is not None and found.path not in not_these and _may_be_same(found, file)
    }
    if len(doubtful) < _ASK_GIT_FROM:
        return plan
    asked = {path: IndexedBlob(found.stat, file.blob) for path, (found, file) in doubtful.items()}
    same = unmodified(asked)
    return replace(
        plan,
        changed=tuple(found for found in plan.changed if found.path not in same),
        unchanged=plan.unchanged + len(same),
        same=tuple(doubtful[path] for path in asked if path in same),
    )


def _may_be_same(found: FoundFile, known: KnownFile) -> bool:
    plain = not known.buffered and known.collection == found.collection
    return plain and bool(known.blob) and known.stat.size == found.stat.size


def tried_again(walked: WalkResult, kept: Iterable[str]) -> Iterator[SkippedPath]:
    """Yields the paths that the walk skipped. One that could not be read gets the rule `NOT_READ` if anything at or
    below it is in `kept`: it is then tried again, because the kept version would only become more outdated."""
    holding = {folder for path in kept for folder in lineage(path)} & walked.unread
    for skipped in walked.skipped:
        if skipped.path.rstrip("/") in holding:
            yield SkippedPath(skipped.path, Decision(Rule.NOT_READ, skipped.decision.detail))
        else:
            yield skipped


def lineage(path: str) -> Iterator[str]:
    """Yields the path itself, then every folder above it, up to the root, which is the empty string."""
    while path:
        yield path
        path = path.rpartition("/")[0]
    yield ""


def _is_unchanged(
    found: FoundFile, known: KnownFile | None, skips: Mapping[str, tuple[Stat, bool]], has_buffer: bool
) -> bool:
    if known is not None:
        if known.collection != found.collection:
            return False
        if known.buffered or has_buffer:
            return known.buffered and has_buffer
        return known.settled and known.stat == found.stat
    skip = skips.get(found.path)
    return skip is not None and skip[1] and skip[0] == found.stat


def batches(files: Iterable[FoundFile], most_files: int = 64, most_bytes: int = 400_000) -> Iterator[list[FoundFile]]:
    """Splits files into batches of at most `most_files`, each closed once it reaches `most_bytes` bytes. A batch is the
    unit of commits, progress and cancellation."""
    batch: list[FoundFile] = []
    size = 0
    for found in files:
        batch.append(found)
        size += found.stat.size
        if len(batch) >= most_files or size >= most_bytes:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
