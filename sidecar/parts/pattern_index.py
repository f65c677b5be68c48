"""Finds the last of many glob patterns that matches a path, without trying them all.

A pattern is filed under a piece that every path it matches must have: its whole path, its name, a part of its name, a
folder on the way. Most patterns of large files (`name`, `/a/path`, `*.ext`, `prefix*`) are decided by the piece alone;
the others are tried by a regular expression, and only on the paths that have the piece.

Not here: how a pattern becomes a regular expression (`ignore`, `globs`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal["name", "path", "suffix", "prefix", "within", "folder", "any"]

MAX_RULES_BYTES = 4 * 1024 * 1024
MAX_PATTERNS = 200_000
MAX_ALIKE = 500
"""Patterns under one piece that have to be tried: more would cost each path that has the piece too much."""

_SPECIAL = re.compile(r"[*?\[\\]")
_STAR_AND_LITERAL = re.compile(r"\*([^*?\[\\]+)")
_LITERAL_AND_STAR = re.compile(r"([^*?\[\\]+)\*")
_WITHIN = 4
_NEVER = re.compile(r"(?!)")


class TooManyRules(ValueError):
    """A file of rules is beyond what is gone by. None of its rules is: what it is about is left out whole."""


class Piece(NamedTuple):
    """What a path must have to be matched. `decides`: a path that has it is matched."""

    kind: Kind
    text: str
    decides: bool = False


_NONE = Piece("any", "")


def piece_of(body: str) -> Piece:
    """The piece of a glob in git's words. `body`: without the `!` before it and the `/` behind it."""
    special = _SPECIAL.search(body)
    anchored = "/" in body
    if not special and not anchored:
        return Piece("name", body, True)
    segments = body.removeprefix("/").split("/")
    last = segments[-1]
    if not all(segments):
        return _NONE
    if not special:
        return Piece("path", "/".join(segments), True)
    if not anchored and (found := _STAR_AND_LITERAL.fullmatch(last)):
        return Piece("suffix", found[1], True)
    if not anchored and (found := _LITERAL_AND_STAR.fullmatch(last)):
        return Piece("prefix", found[1], True)
    return _of_name(last) or _of_folders(segments[:-1]) or _NONE


def _of_name(segment: str) -> Piece | None:
    """By the longest run of characters that stand for themselves."""
    if not _SPECIAL.search(segment):
        return Piece("name", segment)
    if "\\" in segment:
        return None
    # What stands between the first and the last bracket may be in one.
    runs = re.split(r"\[.*\]|[*?]+", segment, flags=re.DOTALL)
    longest = max(range(len(runs)), key=lambda at: len(runs[at]))
    text = runs[longest]
    if not text or "[" in text:
        return None
    if longest == len(runs) - 1:
        return Piece("suffix", text)
    return Piece("prefix", text) if longest == 0 else Piece("within", text[:_WITHIN])


def _of_folders(segments: Sequence[str]) -> Piece | None:
    longest = max((s for s in segments if not _SPECIAL.search(s)), key=len, default="")
    return Piece("folder", longest) if longest else None


@dataclass(slots=True)
class Glob:
    """One pattern. `regex` makes of its text the expression that matches a path from its beginning, a folder's path
    ending in `/`; it is asked when there is a path to try, and raises ValueError where the pattern matches nothing."""

    piece: Piece
    folders_only: bool
    text: str
    regex: Callable[[str], str]
    _compiled: re.Pattern[str] | None = None

    def matches(self, path: str) -> bool:
        if self._compiled is None:
            try:
                self._compiled = re.compile(self.regex(self.text), re.DOTALL)
            except (re.error, ValueError, OverflowError):
                self._compiled = _NEVER
        return self._compiled.match(path) is not None


def within_bounds(globs: Iterable[Glob]) -> Iterator[Glob]:
    """The same, as long as they are few enough to be gone by. Raises TooManyRules."""
    alike: Counter[Piece] = Counter()
    for count, glob in enumerate(globs, 1):
        if not glob.piece.decides:
            alike[glob.piece] += 1
            if alike[glob.piece] > MAX_ALIKE:
                raise TooManyRules(f"more than {MAX_ALIKE} of its patterns with wildcards are alike")
        if count > MAX_PATTERNS:
            raise TooManyRules(f"it has more than {MAX_PATTERNS:,} patterns")
        yield glob


@dataclass(slots=True)
class _Filed:
    """Numbers of patterns by piece. `sure`: the last one that is for folders and files, the last for folders only."""

    sure: dict[str, tuple[int, int]] = field(default_factory=dict)
    to_try: dict[str, list[int]] = field(default_factory=dict)

    def add(self, number: int, glob: Glob) -> None:
        if not glob.piece.decides:
            self.to_try.setdefault(glob.piece.text, []).append(number)
            return
        both, folders = self.sure.get(glob.piece.text, (-1, -1))
        self.sure[glob.piece.text] = (both, number) if glob.folders_only else (number, folders)

    def lengths(self) -> list[int]:
        return sorted({len(text) for text in (*self.sure, *self.to_try)})


class PatternIndex:
    """Patterns in the order of their file. Not for several threads at once. Raises TooManyRules where it is made."""

    def __init__(self, globs: Sequence[Glob]) -> None:
        self._globs = globs
        self._filed: dict[Kind, _Filed] = {}
        for number, glob in enumerate(within_bounds(globs)):
            self._filed.setdefault(glob.piece.kind, _Filed()).add(number, glob)
        self._lengths = {kind: filed.lengths() for kind, filed in self._filed.items()}

    def last_match(self, path: str, is_folder: bool) -> int | None:
        """The number of the last pattern that matches this very path."""
        best, to_try = -1, set[int]()
        for filed, text in self._pieces_of(path):
            both, folders = filed.sure.get(text, (-1, -1))
            best = max(best, both, folders if is_folder else -1)
            to_try.update(filed.to_try.get(text, ()))
        asked = f"{path}/" if is_folder else path
        for number in sorted(to_try, reverse=True):
            if number <= best:
                break
            if self._globs[number].matches(asked):
                return number
        return best if best >= 0 else None

    def _pieces_of(self, path: str) -> Iterator[tuple[_Filed, str]]:
        *folders, name = path.split("/")
        for kind, filed in self._filed.items():
            for text in _texts(kind, path, folders, name, self._lengths[kind]):
                yield filed, text


def _texts(kind: Kind, path: str, folders: Sequence[str], name: str, lengths: Sequence[int]) -> Sequence[str]:
    """What a path has to offer of a kind."""
    match kind:
        case "suffix":
            return [name[-length:] for length in lengths if length <= len(name)]
        case "prefix":
            return [name[:length] for length in lengths if length <= len(name)]
        case "within":
            return [name[at : at + length] for length in lengths for at in range(len(name) - length + 1)]
        case "folder":
            return folders
        case _:
            return [{"name": name, "path": path}.get(kind, "")]
