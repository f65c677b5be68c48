"""Which files are worth ranking, and which chunk of a file answers best."""

from __future__ import annotations

import numpy as np

from sidecar.engine.rank.columns import Columns, Flags, Rows, SearchedSnapshot
from sidecar.engine.rank.evidence import Groups, Similarities, Symbols, relative
from sidecar.engine.rank.match import LexicalMatch
from sidecar.parts.lexical.bm25 import Floats

CANDIDATES = 60
"""Files that each list may propose."""
_SCORED = 3
"""Chunks of a candidate whose cosine is looked up when the vector search did not return it."""

_WORDS = 1.0
_NAMES = 0.5
_SOUGHT = 1.0
_PLAIN = 0.3
_CLOSENESS = 1.0


def keep_allowed(snapshot: SearchedSnapshot, allowed: Flags, match: LexicalMatch, symbols: Symbols) -> Flags:
    """Silences what a filter forbids, in place. Returns which files have an allowed chunk."""
    files = np.zeros(len(snapshot.file_ids), bool)
    files[snapshot.chunk_file[allowed]] = True
    for scores in (match.chunks, match.chunk_names, symbols.chunks_sought, symbols.chunks_plain):
        scores[~allowed] = 0
    for scores in (match.files, symbols.files_sought, symbols.files_plain, symbols.stems):
        scores[~files] = 0
    return files


def propose(snapshot: SearchedSnapshot, columns: Columns, match: LexicalMatch, symbols: Symbols, closest: Rows) -> Rows:
    """Files that are among the best by chunk, by fields, by name or by closeness, ascending."""
    files = len(snapshot.file_ids)
    lists = (match.files, columns.best_per_file(match.chunks, files), symbols.files_sought, symbols.stems)
    return np.union1d(strongest(lists, CANDIDATES), snapshot.chunk_file[closest][:CANDIDATES]).astype(np.int32)


def strongest(arrays: tuple[Floats, ...], limit: int) -> Rows:
    """Rows that are among the `limit` best of any array; rows without any score are left out."""
    chosen = []
    for scores in arrays:
        rows = np.flatnonzero(scores > 0)
        if len(rows) > limit:
            rows = rows[np.argsort(-scores[rows], kind="stable")[:limit]]
        chosen.append(rows)
    return np.unique(np.concatenate(chosen)).astype(np.int32)


def worth_comparing(
    snapshot: SearchedSnapshot, columns: Columns, files: Rows, match: LexicalMatch, symbols: Symbols
) -> Rows:
    """The chunk rows of candidates whose closeness matters because their words or names match."""
    groups = Groups(columns, files, len(snapshot.file_ids))
    scores = (relative(match.chunks) + match.chunk_names + symbols.chunks_sought)[groups.rows]
    order = np.lexsort((groups.rows, -scores, groups.position))
    rank = np.arange(len(order)) - np.repeat(groups.starts, groups.lengths)
    return groups.rows[order[(rank < _SCORED) & (scores[order] > 0)]]


def show_scores(
    match: LexicalMatch, symbols: Symbols, similarities: Similarities, alpha: float, allowed: Flags
) -> Floats:
    """How well each chunk answers, to choose among chunks of one file; 0 where nothing speaks for it.

    Words, the names that start in it (a definition is read from its start), and closeness.
    """
    words = (
        _WORDS * relative(match.chunks)
        + _NAMES * match.chunk_names
        + _SOUGHT * symbols.chunks_sought
        + _PLAIN * symbols.chunks_plain
    )
    scores = (1 - alpha) * words
    if alpha > 0 and len(scores):
        scores = scores + np.float32(alpha * _CLOSENESS) * similarities.scaled
    scores[~allowed] = 0
    return np.asarray(scores, np.float32)
