"""The result of `get_index_status`: the specification's fields and sidecar's own."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Literal

from sidecar import shown
from sidecar.model.answers import Lack, StatusAnswer, UpgradeProgress
from sidecar.shown import count
from sidecar.tools.dialect import CamelResult
from sidecar.tools.lines import BAD, Line, pairs

MAX_LISTED = 50
WORDS_ONLY = "searches find words only, not meaning"
"""What the state is if no model can be loaded."""


class HybridSearch(CamelResult):
    """The state of the lexical search. `fts_engine` is always `native`: the lexical index is in SQLite, in the
    manifest."""

    enabled: bool
    fts_engine: Literal["js", "native"]
    fts_chunks: int
    default_alpha: float


class Withheld(CamelResult):
    """A file that is not indexed because it holds a secret or has the name of a file that does."""

    path: str
    rule: str
    detail: str


class Masked(CamelResult):
    """A file that is indexed with some values masked, because they look like secrets. `values` is their number."""

    path: str
    values: int


class FileError(CamelResult):
    """A file that could not be indexed, and why."""

    path: str
    error: str


class CutFile(CamelResult):
    """A file whose parser exceeded its limits. Until it changes, it is cut by lines and defines no names."""

    path: str
    reason: str


class StatusProgress(CamelResult):
    """The progress of the present step. `says`: the step, and `done` of `total` with their unit, which may be files or
    bytes. `percent` is rounded down; `seconds_left` is set once it can be estimated."""

    done: int
    total: int
    says: str
    percent: int
    seconds_left: int | None = None


class StatusUpgrade(CamelResult):
    """The model upgrade. `model` will replace the status's `model`.

    `done` of `total` chunks have its vector; `percent` is rounded down. `note`: why the upgrade is not progressing.
    """

    model: str
    done: int
    total: int
    percent: int
    seconds_left: int | None = None
    note: str | None = None

    def sentence(self) -> str:
        """Returns a sentence such as `minilm-code-int8: 43 % of 10,252 chunks, about 90 s left`."""
        left = "" if self.seconds_left is None else f", about {self.seconds_left} s left"
        note = "" if self.note is None else f" ({self.note})"
        if not self.total:
            return f"{self.model.partition('@')[0]}: not begun{note}"
        return f"{self.model.partition('@')[0]}: {self.percent} % of {count(self.total, 'chunk')}{left}{note}"


class StatusOrigin(CamelResult):
    """The team snapshot that the index started from: its commit, the time of its making by its maker's clock, its
    source, how many files it contained and how many of them were taken over."""

    commit: str
    made: str
    source: str
    files: int
    taken: int

    def sentence(self) -> str:
        """Returns a text such as `snapshot of commit 0123456789, made 2026-11-23T04:00:00+00:00: 980 of 982 files`."""
        return f"snapshot of commit {self.commit[:10]}, made {self.made}: {self.taken} of {count(self.files, 'file')}"


class IndexStatus(CamelResult):
    """The state of an index. Counts are left out if no index exists.

    `ready`: the index is as complete as it can be, and searches work. `indexing`: this process or another one builds
    it. `incomplete`: some files have not been read, and no process is reading them, or only words are found. `failed`:
    the index cannot be read, or searches fail. `not_found`: no index exists. `notice` is what a search would say about
    its answer now; null if it would say nothing. `behind`: files have changed, or may have, and the index does not
    reflect that yet.
    `workspace_files`: how many files belong in the index; `missing` counts, by reason, those that are not in it.
    `unfinished`: the index is incomplete and has never been complete, and `create_index` continues it; one that was
    complete once completes itself.

    `words_only`: no model can be loaded, so searches find words and not meaning; `warning` says why and what helps. It
    comes before every other state but `indexing`, at every door.

    `coverage`: the share of chunks that have their vector, 0-1. `problems`: settings that cannot be used, each with the
    allowed values. `modelUpgrade`: a model upgrade in the background; `model` answers until it ends, and the index is
    complete. `patterns`: the index was made by search_index and contains only what these patterns name, at most 50 of
    them; `pattern_count` is the number of all.
    """

    status: Literal["ready", "indexing", "not_found", "incomplete", "failed"]
    project_path: str | None = None
    index_path: str | None = None
    config_path: str | None = None
    total_files: int | None = None
    total_chunks: int | None = None
    last_updated: str | None = None
    storage_size: str | None = None
    watcher_active: bool | None = None
    indexing_strategy: Literal["realtime", "lazy", "git"] | None = None
    patterns: list[str] | None = None
    pattern_count: int | None = None
    pending_files: int | None = None
    hybrid_search: HybridSearch | None = None
    code_files: int | None = None
    docs_files: int | None = None
    docs_chunks: int | None = None
    embedded_chunks: int | None = None
    coverage: float | None = None
    model: str | None = None
    model_upgrade: StatusUpgrade | None = None
    device: str | None = None
    device_note: str | None = None
    languages: dict[str, int] | None = None
    withheld_files: int | None = None
    withheld: list[Withheld] | None = None
    masked_values: int | None = None
    masked: list[Masked] | None = None
    excluded: dict[str, int] | None = None
    errors: list[FileError] | None = None
    cut_by_lines: list[CutFile] | None = None
    progress: StatusProgress | None = None
    generation: int | None = None
    warning: str | None = None
    problems: list[str] | None = None
    workspace_files: int | None = None
    missing: dict[Lack, int] | None = None
    notice: str | None = None
    behind: bool | None = None
    unfinished: bool | None = None
    words_only: bool | None = None
    origin: StatusOrigin | None = None

    def as_lines(self) -> Iterator[Line]:
        """Yields the lines that a shell prints on standard output."""
        yield from pairs(self._facts())
        for problem in self.problems or ():
            yield ((BAD, f"  setting {problem}"),)
        for secret in self.withheld or ():
            yield f"  withheld {secret.path}: {secret.rule} {secret.detail}"
        for file in self.masked or ():
            values = count(file.values, "value looks like a secret", "values look like secrets")
            yield f"  masked {file.path}: {values}; sidecar explain says where"
        for cut in self.cut_by_lines or ():
            yield f"  cut by lines {cut.path}: {cut.reason}"
        for failed in self.errors or ():
            yield ((BAD, f"  error {failed.path}: {failed.error}"),)

    def _facts(self) -> Iterator[tuple[str, object]]:
        yield "status", f"{self.status}: {WORDS_ONLY}" if self.words_only else self.status
        if self.progress is not None:
            yield "progress", self.progress.says
        yield "workspace", self.project_path or ""
        yield "index", self.index_path or ""
        yield "config", self.config_path or ""
        if self.status == "not_found":
            yield "next", "sidecar index makes the index"
        if self.patterns is not None:
            yield "patterns", self._patterns(self.patterns)
        if self.total_files is not None:
            yield from self._facts_of_the_index()

    def _facts_of_the_index(self) -> Iterator[tuple[str, object]]:
        of_all = f" of {self.workspace_files:,}" if self.missing else ""
        yield "files", f"{self.total_files or 0:,}{of_all} ({self.docs_files or 0:,} of documentation)"
        embedded = f", {self.coverage:.0%} of them embedded" if self.total_chunks else ""
        yield "chunks", f"{self.total_chunks or 0:,}{embedded}"
        yield "updated", self.last_updated or "never"
        yield "size", self.storage_size
        if self.origin is not None:
            yield "origin", self.origin.sentence()
        watched = "" if self.watcher_active else ", not watching"
        yield "strategy", f"{self.indexing_strategy}{watched}, {count(self.pending_files or 0, 'file')} pending"
        yield "model", self._model()
        if self.model_upgrade is not None and not (self.words_only and self.model_upgrade.note):
            yield "upgrade", self.model_upgrade.sentence()
        if self.device_note is not None:
            yield "device", self.device_note
        if self.notice is not None:
            yield "notice", self.notice
        if self.warning is not None and self.warning != self.notice:
            yield "warning", self.warning
        yield "languages", _counts(self.languages or {})
        yield "left out", _counts(self.excluded or {})
        yield (
            "secrets",
            f"{count(self.withheld_files or 0, 'file')} withheld, {count(self.masked_values or 0, 'value')} masked",
        )

    def _patterns(self, patterns: list[str]) -> str:
        more = (self.pattern_count or 0) - len(patterns)
        return ", ".join(map(shown.path, patterns)) + (f" and {more:,} more" if more > 0 else "")

    def _model(self) -> str:
        """Returns the model and the device; before the model is loaded, only the setting of the device is known."""
        where = ", device auto" if self.device == "auto" else f" on {self.device or '?'}"
        if self.words_only:
            return f"{self.model or '?'}{where}, not used: searches find words only"
        return f"{self.model or '?'}{where}{'' if self.model_upgrade is None else ' answers meanwhile'}"


def _counts(counts: Mapping[str, int]) -> str:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{name} {number:,}" for name, number in ordered) or "none"


def index_status(answer: StatusAnswer) -> IndexStatus:
    """Returns the engine's answer as the tool's result. Lists of files have at most 50 entries; the counts are of all
    files."""
    status = IndexStatus(
        status=answer.status,
        project_path=answer.workspace,
        index_path=answer.index_path,
        config_path=answer.config_path,
        indexing_strategy=answer.strategy,
        watcher_active=answer.watcher_active,
        progress=_progress(answer) if answer.status == "indexing" else None,
        warning=answer.warning or None,
        problems=list(answer.problems) or None,
        patterns=list(answer.patterns[:MAX_LISTED]) or None,
        pattern_count=len(answer.patterns) or None,
    )
    return status if answer.status == "not_found" else status.model_copy(update=_facts(answer))


def _progress(answer: StatusAnswer) -> StatusProgress:
    done, total = answer.progress_done, answer.progress_total
    left = answer.seconds_left
    return StatusProgress(
        done=done,
        total=total,
        says=answer.progress_says,
        percent=done * 100 // total if total else 0,
        seconds_left=None if left is None else math.ceil(left),
    )


def _upgrade(stage: UpgradeProgress) -> StatusUpgrade:
    left = stage.seconds_left
    return StatusUpgrade(
        model=stage.model,
        done=stage.done,
        total=stage.total,
        percent=stage.done * 100 // stage.total if stage.total else 0,
        seconds_left=None if left is None else math.ceil(left),
        note=stage.note or None,
    )


def _facts(answer: StatusAnswer) -> dict[str, object]:
    return {
        "total_files": answer.files,
        "total_chunks": answer.chunks,
        "last_updated": answer.last_updated or None,
        "storage_size": readable_size(answer.storage_bytes),
        "pending_files": answer.pending_files,
        "hybrid_search": HybridSearch(
            enabled=answer.hybrid_enabled,
            fts_engine="native",
            fts_chunks=answer.lexical_chunks,
            default_alpha=answer.default_alpha,
        ),
        "code_files": answer.code.files,
        "docs_files": answer.docs.files,
        "docs_chunks": answer.docs.chunks,
        "embedded_chunks": answer.embedded_chunks,
        "coverage": round(answer.coverage, 4),
        "model": answer.model or None,
        "model_upgrade": _upgrade(answer.model_upgrade) if answer.model_upgrade is not None else None,
        "device": answer.device or None,
        "device_note": answer.device_note or None,
        "languages": answer.languages,
        "withheld_files": len(answer.withheld),
        "withheld": [
            Withheld(path=skipped.path, rule=skipped.decision.rule.value, detail=skipped.decision.detail)
            for skipped in answer.withheld[:MAX_LISTED]
        ],
        "masked_values": sum(values for _, values in answer.masked),
        "masked": [Masked(path=path, values=values) for path, values in answer.masked[:MAX_LISTED]],
        "excluded": answer.skipped,
        "errors": [FileError(path=path, error=error) for path, error in answer.errors[:MAX_LISTED]],
        "cut_by_lines": [CutFile(path=path, reason=why) for path, why in answer.cut_by_lines[:MAX_LISTED]] or None,
        "generation": answer.generation,
        "workspace_files": answer.holds.total,
        "missing": dict(answer.holds.missing) or None,
        "notice": answer.notice or None,
        "behind": answer.behind,
        "unfinished": (answer.status == "incomplete" and not answer.holds.complete) or None,
        "words_only": (answer.words_only and answer.status != "indexing") or None,
        "origin": StatusOrigin(**asdict(answer.origin)) if answer.origin is not None else None,
    }


def readable_size(size: int) -> str:
    """Formats a number of bytes for a person: `45MB`, `1.2GB`, `512B`."""
    amount = float(size)
    for unit in ("B", "KB", "MB", "GB"):
        if amount < 1024 or unit == "GB":
            return f"{amount:.1f}{unit}" if 0 < amount < 10 and unit != "B" else f"{amount:.0f}{unit}"
        amount /= 1024
    raise AssertionError("unreachable")
