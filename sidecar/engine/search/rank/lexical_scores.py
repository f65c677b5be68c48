"""Scores a query's terms against every chunk and file: adds up what each term contributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sidecar.engine.search.rank.chunk_groups import ChunkGroups
from sidecar.engine.search.rank.contributions import Contribution, contributions_of
from sidecar.engine.search.rank.index_columns import IndexColumns
from sidecar.engine.search.rank.strongest import strongest
from sidecar.engine.search.rank.word_scores import ChunkWords, FileWords, balance, balanced, mean
from sidecar.engine.search.source import Flags, Rows, SearchedSnapshot
from sidecar.parts.lexical.analyse import FIELDS
from sidecar.parts.lexical.bm25 import Floats, idf


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
        return FileWords(self.files[files], fields, self.bodies[files], scores, self.body_cover[files])

    @property
    def best_whole(self) -> np.float32:
        """See `WordScores`."""
        return np.float32(np.maximum.reduce(self.files, initial=0))

    def whole(self, files: Rows) -> Floats:
        """See `WordScores`."""
        return self.files[files]

    def best_by_whole(self, limit: int, paths: Sequence[str]) -> Rows:
        """See `WordScores`."""
        return strongest(self.files, limit, paths)

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
    """Returns the scores of each query's terms."""
    rare = idf(columns.file_count, 0)
    return [
        _add(snapshot, columns, found, rare * (len(terms) - len(found)))
        for found, terms in zip(contributions_of(snapshot, columns, queries), queries, strict=True)
    ]


def _add(
    snapshot: SearchedSnapshot, columns: IndexColumns, found: Sequence[Contribution], missing: float
) -> LexicalScores:
    """Returns the sums of what these terms add, one after the other. `missing` is the idf of the query's terms that
    were not looked up."""
    chunks, files = len(snapshot.chunk_ids), len(snapshot.file_ids)
    weights = np.array([term.weight for term in found], np.float32)
    total = float(weights.sum(dtype=np.float64)) + missing

    def added(shape: int, rows: Sequence[Rows], values: Sequence[Floats]) -> Floats:
        sums = np.zeros(shape, np.float32)
        if rows:
            np.add.at(sums, np.concatenate(rows), np.concatenate(values))
        return sums

    def shares(shape: int, rows: Sequence[Rows]) -> Floats:
        sums = np.zeros(shape, np.float32)
        if rows:
            np.add.at(sums, np.concatenate(rows), weights.repeat([len(each) for each in rows]))
        return np.divide(sums, np.float32(total), out=sums) if total else sums

    in_fields, in_bodies = [term.fields for term in found], [term.bodies for term in found]
    in_chunks = [term.chunks for term in found]
    fields, field_scores = shares(FIELDS * files, in_fields), [term.field_scores for term in found]
    return LexicalScores(
        columns=columns,
        chunks=added(chunks, in_chunks, [term.chunk_scores for term in found]),
        chunk_names=shares(chunks, [term.names for term in found]),
        fields=fields.reshape(FIELDS, files),
        files=added(files, [term.files for term in found], [term.file_scores for term in found]),
        bodies=added(files, in_bodies, [term.body_scores for term in found]),
        field_scores=added(FIELDS * files, in_fields, field_scores).reshape(FIELDS, files),
        chunk_cover=shares(chunks, in_chunks),
        body_cover=shares(files, in_bodies),
        rarity=float(np.sum([term.chunk_weight for term in found], dtype=np.float64)),
    )
