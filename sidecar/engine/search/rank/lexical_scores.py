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
from sidecar.parts.lexical.postings import FoundPostings, Postings
from sidecar.parts.lexical.telling import read_most_telling

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
_CELLS = 1 << 20
"""The maximum of terms times files that are processed at once, in an array of four megabytes."""


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
    if not title:
        return match_terms(snapshot, columns, terms)
    whole, of_title = _match(snapshot, columns, terms, title)
    return _mixed(of_title, whole)


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
    (match,) = _match(snapshot, columns, terms)
    return match


def _match(snapshot: SearchedSnapshot, columns: IndexColumns, *queries: Sequence[str]) -> list[LexicalScores]:
    """Returns the scores of each query's terms. What the queries share is read and computed once."""
    chunks, files = len(snapshot.chunk_ids), len(snapshot.file_ids)
    telling, found = read_most_telling(snapshot.connection, snapshot.chunk_ids, *queries)
    sums = [_Sums(_nothing(columns, chunks, files), places) for places in telling]
    step = max(1, _CELLS // max(1, files))
    for start in range(0, found.terms, step):
        stop = min(start + step, found.terms)
        part = found.part(start, stop) if stop - start < found.terms else found
        contributions = _contributions_of(snapshot, columns, part)
        for each in sums:
            each.add(contributions, each.places[(each.places >= start) & (each.places < stop)] - start)
    return [
        each.scores(idf(columns.file_count, 0) * (len(terms) - len(each.places)))
        for each, terms in zip(sums, queries, strict=True)
    ]


def _nothing(columns: IndexColumns, chunks: int, files: int) -> LexicalScores:
    """Returns scores of 0 for so many chunks and files."""
    return LexicalScores(
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


@dataclass(frozen=True, slots=True)
class _Cells:
    """The occurrences of terms in cells of an array, term after term: those of term i are from `bounds[i]` to
    `bounds[i + 1]`. `places` has the term of each, `cells` its index in the flat array."""

    places: Ids
    cells: Ids
    bounds: list[int]

    def of(self, terms: Ids | slice) -> Ids | slice:
        """Returns the indexes of the occurrences of these terms, in this order. A slice must be of all terms."""
        if isinstance(terms, slice):
            return terms
        bounds = self.bounds
        return np.concatenate([np.arange(bounds[term], bounds[term + 1]) for term in terms.tolist()])


@dataclass(frozen=True, slots=True)
class _Contributions:
    """What each of some terms adds to the scores. `idf` (among files) and `chunk_idf` have the shape [terms].

    `in_files` are the files that have a term anywhere, `in_bodies` those that have it in their bodies; `in_chunks`,
    `in_names` and `in_fields` are its occurrences. The arrays of scores are parallel to them.
    """

    idf: Floats
    chunk_idf: Floats
    in_files: _Cells
    files: Floats
    in_bodies: _Cells
    bodies: Floats
    in_chunks: _Cells
    chunks: Floats
    in_names: _Cells
    in_fields: _Cells
    field_scores: Floats


@dataclass
class _Sums:
    """The scores of one query while they are added up. `places` are those of its terms among all that are looked
    up."""

    match: LexicalScores
    places: Ids
    idf: float = 0.0
    rarity: float = 0.0

    def add(self, found: _Contributions, chosen: Ids) -> None:
        """Adds the contributions of these terms, in this order."""
        if not len(chosen):
            return
        is_every = len(chosen) == len(found.idf) and bool((chosen == np.arange(len(chosen))).all())
        match, rows = self.match, slice(None) if is_every else chosen
        at, held = found.in_files.of(rows), found.in_files
        np.add.at(match.files, held.cells[at], found.files[at])
        at, held = found.in_bodies.of(rows), found.in_bodies
        np.add.at(match.bodies, held.cells[at], found.bodies[at])
        np.add.at(match.body_cover, held.cells[at], found.idf[held.places[at]])
        at, held = found.in_chunks.of(rows), found.in_chunks
        np.add.at(match.chunks, held.cells[at], found.chunks[at])
        np.add.at(match.chunk_cover, held.cells[at], found.idf[held.places[at]])
        at, held = found.in_fields.of(rows), found.in_fields
        np.add.at(match.fields.ravel(), held.cells[at], found.idf[held.places[at]])
        np.add.at(match.field_scores.ravel(), held.cells[at], found.field_scores[at])
        at, held = found.in_names.of(rows), found.in_names
        np.add.at(match.chunk_names, held.cells[at], found.idf[held.places[at]])
        self.idf += float(found.idf[rows].sum(dtype=np.float64))
        self.rarity += float(found.chunk_idf[rows].sum(dtype=np.float64))

    def scores(self, missing: float) -> LexicalScores:
        """Returns the scores. `missing` is the idf of the query's terms that were not looked up."""
        total, match = self.idf + missing, self.match
        if total:
            for shares in (match.chunk_names, match.fields, match.chunk_cover, match.body_cover):
                np.divide(shares, np.float32(total), out=shares)
        return replace(match, rarity=self.rarity)


def _contributions_of(snapshot: SearchedSnapshot, columns: IndexColumns, postings: FoundPostings) -> _Contributions:
    """Computes the contributions of some terms, all at once: in all but large workspaces the number of numpy calls
    costs more than the arithmetic."""
    terms, files = postings.terms, len(snapshot.file_ids)
    in_bodies, in_names, in_fields = postings.together()
    bodies, chunks = _alive(in_bodies, columns.chunks.rows(in_bodies.ids))
    in_chunks = _cells(bodies.places, chunks, terms)
    chunk_idf = idfs(columns.chunk_count, np.diff(in_chunks.bounds))
    strengths = saturate(bodies.tfs, columns.chunk_norms[chunks], CHUNK_CURVE.k1)

    holders = snapshot.chunk_file[chunks]
    starts, number = _runs(bodies.places, holders)
    body_terms, body_files = bodies.places[starts], holders[starts]
    counts = np.bincount(number, weights=bodies.tfs, minlength=len(starts))
    body = saturate(counts, columns.file_norms[body_files], FILE_CURVE.k1)

    held, holders = _alive(in_fields, columns.files.rows(in_fields.ids // FIELDS))
    fields, tfs = held.ids % FIELDS, held.tfs.astype(np.float32)
    scores = tfs * (FIELD_K1[fields] + 1) / (tfs + columns.field_norms[holders, fields])
    starts, number = _runs(held.places, holders)
    field_terms, field_files = held.places[starts], holders[starts]
    weighted = np.bincount(number, weights=scores * FIELD_WEIGHTS[fields], minlength=len(starts)).astype(np.float32)

    found = np.zeros((terms, files), np.float32)
    found[body_terms, body_files] = body
    beside = found[field_terms, field_files]
    found[field_terms, field_files] = beside + weighted
    alone = beside == 0
    places = np.concatenate([body_terms, field_terms[alone]])
    order = places.argsort(kind="stable")
    places = places[order]
    in_files = _cells(places, np.concatenate([body_files, field_files[alone]])[order], terms)
    combined = found[places, in_files.cells]
    weights = idfs(columns.file_count, np.diff(in_files.bounds))
    names, named = _alive(in_names, columns.chunks.rows(in_names.ids))
    return _Contributions(
        idf=weights,
        chunk_idf=chunk_idf,
        in_files=in_files,
        files=weights[places] * combined / (1 + np.float32(DAMPING) * combined),
        in_bodies=_cells(body_terms, body_files, terms),
        bodies=weights[body_terms] * body,
        in_chunks=in_chunks,
        chunks=chunk_idf[bodies.places] * strengths,
        in_names=_cells(names.places, named, terms),
        in_fields=_cells(held.places, fields * files + holders, terms),
        field_scores=weights[held.places] * scores,
    )


def _runs(places: Ids, files: Rows) -> tuple[Ids, Ids]:
    """Returns the first posting of each term in each file, and for each posting the number of its run. The postings of
    a term in one file are side by side."""
    begins = np.ones(len(files), bool)
    np.logical_or(files[1:] != files[:-1], places[1:] != places[:-1], out=begins[1:])
    return begins.nonzero()[0], begins.cumsum() - 1


def _cells(places: Ids, cells: NDArray[np.integer], terms: int) -> _Cells:
    return _Cells(places, np.asarray(cells), places.searchsorted(np.arange(terms + 1)).tolist())


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
