"""Describes how current and complete an index is, and words the one line in a result that may be stale or partial."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sidecar import shown
from sidecar.model.answers import Coverage, Lack
from sidecar.parts.pattern_limit import PatternLimit
from sidecar.shown import count, so_far


@dataclass(frozen=True, slots=True)
class Staleness:
    """The changes that the index lacks.

    `pending` counts known changes. `looks_over`: a pass over the whole workspace is to be made. `error`: why the last
    attempt to apply changes failed.
    """

    pending: int = 0
    looks_over: bool = False
    error: str = ""


@dataclass(frozen=True, slots=True)
class RunningJob:
    """The running job with the progress of its step, as `Progress` reports it. `kind` is empty if none is running.

    `kind` is create, refresh, rebuild or delete, or update for a pass over the whole workspace in the background.
    `elsewhere`: another process runs the job, and its progress is not known.
    """

    kind: str = ""
    done: int = 0
    total: int = 0
    says: str = ""
    elsewhere: bool = False


@dataclass(frozen=True, slots=True)
class Unread:
    """What could not be read at the last attempt: one line for a person, and the names to try again.

    Names are spelled as in the manifest: folders end in `/`, and the whole workspace is `/`.
    """

    notice: str = ""
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Standing:
    """How current and complete an index is at one moment. Notices and the words of a status are made from this alone.

    `short` is None if nothing is known to have changed. `reader_reason`: why this process cannot update the index, if
    that matters for the answer. `moved`: the checkout has moved since the last pass over the whole workspace, and this
    process cannot make one. `changed`: how many of the shown files have changed since they were indexed. `next_commit`:
    saved changes wait for the next commit; `awaiting`: how many are known. `unread`: one line on what could not be
    read. `unapplied`: one sentence on a changed setting that only a rebuild applies. `limit`: the patterns that the
    index is limited to.
    """

    coverage: Coverage
    job: RunningJob = RunningJob()
    short: Staleness | None = None
    reader_reason: str = ""
    moved: bool = False
    changed: int = 0
    next_commit: bool = False
    awaiting: int = 0
    unread: str = ""
    unapplied: str = ""
    limit: PatternLimit | None = None

    @property
    def builds(self) -> bool:
        """Whether the index is being built: by a job, or in the background if it has never been complete."""
        resumes = not self.coverage.complete and self.coverage.lacks("not-read-yet") > 0
        return self.job.kind not in ("", "update") or (self.job.kind == "update" and resumes)

    @property
    def behind(self) -> bool:
        """Whether the index lacks, or may lack, changes of the files."""
        return self.short is not None or self.moved or self.changed + self.awaiting > 0 or bool(self.reader_reason)

    @property
    def progress(self) -> tuple[int, int, str]:
        """How much a job that builds has done, of how much, and that in words; 0 of 0 while that is not known.

        A build that continues an earlier one also counts the files of that one.
        """
        if self.job.kind not in ("rebuild", "delete") and self.coverage.lacks("not-read-yet"):
            done, total = self.coverage.indexed, self.coverage.total
            return done, total, so_far("Indexing", done, total)
        return self.job.done, self.job.total, self.job.says

    def notice(self) -> str:
        """Returns the line for an answer that may be stale or partial, or lacks the effect of a changed setting; else
        empty."""
        job = self._job_notice() if self.builds else ""
        state, holds = self._stale_notice(), coverage_notice(self.coverage)
        if job and self.job.kind != "rebuild":  # which answers from a complete index that may lack changes
            state = holds = ""
        changed = self._changed_notice()
        return one_line(job, state, changed, holds, self.unread, self.unapplied, limit_notice(self.limit))

    def _job_notice(self) -> str:
        by = " by another process" if self.job.elsewhere else ""
        if self.job.kind == "rebuild":
            return f"The index is being rebuilt{by}; these results come from the previous one."
        if self.job.kind == "delete":
            return f"The index is being deleted{by}."
        _, total, says = self.progress
        order = ", code first" if self.coverage.lacks("not-read-yet") else ""
        return f"The index is being built{by}{f' ({says}{order})' if total else ''}; results are partial."

    def _stale_notice(self) -> str:
        if self.reader_reason:
            return self.reader_reason
        if self.moved and self.short in (None, Staleness()):
            return "The checkout has moved and is still to be checked for changes; results may be stale."
        return stale_notice(self.short) if self.short is not None else ""

    def _changed_notice(self) -> str:
        saved = count(self.awaiting, "saved change")
        waiting = f"{saved} {'waits' if self.awaiting == 1 else 'wait'} for the next commit."
        return one_line(self._shown_notice(), waiting if self.awaiting > self.changed else "")

    def _shown_notice(self) -> str:
        if not self.changed:
            return ""
        one = self.changed == 1
        verb = "has changed since it was" if one else "have changed since they were"
        when = f"; the next commit brings {'it' if one else 'them'} in" if self.next_commit else ""
        return f"{self.changed} of the files shown {verb} indexed{when}."


def coverage_notice(coverage: Coverage) -> str:
    """Returns a sentence on how many of the files that belong in an index it has, and why others are missing; empty if
    none are, even if whole folders could not be read: the status names those, and they may be so for ever."""
    ended = " Indexing was cancelled; `create_index` continues it." if coverage.cancelled else ""
    if not coverage.missing:
        return "" if coverage.whole else f"The workspace has not been read as a whole yet; results are partial.{ended}"
    reasons = ", ".join(_SAYS[reason](missing) for reason, missing in coverage.missing)
    limits = [setting for setting, _ in coverage.missing if setting in ("maxFiles", "maxFileSize")]
    remedy = f" Raise {' and '.join(limits)} to index them too." if limits else ""
    verb = "is" if coverage.total == 1 else "are"
    share = f"{coverage.indexed:,} of {count(coverage.total, 'file')} {verb} indexed: {reasons}.{remedy}{ended}"
    return f"{share} {_unread_folders(coverage.unread_folders)}".rstrip()


def _unread_folders(folders: int) -> str:
    if not folders:
        return ""
    files = "its files are" if folders == 1 else "their files are"
    return f"{count(folders, 'folder')} could not be read, so {files} not counted."


def _is(what: str) -> Callable[[int], str]:
    return lambda number: f"{number:,} {'is' if number == 1 else 'are'} {what}"


_SAYS: dict[Lack, Callable[[int], str]] = {
    "not-read-yet": _is("not read yet"),
    "maxFiles": _is("beyond the setting maxFiles"),
    "maxFileSize": _is("larger than the setting maxFileSize"),
    "secrets": lambda number: f"{number:,} may hold secrets",
    "unreadable": lambda number: f"{number:,} could not be read",
}


def stale_notice(short: Staleness) -> str:
    """Returns the line for a result that lacks changes."""
    what = count(short.pending, "changed path") if short.pending else "The latest changes"
    if short.error:
        return f"{what} could not be indexed ({short.error.rstrip('.')}); results may be stale."
    if short.looks_over and not short.pending:
        return "The workspace is still being checked for changes; results may be stale."
    state = {0: "may not be indexed", 1: "is not indexed"}.get(short.pending, "are not indexed")
    return f"{what} {state} yet; results may be stale."


def unread_notice(unread: Sequence[tuple[str, str]]) -> str:
    """Returns one line on what could not be read, from (path, reason) pairs of the manifest; empty if there are
    none."""
    if not unread:
        return ""
    path, reason = unread[0]
    more = f" and {len(unread) - 1} more" if len(unread) > 1 else ""
    name = "The workspace" if path == "/" else path
    return f"{name}{more} could not be read ({reason}); what is known of it is kept, and sidecar will try again."


def limit_notice(limit: PatternLimit | None) -> str:
    """Returns one line on the patterns that the index is limited to; empty for an index of the whole workspace."""
    if limit is None:
        return ""
    return f"Only {limit.summary} {limit.verb} indexed; `create_index` indexes the whole workspace."


def one_line(*notices: str) -> str:
    """Joins the notices that are not empty into one line that is safe to show."""
    return shown.sentence(" ".join(notice for notice in notices if notice))
