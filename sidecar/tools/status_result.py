"""What `get_index_status` returns: the specification's fields, and what else is true of an index."""

from __future__ import annotations

import math
from typing import Literal

from sidecar.model import Refinement, StatusAnswer
from sidecar.tools.dialect import CamelResult

MAX_LISTED = 50


class HybridSearch(CamelResult):
    """`fts_engine` is always native: the lexical index lives in SQLite beside the manifest."""

    enabled: bool
    fts_engine: Literal["js", "native"]
    fts_chunks: int
    default_alpha: float


class Withheld(CamelResult):
    """A file kept out of the index because it holds, or is named like, a secret."""

    path: str
    rule: str
    detail: str


class Masked(CamelResult):
    """A file that is indexed with some values hidden, because they look like secrets."""

    path: str
    values: int


class FileError(CamelResult):
    path: str
    error: str


class CutFile(CamelResult):
    """A file whose parser exceeded its limits, so that it is cut by lines and names no definitions until it changes."""

    path: str
    reason: str


class StatusProgress(CamelResult):
    """Files; `percent` is rounded down. `seconds_left` is there once the pace can be told."""

    done: int
    total: int
    percent: int
    seconds_left: int | None = None


class StatusRefining(CamelResult):
    """The second stage: `model` is to answer in place of the status's own; `done` of `total` chunks have its vector,
    `percent` is rounded down. `note`: why it does not go on."""

    model: str
    done: int
    total: int
    percent: int
    seconds_left: int | None = None
    note: str | None = None


class IndexStatus(CamelResult):
    """Counts are left out while there is no index. Coverage: the share of chunks that have their vector, 0-1.
    `problems`: the settings that cannot be used, each with what is allowed. `refining`: while `model` answers, another
    one's vectors are made in the background; the index is complete all the same."""

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
    pending_files: int | None = None
    hybrid_search: HybridSearch | None = None
    code_files: int | None = None
    docs_files: int | None = None
    docs_chunks: int | None = None
    embedded_chunks: int | None = None
    coverage: float | None = None
    model: str | None = None
    refining: StatusRefining | None = None
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


def index_status(answer: StatusAnswer) -> IndexStatus:
    """The lists of files stop at 50 entries; their counts do not."""
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
    )
    return status if answer.status == "not_found" else status.model_copy(update=_facts(answer))


def _progress(answer: StatusAnswer) -> StatusProgress:
    done, total = answer.progress_done, answer.progress_total
    left = answer.seconds_left
    return StatusProgress(
        done=done,
        total=total,
        percent=done * 100 // total if total else 0,
        seconds_left=None if left is None else math.ceil(left),
    )


def _upgrade(stage: Refinement) -> StatusRefining:
    left = stage.seconds_left
    return StatusRefining(
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
        "refining": _upgrade(answer.refining) if answer.refining is not None else None,
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
    }


def readable_size(size: int) -> str:
    """Bytes for a person: `45MB`, `1.2GB`, `512B`."""
    amount = float(size)
    for unit in ("B", "KB", "MB", "GB"):
        if amount < 1024 or unit == "GB":
            return f"{amount:.1f}{unit}" if 0 < amount < 10 and unit != "B" else f"{amount:.0f}{unit}"
        amount /= 1024
    raise AssertionError("unreachable")
