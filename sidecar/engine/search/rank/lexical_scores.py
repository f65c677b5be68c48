"""Scores a query's terms against every chunk and file: BM25 of chunk bodies and of each file field, and BM25F of all
fields.

Source: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sidecar.engine.search.rank.chunk_groups import ChunkGroups
from sidecar.engine.search.rank.index_columns import CHUNK_CURVE, FIELD_CURVES, FILE_CURVE, IndexColumns
from sidecar.engine.search.rank.strongest import strongest
from sidecar.engine.search.rank.word_scores import ChunkWords, FileWords, balance, balanced, mean
from sidecar.engine.search.source import Flags, Rows, SearchedSnapshot
from sidecar.model.terms import Ids
from sidecar.parts.lexical.analyse import FIELDS, Field
from sidecar.parts.lexical.bm25 import Floats, idf, saturate
from sidecar.parts.lexical.postings import FoundPostings, Postings, read_most_telling

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
FIELD_K1 = np.array([curve.k1 for curve in FIELD_CURVES], np.float32)
DAMPING = 0.15
"""The strength of BM25F's second saturation: a term that occurs in five fields is not five times the evidence."""
_CELLS = 1 << 18
"""The maximum of terms times files that are processed at once: one megabyte per array of float32."""


@dataclass(frozen=True)
class LexicalScores:
    """Scores of all rows of the snapshot; 0 outside the collection. `chunks`, `chunk_names` and `chunk_cover` have the
    shape [chunks]; `files`, `bodies` and `body_cover` [files]; `fields` and `field_scores` [FIELDS, files].

    - BM25, unbounded: `chunks` of each chunk's body, `bodies` of all bodies of a file, `field_scores` of each field;
      `files` is BM25F of all fields and the body.
    - Shares of the query's idf, 0-1: `chunk_cover` in a chunk, `chunk_names` in the names that it defines, `body_cover`
      in a file's bodies, `fields` in each field.

    `rarity` is the sum of the idf of the terms among chunks.
    """

    columns: IndexColumns
    chunks: Floats
    chunk_names: Floats
    fields: Floats
    files: Floats
    bodies: Floats
    field_scores: Floats
    chunk_cover: Floats
    body_cover: Floats
    rarity: float = 0.0

    def of_files(self, files: Rows) -> FileWords:
        """See `WordScores`."""
        fields, scores = self.fields[:, files], self.field_scores[:, files]
        return FileWords(fields, self.bodies[files], scores, self.body_cover[files])

    def of_chunks(self, groups: ChunkGroups) -> ChunkWords:
        """See `WordScores`."""
        return ChunkWords(self.chunks[groups.rows], self.chunk_cover[groups.rows], self.chunk_names[groups.rows])

    def best_by_chunk(self, limit: int, paths: Sequence[str]) -> Rows:
        """See `WordScores`."""
        return strongest(self.columns.best_per_file(self.chunks, len(self.files)), limit, paths)

    def keep(self, chunks: Flags, files: Flags) -> None:
        """See `WordScores`."""
        self.chunks[~chunks] = 0
        self.chunk_names[~chunks] = 0
        self.files[~files] = 0


def match_query(
    snapshot: SearchedSnapshot, columns: IndexColumns, terms: Sequence[str], title: Sequence[str]
) -> LexicalScores:
    """Returns the scores of a query's terms. For a long question, the whole text and the title count half each."""
    whole = match_terms(snapshot, columns, terms)
    return _mixed(match_terms(snapshot, columns, title), whole) if title else whole


def _mixed(one: LexicalScores, other: LexicalScores) -> LexicalScores:
    """Returns the mean of two queries' scores. Unbounded scores are first brought to the same maximum. The rarity is
    that of `other`."""
    return LexicalScores(
        columns=one.columns,
        chunks=_balanced(one.chunks, other.chunks),
        chunk_names=mean(one.chunk_names, other.chunk_names),
        fields=mean(one.fields, other.fields),
        files=_balanced(one.files, other.files),
        bodies=_balanced(one.bodies, other.bodies),
        field_scores=np.stack(list(map(_balanced, one.field_scores, other.field_scores))),
        chunk_cover=mean(one.chunk_cover, other.chunk_cover),
        body_cover=mean(one.body_cover, other.body_cover),
        rarity=other.rarity,
    )


def _balanced(one: Floats, other: Floats) -> Floats:
    return balanced(one, other, balance(float(one.max(initial=0)), float(other.max(initial=0))))


