"""The results of the tools that create, rebuild, describe and delete an index. The status result is in
`status_result.py`."""

from __future__ import annotations

from typing import Any, Literal

from sidecar.tools.dialect import CamelResult


class BuildStats(CamelResult):
    """`files_indexed` and `chunks_created` count the code collection; the other fields are about the whole build."""

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
    """What `create_index` returns. `message`: why it was cancelled, or a notice about the build."""

    status: Literal["created", "cancelled"]
    project_path: str
    index_path: str
    stats: BuildStats
    docs_stats: DocsStats | None = None
    message: str | None = None


class ReindexResult(CamelResult):
    """What `reindex_project` returns. `message`: why it was cancelled."""

    status: Literal["reindexed", "cancelled"]
    project_path: str
    stats: BuildStats
    docs_stats: DocsStats | None = None
    message: str | None = None


class ReindexFileResult(CamelResult):
    """What `reindex_file` returns; `removed` means that the file was no longer on disk."""

    status: Literal["reindexed", "removed"]
    file_path: str
    chunks_created: int


class DeleteResult(CamelResult):
    """What `delete_index` returns. `message`: why it was cancelled."""

    status: Literal["deleted", "cancelled"]
    project_path: str
    index_path: str
    message: str | None = None


class ConfigResult(CamelResult):
    """`config` holds the values in force under the keys of config.json, or is left out while that file does not exist.
    `origins` maps each key to the layer that set it."""

    exists: bool
    config_path: str
    index_path: str
    config: dict[str, Any] | None = None
    message: str
    problems: list[str]
    origins: dict[str, str] | None = None


class PathExplanation(CamelResult):
    """Why a path is or is not in the index. `indexed`: whether it belongs in the index; `in_index`: whether it is there
    now."""

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
