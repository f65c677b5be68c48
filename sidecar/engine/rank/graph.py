"""Who mentions whom: files that write a file's name in their code, from the postings, one look-up per candidate.

A file's name stands for what it defines, most strictly where a file holds one class, and in import lines elsewhere.
What is found is kept per revision: a few bytes per file that was ever a candidate. Not here: the weight of any of it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sidecar.engine.rank.columns import Columns, Rows, SearchedSnapshot
from sidecar.parts.lexical.analyse import file_stem
from sidecar.parts.lexical.bm25 import Floats
from sidecar.parts.lexical.postings import read_postings
from sidecar.parts.lexical.tokens import terms_of

_AT_ONCE = 96
_NOBODY = np.zeros(0, np.int32)


def mentions_of(snapshot: SearchedSnapshot, columns: Columns, files: Rows) -> list[Rows]:
    """For each of these files the rows of the other files of its collection whose code holds its name."""
    known: dict[int, Rows] = snapshot.cache.setdefault(f"rank.mentions.{columns.collection}", {})
    wanted: dict[str, list[int]] = {}
    for file in files.tolist():
        if file not in known:
            terms = terms_of(file_stem(snapshot.paths[file]))
            wanted.setdefault(terms[0] if terms else "", []).append(file)
    unknown = list(wanted)
    for start in range(0, len(unknown), _AT_ONCE):
        _look_up(snapshot, columns, unknown[start : start + _AT_ONCE], wanted, known)
    return [known[file] for file in files.tolist()]


def _look_up(
    snapshot: SearchedSnapshot,
    columns: Columns,
    terms: Sequence[str],
    wanted: dict[str, list[int]],
    known: dict[int, Rows],
) -> None:
    found = read_postings(snapshot.connection, terms)
    for term in terms:
        holders = _NOBODY
        if term in found:
            rows = columns.chunks.rows(found[term].bodies.ids)
            rows = rows[rows >= 0]
            holders = np.unique(snapshot.chunk_file[rows[columns.in_collection[rows]]]).astype(np.int32)
        for file in wanted[term]:
            known[file] = holders[holders != file]


def counts(mentions: Sequence[Rows]) -> Floats:
    return np.array([len(rows) for rows in mentions], np.float32)


def mean_over(mentions: Sequence[Rows], scores: Floats) -> Floats:
    """The mean score of the files that mention each file; 0 where nobody does. `scores` are over all file rows."""
    sizes = np.maximum(counts(mentions), 1)
    return np.asarray(_sums(mentions, scores) / sizes, np.float32)


def sum_over(mentions: Sequence[Rows], scores: Floats) -> Floats:
    """The same, summed and damped, so that many middling ones count too."""
    return np.asarray(_sums(mentions, scores) / np.sqrt(1 + counts(mentions)), np.float32)


def _sums(mentions: Sequence[Rows], scores: Floats) -> Floats:
    if not mentions:
        return np.zeros(0, np.float32)
    position = np.repeat(np.arange(len(mentions)), counts(mentions).astype(np.int64))
    return np.bincount(position, weights=scores[np.concatenate(mentions)], minlength=len(mentions)).astype(np.float32)


def passed_on(mentions: Sequence[Rows], scores: Floats, files: Rows, size: int) -> Floats:
    """What each candidate gets from the candidates that it mentions: their score, less where many mention them."""
    received = np.zeros(size, np.float32)
    for score, rows in zip(scores, mentions, strict=True):
        received[rows] += score / np.float32(np.log2(2 + len(rows)))
    return received[files]