def match_terms(snapshot: SearchedSnapshot, columns: IndexColumns, terms: Sequence[str]) -> LexicalScores:
    """Returns the scores of a query's terms; all 0 without terms. If there are many, only the `most_telling` are looked
    up, and the others count as missing in the shares."""
    chunks, files = len(snapshot.chunk_ids), len(snapshot.file_ids)
    match = LexicalScores(
        columns=columns,
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
    total = rarity = 0.0
    telling, found = read_most_telling(snapshot.connection, terms)
    for start in range(0, len(telling), step):
        count = min(step, len(telling) - start)
        postings = found.part(start, start + count) if count < len(telling) else found
        in_files, in_chunks = _add_terms(match, snapshot, columns, postings, count)
        total += in_files
        rarity += in_chunks
    total += idf(columns.file_count, 0) * (len(terms) - len(telling))
    if total:
        for shares in (match.chunk_names, match.fields, match.chunk_cover, match.body_cover):
            np.divide(shares, np.float32(total), out=shares)
    return replace(match, rarity=rarity)


def _add_terms(
    match: LexicalScores, snapshot: SearchedSnapshot, columns: IndexColumns, postings: FoundPostings, terms: int
) -> tuple[float, float]:
    """Adds the scores of some terms to `match` and returns the sums of their idf among files and among chunks.

    All terms are computed at once in arrays of shape [terms, files]: in all but large workspaces the number of numpy
    calls costs more than the arithmetic.
    """
    in_bodies, in_names, in_fields = postings.together()
    files = len(match.files)
    shape = (terms, files)
    bodies, chunks = _alive(in_bodies, columns.chunks.rows(in_bodies.ids))
    chunk_weights = idfs(columns.chunk_count, np.bincount(bodies.places, minlength=terms))
    strengths = saturate(bodies.tfs, columns.chunk_norms[chunks], CHUNK_CURVE.k1)
    np.add.at(match.chunks, chunks, chunk_weights[bodies.places] * strengths)

    counts = _by_file(bodies.places, snapshot.chunk_file[chunks], bodies.tfs, shape)
    in_body = counts > 0
    # Files without the term have count 0 and score 0.
    body = saturate(counts, columns.file_norms, FILE_CURVE.k1)
    held, holders = _alive(in_fields, columns.files.rows(in_fields.ids // FIELDS))
    seen = in_body.copy()
    seen[held.places, holders] = True
    weights = idfs(columns.file_count, np.count_nonzero(seen, axis=1))

    fields, tfs = held.ids % FIELDS, held.tfs.astype(np.float32)
    scores = tfs * (FIELD_K1[fields] + 1) / (tfs + columns.field_norms[holders, fields])
    combined = body + _by_file(held.places, holders, scores * FIELD_WEIGHTS[fields], shape)
    by_weight = weights[:, None]
    match.files[:] += _summed(by_weight * combined / (1 + np.float32(DAMPING) * combined))
    match.bodies[:] += _summed(by_weight * body)
    match.body_cover[:] += _summed(by_weight * in_body)
    cells = fields * files + holders
    np.add.at(match.fields.ravel(), cells, weights[held.places])
    np.add.at(match.field_scores.ravel(), cells, weights[held.places] * scores)
    np.add.at(match.chunk_cover, chunks, weights[bodies.places])
    names, named = _alive(in_names, columns.chunks.rows(in_names.ids))
    np.add.at(match.chunk_names, named, weights[names.places])
    return float(weights.sum(dtype=np.float64)), float(chunk_weights.sum(dtype=np.float64))


def _alive(postings: Postings, rows: Rows) -> tuple[Postings, Rows]:
    """Returns the postings whose row still exists, and their rows."""
    keep = rows >= 0
    if keep.all():
        return postings, rows
    return Postings(postings.places[keep], postings.ids[keep], postings.tfs[keep]), rows[keep]


def idfs(count: int, containing: NDArray[np.int64]) -> Floats:
    """Returns the idf of each term, shape [terms]. `containing` has the number of documents, of `count`, that contain
    the term."""
    return np.array([idf(count, held) for held in containing.tolist()], np.float32)


def _by_file(terms: Ids, rows: Rows, values: NDArray[np.generic], shape: tuple[int, int]) -> Floats:
    """Returns the sums of values per term and file row, in an array of this shape."""
    sums = np.bincount(terms * shape[1] + rows, weights=values, minlength=shape[0] * shape[1])
    return sums.astype(np.float32).reshape(shape)


def _summed(by_term: Floats) -> Floats:
    return np.asarray(by_term.sum(axis=0, dtype=np.float32))
