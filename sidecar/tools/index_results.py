"""What the tools that make, describe and remove the index return. Status has a file of its own (`status_result.py`)."""

from __future__ import annotations

from typing import Any, Literal

from sidecar.tools.dialect import CamelResult


class BuildStats(CamelResult):
    """Counts of the code collection, and the whole build's time and errors."""

    files_indexed: int
    chunks_created: int
    duration_ms: int
    error_count: int
    unchanged_files: int | None = None
    chunks_embedded: int | None = None
    files_removed: int | None = None
    files_withheld: int | None = None
    values_masked: int | None = None


NOTHING_DONE = BuildStats(files_indexed=0, chunks_created=0, duration_ms=0, error_count=0)


class DocsStats(CamelResult):
    """Counts of the documentation collection."""

    files_indexed: int
    chunks_created: int


class CreateResult(CamelResult):
    status: Literal["created", "cancelled"]
    project_path: str
    index_path: str
    stats: BuildStats
    docs_stats: DocsStats | None = None
    message: str | None = None


class ReindexResult(CamelResult):
    status: Literal["reindexed", "cancelled"]
    project_path: str
    stats: BuildStats
    docs_stats: DocsStats | None = None
    message: str | None = None


class ReindexFileResult(CamelResult):
    status: Literal["reindexed", "removed"]
    file_path: str
    chunks_created: int


class DeleteResult(CamelResult):
    status: Literal["deleted", "cancelled"]
    project_path: str
    index_path: str
    message: str | None = None


class ConfigResult(CamelResult):
    """`config` holds the values in force, with the config file's own spelling of the keys."""

    exists: bool
    config_path: str
    index_path: str
    config: dict[str, Any] | None = None
    message: str
    problems: list[str]
    origins: dict[str, str] | None = None


class PathExplanation(CamelResult):
    """Why a path is or is not in the index. `indexed`: whether it belongs there; `in_index`: whether it is there."""

    path: str
    indexed: bool
    rule: str
    detail: str
    exists: bool
    in_index: bool
    stale: bool
    chunks: int
    embedded: int
    language: str | None = None
    parser: str | None = None
    indexed_at: str | None = None
    last_error: str | None = None
