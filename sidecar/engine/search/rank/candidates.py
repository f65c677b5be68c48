"""Chooses the files that are worth ranking."""

from __future__ import annotations

import numpy as np

from sidecar.engine.search.rank.definitions import DefinitionScores
from sidecar.engine.search.rank.index_columns import IndexColumns
from sidecar.engine.search.rank.strongest import strongest
from sidecar.engine.search.rank.word_scores import WordScores
from sidecar.engine.search.source import Flags, Rows, SearchedSnapshot
from sidecar.parts.lexical.bm25 import Floats

CANDIDATES = 30
"""The number of files that each list may propose. Twice as many bring no more of the annotated files into the first
ten."""


def keep_allowed(snapshot: SearchedSnapshot, allowed: Flags, match: WordScores, symbols: DefinitionScores) -> None:
    """Sets the scores of chunks and files that a filter excludes to 0, in place. `allowed` has shape [chunks]."""
    files = np.zeros(len(snapshot.file_ids), bool)
    files[snapshot.chunk_file[allowed]] = True
    match.keep(allowed, files)
    symbols.chunks_sought[~allowed] = 0
    for scores in (symbols.files_sought, symbols.stems, symbols.files_named):
        scores[~files] = 0


def propose_by_words(snapshot: SearchedSnapshot, match: WordScores, symbols: DefinitionScores) -> Flags:
    """Returns which files, shape [files], are among the best `CANDIDATES` by each of BM25F, best chunk, definitions of
    a sought name, file name, and mentions in a long question."""
    chosen = np.zeros(len(snapshot.file_ids), bool)
    chosen[match.best_by_chunk(CANDIDATES, snapshot.paths)] = True
    chosen[match.best_by_whole(CANDIDATES, snapshot.paths)] = True
    for scores in (symbols.files_sought, symbols.stems, symbols.files_named):
        chosen[strongest(scores, CANDIDATES, snapshot.paths)] = True
    return chosen


def propose(snapshot: SearchedSnapshot, columns: IndexColumns, by_words: Flags, closest: Rows, cosines: Floats) -> Rows:
    """Returns the rows of the candidate files, ascending: those `by_words`, and the best `CANDIDATES` by closeness.

    `closest` are chunk rows, best first, and `cosines` their cosines. Only files of the collection that have chunks are
    proposed.
    """
    closeness = np.zeros(len(snapshot.file_ids), np.float32)
    closeness[snapshot.chunk_file[closest[::-1]]] = cosines[::-1] + 2
    chosen = by_words.copy()
    chosen[strongest(closeness, CANDIDATES, snapshot.paths)] = True
    return (chosen & (columns.group_of >= 0)).nonzero()[0].astype(np.int32)
