"""The tools that create, rebuild, describe and delete an index. Creating, rebuilding and deleting ask a person
first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pydantic import Field

from sidecar import shown
from sidecar.errors import IndexExists, IndexingInProgress, IndexNotFound
from sidecar.model.answers import BuildReport, ConfigAnswer, StatusAnswer
from sidecar.settings.declare import DECLARATIONS, EFFECTS, TOOLSETS
from sidecar.shown import count
from sidecar.tools.asking import question, why_cancelled
from sidecar.tools.code_search import FAMILY
from sidecar.tools.context import Context
from sidecar.tools.index_results import (
    NOTHING_DONE,
    BuildStats,
    ConfigResult,
    CreateResult,
    DeleteResult,
    DocsStats,
    PathExplanation,
    ReindexFileResult,
    ReindexResult,
)
from sidecar.tools.spec import Answer, Params, Question, ToolSpec
from sidecar.tools.status_result import IndexStatus, index_status

_NAMED = 5
"""How many patterns a question lists."""


class NoParams(Params):
    """The parameters of tools that take none."""


class FileParams(Params):
    """Parameters of `reindex_file`."""

    file_path: str = Field(
        min_length=1, max_length=4096, description="Path relative to the workspace root.", examples=["src/app.py"]
    )


class ReindexParams(Params):
    """Parameters of `reindex_project`."""

    whole: bool = Field(
        False,
        description="End the limit to patterns.",
        examples=[True],
    )


class ExplainParams(Params):
    """Parameters of `explain_path`."""

    path: str = Field(
        min_length=1, max_length=4096, description="Path relative to the workspace root.", examples=["src/app.py"]
    )


# ---------------------------------------------------------------- create


def create_index(context: Context, params: NoParams) -> CreateResult:
    """Creates the workspace's index."""
    return created(context, context.workspace.create(context.progress, context.cancelled))


def created(context: Context, report: BuildReport) -> CreateResult:
    """Returns the result of a call that has created the index."""
    return CreateResult(
        status="created",
        project_path=context.workspace_shown,
        index_path=context.workspace.status().index_path,
        stats=_stats(report),
        docs_stats=_docs_stats(report),
        message=report.notice or None,
    )


def ask_to_create(context: Context, params: NoParams) -> Question:
    """Returns the question of `create_index`. If an index exists or is being built, raises `IndexExists` or
    `IndexingInProgress` instead. An index that was never complete is continued."""
    status = context.workspace.status()
    refuse_while_indexing(status)
    exists = status.status != "not_found" and (status.generation or status.files) and status.holds.complete
    if exists and not status.patterns:
        raise IndexExists(
            "Use `reindex_project` to rebuild it, or `delete_index` to remove it.", indexPath=status.index_path
        )
    return question_to_create(context, status)


def question_to_create(context: Context, status: StatusAnswer) -> Question:
    """Returns the question whether to create an index of the whole workspace."""
    return question(
        context,
        "create_index",
        deed="create a search index for",
        title="Create a search index for",
        detail=f"{_limited(status)}{_first(context)} source file is read and embedded on this machine. That may take "
        "minutes for a large workspace.",
        accept="Create index",
        decline="Not now",
    )


def _first(context: Context) -> str:
    """Returns the beginning of the sentence on what is read; it names the team snapshots that a new index may start
    from."""
    source = context.workspace.config().config.get("snapshotSource")
    if not source:
        return "Every"
    return f"It starts from a snapshot of your team's at {shown.reason(source)} if one fits; otherwise every"


def create_declined(context: Context, params: NoParams, answer: Answer) -> CreateResult:
    """Returns the result of `create_index` if it was not allowed."""
    return CreateResult(
        status="cancelled",
        project_path=context.workspace_shown,
        index_path=context.workspace.status().index_path,
        stats=NOTHING_DONE,
        message=why_cancelled(answer, unchanged(context.workspace.status())),
    )


# ---------------------------------------------------------------- rebuild


def reindex_project(context: Context, params: ReindexParams) -> ReindexResult:
    """Rebuilds the index; searches use the old one until the new one is complete."""
    report = context.workspace.rebuild(context.progress, context.cancelled, params.whole)
    return ReindexResult(
        status="reindexed",
        project_path=context.workspace_shown,
        stats=_stats(report),
        docs_stats=_docs_stats(report),
        message=report.notice or None,
    )


def ask_to_reindex(context: Context, params: ReindexParams) -> Question:
    """Returns the question of `reindex_project`. If there is nothing to rebuild now, raises `IndexNotFound` or
    `IndexingInProgress` instead."""
    status = _existing(context)
    refuse_while_indexing(status)
    return question_to_rebuild(context, status, params.whole)


def question_to_rebuild(context: Context, status: StatusAnswer, whole: bool = False) -> Question:
    """Returns the question whether to rebuild an existing index."""
    return question(
        context,
        "reindex_project",
        deed="rebuild the search index of",
        title="Rebuild the search index of",
        detail=_what_is_read(status, whole),
        accept="Rebuild",
    )


