"""Tells which files git may store in another form than they have on disk. Strangers may have written the attribute
files.

Only a filter and another encoding count. Git's other conversions (line ends, `$Id$`) make a file shorter or leave it as
it is, so a file with as many bytes as its blob has the same bytes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from sidecar.parts.git_places import read_note, user_attributes_file
from sidecar.parts.ignore import RuleFile, parse_patterns
from sidecar.parts.pattern_index import MAX_RULES_BYTES
from sidecar.small_files import read_small_file

ATTRIBUTES = ".gitattributes"
_CONVERTING = ("filter", "working-tree-encoding")
_MACRO = "[attr]"


class Conversions:
    """The converting attributes of one working tree. The file of a folder is read when a path below it is asked for.
    `folder` is the tree's git folder.

    Its methods raise OSError, TooLarge, TooManyRules and UnicodeDecodeError for attribute files that cannot be read.
    """

    def __init__(self, tree: str, folder: Path) -> None:
        shared = folder / (read_note(folder / "commondir") or ".")
        users = user_attributes_file(os.environ, shared / "config")
        outside = (shared / "info" / "attributes", users, "/etc/gitattributes")
        self._everywhere = [rules for place in outside if place and (rules := _rules(place, ""))]
        self._tree = Path(tree)
        self._of_folder = cache(self._read)

    def may_convert(self, path: str) -> bool:
        """Whether git may convert this file, given relative to the tree."""
        inside = (rules for folder in _folders(path) for rules in self._of_folder(folder))
        return any(rules.last_match(path, False) is not None for rules in (*self._everywhere, *inside))

    def _read(self, folder: str) -> tuple[RuleFile, ...]:
        found = _rules(self._tree / folder / ATTRIBUTES, folder and folder + "/")
        return () if found is None else (found,)


def _folders(path: str) -> Iterator[str]:
    """Yields the folders of a path, from its own to the root, which is the empty string."""
    while path:
        path = path.rpartition("/")[0]
        yield path


def _rules(place: str | Path, prefix: str) -> RuleFile | None:
    """Returns the patterns of one attribute file that may convert; None if there are none."""
    text = (read_small_file(place, MAX_RULES_BYTES) or b"").decode("utf-8")
    patterns = [_pattern(line.strip()) for line in text.splitlines() if any(word in line for word in _CONVERTING)]
    wanted = [pattern for pattern in patterns if not pattern.startswith("#")]
    return RuleFile(str(place), prefix, parse_patterns("\n".join(wanted))) if wanted else None


def _pattern(line: str) -> str:
    """Returns the pattern of a line. For a macro, which other lines may use, and for a quoted or negative pattern, it
    is one that matches every file."""
    return "*" if line.startswith((_MACRO, '"', "!")) else line.split(maxsplit=1)[0]
