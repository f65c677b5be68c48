"""Sends the newest team snapshot of a folder to another place."""

from __future__ import annotations

from pathlib import Path

from sidecar import shown
from sidecar.engine.team.team import sign_in_for
from sidecar.errors import SnapshotUnusable
from sidecar.settings.load import Settings


def push(folder: Path, target: str, settings: Settings) -> tuple[str, int, str]:
    """Stores the newest snapshot of `folder` at `target`, an address or the absolute path of a folder, then lists it
    there. Returns its commit, its size in bytes and the name of the target.

    Raises SnapshotUnusable, also if the setting offline forbids the network, DiskFull and PermissionDenied.
    """
    from sidecar.parts.team.container import name_of
    from sidecar.parts.team.places import FolderPlace, opened

    heads = FolderPlace(folder).heads()
    if not heads:
        raise SnapshotUnusable(f"{shown.place(folder)} holds none; `sidecar snapshot make` makes one.")
    if "://" in target and settings.offline:
        raise SnapshotUnusable("The setting offline forbids every network call, so nothing was sent.")
    newest = heads[0]
    file = folder / name_of(newest.sha256)
    if not file.is_file():
        raise SnapshotUnusable(f"{shown.place(file)} is listed there, but missing.")
    with opened(target, sign_in_for(target, settings), "The target") as place:
        place.put(file, newest)
        return newest.commit, newest.size, place.name
