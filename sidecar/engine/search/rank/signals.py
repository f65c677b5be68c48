"""Computes the signals, which are the facts about each candidate file that features use. Each signal is computed at its
first use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sidecar.engine.search.messages import said_in
from sidecar.engine.search.query import Query
from sidecar.engine.search.rank.chunk_groups import ChunkGroups, relative
from sidecar.engine.search.rank.chunk_scores import ChunkScores, Closeness
from sidecar.engine.search.rank.definitions import DefinitionScores
from sidecar.engine.search.rank.index_columns import IndexColumns, aligned
from sidecar.engine.search.rank.mentions import Mentions, mentions_of
from sidecar.engine.search.rank.paths import PathFacts, PathTable, name_under_test
from sidecar.engine.search.rank.strongest import strongest
from sidecar.engine.search.rank.word_scores import FileWords, WordScores
from sidecar.engine.search.source import Rows, SearchedSnapshot
from sidecar.model.terms import Ids
from sidecar.parts.lexical.analyse import Field
from sidecar.parts.lexical.bm25 import Floats

_DOCUMENTATION = 1
_LOOKED_UP = 16
_LIKELY = 3
_READ = 3
"""The number of chunks of a likely file that are compared with an error message."""
_ANY = np.float32(1e-3)
SPAN = 0.35
"""A cosine at least this far below the best one counts as unrelated, for static and for transformer models alike."""


@dataclass(frozen=True, slots=True)
class _PathsOf:
    """The paths of some file rows, looked up one by one, because few of them decide anything."""

    paths: Sequence[str]
    files: Rows

    def __getitem__(self, place: int) -> str:
        return self.paths[int(self.files[place])]


@dataclass(frozen=True, slots=True, eq=False)
class _Paths:
    """The table of paths of a revision with these files."""

    file_ids: Ids
    table: PathTable


@dataclass(frozen=True)
class Signals:
    """Arrays about the candidate files, float32 of shape [candidates] (parallel to `files`) with values in 0-1 unless
    stated otherwise. Signals of words or of vectors are 0 if these were not searched, except `closeness_lead`, which is
    then 1 for all."""

    snapshot: SearchedSnapshot
    columns: IndexColumns
    query: Query
    match: WordScores
    symbols: DefinitionScores
    passages: ChunkScores
    closeness: Closeness

    @cached_property
    def groups(self) -> ChunkGroups:
        """The chunks of the candidates."""
        return self.passages.groups

    @cached_property
    def files(self) -> Rows:
        """The candidates' file rows."""
        return self.groups.files

    @cached_property
    def best_body(self) -> Floats:
        """BM25 of each file's best chunk, relative to the best candidate."""
        return relative(self.groups.best(self.passages.words))

    @cached_property
    def all_fields(self) -> Floats:
        """BM25F, relative to the best candidate."""
        return relative(self.fields_found)

    @cached_property
    def fields_found(self) -> Floats:
        """BM25F itself: 0 or more, without an upper bound."""
        return self.words.whole

    @cached_property
    def words(self) -> FileWords:
        """The scores of the query's terms in the candidates."""
        return self.match.of_files(self.files)

    def share_in(self, field: Field) -> Floats:
        """Returns the share of the query's idf that occurs in a field."""
        return np.asarray(self.words.fields[field])

    def strength_in(self, field: Field) -> Floats:
        """Returns BM25 of a field, relative to the best candidate."""
        return relative(self.words.field_scores[field])

    @cached_property
    def bodies(self) -> Floats:
        """BM25 of the whole body, relative to the best candidate."""
        return relative(self.words.bodies)

    @cached_property
    def chunk_cover(self) -> Floats:
        """The highest share of the query's idf that occurs in one chunk."""
        return self.groups.best(self.passages.cover)

    @cached_property
    def body_cover(self) -> Floats:
        """The share of the query's idf that occurs in the body."""
        return self.words.body_cover

    @cached_property
    def sought(self) -> Floats:
        """The weight of the weightiest definition of a name that the query contains as an identifier."""
        return self.symbols.files_sought[self.files]

    @cached_property
    def plain(self) -> Floats:
        """The weight of the weightiest definition of a plain word of the query, or of two words joined."""
        return self.symbols.files_plain[self.files]

    @cached_property
    def stems(self) -> Floats:
        """How much of the query equals the file's name: 1 for an identifier or two words joined, a share for one
        word."""
        return self.symbols.stems[self.files]

    @cached_property
    def similarity(self) -> Floats:
        """The cosine of the closest chunk; negative ones are 0."""
        return _in_0_1(self.groups.best(self.closeness.known))

    @cached_property
    def mean_similarity(self) -> Floats:
        """The mean cosine of all chunks."""
        return _in_0_1(self.groups.mean(self.closeness.known))

    @cached_property
    def body_lengths(self) -> Floats:
        """The length of the body in terms, not in 0-1."""
        return self.columns.body_lengths[self.files]

    @cached_property
    def path_table(self) -> PathTable:
        """The facts of paths, with the candidates' rows filled in."""
        snapshot = self.snapshot

        def make(known: _Paths | None) -> _Paths:
            shared = None if known is None else aligned(snapshot.file_ids, known.file_ids)
            former = known.table if known is not None and shared is not None else None
            in_code = snapshot.file_collection != _DOCUMENTATION
            table = PathTable(snapshot.paths, snapshot.languages, in_code, former, shared or ())
            return _Paths(snapshot.file_ids, table)

        table = snapshot.memo.carried(_Paths, make).table
        table.look_at(self.files)
        return table

    @cached_property
    def paths(self) -> NDArray[np.float32]:
        """The path facts, shape [candidates, PathFacts]. In the documentation collection no file counts as an example,
        because tutorials are documentation."""
        facts = self.path_table.facts[self.files]
        if self.columns.collection == _DOCUMENTATION:
            facts[:, PathFacts._fields.index("example")] = 0
        return facts

    @cached_property
    def merit(self) -> Floats:
        """A first estimate of how well the file answers, not in 0-1."""
        return self.all_fields + self.best_body + self.closeness_lead

    @cached_property
    def tests_of_likely(self) -> Floats:
        """1 for tests that are named after one of the three code files of the highest merit, else 0."""
        tests = self.paths[:, 0] >= 1
        found = np.zeros(len(self.files), np.float32)
        code = (~tests & (self.path_table.prose[self.files] == 0)).nonzero()[0]
        likely = code[np.argsort(-self.merit[code], kind="stable")[:_LIKELY]]
        paths = self.snapshot.paths
        names = {name_under_test(paths[file]) for file in self.files[likely].tolist()}
        for place in tests.nonzero()[0].tolist():
            found[place] = name_under_test(paths[int(self.files[place])]) in names
        return found

    @cached_property
    def likeliest(self) -> Rows:
        """Indexes into `files` of the 16 most promising candidates, ascending. Only their mentions are looked up,
        because that takes a look-up per file and matters only among the first."""
        paths = _PathsOf(self.snapshot.paths, self.files)
        return np.sort(strongest(np.asarray(self.merit + _ANY, np.float32), _LOOKED_UP, paths))

    @cached_property
    def message(self) -> Floats:
        """How much of the query, if it is an error message, each chunk contains: a local array. Only texts of the
        likeliest files are read, and in each of these only the three chunks with the most of its words."""
        said = np.zeros(len(self.groups.rows), np.float32)
        if self.query.message:
            words = self.passages.words * self.of_likeliest(np.ones(len(self.likeliest)))[self.groups.position]
            places, _ = self.groups.strongest(words, _READ)
            places = places[words[places] > 0]
            texts = self.snapshot.stored_texts(self.groups.rows[places])
            said[places] = [said_in(text, self.query.message) for text in texts]
        return said

    @cached_property
    def closeness_lead(self) -> Floats:
        """1 for the highest similarity, 0 for one at least `SPAN` below it, linear in between."""
        behind = (np.maximum.reduce(self.similarity, initial=0) - self.similarity) / np.float32(SPAN)
        return np.asarray(np.minimum(np.maximum(1 - behind, 0), 1), np.float32)

    @cached_property
    def mentions(self) -> Mentions:
        """The files that mention each of the likeliest candidates."""
        return mentions_of(self.snapshot, self.columns, self.files[self.likeliest])

    @cached_property
    def users(self) -> Floats:
        """The sum of BM25F, relative to the best file, over the files that mention each of the likeliest candidates:
        shape [likeliest], not in 0-1."""
        best = self.match.best_whole or np.float32(1)
        return self.mentions.sums(lambda files: self.match.whole(files) / best)

    def of_likeliest(self, values: NDArray[np.floating]) -> Floats:
        """Returns values of the likeliest candidates as an array over all candidates; 0 for the others."""
        spread = np.zeros(len(self.files), np.float32)
        spread[self.likeliest] = values
        return spread


def _in_0_1(values: Floats) -> Floats:
    """Returns the values, those below 0 as 0 and those above 1 as 1: `np.clip` in a third of the time."""
    return np.minimum(np.maximum(values, 0), 1)
