"""Team snapshots for the shell: making a snapshot of an index, and sending one to the team's folder or server.

No agent can call these: they are in no list of tools, because a snapshot contains what the sources contain.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sidecar import shown
from sidecar.model.answers import SnapshotRequest
from sidecar.settings.load import data_home, load_settings, user_config_file
from sidecar.shown import count
from sidecar.tools.assemble import own_environment
from sidecar.tools.code_search import FAMILY
from sidecar.tools.context import Context
from sidecar.tools.dialect import CamelResult
from sidecar.tools.lines import Line
from sidecar.tools.models import megabytes
from sidecar.tools.spec import Params, ToolSpec

AS_SECRET = "A snapshot is as secret as the sources: its words and vectors tell what they say."


class MakeParams(Params):
    """Parameters of `sidecar snapshot make`: absolute paths. `key` is the file of a private key; empty for none. `base`
    is a folder, an address or a file there; empty for a whole snapshot."""

    out: str
    texts: bool = False
    key: str = ""
    base: str = ""


class MadeSnapshot(CamelResult):
    """The snapshot that was made. `left_out`: indexed files that it does not hold, which each checkout reads itself.
    `base`: the SHA-256 of the whole snapshot that it adds to; empty if it is whole. `notice` says why it is, if a base
    was asked for."""

    path: str
    commit: str
    bytes: int
    files: int
    chunks: int
    left_out: int
    base: str
    notice: str

    def as_lines(self) -> Iterator[Line]:
        """Yields the lines that a shell prints on standard output."""
        yield f"{megabytes(self.bytes)} {shown.path(self.path)}"
        held = f"commit {self.commit[:10]}: {count(self.files, 'file')}, {count(self.chunks, 'chunk')}"
        yield f"{held}, {count(self.left_out, 'file')} left to each checkout" if self.left_out else held
        if self.base:
            yield f"added to the snapshot {self.base[:12]}, which it needs"

    def as_notes(self) -> Iterator[str]:
        """What a shell says of it on standard error."""
        if self.notice:
            yield self.notice
        yield AS_SECRET


def make_snapshot(context: Context, params: MakeParams) -> MadeSnapshot:
    """Makes a snapshot of the index in its present state."""
    key = Path(params.key) if params.key else None
    request = SnapshotRequest(Path(params.out), params.texts, key, params.base)
    made = context.workspace.make_snapshot(request, context.progress, context.cancelled)
    return MadeSnapshot(
        path=made.path,
        commit=made.commit,
        bytes=made.size,
        files=made.files,
        chunks=made.chunks,
        left_out=made.left_out,
        base=made.base,
        notice=made.notice,
    )


MAKE_SNAPSHOT = ToolSpec(
    name="make_snapshot",
    family=FAMILY,
    summary="Make a team snapshot of the index",
    params=MakeParams,
    result=MadeSnapshot,
    run=make_snapshot,
    read_only=True,
    idempotent=True,
)


@dataclass(frozen=True, slots=True)
class Pushed:
    """The outcome of `sidecar snapshot push`."""

    commit: str
    size: int
    target: str

    @property
    def value(self) -> dict[str, Any]:
        """The outcome as JSON-ready values."""
        return {"commit": self.commit, "bytes": self.size, "target": self.target}

    def as_lines(self) -> Iterator[Line]:
        """Yields one line: the size, the commit and the target."""
        yield f"{megabytes(self.size)} of commit {self.commit[:10]} are at {shown.path(self.target)}"


class OwnSnapshots:
    """The snapshots that were made on this machine, and the settings for sending them."""

    def __init__(self, flags: Mapping[str, object], env: Mapping[str, str] | None = None) -> None:
        known = own_environment() if env is None else env
        self.folder = data_home(known) / "snapshots"
        self._settings = load_settings(None, user_config_file(known), known, {}, flags)

    def push(self, folder: Path, target: str) -> Pushed:
        """Sends the newest snapshot of a folder. Raises the errors of `engine.team.push.push`."""
        from sidecar.engine.team.push import push

        return Pushed(*push(folder, target, self._settings))
