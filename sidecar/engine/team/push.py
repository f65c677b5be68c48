"""Sends the newest team snapshot of a folder to another place."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sidecar import shown
from sidecar.engine.team.sources import sign_in_for
from sidecar.errors import SnapshotUnusable
from sidecar.settings.load import Settings

if TYPE_CHECKING:
    from sidecar.parts.team.heads import Head, Stored


def push(folder: Path, target: str, settings: Settings) -> tuple[str, int, str]:
    """Stores the newest snapshot of `folder` at `target`, an address or the absolute path of a folder, and lists it
    there. If the target lacks its base, stores that first. Returns the commit, the size in bytes and the name of the
    target.

    Raises DiskFull, PermissionDenied, and SnapshotUnusable, also if the setting offline forbids the network.
    """
    from sidecar.parts.team.places import FolderPlace, opened

    heads = FolderPlace(folder).heads()
    if not heads:
        raise SnapshotUnusable(f"{shown.place(folder)} holds none; `sidecar snapshot make` makes one.")
    if "://" in target and settings.offline:
        raise SnapshotUnusable("The setting offline forbids every network call, so nothing was sent.")
    newest = heads[0]
    with opened(target, sign_in_for(target, settings), "The target") as place:
        if newest.base is not None and newest.base not in _held(place.heads()):
            base = next((head for head in heads if head.needs == (newest.base,)), None)
            if base is None:
                raise SnapshotUnusable(
                    f"It adds to the snapshot {newest.base.sha256[:12]}, which {shown.reason(place.name)} does not"
                    " have. Push to where --base took it from, or make a whole one."
                )
            place.put(_file(folder, base), base)
        place.put(_file(folder, newest), newest)
        return newest.commit, newest.size, place.name


def _held(heads: Sequence[Head]) -> set[Stored]:
    return {stored for head in heads for stored in head.needs}


def _file(folder: Path, head: Head) -> Path:
    from sidecar.parts.team.container import name_of, sha256_of

    file = folder / name_of(head.sha256)
    try:
        is_whole = sha256_of(file) == head.sha256
    except OSError as error:
        raise SnapshotUnusable(f"{shown.place(file)} is listed there, but missing.") from error
    if not is_whole:
        raise SnapshotUnusable(f"{shown.place(file)} is damaged, so nothing was sent. Make the snapshot again.")
    return file
