"""Finds chunks close to a vector: that of an indexed chunk, or that of a question.

Only vectors are compared, chunk by chunk. `searcher.py` also uses words and ranking features.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sidecar import shown
from sidecar.engine.search.absent import why_not_indexed
from sidecar.engine.search.excerpt import excerpt
from sidecar.engine.search.named import definitions_of
from sidecar.engine.search.nothing import why_nothing_close, why_nothing_similar
from sidecar.engine.search.rank.index_columns import columns_of
from sidecar.engine.search.source import Flags, SearchedSnapshot, SearchSource
from sidecar.engine.search.texts import shown_chunks
from sidecar.engine.search.vector_search import VectorSearch
from sidecar.errors import FileNotFound, InvalidParams, InvalidQuery
from sidecar.model.answers import Hit, MarkedLine, SearchAnswer
from sidecar.model.terms import IsCancelled
from sidecar.parts.lexical.definitions import find_definitions_around
from sidecar.parts.lexical.tokens import query_terms
from sidecar.parts.manifest import COLLECTIONS

_FUNCTIONS = frozenset(("function", "method", "constructor", "macro"))
_HOLDERS = frozenset(("module", "namespace"))


def similarity_of(cosine: float) -> float:
    """Maps a cosine (-1 to 1) to a similarity (0 to 1); 0.5 means unrelated."""
    return min(1.0, max(0.0, (1 + cosine) / 2))


def find_closest(
    source: SearchSource, query: str, limit: int, threshold: float, cancelled: IsCancelled
) -> SearchAnswer:
    """Returns the chunks of code and documentation closest to a question, best first. Only chunks whose similarity is
    at least `threshold` (0-1) are returned. Each has an excerpt that marks the question's words.

    Raises InvalidQuery, ModelLoadFailed and Cancelled."""
    if not query.strip():
        raise InvalidQuery("Search query cannot be empty.")
    start = time.perf_counter()
    vector = source.embedder().embed_query(query)
    allowed = np.ones(len(source.snapshot.chunk_ids), bool)
    answer, closest = _answer(source, vector, allowed, limit, threshold, cancelled, start, query_terms(query))
    if answer.hits:
        return answer
    return replace(answer, reason=why_nothing_close(source.snapshot, closest, threshold))


def find_similar(
    source: SearchSource, path: str, line: int, end_line: int, limit: int, cancelled: IsCancelled
) -> SearchAnswer:
    """Returns the chunks of the same collection closest to the chunk at a line, best first. Uses the chunk's indexed
    vector and no model. If `end_line` is at least `line`, the comparison is with just these lines, which the model
    embeds.

    Chunks that overlap the compared lines, or the definition around `line` (`_own_lines`), are left out. Raises
    FileNotFound if the path is not in the index, InvalidParams, ModelLoadFailed and Cancelled.
    """
    start = time.perf_counter()
    snapshot = source.snapshot
    row = chunk_at(snapshot, path, line)
    collections = snapshot.file_collection[snapshot.chunk_file]
    allowed = np.asarray(collections == collections[row])
    if end_line < line:
        compared = (int(snapshot.chunk_start[row]), int(snapshot.chunk_end[row]))
        vector = _kept_vector(snapshot, row, f"{path}:{line}")
    else:
        compared = (line, end_line)
        text = _text_between(snapshot, np.flatnonzero(_overlapping(snapshot, row, compared)), line, end_line)
        if not text.strip():
            raise InvalidParams(f"{shown.place(path)}:{line}-{end_line} is empty: there is nothing to compare.")
        vector = source.embedder().embed_documents([text])[0]
    for lines in (compared, _own_lines(snapshot, row, line)):
        allowed &= ~_overlapping(snapshot, row, lines)
    answer, closest = _answer(source, vector, allowed, limit, 0.5, cancelled, start)
    if answer.hits:
        return answer
    return replace(answer, reason=why_nothing_similar(COLLECTIONS[collections[row]], closest))


def _overlapping(snapshot: SearchedSnapshot, row: int, lines: tuple[int, int]) -> Flags:
    """Returns flags, shape [chunks]: which chunks of this chunk's file have a line in common with `lines` (first and
    last, 1-based)."""
    same_file = snapshot.chunk_file == snapshot.chunk_file[row]
    return np.asarray(same_file & (snapshot.chunk_start <= lines[1]) & (lines[0] <= snapshot.chunk_end))


def _own_lines(snapshot: SearchedSnapshot, row: int, line: int) -> tuple[int, int]:
    """Returns the first and last line of the definition around `line`: the outermost function, because functions inside
    it are parts of it, else the innermost definition. Namespaces and modules do not count, because they only contain
    what is compared. If `line` is in no definition, the one at the end or the start of the chunk is used; without one,
    the line alone."""
    file_id = int(snapshot.file_ids[snapshot.chunk_file[row]])
    for at in (line, int(snapshot.chunk_end[row]), int(snapshot.chunk_start[row])):
        around = [d for d in find_definitions_around(snapshot.connection, file_id, at) if d.kind not in _HOLDERS]
        if around:
            own = next((d for d in around if d.kind in _FUNCTIONS), around[-1])
            return own.start_line, own.end_line
    return line, line


def _kept_vector(snapshot: SearchedSnapshot, row: int, place: str) -> NDArray[np.float32]:
    vectors, found = snapshot.vectors(np.array([row], np.int32))
    if not found[0]:
        raise InvalidParams(f"{place} is still being embedded; try again in a moment.")
    return np.asarray(vectors[0])


def _answer(
    source: SearchSource,
    vector: NDArray[np.float32],
    allowed: Flags,
    limit: int,
    threshold: float,
    cancelled: IsCancelled,
    start: float,
    terms: Sequence[str] | None = None,
) -> tuple[SearchAnswer, float | None]:
    """Returns the answer, and the similarity of the closest chunk that was compared, whether or not it is in the
    answer."""
    snapshot = source.snapshot
    near: list[tuple[float, int]] = []
    notice = ""
    for number, collection in enumerate(COLLECTIONS):
        columns = columns_of(snapshot, number)
        nearest = VectorSearch(snapshot, columns, vector, cancelled)
        nearest.begin(source.store, collection, allowed & columns.in_collection)
        rows = nearest.closest()
        notice = notice or nearest.notice
        near += zip(nearest.similarities.of(rows).tolist(), rows.tolist(), strict=True)
    closest = max((similarity_of(cosine) for cosine, _ in near), default=None)
    close = sorted((-similarity_of(cosine), row) for cosine, row in near if similarity_of(cosine) >= threshold)
    page = [(row, -similarity) for similarity, row in close[:limit]]
    hits = _hits(snapshot, page, terms)
    took = (time.perf_counter() - start) * 1000
    return SearchAnswer(hits, len(close), "vector", took, notice=notice), closest


def _hits(
    snapshot: SearchedSnapshot, page: Sequence[tuple[int, float]], terms: Sequence[str] | None
) -> tuple[Hit, ...]:
    """Returns the hits for chunk rows and their similarities; with excerpts if `terms`, the query's terms, are
    given."""
    rows = [row for row, _ in page]
    texts = shown_chunks(snapshot, rows)
    excerpts: list[tuple[MarkedLine, ...]] = [
        () if terms is None else excerpt(stored.text, int(snapshot.chunk_start[row]), terms, stored.names)
        for row, stored in zip(rows, texts, strict=True)
    ]
    ends = [int(snapshot.chunk_end[row]) for row in rows]
    definitions = definitions_of(snapshot, zip(rows, ends, excerpts, strict=True))
    return tuple(
        Hit(
            path=snapshot.paths[snapshot.chunk_file[row]],
            start_line=int(snapshot.chunk_start[row]),
            end_line=ends[i],
            content=texts[i].text,
            score=similarity,
            language=snapshot.languages[snapshot.chunk_file[row]],
            kind=texts[i].kind,
            names=texts[i].names,
            enclosing=texts[i].enclosing,
            excerpt=excerpts[i],
            definition=definitions[i],
            hidden=texts[i].hidden,
        )
        for i, (row, similarity) in enumerate(page)
    )


def _text_between(snapshot: SearchedSnapshot, rows: NDArray[np.int64], line: int, end_line: int) -> str:
    """Returns those of the lines from `line` to `end_line` that these chunk rows contain."""
    rows = rows[np.argsort(snapshot.chunk_start[rows], kind="stable")]
    lines: list[str] = []
    for row, stored in zip(rows.tolist(), snapshot.stored_chunks(rows.tolist()), strict=True):
        first = int(snapshot.chunk_start[row])
        lines += stored.text.split("\n")[max(0, line - first) : end_line - first + 1]
    return "\n".join(lines)


def chunk_at(snapshot: SearchedSnapshot, path: str, line: int) -> int:
    """Returns the row of the smallest chunk that contains this line, else of the nearest chunk before it, else of the
    file's first chunk. Raises FileNotFound if the path is not in the index, InvalidParams if the file is empty or ends
    before the line."""
    if path not in snapshot.paths:
        raise FileNotFound(why_not_indexed(snapshot, path))
    rows = np.flatnonzero(snapshot.chunk_file == snapshot.paths.index(path))
    if not len(rows):
        raise InvalidParams(f"{shown.place(path)} is empty: there is nothing to compare.")
    starts, ends = snapshot.chunk_start[rows], snapshot.chunk_end[rows]
    last = int(ends.max())
    if line > last:
        raise InvalidParams(f"line: {shown.place(path)} ends at line {last}.")
    holding = np.flatnonzero((starts <= line) & (line <= ends))
    if len(holding):
        return int(rows[holding[np.argmin((ends - starts)[holding])]])
    before = np.flatnonzero(starts <= line)
    return int(rows[before[np.argmax(starts[before])]] if len(before) else rows[np.argmin(starts)])
