"""Finds the last of many glob patterns that matches a path, without trying them all.

Each pattern is filed under a piece that every path that it matches must have: the whole path, the name, a part of the
name, or a folder above it. For most patterns of large files (`name`, `/a/path`, `*.ext`, `prefix*`) the piece alone
decides. The others are tried as regular expressions, and only on paths that have the piece.

`ignore` and `classify` turn patterns into regular expressions.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias, TypeVar

T = TypeVar("T")
Kind: TypeAlias = Literal["name", "path", "suffix", "prefix", "within", "folder", "any"]

MAX_RULES_BYTES = 4 * 1024 * 1024
"""The maximum size in bytes of a file of rules."""
MAX_PATTERNS = 30_000
"""The maximum number of patterns of one file. Reading 100,000 and indexing them as text took 4.3 s of CPU time; a file
may take 2 s."""
MAX_ALIKE = 500
"""The maximum number of patterns to try under one piece: with more, each path that has the piece would take too
long."""

MAX_ALIKE_CHARS = 16 * 1024
"""The maximum length of those patterns together: compiling expressions of that many characters takes about 0.2 s."""
MAX_TRIED_CHARS = 1280 * 1024
"""The maximum length of all patterns of one file, together, that may have to be tried."""

_SPECIAL = re.compile(r"[*?\[\\]")
_STAR_AND_LITERAL = re.compile(r"\*([^*?\[\\]+)")
_LITERAL_AND_STAR = re.compile(r"([^*?\[\\]+)\*")
_NOT_LITERAL = re.compile(r"\[.*\]|[*?]+", re.DOTALL)
"""The parts of a name that are not literal. Everything between the first `[` and the last `]` may be in brackets."""
_WITHIN = 4
"""The maximum length of a piece from the middle of a name."""
_NEVER = re.compile(r"(?!)")


_SLICE = 64
_PAUSE_S = 0.0005


def in_slices(items: Iterable[T]) -> Iterator[T]:
    """Yields the items, and after every `_SLICE` of them lets other threads of this process run.

    Parsing many lines takes a second of Python. Without the pauses, a search in another thread would wait up to 5 ms
    for the interpreter at each of its steps.
    """
    for number, item in enumerate(items, 1):
        if number % _SLICE == 0:
            time.sleep(_PAUSE_S)
        yield item


class TooManyRules(ValueError):
    """A file of rules exceeds a limit. Its rules are not used; the files to which they would apply are left out."""


class Piece(NamedTuple):
    """A piece that a path must have to match. `decides`: every path that has it matches."""

    kind: Kind
    text: str
    decides: bool = False


_NONE = Piece("any", "")


def piece_of(body: str) -> Piece:
    """Returns the piece of a glob in git's syntax. `body` is the pattern without its leading `!` and its trailing
    `/`."""
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
    """Returns the piece of a name: its longest run of literal characters. None when the name has no usable run."""
    if not _SPECIAL.search(segment):
        return Piece("name", segment)
    if "\\" in segment:
        return None
    runs = _NOT_LITERAL.split(segment)
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


class Glob(NamedTuple):
    """One pattern. `text` is the pattern as it stands in its file; `folders_only`: it matches no files."""

    piece: Piece
    folders_only: bool
    text: str


class _Bounds:
    """Counts the patterns of one file against the limits. `count` raises TooManyRules."""

    def __init__(self) -> None:
        self._patterns = 0
        self._chars = 0
        self._alike: dict[str, int] = {}
        self._chars_alike: dict[str, int] = {}

    def count(self, glob: Glob) -> None:
        self._patterns += 1
        if self._patterns > MAX_PATTERNS:
            raise TooManyRules(f"it has more than {MAX_PATTERNS:,} patterns")
        if not glob.piece.decides:
            self._count_tried(glob.piece.kind + glob.piece.text, len(glob.text))

    def _count_tried(self, piece: str, chars: int) -> None:
        alike = self._alike[piece] = self._alike.get(piece, 0) + 1
        chars_alike = self._chars_alike[piece] = self._chars_alike.get(piece, 0) + chars
        self._chars += chars
        if alike > MAX_ALIKE:
            raise TooManyRules(f"more than {MAX_ALIKE} of its patterns have the same wildcards")
        if chars_alike > MAX_ALIKE_CHARS:
            raise TooManyRules(
                f"its patterns that have the same wildcards have more than {MAX_ALIKE_CHARS:,} characters"
            )
        if self._chars > MAX_TRIED_CHARS:
            raise TooManyRules(f"its patterns with wildcards have more than {MAX_TRIED_CHARS:,} characters")


@dataclass(slots=True)
class _Filed:
    """The numbers of patterns by piece, all of one kind: the last pattern that decides about files and folders, the
    last that decides about folders only, and the last that has to be tried.

    `texts` are all pieces, `lengths` their lengths; both are empty until `complete` is called.
    """

    kind: Kind
    sure: dict[str, int] = field(default_factory=dict)
    sure_of_folders: dict[str, int] = field(default_factory=dict)
    to_try: dict[str, int] = field(default_factory=dict)
    texts: frozenset[str] = frozenset()
    lengths: tuple[int, ...] = ()

    def complete(self) -> None:
        """Prepares for `pieces_of`, once all patterns are filed."""
        self.texts = frozenset((*self.sure, *self.sure_of_folders, *self.to_try))
        self.lengths = tuple(sorted({len(text) for text in self.texts}))

    def pieces_of(self, path: str, name: str) -> Sequence[str]:
        """Returns the pieces that a path with this name has."""
        texts = self.texts
        match self.kind:
            case "suffix":  # a name that is shorter is taken whole, and may be a piece itself
                return [text for length in self.lengths if (text := name[-length:]) in texts]
            case "prefix":
                return [text for length in self.lengths if (text := name[:length]) in texts]
            case "within":
                return self._within(name)
            case "folder":
                return [text for text in path.split("/")[:-1] if text in texts]
            case _:
                whole = {"name": name, "path": path}.get(self.kind, "")
                return (whole,) if whole in texts else ()

    def _within(self, name: str) -> Sequence[str]:
        texts = self.texts
        if len(texts) <= len(name):
            return [text for text in texts if text in name]
        parts = (name[at : at + length] for length in self.lengths for at in range(len(name) - length + 1))
        return [text for text in parts if text in texts]


class PatternIndex:
    """An index over patterns in file order. The constructor raises TooManyRules.

    `regex` turns the text of a pattern into a regular expression that matches a whole path; a folder's path ends in
    `/`. It is called when a pattern is tried for the first time, and raises ValueError when the pattern matches
    nothing.

    It holds strings and numbers and no object per pattern, so that a file of 100,000 lines does not lengthen the
    garbage collector's passes, for which all threads wait.
    """

    def __init__(self, globs: Iterable[Glob], regex: Callable[[str], str]) -> None:
        self._regex = regex
        self._filed: dict[Kind, _Filed] = {}
        self._tried: dict[int, str] = {}
        self._earlier: dict[int, int] = {}  # from a pattern to try to the one before it that has the same piece
        self._compiled: dict[int, re.Pattern[str]] = {}
        bounds = _Bounds()
        for number, glob in enumerate(globs):
            bounds.count(glob)
            self._add(number, glob)
        for filed in self._filed.values():
            filed.complete()

    def _add(self, number: int, glob: Glob) -> None:
        kind, text, decides = glob.piece
        filed = self._filed.get(kind)
        if filed is None:
            filed = self._filed[kind] = _Filed(kind)
        if decides:
            (filed.sure_of_folders if glob.folders_only else filed.sure)[text] = number
            return
        if text in filed.to_try:
            self._earlier[number] = filed.to_try[text]
        filed.to_try[text] = number
        self._tried[number] = glob.text

    def last_match(self, path: str, is_folder: bool) -> int | None:
        """Returns the number of the last pattern that matches exactly this path; None when no pattern matches."""
        best, to_try = -1, list[int]()
        name = path.rpartition("/")[2]
        for filed in self._filed.values():
            for text in filed.pieces_of(path, name):
                best = max(best, filed.sure.get(text, -1), filed.sure_of_folders.get(text, -1) if is_folder else -1)
                if text in filed.to_try:
                    to_try.append(filed.to_try[text])
        if to_try:
            asked = f"{path}/" if is_folder else path
            for number in self._later_than(best, to_try):
                if self._matches(number, asked):
                    return number
        return best if best >= 0 else None

    def _later_than(self, best: int, last: Iterable[int]) -> Iterator[int]:
        """Yields the numbers after `best` of the patterns that share a piece with one of the `last`, in descending
        order."""
        numbers = set[int]()
        for at in last:
            number = at
            while number > best:
                numbers.add(number)
                number = self._earlier.get(number, -1)
        yield from sorted(numbers, reverse=True)

    def _matches(self, number: int, path: str) -> bool:
        compiled = self._compiled.get(number)
        if compiled is None:
            try:
                compiled = re.compile(self._regex(self._tried[number]), re.DOTALL)
            except (re.error, ValueError, OverflowError):
                compiled = _NEVER
            self._compiled[number] = compiled
        return compiled.match(path) is not None
