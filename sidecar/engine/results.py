"""From ranked files to the hits of one page: which chunks of a file, merged, in a total order, within a budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sidecar.engine.rank.columns import Columns, Rows, SearchedSnapshot, StoredText
from sidecar.engine.rank.evidence import Groups
from sidecar.model import Hit
from sidecar.parts.lexical.bm25 import Floats

PER_FILE = 3
"""Chunks that one file may show."""
_FURTHER = (1.0, 0.6, 0.45)
"""A file's second and third chunk stand behind other files' first ones unless the file is far ahead of them."""
_CHARS_PER_TOKEN = 4
_MERGED_LINES = 120


@dataclass(frozen=True)
class Span:
    """Chunk rows of one file that touch, shown as one hit. `position` is the file's among the candidates."""

    rows: tuple[int, ...]
    position: int
    score: float
    path: str
    start_line: int
    end_line: int


def ranked_spans(
    snapshot: SearchedSnapshot, columns: Columns, files: Rows, file_scores: Floats, chunk_scores: Floats
) -> list[Span]:
    """Every span that can be paged to, best first; ties by path, then line.

    `chunk_scores` are over all chunk rows and only compare chunks of one file; 0 or less is never shown.
    """
    groups = Groups(columns, files, len(snapshot.file_ids))
    values = chunk_scores[groups.rows]
    order = np.lexsort((groups.rows, -values, groups.position))
    rank = np.arange(len(order)) - np.repeat(groups.starts, groups.lengths)
    order = order[(rank < PER_FILE) & (values[order] > 0)]
    chosen: dict[int, list[tuple[int, float]]] = {}
    for position, row, value in zip(
        groups.position[order].tolist(), groups.rows[order].tolist(), values[order].tolist(), strict=True
    ):
        chosen.setdefault(position, []).append((row, value))
    spans = [
        span
        for position, rows in chosen.items()
        for span in _spans_of_file(snapshot, position, float(file_scores[position]), rows)
    ]
    return sorted(spans, key=lambda s: (-s.score, s.path, s.start_line))


def _spans_of_file(
    snapshot: SearchedSnapshot, position: int, score: float, rows: Sequence[tuple[int, float]]
) -> list[Span]:
    best = rows[0][1]
    spans: list[Span] = []
    for (row, value), share in zip(rows, _FURTHER, strict=False):
        spans.append(
            Span(
                rows=(row,),
                position=position,
                score=round(score * share * (value / best), 6),
                path=snapshot.paths[snapshot.chunk_file[row]],
                start_line=int(snapshot.chunk_start[row]),
                end_line=int(snapshot.chunk_end[row]),
            )
        )
    return _merged(spans)


def _merged(spans: list[Span]) -> list[Span]:
    """Overlapping and touching spans of one file become one, with the better score, while that stays readable."""
    merged: list[Span] = []
    for span in sorted(spans, key=lambda s: s.start_line):
        last = merged[-1] if merged else None
        if (
            last is not None
            and span.start_line <= last.end_line + 1
            and (span.start_line <= last.end_line or span.end_line - last.start_line < _MERGED_LINES)
        ):
            merged[-1] = replace(
                last,
                rows=(*last.rows, *span.rows),
                score=max(last.score, span.score),
                end_line=max(last.end_line, span.end_line),
            )
        else:
            merged.append(span)
    return merged


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
