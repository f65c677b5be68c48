"""Recognises sidecar's own data folders: the one in use, and those of other installations and settings.

Their content is made from the files of workspaces, or is private to sidecar. It is never searched as a workspace.
"""

from __future__ import annotations

import re
from pathlib import Path

UNFINISHED = ".sidecar-"
"""What the name of a file or folder begins with while sidecar writes it in a folder that may be in a workspace."""
_OWN = frozenset({"indexes", "vectors", "run", "logs", "models", "serve", "bases"})
"""The folders that sidecar makes in a data folder."""
_INDEX = re.compile(r"\.?[0-9a-f]{32}(\.deleted-\d+)?")
_OF_AN_INDEX = ("generations", "current", "lock", "config.json", "memories", "documents")


def data_folder_of(folder: str, home: Path | None = None) -> str:
    """Returns the data folder that `folder` is, or to whose own folders (`_OWN`) it belongs; empty if there is none.

    `folder` is absolute and without links; `home` is a data folder that may still be empty. Other folders in a data
    folder do not count: a project in a home directory that serves as data folder can be searched.
    """
    here = Path(folder)
    if is_data_folder(here, home):
        return folder
    for inner in (here, *here.parents):
        if inner.name in _OWN and is_data_folder(inner.parent, home):
            return str(inner.parent)
    return ""


def is_own_folder(folder: str) -> bool:
    """Whether this is one of sidecar's own folders in a data folder."""
    head, _, name = folder.rpartition("/")
    return name in _OWN and is_data_folder(Path(head or "/"))


def is_data_folder(folder: Path, home: Path | None = None) -> bool:
    """Whether sidecar keeps data in this folder, judged by its content. False for a folder that cannot be read."""
    if folder == home:
        return True
    try:
        if (folder / "vectors" / "vectors.sqlite").is_file() and (folder / "indexes").is_dir():
            return True
        if any(lock.with_suffix(".start").exists() for lock in (folder / "run").glob("daemon-*.lock")):
            return True
        return any(map(_is_index, (folder / "indexes").iterdir()))
    except OSError:
        return False


def _is_index(folder: Path) -> bool:
    return _INDEX.fullmatch(folder.name) is not None and any((folder / name).exists() for name in _OF_AN_INDEX)
