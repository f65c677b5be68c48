"""Scores a query's terms against every chunk and file: BM25 of chunk bodies, BM25 of each file field, BM25F of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sidecar.engine.rank.columns import CHUNK_CURVE, FIELD_CURVES, FILE_CURVE, Columns, SearchedSnapshot
from sidecar.parts.lexical.analyse import FIELDS, Field
from sidecar.parts.lexical.bm25 import Floats, idf, saturate
from sidecar.parts.lexical.postings import TermPostings, read_postings

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
    found = read_postings(snapshot.connection, terms) if chunks else {}
    total = 0.0
    for term in terms:
        total += _add_term(match, snapshot, columns, found[term]) if term in found else idf(columns.file_count, 0)
    if total:
        for shares in (match.chunk_names, match.fields, match.chunk_cover, match.body_cover):
            np.divide(shares, np.float32(total), out=shares)
    return match


def _add_term(match: LexicalMatch, snapshot: SearchedSnapshot, columns: Columns, postings: TermPostings) -> float:
    """Adds one term's scores and returns its inverse file frequency."""
    rows, tfs = _alive(columns.chunks.rows(postings.bodies.ids), postings.bodies.tfs)
    chunk_idf = idf(columns.chunk_count, len(rows))
    match.chunks[rows] += np.float32(chunk_idf) * saturate(tfs, columns.chunk_norms[rows], CHUNK_CURVE.k1)

    files = len(match.files)
    counts = np.bincount(snapshot.chunk_file[rows], weights=tfs, minlength=files).astype(np.float32)
    in_body = counts > 0
    # A file without the term has count 0 and so scores 0.
    body = saturate(counts, columns.file_norms, FILE_CURVE.k1)
    holders, fields, found = _alive_fields(columns, postings)
    seen = in_body.copy()
    seen[holders] = True
    weight = np.float32(idf(columns.file_count, int(np.count_nonzero(seen))))

    scores = found * (_K1[fields] + 1) / (found + columns.field_norms[holders, fields])
    combined = body + np.bincount(holders, weights=scores * FIELD_WEIGHTS[fields], minlength=files).astype(np.float32)
    match.files[:] += weight * combined / (1 + np.float32(_DAMPING) * combined)
    match.fields[fields, holders] += weight
    match.field_scores[fields, holders] += weight * scores
    match.bodies[:] += weight * body
    match.body_cover[in_body] += weight
    match.chunk_cover[rows] += weight
    names = columns.chunks.rows(postings.names.ids)
    match.chunk_names[names[names >= 0]] += weight
    return float(weight)


def _alive(rows: NDArray[np.int32], tfs: NDArray[np.uint8]) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    keep = rows >= 0
    return (rows, tfs) if keep.all() else (rows[keep], tfs[keep])


def _alive_fields(columns: Columns, postings: TermPostings) -> tuple[NDArray[np.int32], NDArray[np.int64], Floats]:
    ids = postings.fields.ids
    file_ids = ids // FIELDS
    rows = columns.files.rows(file_ids)
    keep = rows >= 0
    return rows[keep], (ids - file_ids * FIELDS)[keep], postings.fields.tfs[keep].astype(np.float32)
