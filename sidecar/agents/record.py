"""Remembers what was written into which file, so that exactly that text can be removed again.

It stores positions and a hash, never text: other programs' settings may contain passwords.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Sequence
from difflib import SequenceMatcher
from operator import index
from pathlib import Path
from typing import Any, NamedTuple

from sidecar.small_files import read_record, replace_file

_MAX_BYTES = 16 * 1024 * 1024

_COMPARED = 10_000
"""The most characters between two additions that are compared one by one; the time grows with their square."""


class Written(NamedTuple):
    """What was written into a file: its hash afterwards, the (start, end) of the added parts, and the path that was
    made.

    `made` is the file, or the outermost folder, that did not exist before; empty if the file existed.
    """

    after: str
    added: Sequence[tuple[int, int]]
    made: str

    @classmethod
    def of(cls, before: str, after: str, made: str) -> Written | None:
        """Returns the difference between two texts; None if something was replaced, or is too long to compare, which
        cannot be taken back."""
        added = _added(before, after)
        return None if added is None else cls(_hash(after), added, made)

    def taken_back(self, text: str) -> str | None:
        """Returns the text as it was before; None if it has changed since."""
        if _hash(text) != self.after:
            return None
        for start, end in reversed(self.added):
            text = text[:start] + text[end:]
        return text


class WriteRecord:
    """A file with one `Written` per settings file. A damaged or unwritable file counts as empty: without it, only the
    entry itself can be removed."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def of(self, file: Path) -> Written | None:
        """Returns the record of what was written into this file; None if there is no valid one."""
        entry = self._all().get(str(file))
        if not isinstance(entry, dict):
            return None
        try:
            added = [(index(start), index(end)) for start, end in entry["added"]]
            after, made = entry["after"], entry["made"]
        except (TypeError, KeyError, ValueError):
            return None
        return Written(after, added, made) if isinstance(after, str) and isinstance(made, str) else None

    def put(self, file: Path, written: Written | None) -> None:
        """Stores or, for None, forgets what was written into a file."""
        entries = self._all()
        entries.pop(str(file), None)
        if written is not None:
            entries[str(file)] = written._asdict()
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(self._path, (json.dumps(entries, indent=1) + "\n").encode(), 0o600)

    def _all(self) -> dict[str, Any]:
        return read_record(self._path, _MAX_BYTES)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _added(before: str, after: str) -> list[tuple[int, int]] | None:
    """Returns the parts of `after` that, when removed, give `before`; None if more than additions were made."""
    head = alike(before, after)
    tail = alike(before[head:][::-1], after[head:][::-1])
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    if not old:
        return [(head, head + len(new))]
    if len(old) > _COMPARED or len(new) > _COMPARED:
        return None
    steps = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    if any(step not in ("equal", "insert") for step, *_ in steps):
        return None
    return [(head + start, head + end) for step, _, _, start, end in steps if step == "insert"]


def alike(one: Sequence[object], other: Sequence[object]) -> int:
    """Returns the number of equal items at the beginning of two texts or lists. Compares whole slices, because a
    settings file may have megabytes."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
