"""What has to be done so that the manifest says what the disk says."""

from __future__ import annotations

from collections.abc import Collection as Sized
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from sidecar.engine.ports import WalkResult
from sidecar.model import Decision, FoundFile, Rule, SkippedPath, Stat
from sidecar.parts.left_out import is_at_or_below
from sidecar.parts.manifest import KnownFile


@dataclass(frozen=True, slots=True)
class Plan:
    """`changed` is to be read (new, changed, or not sure); `unchanged` counts indexed files.

    `removed` is to be forgotten, as far as it is still as it was known: a run beside this one may have found it again.
    What is known of the paths in `unread`, and of what lies in them, stays: nobody could look.
    """

    changed: tuple[FoundFile, ...]
    removed: Mapping[str, KnownFile | None]
    left_out: tuple[SkippedPath, ...]
    unchanged: int
    unread: Sized[str] = frozenset()


def make_plan(
    walked: WalkResult,
    known: Mapping[str, KnownFile],
    skips: Mapping[str, tuple[Stat, bool]],
    failures: Sized[str],
    buffers: Sized[str],
) -> Plan:
    """Compares a whole walk with the manifest as it was before; a file that has its settled stat is unchanged."""
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
    return Plan(tuple(changed), removed, left_out, unchanged, walked.unread)


def tried_again(walked: WalkResult, kept: Iterable[str]) -> Iterator[SkippedPath]:
    """What was left out. Where something is kept of what may not be read, it is tried again like the rest: the kept
    version becomes ever older."""
    holding = {folder for path in kept for folder in lineage(path)} & walked.unread
    for skipped in walked.skipped:
        if skipped.path.rstrip("/") in holding:
            yield SkippedPath(skipped.path, Decision(Rule.NOT_READ, skipped.decision.detail))
        else:
            yield skipped


def lineage(path: str) -> Iterator[str]:
    """The path itself and every folder above it, to the root."""
    while path:
        yield path
        path = path.rpartition("/")[0]
    yield ""


def _is_unchanged(
    found: FoundFile, known: KnownFile | None, skips: Mapping[str, tuple[Stat, bool]], has_buffer: bool
) -> bool:
    if known is not None:
        if known.buffered or has_buffer:
            return known.buffered and has_buffer
        return known.settled and known.stat == found.stat
    skip = skips.get(found.path)
    return skip is not None and skip[1] and skip[0] == found.stat


def batches(files: Iterable[FoundFile], most_files: int = 64, most_bytes: int = 400_000) -> Iterator[list[FoundFile]]:
    """Cuts the work so that each piece is committed, shown as progress and cancellable on its own."""
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
