"""Makes the hits of one page from ranked files: chooses chunks of each file, merges adjacent ones and orders the
result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from sidecar.engine.search.excerpt import excerpt
from sidecar.engine.search.named import definitions_of
from sidecar.engine.search.rank.chunk_groups import ChunkGroups
from sidecar.engine.search.rank.index_columns import IndexColumns
from sidecar.engine.search.rank.reasons import in_words, shares_of
from sidecar.engine.search.source import Rows, SearchedSnapshot
from sidecar.engine.search.texts import ShownText, shown_chunks
from sidecar.model.answers import Hit, MarkedLine
from sidecar.parts.lexical.bm25 import Floats

PER_FILE = 3
"""The maximum number of chunks that are shown of one file."""
_FURTHER = np.array([1.0, 0.8, 0.7], np.float32)
"""Factors for a file's best, second and third chunk: the others rank behind other files' best chunks unless their file
is far ahead. With 0.85 in place of 0.8, the measured quality is 0.006 higher for short questions and 0.002 lower for
files of long ones."""
_MERGED_LINES = 120
_SAME = 0.01
"""Chunks of one file whose length norms differ by at most this share are compared word by word."""
_LEADING = 25
"""The number of best files in which repeated chunks are looked for; hardly anybody pages further."""
_REMEMBERED = 100_000
"""The number of comparisons that a revision remembers."""
_SHARED_WORDS = 0.8
"""Two chunks repeat each other if they share at least this part of all their distinct words."""


@dataclass(frozen=True)
class HitSpan:
    """Adjacent or overlapping chunk rows of one file, shown as one hit. `position` is the file's index among the
    candidates, `score` is in 0-1. Lines are 1-based and inclusive."""

    rows: tuple[int, ...]
    position: int
    score: float
    path: str
    start_line: int
    end_line: int


@dataclass(frozen=True)
class _Shown:
    """Parallel arrays over the chunks that may be shown. `position` is the file's index among the candidates, `rank`
    the chunk's rank within its file, from 0, and `value` its score."""

    rows: Rows
    position: NDArray[np.int64]
    rank: NDArray[np.int64]
    value: Floats

    def take(self, index: NDArray[np.generic]) -> _Shown:
        return _Shown(self.rows[index], self.position[index], self.rank[index], self.value[index])


class RankedSpans:
    """All spans of a result, best first; ties are ordered by path, then by line. `HitSpan` objects are created only for
    a requested page."""

    def __init__(self, snapshot: SearchedSnapshot, files: Rows, shown: _Shown, scores: Floats) -> None:
        self._snapshot = snapshot
        order = np.lexsort((snapshot.chunk_start[shown.rows], shown.position))
        self._rows, position = shown.rows[order], shown.position[order]
        starts, ends = snapshot.chunk_start[self._rows], snapshot.chunk_end[self._rows]
        self._first = (~_continues(position, starts, ends)).nonzero()[0]
        self._bounds = np.append(self._first, len(order))
        self._position = position[self._first]
        self._last_line = np.maximum.reduceat(ends, self._first) if len(order) else ends
        self._scores = (
            np.maximum.reduceat(np.round(scores[order].astype(np.float64), 6), self._first) if len(order) else scores
        )
        self._order = np.argsort(-self._scores, kind="stable")
        ascending = self._scores[self._order[::-1]]
        if (ascending[1:] == ascending[:-1]).any():
            self._order = np.lexsort((starts[self._first], self._path_ranks(files)[self._position], -self._scores))

    def __len__(self) -> int:
        return len(self._order)

    def _path_ranks(self, files: Rows) -> NDArray[np.int64]:
        """Returns the place of each file in the order of their paths, shape [files]."""
        paths = [self._snapshot.paths[file] for file in files.tolist()]
        ranks = np.empty(len(files), np.int64)
        ranks[sorted(range(len(paths)), key=paths.__getitem__)] = np.arange(len(files))
        return ranks

    def page(self, offset: int, limit: int) -> list[HitSpan]:
        """Returns at most `limit` spans, starting with the one at `offset`; empty past the end."""
        chosen, snapshot = self._order[offset : offset + limit], self._snapshot
        first = self._rows[self._first[chosen]]
        places = zip(
            self._first[chosen].tolist(),
            self._bounds[chosen + 1].tolist(),
            self._position[chosen].tolist(),
            self._scores[chosen].tolist(),
            snapshot.chunk_file[first].tolist(),
            snapshot.chunk_start[first].tolist(),
            self._last_line[chosen].tolist(),
            strict=True,
        )
        return [
            HitSpan(tuple(self._rows[begin:end].tolist()), position, score, snapshot.paths[file], start_line, end_line)
            for begin, end, position, score, file, start_line, end_line in places
        ]


def _continues(position: NDArray[np.int64], starts: Rows, ends: Rows) -> NDArray[np.bool_]:
    """Returns for each chunk whether it is merged with the one before it, shape [n]: both are of one file, and they
    overlap, or they touch and are short enough to be read as one."""
    overlaps, touches = starts[1:] <= ends[:-1], starts[1:] == ends[:-1] + 1
    readable = ends[1:] - starts[:-1] < _MERGED_LINES
    joined = (position[1:] == position[:-1]) & (overlaps | (touches & readable))
    return np.concatenate([np.zeros(min(1, len(position)), bool), joined])


