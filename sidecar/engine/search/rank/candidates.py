"""Which files are worth ranking."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sidecar.engine.search.rank.definitions import DefinitionScores
from sidecar.engine.search.rank.index_columns import IndexColumns
from sidecar.engine.search.rank.lexical_scores import LexicalScores
from sidecar.engine.search.source import Flags, Rows, SearchedSnapshot
from sidecar.parts.lexical.bm25 import Floats

CANDIDATES = 30
"""Files that each list may propose. With 60 no more of the annotated files are ranked among the first ten."""


def keep_allowed(snapshot: SearchedSnapshot, allowed: Flags, match: LexicalScores, symbols: DefinitionScores) -> None:
    """Silences what a filter forbids, in place."""
    files = np.zeros(len(snapshot.file_ids), bool)
    files[snapshot.chunk_file[allowed]] = True
    for scores in (match.chunks, match.chunk_names, symbols.chunks_sought, symbols.chunks_plain):
        scores[~allowed] = 0
    for scores in (match.files, symbols.files_sought, symbols.files_plain, symbols.stems):
        scores[~files] = 0


def propose(
    snapshot: SearchedSnapshot,
    columns: IndexColumns,
    match: LexicalScores,
    symbols: DefinitionScores,
    closest: Rows,
    cosines: Floats,
) -> Rows:
    """Files that are among the best by chunk, by fields, by name or by closeness, ascending.

    `closest` are chunk rows, best first, and `cosines` theirs.
    """
    closeness = np.zeros(len(snapshot.file_ids), np.float32)
    closeness[snapshot.chunk_file[closest[::-1]]] = cosines[::-1] + 2
    chosen = np.zeros(len(closeness), bool)
    for scores in (
        match.files,
        columns.best_per_file(match.chunks, len(closeness)),
        symbols.files_sought,
        symbols.stems,
        closeness,
    ):
        chosen[strongest(scores, CANDIDATES, snapshot.paths)] = True
    return np.flatnonzero(chosen & (columns.group_of >= 0)).astype(np.int32)


def strongest(scores: Floats, limit: int, paths: Sequence[str]) -> Rows:
    """Rows of the `limit` best scores above 0, ties by path, in no order."""
    rows = np.flatnonzero(scores > 0)
    if len(rows) > limit:
        found = scores[rows]
        cut = np.partition(found, len(rows) - limit)[len(rows) - limit]
        above, level = rows[found > cut], rows[found == cut]
        if len(above) + len(level) > limit:
            level = np.array(sorted(level.tolist(), key=paths.__getitem__)[: limit - len(above)])
        rows = np.concatenate([above, level])
    return rows.astype(np.int32)