def reindex_declined(context: Context, params: ReindexParams, answer: Answer) -> ReindexResult:
    """Returns the result of `reindex_project` if it was not allowed."""
    return ReindexResult(
        status="cancelled",
        project_path=context.workspace_shown,
        stats=NOTHING_DONE,
        message=why_cancelled(answer, "The index has not changed."),
    )


# ---------------------------------------------------------------- one file


def reindex_file(context: Context, params: FileParams) -> ReindexFileResult:
    """Brings one file of the index up to date."""
    report = context.workspace.reindex_file(params.file_path)
    return ReindexFileResult(status=report.status, file_path=report.path, chunks_created=report.chunks)


# ---------------------------------------------------------------- delete


def delete_index(context: Context, params: NoParams) -> DeleteResult:
    """Deletes the workspace's index; memories, added documents and edited settings stay."""
    index_path = context.workspace.status().index_path
    context.workspace.delete()
    return DeleteResult(status="deleted", project_path=context.workspace_shown, index_path=index_path)


def ask_to_delete(context: Context, params: NoParams) -> Question:
    """Returns the question of `delete_index`. If there is nothing to delete now, raises `IndexNotFound` or
    `IndexingInProgress` instead."""
    status = _existing(context)
    refuse_while_indexing(status)
    return question(
        context,
        "delete_index",
        deed="permanently delete the search index of",
        title="Delete the search index of",
        detail=f"{_what_is_lost(status)} This cannot be undone; your source files, memories, added documents and "
        "edited settings are not touched.",
        accept="Delete index",
        destructive=True,
    )


def delete_declined(context: Context, params: NoParams, answer: Answer) -> DeleteResult:
    """Returns the result of `delete_index` if it was not allowed."""
    return DeleteResult(
        status="cancelled",
        project_path=context.workspace_shown,
        index_path=context.workspace.status().index_path,
        message=why_cancelled(answer, "The index has not changed."),
    )


# ---------------------------------------------------------------- look


def get_index_status(context: Context, params: NoParams) -> IndexStatus:
    """Returns the state of the workspace's index."""
    answer = context.workspace.status(up_to_date=not context.goes_on)
    return index_status(replace(answer, problems=tuple(context.problems_of(answer.problems))))


def _when_applied() -> str:
    later: dict[str, list[str]] = {}
    for one in DECLARATIONS:
        if not EFFECTS[one.effect].startswith("at once"):
            later.setdefault(EFFECTS[one.effect], []).append(one.key)
    return "; ".join(["Changes take effect at once", *(f"{', '.join(keys)} {when}" for when, keys in later.items())])


def _unusable_names(answer: ConfigAnswer) -> Iterator[str]:
    """Yields a sentence for a model that cannot be used, and for toolsets that do not exist: any text is allowed in
    these settings, so that a name that this version does not know is no damage to the rest."""
    if answer.model_problem:
        yield f"model is {shown.quoted(str(answer.config.get('model', '')))}: {answer.model_problem}"
    names = [name.strip().lower() for name in str(answer.config.get("toolsets", "")).split(",")]
    unknown = [name for name in names if name and name not in (*TOOLSETS, "all")]
    if unknown:
        yield f"toolsets names {shown.quoted(unknown[0])}; allowed: {', '.join(TOOLSETS)}, all."


def get_config(context: Context, params: NoParams) -> ConfigResult:
    """Returns the settings in force, the place of their config file and those of its values that cannot be used."""
    answer = context.workspace.config()
    if answer.exists:
        message = f"The config file is {answer.config_path}. {_when_applied()}."
    else:
        message = (
            "There is no config file yet: `create_index` writes one with the defaults."
            f" It will be {answer.config_path}."
        )
    problems = [*context.problems_of(answer.problems), *_unusable_names(answer)]
    if problems:
        message += f" {len(problems)} of the settings cannot be used; see problems."
    return ConfigResult(
        exists=answer.exists,
        config_path=answer.config_path,
        index_path=answer.index_path,
        config=answer.config if answer.exists else None,
        message=message,
        problems=problems,
        origins=answer.origins or None,
    )


def explain_path(context: Context, params: ExplainParams) -> PathExplanation:
    """Returns why a path is or is not indexed."""
    explanation = context.workspace.explain(params.path)
    return PathExplanation(
        path=explanation.path,
        indexed=explanation.decision.indexed,
        rule=explanation.decision.rule.value,
        detail=explanation.decision.detail,
        exists=explanation.exists,
        in_index=explanation.in_index,
        stale=explanation.stale,
        chunks=explanation.chunks,
        embedded=explanation.embedded,
        encoding=explanation.encoding or None,
        language=explanation.language or None,
        parser=explanation.parser or None,
        indexed_at=explanation.indexed_at or None,
        last_error=explanation.last_error or None,
    )


