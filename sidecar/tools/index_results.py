"""The results of the tools that create, rebuild, describe and delete an index. `status_result.py` has the status
result."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from sidecar import shown
from sidecar.model.answers import BuildReport
from sidecar.shown import count
from sidecar.tools.dialect import CamelResult
from sidecar.tools.lines import BAD, STRONG, Line, pairs, upgrade_lines


class BuildStats(CamelResult):
    """Counts of one build. `files_indexed` and `chunks_created` count the code collection; the other fields are about
    the whole build."""

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


class UpdateResult(CamelResult):
    """The result of `sidecar index` (`tools/refresh.py`). `project_path` is the workspace, `files` and `chunks` count
    both collections, and `seconds` is the time it took.

    The other fields are those of `BuildReport`.
    """

    status: Literal["indexed"] = "indexed"
    project_path: str
    files: int
    chunks: int
    docs_files: int
    docs_chunks: int
    embedded: int
    upgraded: int
    unchanged: int
    removed: int
    withheld: int
    masked: int
    errors: int
    seconds: float
    notice: str | None = None

    @classmethod
    def of(cls, workspace: str, report: BuildReport, seconds: float) -> UpdateResult:
        """Makes the result from the engine's report about this workspace."""
        return cls(
            project_path=workspace,
            files=report.code.files + report.docs.files,
            chunks=report.code.chunks + report.docs.chunks,
            docs_files=report.docs.files,
            docs_chunks=report.docs.chunks,
            embedded=report.embedded,
            upgraded=report.upgraded,
            unchanged=report.unchanged,
            removed=report.removed,
            withheld=report.withheld,
            masked=report.masked,
            errors=report.errors,
            seconds=round(seconds, 3),
            notice=report.notice or None,
        )

    def as_lines(self) -> Iterator[Line]:
        """Yields the lines that a shell prints on standard output."""
        of_docs = f"{count(self.docs_files, 'file')} of documentation"
        yield f"workspace {shown.path(self.project_path)}"
        yield (STRONG, count(self.files, "file")), f", {count(self.chunks, 'chunk')} ({of_docs})"
        unchanged = f"{count(self.unchanged, 'file')} unchanged, {self.removed:,} removed"
        yield f"{self._embedded()}, {unchanged}"
        yield from upgrade_lines(self.upgraded)
        if self.withheld:
            yield f"{count(self.withheld, 'file')} withheld because of secrets; sidecar status lists them"
        if self.masked:
            looks = ("because it looks like a secret", "because they look like secrets")
            yield count(
                self.masked, f"value masked in the index, {looks[0]}", f"values masked in the index, {looks[1]}"
            )
        if self.errors:
            lists = f"sidecar status lists {'it' if self.errors == 1 else 'them'}"
            yield ((BAD, f"{count(self.errors, 'file or folder', 'files or folders')} could not be read; {lists}"),)
        yield f"{self.seconds:.1f} s"

    def _embedded(self) -> str:
        """Returns how many chunks were embedded and, if none were, the reason."""
        embedded = f"{count(self.embedded, 'chunk')} embedded"
        if self.embedded or not self.chunks:
            return embedded
        changed = self.unchanged < self.files or self.removed
        return f"{embedded} ({'every text had its vector already' if changed else 'the index was up to date'})"

    def as_notes(self) -> Iterator[str]:
        """Yields the notes that a shell prints on standard error, one sentence each."""
        yield self.notice or ""


class CreateResult(CamelResult):
    """What `create_index` returns. `message`: why it was cancelled, or a notice about the build."""

    status: Literal["created", "cancelled"]
    project_path: str
    index_path: str
    stats: BuildStats
    docs_stats: DocsStats | None = None
    message: str | None = None

    def remark(self) -> str:
        """Returns why it was cancelled, or the notice about the build."""
        return self.message or ""

    def as_lines(self) -> Iterator[Line]:
        """Yields the lines that a shell prints on standard output."""
        if self.status != "cancelled":
            yield from super().as_lines()
            return
        yield self.status
        yield self.message or ""


