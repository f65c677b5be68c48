"""The normal form of a root folder, and relative paths that stay inside it.

Which paths are indexed is decided in `ignore` and `walk`.
"""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from pathlib import Path

from sidecar import errors, shown

PROJECT_MARKERS = (".git", "package.json", "pyproject.toml", "Cargo.toml", "go.mod")
"""Names that mark the folder that holds them as a project's root."""

# Zero-width characters, direction marks, the byte order mark: invisible, so in a path only by accident or malice.
_INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff]")
_DRIVE = re.compile(r"^[A-Za-z]:")


# ---------------------------------------------------------------- roots


def path_here(text: str) -> str:
    """Returns the absolute path that this process's user means by `text`, with `~` expanded and links resolved.

    Only the process in which the user has written the path may call this, because others have another working
    directory. Raises WorkspaceNotFound for an empty path, for one with a NUL character, and when the working directory
    or the home folder cannot be determined.
    """
    _check(text)
    try:
        return os.path.realpath(Path(text).expanduser())
    except (OSError, RuntimeError) as error:
        raise errors.WorkspaceNotFound(
            f"{shown.place(text)} cannot be resolved: the current folder no longer exists, or the home folder"
            " is unknown. Give an absolute path."
        ) from error


def normalise_root(path: str) -> str:
    """Returns the canonical form of a folder's absolute path: links resolved, no trailing separator.

    The folder need not exist. Raises WorkspaceNotFound for an empty path, for one with a NUL character, and for one
    that is relative or begins with `~`, because that may mean another folder in the process in which it was written.
    """
    _check(path)
    if not os.path.isabs(path):  # noqa: PTH117
        raise errors.WorkspaceNotFound(f"{shown.place(path)} is not an absolute path. Give the whole path.")
    root = os.path.realpath(path)
    return root[0].upper() + root[1:] if _DRIVE.match(root) else root


def _check(path: str) -> None:
    if not path or "\0" in path:
        raise errors.WorkspaceNotFound("The workspace path is empty or contains a NUL character.")


def index_id(root: str) -> str:
    """Returns the name of a root's index directory: the first 32 hex digits of the SHA-256 of the normalised root."""
    spelling = unicodedata.normalize("NFC", normalise_root(root))
    return hashlib.sha256(spelling.encode("utf-8", "surrogateescape")).hexdigest()[:32]


def find_project_root(start: str) -> str:
    """Returns the nearest folder at or above `start` that holds a project marker; `start` itself, or its folder for a
    file, when none does.
    """
    origin = Path(normalise_root(start))
    if origin.is_file():
        origin = origin.parent
    for folder in (origin, *origin.parents):
        if any(os.path.exists(folder / marker) for marker in PROJECT_MARKERS):  # noqa: PTH110  which raises in 3.11
            return str(folder)
    return str(origin)


# ---------------------------------------------------------------- relative paths


def relative_path(root: str, user_path: str) -> str:
    """Returns a path that a person or an agent has written as the index spells it: relative to the root, `/`-separated,
    NFC.

    Accepts a relative path, or an absolute one inside the root; the root itself is "". Raises PathTraversal when the
    path leaves the root or cannot be a path, InvalidParams when it is empty or not valid Unicode. Links below the root
    are not followed; `read` does that.
    """
    text = unicodedata.normalize("NFC", _INVISIBLE.sub("", user_path))
    if not text:
        raise errors.InvalidParams("The path is empty; give a path relative to the workspace.")
    if "\0" in text:
        raise errors.PathTraversal("The path contains a NUL character.")
    if text != storable(text):
        raise errors.InvalidParams(
            f"{shown.place(storable(user_path))} is not valid Unicode; no file of that name is indexed."
        )
    text = text.replace(os.sep, "/")
    if text.startswith("/") or (os.name == "nt" and _DRIVE.match(text)):
        text = _below(root, text, user_path)
    elif _DRIVE.match(text) or text.startswith("\\\\"):
        raise errors.PathTraversal(f"{shown.place(user_path)} names a drive; give a path relative to the workspace.")
    if ".." in text.replace("\\", "/").split("/") and "\\" in text:
        raise errors.PathTraversal(f"{shown.place(user_path)} leaves the workspace.")
    return "/".join(_resolved_parts(text, user_path))


def _below(root: str, absolute: str, user_path: str) -> str:
    """Returns the part of an absolute path below the root. The path may reach the root through a link."""
    base = unicodedata.normalize("NFC", normalise_root(root)).replace(os.sep, "/")
    parent, name = os.path.split(absolute.rstrip("/") or "/")
    resolved = unicodedata.normalize("NFC", os.path.realpath(parent)).replace(os.sep, "/")
    for candidate in (os.path.normpath(absolute).replace(os.sep, "/"), f"{resolved.rstrip('/')}/{name}"):
        if candidate == base or os.path.realpath(candidate) == base:
            return ""
        if candidate.startswith(base.rstrip("/") + "/"):
            return candidate[len(base.rstrip("/")) + 1 :]
    raise errors.PathTraversal(f"{shown.place(user_path)} is outside the workspace {shown.place(root)}.")


def _resolved_parts(text: str, user_path: str) -> list[str]:
    parts: list[str] = []
    for part in text.split("/"):
        if part == "..":
            if not parts:
                raise errors.PathTraversal(f"{shown.place(user_path)} leaves the workspace.")
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return parts


def storable(text: str) -> str:
    """Returns the text with unpaired surrogates, as in names that are not UTF-8, escaped, so that it can be stored and
    printed.
    """
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def packed_path(path: str) -> str | bytes:
    """Returns a whole path as SQLite can hold it: as bytes if it is not valid Unicode."""
    return path if path == storable(path) else os.fsencode(path)


def unpacked_path(packed: object) -> str:
    """Returns the path that `packed_path` packed; empty for None."""
    return os.fsdecode(packed) if isinstance(packed, bytes) else str(packed or "")


def disk_path(root: str, path: str) -> str:
    """Returns the absolute path on disk of an NFC relative path, whose names may be in another normal form on disk, or
    not valid Unicode, which the path then spells as `storable` does.

    If nothing on disk matches, this is the root joined with the path.
    """
    plain = os.path.join(root, *path.split("/")) if path else root  # noqa: PTH118  (hot; strings throughout)
    if (path.isascii() and "\\" not in path) or os.path.lexists(plain):
        return plain
    folder = root
    for part in path.split("/"):
        found = _spelling(folder, part)
        if found is None:
            return plain
        folder = os.path.join(folder, found)  # noqa: PTH118
    return folder


def _spelling(folder: str, name: str) -> str | None:
    try:
        names = os.listdir(folder)  # noqa: PTH208
    except OSError:
        return None
    if name in names:
        return name
    return next((other for other in sorted(names) if storable(unicodedata.normalize("NFC", other)) == name), None)