# ---------------------------------------------------------------- shared


def _existing(context: Context) -> StatusAnswer:
    status = context.workspace.status()
    if status.status == "not_found":
        raise IndexNotFound("`create_index` makes an index.")
    return status


def _is_damaged(status: StatusAnswer) -> bool:
    """Whether the index cannot be opened, so that its contents are unknown."""
    return status.status == "failed" and not status.generation


def _what_is_lost(status: StatusAnswer) -> str:
    if _is_damaged(status):
        where = shown.quoted(status.index_path)
        return f"The index at {where} cannot be read: {status.warning} Deleting removes what is left of it."
    held = f"{count(status.files, 'file')} and {count(status.chunks, 'chunk')}"
    return f"{held} at {shown.quoted(status.index_path)} are lost."


def _what_is_read(status: StatusAnswer, whole: bool) -> str:
    if _is_damaged(status):
        return f"All files are read again. The present index cannot be read: {status.warning}"
    if whole and status.patterns:
        return f"{_limited(status)}Every source file of the workspace is read and embedded."
    files = count(status.files, "file")
    return f"{files} will be read again; searches use the present index until the new one is done."


def _limited(status: StatusAnswer) -> str:
    return f"The present index holds only {patterns_in_words(status.patterns)}. " if status.patterns else ""


def patterns_in_words(patterns: Sequence[str]) -> str:
    """Returns the first patterns and how many more there are, for a question."""
    more = len(patterns) - _NAMED
    return ", ".join(map(shown.quoted, patterns[:_NAMED])) + (f" and {more:,} more" if more > 0 else "")


def unchanged(status: StatusAnswer) -> str:
    """Returns the state of the index after an answer of no."""
    return "No index was created." if status.status == "not_found" else "The index has not changed."


def refuse_while_indexing(status: StatusAnswer) -> None:
    """Raises `IndexingInProgress` while the index is busy, so that a person is not asked in vain."""
    if status.busy:
        raise IndexingInProgress(f"{status.progress_says or 'It has just begun'}; try again later.")


def _stats(report: BuildReport) -> BuildStats:
    return BuildStats(
        files_indexed=report.code.files,
        chunks_created=report.code.chunks,
        duration_ms=report.duration_ms,
        error_count=report.errors,
        unchanged_files=report.unchanged,
        chunks_embedded=report.embedded,
        files_removed=report.removed,
        files_withheld=report.withheld,
        values_masked=report.masked or None,
    )


def _docs_stats(report: BuildReport) -> DocsStats | None:
    if not report.docs.files:
        return None
    return DocsStats(files_indexed=report.docs.files, chunks_created=report.docs.chunks)


CREATE_INDEX = ToolSpec(
    name="create_index",
    family=FAMILY,
    summary="Create the search index of the workspace",
    params=NoParams,
    result=CreateResult,
    run=create_index,
    question=ask_to_create,
    declined=create_declined,
    read_only=False,
    idempotent=False,
)

GET_INDEX_STATUS = ToolSpec(
    name="get_index_status",
    family=FAMILY,
    summary="Show the state of the index",
    params=NoParams,
    result=IndexStatus,
    run=get_index_status,
    read_only=True,
    idempotent=True,
    rest=("/status",),
)

GET_CONFIG = ToolSpec(
    name="get_config",
    family=FAMILY,
    summary="Show the configuration of the index",
    params=NoParams,
    result=ConfigResult,
    run=get_config,
    read_only=True,
    idempotent=True,
    rest=("/config",),
)

REINDEX_PROJECT = ToolSpec(
    name="reindex_project",
    family=FAMILY,
    summary="Rebuild the whole index",
    params=ReindexParams,
    result=ReindexResult,
    run=reindex_project,
    question=ask_to_reindex,
    declined=reindex_declined,
    read_only=False,
    idempotent=True,
)

REINDEX_FILE = ToolSpec(
    name="reindex_file",
    family=FAMILY,
    summary="Index one file again",
    params=FileParams,
    result=ReindexFileResult,
    run=reindex_file,
    parameter_aliases={"path": "file_path"},
    read_only=False,
    idempotent=True,
)

DELETE_INDEX = ToolSpec(
    name="delete_index",
    family=FAMILY,
    summary="Delete the index",
    params=NoParams,
    result=DeleteResult,
    run=delete_index,
    question=ask_to_delete,
    declined=delete_declined,
    read_only=False,
    destructive=True,
    idempotent=False,
)

EXPLAIN_PATH = ToolSpec(
    name="explain_path",
    family=FAMILY,
    summary="Say why a path is or is not indexed",
    params=ExplainParams,
    result=PathExplanation,
    run=explain_path,
    parameter_aliases={"file_path": "path"},
    read_only=True,
    idempotent=True,
    rest=("/explain",),
)
