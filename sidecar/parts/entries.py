"""One name in a folder on disk: whether it is a file, a folder or a link, or why that could not be determined."""

from __future__ import annotations

import errno
import os
import stat as modes
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from sidecar.model.files import Decision, Rule
from sidecar.parts.paths import disk_path, storable
from sidecar.parts.pattern_index import TooManyRules

NOT_LOOKED_AT = (Rule.NOT_READ, Rule.UNREADABLE)
"""The rules for paths that could not be examined."""
# Errors that will not go away by themselves.
_LASTING = (errno.EACCES, errno.EPERM, errno.ENAMETOOLONG, errno.ELOOP, errno.EILSEQ)
_NO_UTF8 = "its name is not valid UTF-8"
_LONGEST_NAME = 255
_REPARSE_MOUNT_POINT = 0xA0000003


@dataclass(frozen=True, slots=True)
class Entry:
    """One path on disk. `stat` is from lstat; None when nothing has this name, or when `failure` says why it could not
    be examined."""

    path: str
    name: str
    absolute: str
    is_folder: bool
    stat: os.stat_result | None
    failure: OSError | None = None


def entry_of(
    found: os.DirEntry[str], prefix: str, has: Callable[[str], bool], seen: set[str]
) -> tuple[Entry, Decision | None]:
    """Returns the entry of a scanned name, and a decision if the name itself cannot be used, else None.

    `prefix` is the folder's path with its `/`; `has` says whether the folder has a name, and `seen` collects the
    non-ASCII names met so far. Raises FileNotFoundError when the name has disappeared.
    """
    name = found.name if found.name.isascii() else unicodedata.normalize("NFC", found.name)
    result, failure = None, None
    try:
        result = found.stat(follow_symlinks=False)
        is_folder = modes.S_ISDIR(result.st_mode) and not is_link(result)
    except FileNotFoundError:
        raise
    except OSError as error:
        is_folder, failure = found.is_dir(follow_symlinks=False), error
    entry = Entry(prefix + name, name, found.path, is_folder, result, failure)
    if name.isascii():
        return entry, None
    if not _is_unicode(name):
        return entry, Decision(Rule.UNREADABLE, _NO_UTF8)
    if name in seen or (name != found.name and has(name)):
        return entry, Decision(Rule.UNREADABLE, "another file has this name in Unicode's normal form")
    seen.add(name)
    return entry, None


def entry_at(path: str, folder: str, is_last: bool) -> Entry:
    """Returns the entry of one path on disk. A missing one counts as a folder unless the path ends with it
    (`is_last`)."""
    name = path.rsplit("/", 1)[-1]
    absolute = disk_path(folder, name)
    try:
        result = os.stat(absolute, follow_symlinks=False)  # noqa: PTH116
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return Entry(path, name, absolute, not is_last, None)
    except OSError as error:
        return Entry(path, name, absolute, False, None, error)
    if not _is_unicode(absolute):
        return Entry(path, name, absolute, False, None, OSError(errno.EILSEQ, _NO_UTF8))
    return Entry(path, name, absolute, modes.S_ISDIR(result.st_mode) and not is_link(result), result)


def is_there(root: str, path: str) -> bool:
    """Whether anything exists at this path below `root`. Links are not followed: a path behind one does not exist."""
    names, folder = path.strip("/").split("/"), root
    for depth in range(1, len(names) + 1):
        entry = entry_at("/".join(names[:depth]), folder, depth == len(names))
        if entry.stat is None:
            return entry.failure is not None
        if depth < len(names) and not entry.is_folder:
            return False
        folder = entry.absolute
    return True


def is_real_folder(root: str, path: str) -> bool:
    """Whether a path below `root` is a folder and no link. False if that cannot be found out."""
    try:
        return entry_at(path, os.path.dirname(disk_path(root, path)), True).is_folder  # noqa: PTH120
    except (OSError, ValueError):
        return False


def _is_unicode(path: str) -> bool:
    """Whether the last name of a path is valid Unicode."""
    name = os.path.basename(path)  # noqa: PTH119
    return name == storable(name)


def failed(error: Exception, name: str = "") -> Decision:
    """Returns the decision on an entry that could not be examined because of `error`.

    `name` is the entry's own name, if known. A name that is longer than any file system allows counts as missing.
    """
    if isinstance(error, TooManyRules):
        return Decision(Rule.TOO_MANY_RULES, str(error))
    if not isinstance(error, OSError):
        return Decision(Rule.UNREADABLE, str(error))
    reason = error.strerror or str(error)
    if error.errno == errno.ENAMETOOLONG and len(name.encode("utf-8", "replace")) > _LONGEST_NAME:
        return Decision(Rule.MISSING, reason)
    return Decision(Rule.UNREADABLE if error.errno in _LASTING else Rule.NOT_READ, reason)


def is_link(result: os.stat_result) -> bool:
    """Whether this is a symbolic link, or a junction on Windows."""
    return modes.S_ISLNK(result.st_mode) or getattr(result, "st_reparse_tag", 0) == _REPARSE_MOUNT_POINT
