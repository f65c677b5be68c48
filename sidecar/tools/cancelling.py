"""How a person cancels the build of an index in any window that has the workspace open, whoever has begun it.

No agent can call it: it is in no list of tools.
"""

from __future__ import annotations

from sidecar.tools.code_index import NoParams
from sidecar.tools.code_search import FAMILY
from sidecar.tools.context import Context
from sidecar.tools.dialect import CamelResult
from sidecar.tools.spec import ToolSpec


class CancelledBuild(CamelResult):
    """Result of `cancel_indexing`. `cancelled` is false if this process builds nothing."""

    cancelled: bool


def cancel_indexing(context: Context, params: NoParams) -> CancelledBuild:
    """Cancels the job that builds the workspace's index, and returns when it has ended."""
    return CancelledBuild(cancelled=context.workspace.cancel(context.asked_by))


CANCEL_INDEXING = ToolSpec(
    name="cancel_indexing",
    family=FAMILY,
    summary="Cancel the job that builds the search index of the workspace",
    params=NoParams,
    result=CancelledBuild,
    run=cancel_indexing,
    read_only=False,
    idempotent=True,
    apart=True,
)
