"""Everything that is known about each candidate file before features weigh it, computed when a feature asks for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sidecar.engine.search.query import Query
from sidecar.engine.search.rank.candidates import strongest
from sidecar.engine.search.rank.chunk_groups import ChunkGroups, relative
from sidecar.engine.search.rank.chunk_scores import ChunkScores, Closeness
from sidecar.engine.search.rank.definitions import DefinitionScores
from sidecar.engine.search.rank.index_columns import IndexColumns
from sidecar.engine.search.rank.lexical_scores import LexicalScores
from sidecar.engine.search.rank.mentions import Mentions, mentions_of
from sidecar.engine.search.rank.paths import PathFacts, PathTable
from sidecar.engine.search.source import Rows, SearchedSnapshot
from sidecar.parts.lexical.analyse import Field
from sidecar.parts.lexical.bm25 import Floats

_DOCUMENTATION = 1
_LOOKED_UP = 16
_ANY = np.float32(1e-3)
SPAN = 0.35
"""Cosines this far below the best are as good as none (static and transformer models alike)."""


@dataclass(frozen=True)
class Signals:
    """Its arrays are parallel to `files`, each in 0-1 unless said otherwise; those of a search that was not asked for
    (words, vectors) are 0. `fuse` gives the fused ranks of all chunk rows."""

    snapshot: SearchedSnapshot
    columns: IndexColumns
    query: Query
    match: LexicalScores
    symbols: DefinitionScores
    passages: ChunkScores
    closeness: Closeness
    fuse: Callable[[], Floats]

    @property
    def groups(self) -> ChunkGroups:
        return self.passages.groups

    @property
    def files(self) -> Rows:
        return self.groups.files

    @cached_property
    def fused(self) -> Floats:
        return relative(self.groups.best(self.fuse()[self.groups.rows]))

    @cached_property
    def best_body(self) -> Floats:
        """Relative to the best, as all strengths are."""
        return relative(self.groups.best(self.passages.words))

    @cached_property
    def all_fields(self) -> Floats:
        return relative(self.fields_found)

    @cached_property
    def fields_found(self) -> Floats:
        """BM25F itself."""
        return self.match.files[self.files]

    @cached_property
    def all_files(self) -> Floats:
        """BM25F of every file row, relative."""
        return relative(self.match.files)

    def share_in(self, field: Field) -> Floats:
        """The share of the query's idf that a field has."""
        return np.asarray(self.match.fields[field][self.files])

    def strength_in(self, field: Field) -> Floats:
        return relative(self.match.field_scores[field][self.files])

    @cached_property
    def bodies(self) -> Floats:
        return relative(self.match.bodies[self.files])

    @cached_property
    def chunk_cover(self) -> Floats:
        return self.groups.best(self.passages.cover)

    @cached_property
    def body_cover(self) -> Floats:
        return self.match.body_cover[self.files]

    @cached_property
    def sought(self) -> Floats:
        return self.symbols.files_sought[self.files]

    @cached_property
    def plain(self) -> Floats:
        return self.symbols.files_plain[self.files]

    @cached_property
    def stems(self) -> Floats:
        return self.symbols.stems[self.files]

    @cached_property
    def similarity(self) -> Floats:
        return np.clip(self.groups.best(self.closeness.known), 0, 1)

    @cached_property
    def top_similarity(self) -> Floats:
        """Mean of the three closest chunks, of fewer where there are fewer."""
        known = self.closeness.known
        places, _ = self.groups.strongest(known, 3)
        files = self.groups.position[places]
        sums = np.bincount(files, weights=known[places], minlength=len(self.files))
        return np.asarray(np.clip(sums / np.minimum(self.groups.lengths, 3), 0, 1), np.float32)

    @cached_property
    def mean_similarity(self) -> Floats:
        return np.clip(self.groups.mean(self.closeness.known), 0, 1)

    @cached_property
    def body_lengths(self) -> Floats:
        """In terms."""
        return self.columns.body_lengths[self.files]

    @cached_property
    def path_table(self) -> PathTable:
        snapshot = self.snapshot

        def make() -> PathTable:
            return PathTable(snapshot.paths, snapshot.languages, snapshot.file_collection != _DOCUMENTATION)

        table = snapshot.memo.get(PathTable, make)
        table.look_at(self.files)
        return table

    @cached_property
    def paths(self) -> NDArray[np.float32]:
        """[files, PathFacts]."""
        facts = self.path_table.facts[self.files]
        if self.columns.collection == _DOCUMENTATION:
            facts[:, PathFacts._fields.index("example")] = 0  # a tutorial under docs/ is what documentation is
        return facts

    @cached_property
    def likeliest(self) -> Rows:
        """Places of the files whose users are looked up: it costs a look-up per file and decides among the first."""
        merit = self.all_fields + self.best_body + self.closeness_lead
        paths = self.snapshot.paths
        names = [paths[file] for file in self.files.tolist()]
        return np.sort(strongest(np.asarray(merit + _ANY, np.float32), _LOOKED_UP, names))

    @cached_property
    def closeness_lead(self) -> Floats:
        """From 0 for cosines that are as good as none, compared with the best, to 1 for the best."""
        best = self.similarity.max(initial=0)
        return np.asarray(np.clip(1 - (best - self.similarity) / np.float32(SPAN), 0, 1), np.float32)

    @cached_property
    def mentions(self) -> Mentions:
        """Of the likeliest."""
        return mentions_of(self.snapshot, self.columns, self.files[self.likeliest])

    @cached_property
    def users(self) -> Floats:
        """What the files that mention each of the likeliest score by words, added up: not in 0-1."""
        return self.mentions.sums(self.all_files)

    def of_likeliest(self, values: NDArray[np.floating]) -> Floats:
        """Values of the likeliest files as those of all; 0 for the others."""
        spread = np.zeros(len(self.files), np.float32)
        spread[self.likeliest] = values
        return spread
