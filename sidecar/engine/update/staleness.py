"""The one line that a result carries if it may be stale or partial."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sidecar import shown
from sidecar.parts.pattern_limit import PatternLimit
from sidecar.shown import count


@dataclass(frozen=True, slots=True)
class Staleness:
    """The changes that the index lacks.

    `pending` counts known changes. `looks_over`: the whole workspace is to be looked over. `error`: why the last
    attempt to apply changes failed.
    """

    pending: int = 0
    looks_over: bool = False
    error: str = ""


@dataclass(frozen=True, slots=True)
class RunningJob:
    """The job that runs, with its progress; `kind` is empty if none does."""

    kind: str = ""
    done: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class Unread:
    """What could not be read at the last look: one line for a person, and the names to try again.

    Names are spelled as in the manifest: folders end in `/`, and the whole workspace is `/`.
    """

    notice: str = ""
    names: tuple[str, ...] = ()


def stale_notice(job: RunningJob, short: Staleness, read_only_reason: str) -> str:
    """The line for a result that may be stale or partial.

    `read_only_reason`: why this process cannot update the index, if that matters for the answer; else empty.
    """
    if job.kind == "rebuild":
        return "The index is being rebuilt; these results come from the previous one."
    if job.kind in ("create", "refresh"):
        so_far = f" ({job.done:,} of {count(job.total, 'file')} so far)" if job.total else ""
        return f"The index is being built{so_far}; results are partial."
    if read_only_reason:
        return read_only_reason
    what = count(short.pending, "changed path") if short.pending else "Changes"
    if short.error:
        return f"{what} could not be indexed ({short.error.rstrip('.')}); results may be stale."
    if short.looks_over and not short.pending:
        return "The workspace is still being checked for changes; results may be stale."
    return f"{what} {'is' if short.pending == 1 else 'are'} not indexed yet; results may be stale."


def unread_notice(unread: Sequence[tuple[str, str]]) -> str:
    """One line on what could not be read, from (path, reason) pairs of the manifest; empty if there are none."""
    if not unread:
        return ""
    path, reason = unread[0]
    more = f" and {len(unread) - 1} more" if len(unread) > 1 else ""
    name = "The workspace" if path == "/" else path
    return f"{name}{more} could not be read ({reason}); what is known of it is kept, and sidecar will try again."


def limit_notice(limit: PatternLimit | None) -> str:
    """One line on the patterns that the index is limited to; empty for an index of the whole workspace."""
    if limit is None:
        return ""
    return f"Only {limit.summary} is indexed; `create_index` indexes the whole workspace."


def one_line(*notices: str) -> str:
    """Joins the notices that are not empty into one line that is safe to show."""
    return shown.sentence(" ".join(notice for notice in notices if notice))
