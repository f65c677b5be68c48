"""The tool behind `sidecar index`: creates the index or brings it up to date.

No agent can call it: it is in no list of tools. Typing the command is itself a person's wish, so it asks only if the
setting `confirm` is `always`.
"""

from __future__ import annotations

import time
from dataclasses import replace

from sidecar.tools.code_index import ReindexParams, create_declined, question_to_create, question_to_rebuild
from sidecar.tools.code_search import FAMILY
from sidecar.tools.context import Context
from sidecar.tools.index_results import CreateResult, UpdateResult
from sidecar.tools.spec import Question, ToolSpec


class RefreshParams(ReindexParams):
    """Parameters of `sidecar index` and `sidecar snapshot get`. `snapshot`: see `model.Workspace.refresh`."""

    snapshot: str | None = None


def refresh(context: Context, params: RefreshParams) -> UpdateResult:
    """Creates the index or brings it up to date, and finishes the model upgrade."""
    started = time.monotonic()
    report = context.workspace.refresh(context.progress, context.cancelled, params.whole, params.snapshot)
    return UpdateResult.of(context.workspace_shown, report, time.monotonic() - started)


def ask_to_refresh(context: Context, params: RefreshParams) -> Question | None:
    """Returns the question of `sidecar index`; None if the index only needs to be brought up to date, which also
    happens without a question when files change."""
    status = context.workspace.status()
    grows = params.whole and bool(status.patterns)
    if status.status == "indexing" or (status.generation and not grows):
        return None
    damaged = status.status != "not_found" and not grows
    asked = question_to_rebuild(context, status) if damaged else question_to_create(context, status)
    return replace(asked, only_always=True)


REFRESH = ToolSpec(
    name="index",
    family=FAMILY,
    summary="Create the index or bring it up to date",
    params=RefreshParams,
    result=UpdateResult,
    other_results=(CreateResult,),
    run=refresh,
    question=ask_to_refresh,
    declined=create_declined,
    read_only=False,
    idempotent=True,
)
