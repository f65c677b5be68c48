"""Recognises sidecar's own data folders, wherever they are: the one in use, and those of other settings.

What is in them is made from the files of workspaces, or is private to sidecar. It is never a workspace itself.
"""

from __future__ import annotations

import re
from pathlib import Path

_OWN = frozenset({"indexes", "vectors", "run", "logs", "models", "serve", "bases"})
"""The folders that sidecar makes in a data folder."""
_INDEX = re.compile(r"\.?[0-9a-f]{32}(\.deleted-\d+)?")
_OF_AN_INDEX = ("generations", "current", "lock", "config.json", "memories", "documents")


def data_folder_of(folder: str, home: Path | None = None) -> str:
    """The data folder that `folder` is, or in whose own folders it lies; empty if it is neither.

    `folder` is absolute and without links; `home` is a data folder that may be empty as yet. A folder beside sidecar's
    own in a data folder, such as a project below a home directory that serves as one, is a folder like any other.
    """
    here = Path(folder)
    if is_data_folder(here, home):
        return folder
    for inner in (here, *here.parents):
        if inner.name in _OWN and is_data_folder(inner.parent, home):
            return str(inner.parent)
    return ""


def is_own_folder(folder: str) -> bool:
    """Whether sidecar has made this folder in a data folder."""
    head, _, name = folder.rpartition("/")
    return name in _OWN and is_data_folder(Path(head or "/"))


def is_data_folder(folder: Path, home: Path | None = None) -> bool:
    """Whether sidecar keeps data in this folder, as what is in it shows. A folder that cannot be read is none."""
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