def rank_spans(
    snapshot: SearchedSnapshot, columns: IndexColumns, groups: ChunkGroups, file_scores: Floats, chunk_scores: Floats
) -> RankedSpans:
    """Ranks chunks of the candidate files.

    `file_scores` has shape [files]. `chunk_scores` is local to `groups` and comparable only between chunks of one file;
    chunks that score 0 or less are never shown. A span's score is its file's score, reduced for chunks that are not the
    file's best.
    """
    shown = _best_of_each(groups, chunk_scores)
    shown = _without_twins(snapshot, columns, shown, file_scores)
    best = np.zeros(len(groups.files), np.float32)
    np.maximum.at(best, shown.position, shown.value)
    scores = file_scores[shown.position] * _FURTHER[shown.rank] * shown.value / best[shown.position]
    return RankedSpans(snapshot, groups.files, shown, scores)


def _best_of_each(groups: ChunkGroups, chunk_scores: Floats) -> _Shown:
    places, ranks = groups.strongest(chunk_scores, PER_FILE)
    keep = chunk_scores[places] > 0
    places = places[keep]
    return _Shown(groups.rows[places], groups.position[places], ranks[keep], chunk_scores[places])


def _without_twins(snapshot: SearchedSnapshot, columns: IndexColumns, shown: _Shown, file_scores: Floats) -> _Shown:
    """Leaves out chunks that repeat a better chunk of their file. Texts are read only for chunks of similar length in
    the best files."""
    norms = columns.chunk_norms[shown.rows]
    leading = np.zeros(len(file_scores), bool)
    leading[np.argsort(-file_scores, kind="stable")[:_LEADING]] = True
    pairs = [
        (int(i), int(i) + distance)
        for distance in range(1, PER_FILE)
        for i in np.flatnonzero(
            (shown.position[distance:] == shown.position[:-distance])
            & leading[shown.position[distance:]]
            & (np.abs(norms[distance:] - norms[:-distance]) <= _SAME * norms[:-distance])
        )
    ]
    if not pairs:
        return shown
    rows = shown.rows.tolist()
    twins = _twins_among(snapshot, [(rows[better], rows[worse]) for better, worse in pairs])
    keep = np.ones(len(rows), bool)
    for (_, worse), alike in zip(pairs, twins, strict=True):
        keep[worse] &= not alike
    return shown.take(keep.nonzero()[0])


@dataclass(frozen=True, slots=True)
class _Compared:
    """Which pairs of chunk rows of a revision repeat each other, of those that have been compared."""

    alike: dict[tuple[int, int], bool] = field(default_factory=dict)


def _twins_among(snapshot: SearchedSnapshot, pairs: Sequence[tuple[int, int]]) -> list[bool]:
    """Returns for each pair of chunk rows whether they repeat each other. Reads only texts that no earlier search of
    the revision has compared."""
    known = snapshot.memo.get(_Compared, _Compared).alike
    unknown = [pair for pair in pairs if pair not in known]
    texts = snapshot.stored_texts([row for pair in unknown for row in pair]) if unknown else ()
    found = {pair: _alike(*of_pair) for pair, *of_pair in zip(unknown, texts[::2], texts[1::2], strict=True)}
    if len(known) < _REMEMBERED:
        known.update(found)
    return [found[pair] if pair in found else known[pair] for pair in pairs]


def _alike(one: str, other: str) -> bool:
    first, second = set(one.split()), set(other.split())
    return len(first & second) >= _SHARED_WORDS * len(first | second)


def to_hits(
    snapshot: SearchedSnapshot,
    page: Sequence[HitSpan],
    terms: Sequence[str] | None,
    named: bool,
    parts_of: Callable[[HitSpan], dict[str, float]] | None,
) -> list[Hit]:
    """Returns the hits of these spans, with their texts.

    They have excerpts if `terms`, the query's terms, are given, and the definitions that they are about if `named`.
    `parts_of` returns the contributions to a span's score, by feature name; without it, hits have none.
    """
    texts = iter(shown_chunks(snapshot, [row for span in page for row in span.rows]))
    stored = [[next(texts) for _ in span.rows] for span in page]
    contents = [_content(snapshot, span, chunks) for span, chunks in zip(page, stored, strict=True)]
    names = [tuple(dict.fromkeys(chain.from_iterable(chunk.names for chunk in chunks))) for chunks in stored]
    excerpts: list[tuple[MarkedLine, ...]] = [
        excerpt(content, span.start_line, terms, defined) if terms is not None else ()
        for span, content, defined in zip(page, contents, names, strict=True)
    ]
    passages = [(span.rows[0], span.end_line, lines) for span, lines in zip(page, excerpts, strict=True)]
    definitions = definitions_of(snapshot, passages) if named else [None] * len(page)
    parts = [parts_of(span) if parts_of is not None else {} for span in page]
    return [
        Hit(
            path=span.path,
            start_line=span.start_line,
            end_line=span.end_line,
            content=contents[i],
            score=span.score,
            language=snapshot.languages[snapshot.chunk_file[span.rows[0]]],
            kind=stored[i][0].kind,
            names=names[i],
            enclosing=stored[i][0].enclosing,
            parts=parts[i],
            why=in_words(parts[i]),
            shares=shares_of(parts[i]),
            excerpt=excerpts[i],
            definition=definitions[i],
            hidden=any(chunk.hidden for chunk in stored[i]),
        )
        for i, span in enumerate(page)
    ]


def _content(snapshot: SearchedSnapshot, span: HitSpan, stored: Sequence[ShownText]) -> str:
    """Returns the text of the span's chunks, in which lines that two chunks share appear once."""
    content, end = stored[0].text, int(snapshot.chunk_end[span.rows[0]])
    for row, chunk in zip(span.rows[1:], stored[1:], strict=True):
        overlap = max(0, end - int(snapshot.chunk_start[row]) + 1)
        further = chunk.text.split("\n")[overlap:]
        content = "\n".join((content.rstrip("\n"), *further)) if further else content
        end = max(end, int(snapshot.chunk_end[row]))
    return content
