"""Plain rankings of the same index, to compare with the product's: BM25, and fusion of words and meaning.

They use the product's terms, chunks and vectors, and nothing else of its ranking. All terms of a long query count.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sidecar.engine.search.rank.index_columns import IndexColumns, columns_of
from sidecar.engine.search.rank.lexical_scores import match_terms
from sidecar.engine.search.source import SearchedSnapshot, SearchSource
from sidecar.engine.search.vector_search import VectorSearch
from sidecar.model.answers import SearchRequest
from sidecar.model.terms import never_cancelled
from sidecar.parts.lexical.bm25 import Floats
from sidecar.parts.lexical.postings import MOST_TERMS
from sidecar.parts.lexical.tokens import query_terms
from sidecar.parts.manifest import COLLECTIONS

Place = tuple[str, int, int]
"""Path, first and last line of the chunk that a file shows."""
DEPTH = 50
"""How many files of each ranking are kept."""
_FUSED = 200
_K = 60
"""The constant of reciprocal rank fusion (Cormack, Clarke and Buettcher 2009)."""

ANCHORS = ("bm25", "bm25 of files", "fusion", "meaning")


def anchors_of(source: SearchSource, request: SearchRequest) -> dict[str, list[Place]]:
    """Returns the first files of each ranking in `ANCHORS`, best first, each with its best chunk."""
    snapshot = source.snapshot
    columns = columns_of(snapshot, COLLECTIONS.index(request.collection))
    chunks, files = _by_words(snapshot, columns, query_terms(request.query))
    cosines = _by_meaning(source, columns, request)
    fused = fuse([_best(chunks), _best(cosines)], len(chunks))
    return {
        "bm25": _places(snapshot, _best(chunks)),
        "bm25 of files": _places_of_files(snapshot, columns, files, chunks),
        "fusion": _places(snapshot, _best(fused)),
        "meaning": _places(snapshot, _best(cosines)),
    }


def fuse(rankings: Sequence[NDArray[np.int64]], count: int) -> Floats:
    """Returns the scores by reciprocal rank fusion, shape [count], of the first `_FUSED` rows of each ranking."""
    scores = np.zeros(count, np.float32)
    for rows in rankings:
        scores[rows[:_FUSED]] += 1 / (_K + 1 + np.arange(len(rows[:_FUSED]), dtype=np.float32))
    return scores


def _by_words(snapshot: SearchedSnapshot, columns: IndexColumns, terms: Sequence[str]) -> tuple[Floats, Floats]:
    """BM25 of chunk bodies [chunks] and of the whole bodies of files [files]. The product looks up only some terms of a
    long query, so it is asked for a few terms at a time."""
    chunks, files = np.zeros(len(snapshot.chunk_ids), np.float32), np.zeros(len(snapshot.file_ids), np.float32)
    for start in range(0, len(terms), MOST_TERMS):
        some = match_terms(snapshot, columns, terms[start : start + MOST_TERMS])
        chunks += some.chunks
        files += some.bodies
    return chunks, files


def _by_meaning(source: SearchSource, columns: IndexColumns, request: SearchRequest) -> Floats:
    """Returns each chunk's cosine plus 1, or 0 where it has no vector; shape [chunks]."""
    search = VectorSearch(source.snapshot, columns, source.embedder().embed_query(request.query), never_cancelled)
    search.score(np.flatnonzero(columns.in_collection & (source.snapshot.chunk_vector > 0)).astype(np.int32))
    everything = np.arange(len(source.snapshot.chunk_ids), dtype=np.int32)
    return np.nan_to_num(search.similarities.of(everything) + 1, nan=0.0)


def _best(scores: Floats) -> NDArray[np.int64]:
    """Rows with a score above 0, best first."""
    order = np.argsort(-scores, kind="stable")
    return order[: int((scores > 0).sum())]


def _places(snapshot: SearchedSnapshot, rows: NDArray[np.int64]) -> list[Place]:
    """The first chunk of each file."""
    found: dict[int, int] = {}
    for row in rows.tolist():
        found.setdefault(int(snapshot.chunk_file[row]), row)
        if len(found) == DEPTH:
            break
    return [place(snapshot, row) for row in found.values()]


def _places_of_files(snapshot: SearchedSnapshot, columns: IndexColumns, files: Floats, chunks: Floats) -> list[Place]:
    found = []
    for file in _best(files)[:DEPTH].tolist():
        group = int(columns.group_of[file])
        if group >= 0:
            start, length = int(columns.group_start[group]), int(columns.group_length[group])
            found.append(place(snapshot, start + int(np.argmax(chunks[start : start + length]))))
    return found


def place(snapshot: SearchedSnapshot, row: int) -> Place:
    """Returns the path and lines of the chunk in this row."""
    path = snapshot.paths[int(snapshot.chunk_file[row])]
    return path, int(snapshot.chunk_start[row]), int(snapshot.chunk_end[row])
