"""One name in a folder, as the disk has it: what is there, or why it could not be looked at."""

from __future__ import annotations

import errno
import os
import stat as modes
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from sidecar.model import Decision, Rule
from sidecar.parts.paths import disk_path
from sidecar.parts.pattern_index import TooManyRules

NOT_LOOKED_AT = (Rule.NOT_READ, Rule.UNREADABLE)
# What does not pass by itself.
_LASTING = (errno.EACCES, errno.EPERM, errno.ENAMETOOLONG, errno.ELOOP)
_LONGEST_NAME = 255
_REPARSE_MOUNT_POINT = 0xA0000003


@dataclass(frozen=True, slots=True)
class Entry:
    """`stat` is as lstat has it; None when there is nothing, or when `failure` says why it is not seen."""

    path: str
    name: str
    absolute: str
    is_folder: bool
    stat: os.stat_result | None
    failure: OSError | None = None


def entry_of(
    found: os.DirEntry[str], prefix: str, has: Callable[[str], bool], seen: set[str]
) -> tuple[Entry, Decision | None]:
    """A scanned name as an entry, and what is wrong with the name itself. Raises FileNotFoundError where it went."""
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
    try:
        name.encode()
    except UnicodeEncodeError:
        return entry, Decision(Rule.UNREADABLE, "its name is not valid UTF-8")
    if name in seen or (name != found.name and has(name)):
        return entry, Decision(Rule.UNREADABLE, "another file has this name in Unicode's normal form")
    seen.add(name)
    return entry, None


def entry_at(path: str, folder: str, is_last: bool) -> Entry:
    """The entry of one path on disk; a missing one counts as a folder when more of the path follows."""
    name = path.rsplit("/", 1)[-1]
    absolute = disk_path(folder, name)
    try:
        result = os.stat(absolute, follow_symlinks=False)  # noqa: PTH116
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return Entry(path, name, absolute, not is_last, None)
    except OSError as error:
        return Entry(path, name, absolute, False, None, error)
    return Entry(path, name, absolute, modes.S_ISDIR(result.st_mode) and not is_link(result), result)


def failed(error: Exception, name: str = "") -> Decision:
    """What is said of an entry whose looking at failed so. `name`: its own, where its path alone was tried."""
    if isinstance(error, TooManyRules):
        return Decision(Rule.TOO_MANY_RULES, str(error))
    if not isinstance(error, OSError):
        return Decision(Rule.UNREADABLE, str(error))
    reason = error.strerror or str(error)
    if error.errno == errno.ENAMETOOLONG and len(name.encode("utf-8", "replace")) > _LONGEST_NAME:
        return Decision(Rule.MISSING, reason)
    return Decision(Rule.UNREADABLE if error.errno in _LASTING else Rule.NOT_READ, reason)


def is_link(result: os.stat_result) -> bool:
    """A symbolic link, or a junction of Windows."""
    return modes.S_ISLNK(result.st_mode) or getattr(result, "st_reparse_tag", 0) == _REPARSE_MOUNT_POINT
