"""Measures ranges of lines and finds where to cut them, for any language.

The other chunkers fall back on this module, and all of them end with its `Span`: whole lines of a file, or a piece of
one line that is too long by itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

TARGET = 1_500
"""The intended maximum number of characters of a chunk: about as much as the embedding models read, and as a person
takes in at a glance. """
MAX_CHUNKS = 1_000
"""The maximum number of chunks of one file. A file with more is cut again with the target doubled, until it has no
more. """
TINY = 120
"""A span of at most this many characters (a closing brace, a lone heading) is too short to be an answer and joins its
neighbour. """

_BREAK = re.compile(r"[\s;,>)}\]]")


@dataclass(frozen=True, slots=True)
class Span:
    """Lines `start` to `end` (1-based, inclusive). `text` is their text; for one very long line, a piece of it."""

    start: int
    end: int
    text: str


class Lines:
    """The lines of one text, numbered from 1. The size of a range takes constant time."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._before = list(accumulate((len(line) + 1 for line in self._lines), initial=0))

    def __len__(self) -> int:
        return len(self._lines)

    def __getitem__(self, number: int) -> str:
        """Line `number`, 1-based."""
        return self._lines[number - 1]

    def size(self, start: int, end: int) -> int:
        """Returns the number of characters of lines `start` to `end`, including newlines."""
        return self._before[end] - self._before[start - 1]

    def is_blank(self, number: int) -> bool:
        """Whether the line is empty or holds only whitespace."""
        return not self._lines[number - 1].strip()

    def indent(self, number: int) -> int:
        """Returns the number of whitespace characters at the beginning of the line."""
        line = self._lines[number - 1]
        return len(line) - len(line.lstrip())

    def trim(self, start: int, end: int) -> tuple[int, int]:
        """Returns the range without the blank lines at its edges; start > end if all its lines are blank."""
        while start <= end and self.is_blank(start):
            start += 1
        while end >= start and self.is_blank(end):
            end -= 1
        return start, end

    def spans(self, start: int, end: int, target: int) -> list[Span]:
        """Returns the range as spans, without the blank lines at its edges.

        The result is one span; several for a single line longer than twice the target; none if all lines are blank.
        """
        start, end = self.trim(start, end)
        if start > end:
            return []
        text = "\n".join(self._lines[start - 1 : end])
        if start < end or len(text) <= target * 2:
            return [Span(start, end, text)]
        return [Span(start, end, piece) for piece in cut_line(text, target)]


def cut_line(line: str, target: int) -> list[str]:
    """Cuts a line into pieces of at most `target` characters and returns those that are not blank. Cuts after
    whitespace, a separator or a closing bracket if the last quarter of a piece has one.
    """
    pieces = []
    at = 0
    while at < len(line):
        end = min(at + target, len(line))
        if end < len(line):
            marks = list(_BREAK.finditer(line, at + target * 3 // 4, end))
            end = marks[-1].end() if marks else end
        pieces.append(line[at:end])
        at = end
    return [piece for piece in pieces if piece.strip()]


def windows(lines: Lines, start: int, end: int, target: int) -> list[tuple[int, int]]:
    """Cuts a range into ranges of at most `target` characters, or of one line, before lines that look like a beginning.

    Such a line follows a blank line or has the least indentation. Of equally good lines the last is chosen, but none in
    the first third of a window.
    """
    ranges = []
    while start <= end:
        last = _last_that_fits(lines, start, end, target)
        cut = last + 1 if last in (start, end) else _best_cut(lines, start, last)
        ranges.append((start, cut - 1))
        start = cut
    return ranges


def _last_that_fits(lines: Lines, start: int, end: int, target: int) -> int:
    """Returns the last line of a window that begins at `start` and has at most `target` characters; at least
    `start`."""
    last = start
    while last < end and lines.size(start, last + 1) <= target:
        last += 1
    return last


def _best_cut(lines: Lines, start: int, last: int) -> int:
    """Returns the line that begins the next window, between start + 1 and last + 1."""
    best, best_cost = last + 1, 1 << 30
    size = lines.size(start, last)
    for line in range(last + 1, start, -1):
        if lines.size(start, line - 1) * 3 < size:
            break
        if line > len(lines) or lines.is_blank(line):
            continue
        cost = lines.indent(line) * 2 + (0 if lines.is_blank(line - 1) else 9)
        if cost < best_cost:
            best, best_cost = line, cost
    return best


def to_spans(lines: Lines, ranges: Sequence[tuple[int, int]], target: int) -> list[Span]:
    """Returns the spans of all ranges, in order."""
    return [span for start, end in ranges for span in lines.spans(start, end, target)]


def cut_to_fit(cut: Callable[[int], list[Span]]) -> list[Span]:
    """Returns the spans of `cut(target)`. The target begins at TARGET and is doubled until there are at most MAX_CHUNKS
    spans.
    """
    target = TARGET
    while len(spans := cut(target)) > MAX_CHUNKS:
        target *= 2
    return spans
