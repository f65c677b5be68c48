"""What a path means: the root's normal form and relative paths that stay inside it. Globs come along from `globs`.

Not here: which paths are indexed (`ignore`, `walk`) and what is in the files.
"""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
from pathlib import Path

from sidecar import errors
from sidecar.parts.globs import check_glob, compile_glob

__all__ = [
    "check_glob",
    "compile_glob",
    "disk_path",
    "find_project_root",
    "index_id",
    "normalise_root",
    "relative_path",
    "storable",
]

PROJECT_MARKERS = (".git", "package.json", "pyproject.toml", "Cargo.toml", "go.mod")

# Zero-width characters, direction marks, the byte order mark: invisible, so only there by accident or malice.
_INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff]")
_DRIVE = re.compile(r"^[A-Za-z]:")


# ---------------------------------------------------------------- roots


def normalise_root(path: str) -> str:
    """The one absolute spelling of a folder: `~` expanded, links resolved, no trailing separator.

    The folder need not exist. Raises WorkspaceNotFound for a path that no file system can have.
    """
    if not path or "\0" in path:
        raise errors.WorkspaceNotFound("The workspace path is empty or holds a NUL character.")
    root = os.path.realpath(Path(path).expanduser())
    return root[0].upper() + root[1:] if _DRIVE.match(root) else root


def index_id(root: str) -> str:
    """The first 32 hex digits of SHA-256 over the normalised root: the name of its index directory."""
    spelling = unicodedata.normalize("NFC", normalise_root(root))
    return hashlib.sha256(spelling.encode("utf-8", "surrogateescape")).hexdigest()[:32]


def find_project_root(start: str) -> str:
    """The nearest folder at or above `start` that holds a project marker; `start` itself when there is none."""
    origin = Path(normalise_root(start))
    if origin.is_file():
        origin = origin.parent
    for folder in (origin, *origin.parents):
        if any(os.path.exists(folder / marker) for marker in PROJECT_MARKERS):  # noqa: PTH110  which raises in 3.11
            return str(folder)
    return str(origin)


# ---------------------------------------------------------------- relative paths


def relative_path(root: str, user_path: str) -> str:
    """A path as a person or an agent wrote it, as the index spells it: relative to the root, `/`, NFC.

    Takes a relative path or an absolute one inside the root; the root itself is "". Raises PathTraversal when it
    leaves the root or cannot be a path, InvalidParams when it is empty. Links are not looked at: reading does that.
    """
    text = unicodedata.normalize("NFC", _INVISIBLE.sub("", user_path))
    if not text:
        raise errors.InvalidParams("The path is empty; give a path relative to the workspace.")
    if "\0" in text:
        raise errors.PathTraversal("The path holds a NUL character.")
    if text != storable(text):
        raise errors.InvalidParams(f"{storable(user_path)!r} is not valid Unicode; no file of that name is indexed.")
    text = text.replace(os.sep, "/")
    if text.startswith("/") or (os.name == "nt" and _DRIVE.match(text)):
        text = _below(root, text, user_path)
    elif _DRIVE.match(text) or text.startswith("\\\\"):
        raise errors.PathTraversal(f"{user_path!r} names a drive; give a path relative to the workspace.")
    if ".." in text.replace("\\", "/").split("/") and "\\" in text:
        raise errors.PathTraversal(f"{user_path!r} leaves the workspace.")
    return "/".join(_resolved_parts(text, user_path))


def _below(root: str, absolute: str, user_path: str) -> str:
    """The part of an absolute path below the root, which it may reach through a link to the root."""
    base = unicodedata.normalize("NFC", normalise_root(root)).replace(os.sep, "/")
    parent, name = os.path.split(absolute.rstrip("/") or "/")
    resolved = unicodedata.normalize("NFC", os.path.realpath(parent)).replace(os.sep, "/")
    for candidate in (os.path.normpath(absolute).replace(os.sep, "/"), f"{resolved.rstrip('/')}/{name}"):
        if candidate == base or os.path.realpath(candidate) == base:
            return ""
        if candidate.startswith(base.rstrip("/") + "/"):
            return candidate[len(base.rstrip("/")) + 1 :]
    raise errors.PathTraversal(f"{user_path!r} is outside the workspace {root}.")


def _resolved_parts(text: str, user_path: str) -> list[str]:
    parts: list[str] = []
    for part in text.split("/"):
        if part == "..":
            if not parts:
                raise errors.PathTraversal(f"{user_path!r} leaves the workspace.")
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return parts


def storable(text: str) -> str:
    """Text that can be stored and printed, even where it is a name that is not UTF-8 or holds half a character."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def disk_path(root: str, path: str) -> str:
    """The absolute path of an NFC relative path on disk, where a name may be spelled in another normal form.

    When nothing on disk answers to it, the plain join.
    """
    plain = os.path.join(root, *path.split("/")) if path else root  # noqa: PTH118  (hot; strings throughout)
    if path.isascii() or os.path.lexists(plain):
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
    return next((other for other in sorted(names) if unicodedata.normalize("NFC", other) == name), None)