class ReindexResult(CamelResult):
    """What `reindex_project` returns. `message`: why it was cancelled, or a notice about the build."""

    status: Literal["reindexed", "cancelled"]
    project_path: str
    stats: BuildStats
    docs_stats: DocsStats | None = None
    message: str | None = None

    def as_lines(self) -> Iterator[Line]:
        """Yields the lines that a shell prints on standard output."""
        yield self.status if self.status == "cancelled" else f"{self.status}: {self._counts()}"
        if self.message is not None:
            yield self.message

    def _counts(self) -> str:
        docs = self.docs_stats or DocsStats(files_indexed=0, chunks_created=0)
        files = self.stats.files_indexed + docs.files_indexed
        chunks = self.stats.chunks_created + docs.chunks_created
        of_them = f"({count(docs.files_indexed, 'file')} of documentation)"
        return f"{count(files, 'file')}, {count(chunks, 'chunk')} {of_them}, {self.stats.duration_ms / 1000:.1f} s"


class ReindexFileResult(CamelResult):
    """What `reindex_file` returns; `removed` means that the file was no longer on disk."""

    status: Literal["reindexed", "removed"]
    file_path: str
    chunks_created: int

    def as_lines(self) -> Iterator[Line]:
        """Yields the lines that a shell prints on standard output."""
        yield f"{self.status} {self.file_path}: {count(self.chunks_created, 'chunk')}"


class DeleteResult(CamelResult):
    """What `delete_index` returns. `message`: why it was cancelled."""

    status: Literal["deleted", "cancelled"]
    project_path: str
    index_path: str
    message: str | None = None

    def as_lines(self) -> Iterator[Line]:
        """Yields the lines that a shell prints on standard output."""
        yield self.status
        if self.message is not None:
            yield self.message


class ConfigResult(CamelResult):
    """What `get_config` returns. `config` holds the values in force under the keys of config.json, and is left out
    while that file does not exist. `origins` maps each key to the layer that set it."""

    exists: bool
    config_path: str
    index_path: str
    config: dict[str, Any] | None = None
    message: str
    problems: list[str]
    origins: dict[str, str] | None = None

    def as_lines(self) -> Iterator[Line]:
        """Yields the lines that a shell prints on standard output."""
        yield self.message
        for problem in self.problems:
            yield ((BAD, problem),)
        if self.config is not None:
            yield from shown.as_json(self.config, indent=2).split("\n")


_NOT_A_FILE = {"folder": "is a folder", "no-such-file": "does not exist"}


class PathExplanation(CamelResult):
    """Why a path is or is not in the index. `indexed`: whether it belongs in the index; `in_index`: whether it is there
    now. `encoding`: Python's name of the encoding that the file is decoded with."""

    path: str
    indexed: bool
    rule: str
    detail: str
    exists: bool
    in_index: bool
    stale: bool
    chunks: int
    embedded: int
    encoding: str | None = None
    language: str | None = None
    parser: str | None = None
    indexed_at: str | None = None
    last_error: str | None = None

    def as_lines(self) -> Iterator[Line]:
        """Yields the lines that a shell prints on standard output."""
        left_out = _NOT_A_FILE.get(self.rule, f"is left out: {self.rule}")
        detail = f" ({self.detail})" if self.detail else ""
        yield f"{self.path or '.'} {'belongs in the index' if self.indexed else left_out}{detail}"
        if self.in_index or self.rule not in _NOT_A_FILE:
            yield from pairs(self._facts())

    def _facts(self) -> Iterator[tuple[str, object]]:
        yield "exists", "yes" if self.exists else "no"
        place = (
            f"in the index with {count(self.chunks, 'chunk')}, {self.embedded:,} embedded" if self.in_index else "no"
        )
        yield "indexed", place
        if self.in_index:
            yield "stale", "yes" if self.stale else "no"
        known = {
            "encoding": self.encoding,
            "language": self.language,
            "parser": self.parser,
            "indexed at": self.indexed_at,
            "last error": self.last_error,
        }
        yield from ((label, value) for label, value in known.items() if value is not None)
