"""From ranked files to the hits of one page: which chunks of a file, merged, in a total order, within a budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sidecar.engine.rank.columns import Columns, Rows, SearchedSnapshot, StoredText
from sidecar.engine.rank.evidence import Groups
from sidecar.model import Hit
from sidecar.parts.lexical.bm25 import Floats
from sidecar.parts.lexical.tokens import words

PER_FILE = 3
"""Chunks that one file may show."""
_FURTHER = np.array([1.0, 0.6, 0.45], np.float32)
"""A file's second and third chunk stand behind other files' first ones unless the file is far ahead of them."""
_CHARS_PER_TOKEN = 4
_MERGED_LINES = 120
_SAME = 0.01
"""Chunks of one file whose lengths differ by no more are suspected to say the same."""
_SHARED_WORDS = 0.8
"""Share of all their words that two chunks have in common when they do say the same."""


@dataclass(frozen=True)
class Span:
    """Chunk rows of one file that touch, shown as one hit. `position` is the file's among the candidates."""

    rows: tuple[int, ...]
    position: int
    score: float
    path: str
    start_line: int
    end_line: int


@dataclass(frozen=True)
class _Shown:
    """Parallel arrays of the chunks that may be shown; `position` is the file's, `rank` the chunk's place in it."""

    rows: Rows
    position: NDArray[np.int64]
    rank: NDArray[np.int64]
    value: Floats

    def take(self, index: NDArray[np.generic]) -> _Shown:
        return _Shown(self.rows[index], self.position[index], self.rank[index], self.value[index])


def ranked_spans(
    snapshot: SearchedSnapshot, columns: Columns, files: Rows, file_scores: Floats, chunk_scores: Floats
) -> list[Span]:
    """Every span that can be paged to, best first; ties by path, then line.

    `chunk_scores` are over all chunk rows and only compare chunks of one file; 0 or less is never shown.
    """
    shown = _best_of_each(Groups(columns, files, len(snapshot.file_ids)), chunk_scores)
    shown = _without_twins(snapshot, columns, shown)
    best = np.zeros(len(files), np.float32)
    np.maximum.at(best, shown.position, shown.value)
    scores = file_scores[shown.position] * _FURTHER[shown.rank] * shown.value / best[shown.position]
    return sorted(
        _join_neighbours(snapshot, shown, scores),
        key=lambda span: (-span.score, span.path, span.start_line),
    )


def _best_of_each(groups: Groups, chunk_scores: Floats) -> _Shown:
    values = chunk_scores[groups.rows]
    order = np.lexsort((groups.rows, -values, groups.position))
    rank = np.arange(len(order)) - np.repeat(groups.starts, groups.lengths)
    keep = (rank < PER_FILE) & (values[order] > 0)
    order = order[keep]
    return _Shown(groups.rows[order], groups.position[order], rank[keep], values[order])


def _without_twins(snapshot: SearchedSnapshot, columns: Columns, shown: _Shown) -> _Shown:
    """Leaves out chunks that repeat a better one of the same file. Texts are read for suspects only."""
    norms = columns.chunk_norms[shown.rows]
    pairs = [
        (int(i), int(i) + distance)
        for distance in range(1, PER_FILE)
        for i in np.flatnonzero(
            (shown.position[distance:] == shown.position[:-distance])
            & (np.abs(norms[distance:] - norms[:-distance]) <= _SAME * norms[:-distance])
        )
    ]
    if not pairs:
        return shown
    texts = snapshot.stored_chunks([int(shown.rows[i]) for pair in pairs for i in pair])
    keep = np.ones(len(shown.rows), bool)
    for (_, worse), one, other in zip(pairs, texts[::2], texts[1::2], strict=True):
        keep[worse] &= not _alike(one.text, other.text)
    return shown.take(np.flatnonzero(keep))


def _alike(one: str, other: str) -> bool:
    first, second = set(words(one)), set(words(other))
    return len(first & second) >= _SHARED_WORDS * len(first | second)


def _join_neighbours(snapshot: SearchedSnapshot, shown: _Shown, scores: Floats) -> list[Span]:
    """Spans of one file that overlap or touch become one, with the better score, while that stays readable."""
    starts, ends = snapshot.chunk_start[shown.rows], snapshot.chunk_end[shown.rows]
    paths, files = snapshot.paths, snapshot.chunk_file[shown.rows]
    spans: list[Span] = []
    for i in np.lexsort((starts, shown.position)).tolist():
        row, position = int(shown.rows[i]), int(shown.position[i])
        span = Span((row,), position, round(float(scores[i]), 6), paths[files[i]], int(starts[i]), int(ends[i]))
        if spans and _belong_together(spans[-1], span):
            spans[-1] = _joined(spans[-1], span)
        else:
            spans.append(span)
    return spans


def _belong_together(one: Span, following: Span) -> bool:
    if one.position != following.position or following.start_line > one.end_line + 1:
        return False
    return following.start_line <= one.end_line or following.end_line - one.start_line < _MERGED_LINES


def _joined(one: Span, following: Span) -> Span:
    return replace(
        one,
        rows=(*one.rows, *following.rows),
        score=max(one.score, following.score),
        end_line=max(one.end_line, following.end_line),
    )


def to_hit(snapshot: SearchedSnapshot, span: Span, stored: Sequence[StoredText], parts: dict[str, float]) -> Hit:
    """A hit with the text of its chunks; lines that two chunks share stand once."""
    first = stored[0]
    content, end = first.text, int(snapshot.chunk_end[span.rows[0]])
    for row, chunk in zip(span.rows[1:], stored[1:], strict=True):
        overlap = max(0, end - int(snapshot.chunk_start[row]) + 1)
        further = chunk.text.split("\n")[overlap:]
        content = "\n".join((content.rstrip("\n"), *further)) if further else content
        end = max(end, int(snapshot.chunk_end[row]))
    names = tuple(dict.fromkeys(name for chunk in stored for name in chunk.names))
    return Hit(
        path=span.path,
        start_line=span.start_line,
        end_line=span.end_line,
        content=content,
        score=span.score,
        language=snapshot.languages[snapshot.chunk_file[span.rows[0]]],
        kind=first.kind,
        names=names,
        enclosing=first.enclosing,
        parts=parts,
    )


def within_budget(hits: Sequence[Hit], token_budget: int) -> tuple[Hit, ...]:
    """Hits from the first on until the next would exceed the budget; always at least one. 0 means no budget."""
    if token_budget <= 0:
        return tuple(hits)
    kept: list[Hit] = []
    left = token_budget * _CHARS_PER_TOKEN
    for hit in hits:
        left -= len(hit.content)
        if kept and left < 0:
            break
        kept.append(hit)
    return tuple(kept)
