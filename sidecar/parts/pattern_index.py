"""Finds the last of many glob patterns that matches a path, without trying them all.

Each pattern is filed under a piece that every path it matches must have: its whole path, its name, a part of its name,
or a folder above it. For most patterns of large files (`name`, `/a/path`, `*.ext`, `prefix*`) the piece alone decides.
The others are tried as regular expressions, and only on paths that have the piece.

`ignore` and `classify` turn patterns into regular expressions.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias, TypeVar

T = TypeVar("T")
Kind: TypeAlias = Literal["name", "path", "suffix", "prefix", "within", "folder", "any"]

MAX_RULES_BYTES = 4 * 1024 * 1024
"""The maximum size of a file of rules."""
MAX_PATTERNS = 200_000
"""The maximum number of patterns of one file."""
MAX_ALIKE = 500
"""The maximum number of patterns to try under one piece: more would make each path that has the piece too slow."""

MAX_ALIKE_CHARS = 16 * 1024
"""The maximum length of those patterns together: making expressions of that many characters takes some 0.2 s."""
MAX_TRIED_CHARS = 1280 * 1024
"""The maximum length of all patterns of one file, together, that may have to be tried."""

_SPECIAL = re.compile(r"[*?\[\\]")
_STAR_AND_LITERAL = re.compile(r"\*([^*?\[\\]+)")
_LITERAL_AND_STAR = re.compile(r"([^*?\[\\]+)\*")
_WITHIN = 4
"""The maximum length of a piece from the middle of a name."""
_NEVER = re.compile(r"(?!)")


_SLICE = 64
_PAUSE_S = 0.0005


def in_slices(items: Iterable[T]) -> Iterator[T]:
    """The items. After every few of them, other threads of this process run, if they want to.

    Many lines take a second of Python, and a search that another thread makes meanwhile would wait for the interpreter
    for 5 ms at each of its steps.
    """
    for number, item in enumerate(items, 1):
        if number % _SLICE == 0:
            time.sleep(_PAUSE_S)
        yield item


class TooManyRules(ValueError):
    """A file of rules exceeds a limit. None of its rules is used: everything that it applies to is left out."""


class Piece(NamedTuple):
    """A piece that a path must have to match. `decides`: every path that has it matches."""

    kind: Kind
    text: str
    decides: bool = False


_NONE = Piece("any", "")


def piece_of(body: str) -> Piece:
    """The piece of a glob in git's syntax. `body` is the pattern without its leading `!` and its trailing `/`."""
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
    """The piece of a name: its longest run of literal characters. None when the name has no usable run."""
    if not _SPECIAL.search(segment):
        return Piece("name", segment)
    if "\\" in segment:
        return None
    # Anything between the first `[` and the last `]` may be inside brackets.
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
    """One pattern.

    `regex` turns `text` into a regular expression that matches a whole path; a folder's path ends in `/`. It is called
    when the first path has to be tried, and raises ValueError when the pattern matches nothing.
    """

    piece: Piece
    folders_only: bool
    text: str
    regex: Callable[[str], str]
    _compiled: re.Pattern[str] | None = None

    def matches(self, path: str) -> bool:
        """Whether the pattern matches the path. A pattern that is no valid expression matches nothing."""
        if self._compiled is None:
            try:
                self._compiled = re.compile(self.regex(self.text), re.DOTALL)
            except (re.error, ValueError, OverflowError):
                self._compiled = _NEVER
        return self._compiled.match(path) is not None


def within_bounds(globs: Iterable[Glob]) -> Iterator[Glob]:
    """The same patterns, as long as they are within the limits. Raises TooManyRules."""
    alike: Counter[Piece] = Counter()
    chars: Counter[Piece] = Counter()
    for count, glob in enumerate(globs, 1):
        if not glob.piece.decides:
            alike[glob.piece] += 1
            chars[glob.piece] += len(glob.text)
            if alike[glob.piece] > MAX_ALIKE:
                raise TooManyRules(f"more than {MAX_ALIKE} of its patterns have the same wildcards")
            if chars[glob.piece] > MAX_ALIKE_CHARS:
                raise TooManyRules(
                    f"its patterns that have the same wildcards have more than {MAX_ALIKE_CHARS:,} characters"
                )
        if count > MAX_PATTERNS:
            raise TooManyRules(f"it has more than {MAX_PATTERNS:,} patterns")
        yield glob
    if chars.total() > MAX_TRIED_CHARS:
        raise TooManyRules(f"its patterns with wildcards have more than {MAX_TRIED_CHARS:,} characters")


@dataclass(slots=True)
class _Filed:
    """Numbers of patterns by piece.

    `sure`: the last pattern for files and folders, and the last for folders only; -1 for none.
    """

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
    """An index over patterns in file order. Not thread-safe. Its constructor raises TooManyRules."""

    def __init__(self, globs: Sequence[Glob]) -> None:
        self._globs = globs
        self._filed: dict[Kind, _Filed] = {}
        for number, glob in enumerate(within_bounds(in_slices(globs))):
            self._filed.setdefault(glob.piece.kind, _Filed()).add(number, glob)
        self._lengths = {kind: filed.lengths() for kind, filed in self._filed.items()}

    def last_match(self, path: str, is_folder: bool) -> int | None:
        """The number of the last pattern that matches exactly this path; None when no pattern matches."""
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
    """The pieces of a kind that a path has."""
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
