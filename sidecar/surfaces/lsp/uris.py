"""Converts between file URIs and paths. URIs of other schemes (untitled, git, http) have no path."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote_to_bytes, urlsplit

_DRIVE = re.compile(r"/[A-Za-z]:")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")


def path_of(uri: str) -> str | None:
    """Returns the absolute path that a file URI names, without a trailing separator; None for any other URI."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme.lower() != "file":
        return None
    # `?` and `#` must be escaped in a path, but some clients do not escape them.
    raw = parts.path + (f"?{parts.query}" if parts.query else "") + (f"#{parts.fragment}" if parts.fragment else "")
    path = os.fsdecode(unquote_to_bytes(raw))
    if "\0" in path:
        return None
    if parts.netloc not in {"", "localhost"}:
        path = f"//{parts.netloc}{path}"
    elif _DRIVE.match(path):
        path = path[1].upper() + path[2:]
    return os.path.normpath(path) if path.startswith("/") or path[1:2] == ":" else None


def uri_of(path: str) -> str:
    """Returns the file URI of an absolute path."""
    return Path(path).as_uri()


def path_from(place: str) -> str | None:
    """Returns the path that a person or program has given as a file URI or an absolute path.

    Returns None if the text is neither.
    """
    if _SCHEME.match(place):
        return path_of(place)
    if "\0" in place or not Path(place).is_absolute():
        return None
    return os.path.normpath(place)
