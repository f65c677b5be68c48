"""Scores a query's terms against every chunk and file: BM25 of chunk bodies, BM25 of each file field, BM25F of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sidecar.engine.rank.columns import CHUNK_CURVE, FIELD_CURVES, FILE_CURVE, Columns, Rows, SearchedSnapshot
from sidecar.model import Ids
from sidecar.parts.lexical.analyse import FIELDS, Field
from sidecar.parts.lexical.bm25 import Floats, idf, saturate
from sidecar.parts.lexical.postings import MOST_TERMS, Postings, read_postings

_FIELD_WEIGHTS = {
    Field.PATH: 2.0,
    Field.STEM: 2.5,
    Field.DIRECTORIES: 0.8,
    Field.NAMES: 1.5,
    Field.SIGNATURES: 0.7,
    Field.COMMENTS: 1.0,
    Field.HEAD: 1.0,
}
FIELD_WEIGHTS = np.array([_FIELD_WEIGHTS[field] for field in Field], np.float32)
_K1 = np.array([curve.k1 for curve in FIELD_CURVES], np.float32)
_DAMPING = 0.15
"""BM25F's second saturation: a term in five fields is not five times the evidence."""
_CELLS = 1 << 18
"""Terms times files that are looked at together: a megabyte per array."""


@dataclass(frozen=True)
class LexicalMatch:
    """Over all rows of the snapshot; 0 outside the collection.

    BM25: `chunks` of bodies, `bodies` of whole files' bodies, `field_scores` [FIELDS, files] of each field; `files` is
    BM25F over all. Shares of the query's idf: `chunk_cover` in a chunk, `chunk_names` among the names that it defines,
    `body_cover` in a file's body, `fields` [FIELDS, files] in each field.
    """

    chunks: Floats
    chunk_names: Floats
    fields: Floats
    files: Floats
    bodies: Floats
    field_scores: Floats
    chunk_cover: Floats
    body_cover: Floats


def match_terms(snapshot: SearchedSnapshot, columns: Columns, terms: Sequence[str]) -> LexicalMatch:
    chunks, files = len(snapshot.chunk_ids), len(snapshot.file_ids)
    match = LexicalMatch(
        chunks=np.zeros(chunks, np.float32),
        chunk_names=np.zeros(chunks, np.float32),
        fields=np.zeros((FIELDS, files), np.float32),
        files=np.zeros(files, np.float32),
        bodies=np.zeros(files, np.float32),
        field_scores=np.zeros((FIELDS, files), np.float32),
        chunk_cover=np.zeros(chunks, np.float32),
        body_cover=np.zeros(files, np.float32),
    )
    step = max(1, _CELLS // max(1, files))
    total = 0.0
    for start in range(0, min(len(terms), MOST_TERMS), step):
        total += _add_terms(match, snapshot, columns, terms[start : start + step])
    total += idf(columns.file_count, 0) * max(0, len(terms) - MOST_TERMS)
    if total:
        for shares in (match.chunk_names, match.fields, match.chunk_cover, match.body_cover):
            np.divide(shares, np.float32(total), out=shares)
    return match


def _add_terms(match: LexicalMatch, snapshot: SearchedSnapshot, columns: Columns, terms: Sequence[str]) -> float:
    """Adds the scores of some terms and returns the sum of their inverse file frequencies.

    Side by side, in arrays of shape [terms, files], because calls cost more than numbers in all but large workspaces.
    """
    found = read_postings(snapshot.connection, terms)
    files = len(match.files)
    bodies = _alive(found.bodies, columns.chunks.rows(found.bodies.ids))
    chunk_weights = _idfs(columns.chunk_count, np.bincount(bodies.terms, minlength=len(terms)))
    strengths = saturate(bodies.tfs, columns.chunk_norms[bodies.rows], CHUNK_CURVE.k1)
    np.add.at(match.chunks, bodies.rows, chunk_weights[bodies.terms] * strengths)

    counts = _by_file(bodies.terms, snapshot.chunk_file[bodies.rows], bodies.tfs, (len(terms), files))
    in_body = counts > 0
    # A file without the term has count 0 and so scores 0.
    body = saturate(counts, columns.file_norms, FILE_CURVE.k1)
    file_ids = found.fields.ids // FIELDS
    fields = (found.fields.ids - file_ids * FIELDS).astype(np.int32)
    held = _alive(found.fields, columns.files.rows(file_ids), fields)
    seen = in_body.copy()
    seen[held.terms, held.rows] = True
    weights = _idfs(columns.file_count, np.count_nonzero(seen, axis=1))

    tfs = held.tfs.astype(np.float32)
    scores = tfs * (_K1[held.fields] + 1) / (tfs + columns.field_norms[held.rows, held.fields])
    combined = body + _by_file(held.terms, held.rows, scores * FIELD_WEIGHTS[held.fields], (len(terms), files))
    by_weight = weights[:, None]
    match.files[:] += _summed(by_weight * combined / (1 + np.float32(_DAMPING) * combined))
    match.bodies[:] += _summed(by_weight * body)
    match.body_cover[:] += _summed(by_weight * in_body)
    cells = held.fields * files + held.rows
    np.add.at(match.fields.ravel(), cells, weights[held.terms])
    np.add.at(match.field_scores.ravel(), cells, weights[held.terms] * scores)
    np.add.at(match.chunk_cover, bodies.rows, weights[bodies.terms])
    names = _alive(found.names, columns.chunks.rows(found.names.ids))
    np.add.at(match.chunk_names, names.rows, weights[names.terms])
    return float(weights.sum(dtype=np.float64))


@dataclass(frozen=True, slots=True)
class _Alive:
    """Postings of what is still there, as parallel arrays; `fields` only where they were given."""

    terms: Ids
    rows: Rows
    tfs: NDArray[np.uint8]
    fields: Rows


def _alive(postings: Postings, rows: Rows, fields: Rows | None = None) -> _Alive:
    fields = rows if fields is None else fields
    keep = rows >= 0
    if keep.all():
        return _Alive(postings.places, rows, postings.tfs, fields)
    return _Alive(postings.places[keep], rows[keep], postings.tfs[keep], fields[keep])


def _idfs(count: int, containing: NDArray[np.int64]) -> Floats:
    return np.array([idf(count, held) for held in containing.tolist()], np.float32)


def _by_file(terms: Ids, rows: Rows, values: NDArray[np.generic], shape: tuple[int, int]) -> Floats:
    """Values added up per term and file row."""
    sums = np.bincount(terms * shape[1] + rows, weights=values, minlength=shape[0] * shape[1])
    return sums.astype(np.float32).reshape(shape)


def _summed(by_term: Floats) -> Floats:
    return np.asarray(by_term.sum(axis=0, dtype=np.float32))
