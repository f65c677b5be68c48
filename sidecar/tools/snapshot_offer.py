"""What an editor asks before it offers an index: which team snapshot a new one would start from; and how it makes one
without that snapshot.

No agent can call these: they are in no list of tools. Who makes an index takes the snapshot without looking first.
"""

from __future__ import annotations

from sidecar import shown
from sidecar.errors import SidecarError, SnapshotUnusable
from sidecar.tools.code_index import NoParams, ask_to_create, create_declined, created
from sidecar.tools.code_search import FAMILY
from sidecar.tools.context import Context
from sidecar.tools.dialect import CamelResult
from sidecar.tools.index_results import CreateResult
from sidecar.tools.spec import Params, ToolSpec


class FindSnapshotParams(Params):
    """`find_snapshot` has no parameters."""


class OfferedSnapshot(CamelResult):
    """The snapshot that a new index would start from. Nothing is set if the user's settings name no source.

    `branch` is the one that `commit` belongs to, if that is known; HEAD is `ahead` of it by so many commits. `made` is
    a time (ISO 8601) by its maker's clock. `reason`: why there is none at the source that the settings name; the other
    fields are not set then.
    """

    source: str | None = None
    commit: str | None = None
    branch: str | None = None
    ahead: int | None = None
    made: str | None = None
    bytes: int | None = None
    files: int | None = None
    reason: str | None = None


def find_snapshot(context: Context, params: FindSnapshotParams) -> OfferedSnapshot:
    """Looks at the list of snapshots. That there is none that fits is no error."""
    try:
        found = context.workspace.find_snapshot()
    except SnapshotUnusable as error:
        return OfferedSnapshot(reason=shown.sentence(error.detail))
    except SidecarError as error:
        return OfferedSnapshot(reason=shown.sentence(error.message))
    if found is None:
        return OfferedSnapshot()
    return OfferedSnapshot(
        source=found.source,
        commit=found.commit,
        branch=found.branch or None,
        ahead=found.ahead,
        made=found.made,
        bytes=found.size,
        files=found.files,
    )


FIND_SNAPSHOT = ToolSpec(
    name="find_snapshot",
    family=FAMILY,
    summary="Find the team snapshot that a new index would start from",
    params=FindSnapshotParams,
    result=OfferedSnapshot,
    run=find_snapshot,
    read_only=True,
    idempotent=True,
    apart=True,
)


def index_here(context: Context, params: NoParams) -> CreateResult:
    """Creates the workspace's index from its files alone."""
    return created(context, context.workspace.create(context.progress, context.cancelled, from_snapshot=False))


INDEX_HERE = ToolSpec(
    name="index_here",
    family=FAMILY,
    summary="Create the search index of the workspace without a team snapshot",
    params=NoParams,
    result=CreateResult,
    run=index_here,
    question=ask_to_create,
    declined=create_declined,
    read_only=False,
    idempotent=False,
)
