"""Spans of lines: how long they are, how they are cut and merged. Knows nothing of any language.

The fallback of every other chunker here, and what they all end in: a `Span` is whole lines of a file, or a piece of
one line that is too long by itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

TARGET = 1_500
"""Characters a chunk aims not to exceed: what the embedding models read of it, and a person at a glance."""
MAX_CHUNKS = 1_000
"""Chunks of one file. A file that would have more is cut again with the target doubled, until it does not."""
TINY = 120
"""Characters under which a span is no answer by itself (a closing brace, a lone heading) and joins its neighbour."""

_BREAK = re.compile(r"[\s;,>)}\]]")


@dataclass(frozen=True, slots=True)
class Span:
    """Lines `start`..`end` (1-based, inclusive); `text` is their text, or a piece of the one line."""

    start: int
    end: int
    text: str


class Lines:
    """The lines of one text, with sizes of ranges in constant time."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._before = list(accumulate((len(line) + 1 for line in self._lines), initial=0))

    def __len__(self) -> int:
        return len(self._lines)

    def __getitem__(self, number: int) -> str:
        """Line `number`, 1-based."""
        return self._lines[number - 1]

    def size(self, start: int, end: int) -> int:
        """Characters of lines start..end, newlines included."""
        return self._before[end] - self._before[start - 1]

    def is_blank(self, number: int) -> bool:
        return not self._lines[number - 1].strip()

    def indent(self, number: int) -> int:
        line = self._lines[number - 1]
        return len(line) - len(line.lstrip())

    def trim(self, start: int, end: int) -> tuple[int, int]:
        """The range without blank lines at its edges; empty (start > end) where all are blank."""
        while start <= end and self.is_blank(start):
            start += 1
        while end >= start and self.is_blank(end):
            end -= 1
        return start, end

    def spans(self, start: int, end: int, target: int) -> list[Span]:
        """The range trimmed: one span; where it is one line that is too long, its pieces; none where it is blank."""
        start, end = self.trim(start, end)
        if start > end:
            return []
        text = "\n".join(self._lines[start - 1 : end])
        if start < end or len(text) <= target * 2:
            return [Span(start, end, text)]
        return [Span(start, end, piece) for piece in cut_line(text, target)]


def cut_line(line: str, target: int) -> list[str]:
    """Pieces of at most `target` characters, cut after a blank or closing mark where one is near; no blank ones."""
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
    """Cuts a range into ranges of at most `target` characters (or one line), before lines that look like beginnings.

    A beginning follows a blank line or stands least indented; of equal ones the last is taken, never in the
    window's first third.
    """
    ranges = []
    while start <= end:
        last = _last_that_fits(lines, start, end, target)
        cut = last + 1 if last in (start, end) else _best_cut(lines, start, last)
        ranges.append((start, cut - 1))
        start = cut
    return ranges


def _last_that_fits(lines: Lines, start: int, end: int, target: int) -> int:
    last = start
    while last < end and lines.size(start, last + 1) <= target:
        last += 1
    return last


def _best_cut(lines: Lines, start: int, last: int) -> int:
    """The line that begins the next window: start < line <= last + 1."""
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
    return [span for start, end in ranges for span in lines.spans(start, end, target)]


def cut_to_fit(cut: Callable[[int], list[Span]]) -> list[Span]:
    """The spans of `cut(target)`, with the target doubled until they are at most MAX_CHUNKS."""
    target = TARGET
    while len(spans := cut(target)) > MAX_CHUNKS:
        target *= 2
    return spans
