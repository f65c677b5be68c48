"""Finds git's files for a working tree: its git folder, `info/exclude`, the user's ignore file. Does not run git.

Working trees may come from strangers: `.git` may be a pipe, a device, or a pointer to anywhere.
"""

from __future__ import annotations

import contextlib
import os
import stat as modes
from collections.abc import Mapping
from pathlib import Path

from sidecar.parts.git_config import config_values
from sidecar.small_files import TooLarge, read_small_file, stat_if_there

_POINTER_BYTES = 8192
"""The maximum size of a file that holds one path or one commit."""


def read_note(path: Path) -> str:
    """Returns the text of one of git's one-line files; empty when it is missing, too large or not a regular file.

    Raises OSError when it cannot be read.
    """
    try:
        raw = read_small_file(path, _POINTER_BYTES) or b""
        return os.fsdecode(raw).strip()
    except (TooLarge, UnicodeDecodeError):
        return ""


def stamp_of(path: Path) -> tuple[int, int] | None:
    """Returns the size in bytes and the mtime in nanoseconds of one of git's files; None when they cannot be read."""
    with contextlib.suppress(OSError, ValueError):
        found = path.stat()
        return found.st_size, found.st_mtime_ns
    return None


def is_there(path: str | Path) -> bool:
    """Whether the path exists, following links.

    False when permissions forbid looking; raises OSError when it cannot be determined for another reason.
    """
    try:
        return stat_if_there(path) is not None
    except PermissionError:
        return False


def repository_above(root: str) -> str:
    """Returns the nearest folder at or above the root that has a `.git`; "" when none has."""
    start = Path(root)
    return next((str(folder) for folder in (start, *start.parents) if is_there(folder / ".git")), "")


def git_folder(tree: Path) -> Path | None:
    """Returns the git folder of a working tree: its `.git`, or the folder that `.git` names in a worktree or a
    submodule.

    None when there is no such folder. Raises OSError.
    """
    return git_folder_at(tree, str(tree / ".git"))


def git_folder_at(tree: Path, place: str) -> Path | None:
    """Like `git_folder`, with the path of its `.git`: every search calls this, mostly for folders without one, and
    joining paths takes longer than the stat."""
    found = stat_if_there(place)
    if found is None:
        return None
    marker = Path(place)
    if modes.S_ISDIR(found.st_mode):
        return marker
    text = read_note(marker)
    return tree / text.removeprefix("gitdir:").strip() if text.startswith("gitdir:") else None


def info_exclude(tree: str) -> str:
    """Returns the path of `info/exclude`, which all worktrees of a repository share; "" without a git folder.

    Raises OSError.
    """
    folder = git_folder(Path(tree))
    if folder is None:
        return ""
    return str(folder / (read_note(folder / "commondir") or ".") / "info" / "exclude")


def user_ignore_file(environment: Mapping[str, str]) -> str:
    """Returns the path of the user's global ignore file: `core.excludesFile`, else git's default place.

    Empty when no home folder is known. Does not follow `include` sections of git's configuration. Raises OSError, and
    TooLarge for a configuration file.
    """
    return _user_file(environment, "excludesfile", "ignore")


def user_attributes_file(environment: Mapping[str, str], repository_config: Path) -> str:
    """Returns the path of the attribute file outside of the repository: `core.attributesFile`, which the repository's
    own configuration may set too, else git's default place. Otherwise like `user_ignore_file`."""
    return _user_file(environment, "attributesfile", "attributes", str(repository_config))


def _user_file(environment: Mapping[str, str], setting: str, usual: str, *more: str) -> str:
    """Returns the path that `core.SETTING` has in the last of git's configuration files that sets it, else the one with
    the `usual` name. `more` are configuration files that come after the user's."""
    home = environment.get("HOME") or environment.get("USERPROFILE") or ""
    settings = environment.get("XDG_CONFIG_HOME") or (f"{home}/.config" if home else "")
    if "GIT_CONFIG_GLOBAL" in environment:
        places = [environment["GIT_CONFIG_GLOBAL"]]
    else:
        places = [f"{settings}/git/config" if settings else "", f"{home}/.gitconfig" if home else ""]
    system = [] if environment.get("GIT_CONFIG_NOSYSTEM") else ["/etc/gitconfig"]
    named = [value for place in (*system, *places, *more) if place and (value := _core_setting(place, setting))]
    if named:
        return named[-1].replace("~", home, 1) if named[-1].startswith("~/") else named[-1]
    return f"{settings}/git/{usual}" if settings else ""


def _core_setting(config: str, name: str) -> str:
    """Returns a setting of the section `core` of one git configuration file, by its name in lower case.

    Empty when it is not set, or when permissions forbid reading the file, which git then ignores too.
    """
    try:
        return next(reversed(config_values(config, f"core.{name}")), "")
    except PermissionError:
        return ""
